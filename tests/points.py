"""Points of both groups by the oracle: multiples of the generators, and points outside the subgroup of order r."""

from __future__ import annotations

import random

from cuzkd.kernels.curve import Group
from cuzkd.kernels.params import PARAMS
from cuzkd.kernels.reference import Twist, group1, group2, msm1, msm2, narrow, widen
from cuzkd.model import G1, G2, Curve

GROUPS = [(c, g) for c in Curve for g in Group]
WITH_OUTSIDE = [pair for pair in GROUPS if pair != (Curve.BN254, Group.G1)]
"""The groups in a curve or twist of more than r points."""


def oracle(c: Curve, group: Group) -> Twist:
    return group1(c) if group is Group.G1 else group2(c)


def cofactor(c: Curve, group: Group) -> int:
    return PARAMS[c].cofactor1 if group is Group.G1 else PARAMS[c].cofactor2


def point(c: Curve, group: Group, k: int) -> G1 | G2:
    """k times the generator."""
    if group is Group.G1:
        return msm1(c, [PARAMS[c].g1], [k])
    return msm2(c, [PARAMS[c].g2], [k])


def multiply(c: Curve, group: Group, p: G1 | G2, k: int) -> G1 | G2:
    """k times any point of the curve or twist."""
    if group is Group.G1:
        return narrow(group1(c).multiply(widen(p), k))  # type: ignore[arg-type]
    return group2(c).multiply(p, k)  # type: ignore[arg-type]


def outside_subgroup(c: Curve, group: Group, seed: int) -> G1 | G2:
    """A random point of the curve or twist; it has order r with negligible probability only."""
    source = random.Random(seed)
    q = PARAMS[c].q
    while True:
        x = (source.randrange(q), source.randrange(q) if group is Group.G2 else 0)
        found = oracle(c, group).lift(x)
        if found is not None and (group is Group.G2 or found[1][1] == 0):
            return found if group is Group.G2 else narrow(found)


def killed_by_cofactor(c: Curve, group: Group, seed: int) -> G1 | G2:
    """r times a random point: its order divides the cofactor."""
    return multiply(c, group, outside_subgroup(c, group, seed), PARAMS[c].r)


def smallest_order(c: Curve, group: Group) -> int:
    """The least prime that divides the cofactor."""
    return next(n for n in range(2, 1 << 20) if cofactor(c, group) % n == 0)


def of_smallest_order(c: Curve, group: Group, seed: int = 0) -> G1 | G2:
    """A point of order `smallest_order`: as near to infinity as a point outside can be."""
    prime, rest = smallest_order(c, group), cofactor(c, group)
    while rest % prime == 0:
        rest //= prime
    found = multiply(c, group, killed_by_cofactor(c, group, seed), rest)
    if found is None:
        return of_smallest_order(c, group, seed + 1)
    while (next_ := multiply(c, group, found, prime)) is not None:
        found = next_
    return found
