"""A plain prover for bellperson's keys in Python integers: with the same r and s, cuzkd must give the same 192 bytes.

By the letter of what bellperson does: a, b, c over the domain of the powers of the 2^k-th root that 7 gives, divided
on the coset of 7, H in the monomial basis. It shares only the curve's constants with cuzkd, and sums with `oracle`.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from oracle import group_of

from cuzkd.kernels.params import PARAMS
from cuzkd.model import G1, G2, Curve

CURVE = Curve.BLS12_381
R = PARAMS[CURVE].r
GENERATOR = 7

Combination = Sequence[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Params:
    """A parameters file, taken apart without any check."""

    single: dict[str, Any]
    ic: list[G1]
    h: list[G1]
    l: list[G1]  # noqa: E741 - the name it has
    a: list[G1]
    b1: list[G1]
    b2: list[G2]

    @classmethod
    def parse(cls, data: bytes) -> Params:
        at = 0

        def numbers(count: int) -> list[int]:
            nonlocal at
            found = [int.from_bytes(data[at + 48 * i : at + 48 * i + 48], "big") for i in range(count)]
            at += 48 * count
            return found

        def g1() -> G1:
            x, y = numbers(2)
            return x, y

        def g2() -> G2:
            x1, x0, y1, y0 = numbers(4)
            return (x0, x1), (y0, y1)

        def many(read: Any) -> list[Any]:
            nonlocal at
            (count,) = struct.unpack_from(">I", data, at)
            at += 4
            return [read() for _ in range(count)]

        names = {"alpha1": g1, "beta1": g1, "beta2": g2, "gamma2": g2, "delta1": g1, "delta2": g2}
        single = {name: read() for name, read in names.items()}
        queries = [many(read) for read in (g1, g1, g1, g1, g1, g2)]
        assert at == len(data)
        return cls(single, *queries)


def prove(
    params: bytes,
    rows: Sequence[tuple[Combination, Combination, Combination]],
    inputs: int,
    z: Sequence[int],
    r: int,
    s: int,
) -> tuple[G1, G2, G1]:
    """A, B, C; `rows` are the constraints' own, `inputs` counts one and the public inputs, z is inputs then aux."""
    key, g1, g2 = Params.parse(params), group_of(CURVE, 1), group_of(CURVE, 2)
    bound = [*rows, *((((i, 1),), (), ()) for i in range(inputs))]
    in_a, in_b = _dense(bound, 0), _dense(bound, 1)
    from_a = list(range(inputs)) + [i for i in sorted(in_a) if i >= inputs]
    from_b = sorted(in_b)
    a = g1.sum(
        [(key.single["alpha1"], 1), (key.single["delta1"], r), *_terms(key.a, from_a, z)],
    )
    b1 = g1.sum([(key.single["beta1"], 1), (key.single["delta1"], s), *_terms(key.b1, from_b, z)])
    b2 = g2.sum([(key.single["beta2"], 1), (key.single["delta2"], s), *_terms(key.b2, from_b, z)])
    h = quotient(bound, z)
    assert len(key.h) == len(h) - 1
    assert h[-1] == 0
    c = g1.sum(
        [
            *zip(key.h, h, strict=False),
            *zip(key.l, z[inputs:], strict=True),
            (a, s),
            (b1, r),
            (key.single["delta1"], -r * s % R),
        ]
    )
    return a, b2, c


def _terms(points: list[Any], wires: list[int], z: Sequence[int]) -> list[tuple[Any, int]]:
    return [(point, z[wire]) for point, wire in zip(points, wires, strict=True)]


def _dense(rows: Sequence[tuple[Combination, ...]], matrix: int) -> set[int]:
    """Who has a coefficient other than zero in some row, once terms of one variable are added up."""
    found = set()
    for row in rows:
        sums: dict[int, int] = {}
        for wire, value in row[matrix]:
            sums[wire] = (sums.get(wire, 0) + value) % R
        found |= {wire for wire, value in sums.items() if value}
    return found


def quotient(rows: Sequence[tuple[Combination, ...]], z: Sequence[int]) -> list[int]:
    """The coefficients of (A·B - C)/(X^m - 1)."""
    m = 2
    while m < len(rows):
        m *= 2
    root = pow(GENERATOR, (R - 1) // m, R)
    on_coset = []
    for matrix in range(3):
        values = [sum(v * z[wire] for wire, v in row[matrix]) % R for row in rows]
        values += [0] * (m - len(values))
        coefficients = _transform(values, pow(root, -1, R), pow(m, -1, R))
        on_coset.append(_transform([k * pow(GENERATOR, j, R) for j, k in enumerate(coefficients)], root, 1))
    divisor = pow(pow(GENERATOR, m, R) - 1, -1, R)
    values = [(a * b - c) * divisor % R for a, b, c in zip(*on_coset, strict=True)]
    shifted = _transform(values, pow(root, -1, R), pow(m, -1, R))
    return [k * pow(GENERATOR, -j, R) % R for j, k in enumerate(shifted)]


def _transform(values: list[int], root: int, scale: int) -> list[int]:
    """By definition: small circuits only."""
    m = len(values)
    powers = [1]
    while len(powers) < m:
        powers.append(powers[-1] * root % R)
    return [sum(v * powers[i * j % m] for i, v in enumerate(values)) * scale % R for j in range(m)]
