"""Reads compressed proofs, as `compress` writes them, and holds each point to its curve and subgroup."""

from __future__ import annotations

from cuzkd.errors import BadFile
from cuzkd.formats.compress import COMPRESSED, CURVE, INFINITY, LARGER, PROOF_BYTES, is_larger, is_larger2
from cuzkd.kernels.curve import Group, encode, first_outside_subgroup
from cuzkd.kernels.params import PARAMS, Fp2, fp2_mul, fp2_pow
from cuzkd.model import Proof

_Q = PARAMS[CURVE].q
_SIZE = CURVE.coordinate_bytes


def load_proofs(data: bytes, name: str) -> tuple[Proof, ...]:
    """All proofs of a file, at least one.

    BadFile naming proof and element for another length, wrong flags, a coordinate that is not below q, and a point
    that is the identity, is not on the curve or is outside the subgroup.
    """
    if not data or len(data) % PROOF_BYTES:
        raise BadFile(f"{name}: {len(data)} bytes; each proof has {PROOF_BYTES}")
    return tuple(
        _load(data[at : at + PROOF_BYTES], f"{name}: proof {at // PROOF_BYTES}")
        for at in range(0, len(data), PROOF_BYTES)
    )


def _load(data: bytes, where: str) -> Proof:
    a = _load_g1(data[:_SIZE], f"{where}: A")
    b = _load_g2(data[_SIZE : 3 * _SIZE], f"{where}: B")
    c = _load_g1(data[3 * _SIZE :], f"{where}: C")
    for group, points in ((Group.G1, (("A", a), ("C", c))), (Group.G2, (("B", b),))):
        for element, point in points:
            if first_outside_subgroup(CURVE, group, encode(CURVE, group, [point]), threads=1) is not None:
                raise BadFile(f"{where}: {element} is outside the subgroup of order r")
    return Proof(CURVE, a, b, c)


def _coordinates(data: bytes, where: str) -> tuple[bool, list[int]]:
    """The sign flag and the numbers of a finite point."""
    flags = data[0] & 0xE0
    if not flags & COMPRESSED:
        raise BadFile(f"{where} does not have the flag of a compressed point")
    if flags & INFINITY:
        rest = bytes([data[0] & 0x3F]) + data[1:]
        what = "has flags that no point has" if any(rest) else "is the identity, which no proof has"
        raise BadFile(f"{where} {what}")
    plain = bytes([data[0] & 0x1F]) + data[1:]
    numbers = [int.from_bytes(plain[at : at + _SIZE], "big") for at in range(0, len(plain), _SIZE)]
    if max(numbers) >= _Q:
        raise BadFile(f"{where} has a coordinate that is not below q")
    return bool(flags & LARGER), numbers


def _load_g1(data: bytes, where: str) -> tuple[int, int]:
    larger, (x,) = _coordinates(data, where)
    y = _square_root((x**3 + PARAMS[CURVE].b) % _Q)
    if y is None:
        raise BadFile(f"{where} is not on the curve")
    return x, y if is_larger(y) == larger else -y % _Q


def _load_g2(data: bytes, where: str) -> tuple[Fp2, Fp2]:
    larger, (x1, x0) = _coordinates(data, where)
    y = _square_root2(_on_twist((x0, x1)))
    if y is None:
        raise BadFile(f"{where} is not on the curve")
    if is_larger2(y) != larger:
        y = -y[0] % _Q, -y[1] % _Q
    return (x0, x1), y


def _on_twist(x: Fp2) -> Fp2:
    """x³ + b2."""
    cube = fp2_mul(_Q, fp2_mul(_Q, x, x), x)
    b = PARAMS[CURVE].b2
    return (cube[0] + b[0]) % _Q, (cube[1] + b[1]) % _Q


def _square_root(a: int) -> int | None:
    """A square root in Fq, q = 3 mod 4, or None."""
    root = pow(a, (_Q + 1) // 4, _Q)
    return root if root * root % _Q == a else None


def _square_root2(a: Fp2) -> Fp2 | None:
    """A square root in Fq2, or None (Adj, Rodriguez-Henriquez, eprint 2012/685, algorithm 9)."""
    power = fp2_pow(_Q, a, (_Q - 3) // 4)
    root = fp2_mul(_Q, power, a)
    alpha = fp2_mul(_Q, power, root)
    if alpha == (_Q - 1, 0):
        root = fp2_mul(_Q, (0, 1), root)
    else:
        root = fp2_mul(_Q, fp2_pow(_Q, ((alpha[0] + 1) % _Q, alpha[1]), (_Q - 1) // 2), root)
    return root if fp2_mul(_Q, root, root) == a else None
