"""The prime fields of both curves and values of them where carries go wrong first."""

from __future__ import annotations

import random

from cuzkd.kernels.params import PARAMS
from cuzkd.model import Curve

FIELDS = [(curve, name) for curve in Curve for name in ("fq", "fr")]


def modulus_and_limbs(curve: Curve, name: str) -> tuple[int, int]:
    p = PARAMS[curve]
    return (p.r, 4) if name == "fr" else (p.q, p.limbs)


def edge_values(p: int, limbs: int) -> list[int]:
    """0, 1, p - 1 and values on both sides of limb boundaries, then random ones."""
    values = {0, 1, 2, p - 1, p - 2, p // 2, p // 2 + 1, (1 << (64 * limbs)) % p}
    for k in range(1, limbs):
        values |= {(1 << 64 * k) + d for d in (-1, 0, 1)}
        values |= {p - (1 << 64 * k), p & ~((1 << 64 * k) - 1), (p >> 64 * k << 64 * k) - 1}
    for k in range(limbs):
        values |= {0xFFFFFFFFFFFFFFFF << 64 * k, 0x8000000000000000 << 64 * k, 0xFFFFFFFF << (64 * k + 16)}
    source = random.Random(p)
    values |= {source.randrange(p) for _ in range(40)}
    return sorted(v for v in values if 0 <= v < p)
