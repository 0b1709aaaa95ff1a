"""Whether many points are all of order r, from the sums of a few random subsets of them.

The subgroup G of order r has a complement H in the curve's group, for r does not divide the cofactor: a point outside
has a part in H other than infinity. Draw a subset, each point in or out by a fair coin, and let the coins of all
points but one outside be known: at most one side of that point's coin makes the parts in H cancel. So a sum over a
random subset lies in G with a chance of one half at most, whatever the points and the factors of the cofactor (even
the 3 in that of BLS12-381's G1), and 128 sums all do with at most 2^-128 (the random subset test of Bellare, Garay,
Rabin, EUROCRYPT 1998). The coins are the operating system's and are thrown after the points are fixed, so whoever
chose the points has one guess and no way to prepare.

One addition a point serves some 13 subsets (`native/subset_sums.hpp`): 10 additions a point and 128 checks by
endomorphism, against the 64 doublings or more of a check each. Other batch tests for these curves: Koshelev,
El Housni, Fotiadis, eprint 2025/1311.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from cuzkd.kernels import native
from cuzkd.kernels.curve import Array, Group, first_off_curve, first_outside_subgroup, require_points
from cuzkd.model import Curve

SUBSETS = 128
"""How many sums are checked: points outside pass with a chance of 2^-SUBSETS."""

POINTS_AT_ONCE = 1 << 17
_FEW = 256
"""Points up to which checking each is as fast."""

_WIDEST = 14

Draw = Callable[[int], bytes]


def first_outside(
    curve: Curve,
    group: Group,
    points: Array,
    *,
    threads: int,
    subsets: int = SUBSETS,
    draw: Draw = os.urandom,
) -> int | None:
    """Like `curve.first_outside_subgroup`, many times faster for many points; wrong with a chance of 2^-subsets.

    The answer None means that all points are on the curve for certain, and of order r up to that chance.
    `draw` makes random bytes, which nobody may foresee.
    """
    require_points(curve, group, points)
    off = first_off_curve(curve, group, points, threads=threads)
    if (curve, group) == (Curve.BN254, Group.G1):
        return off  # the whole curve is of order r

    def search(piece: Array) -> int | None:
        if len(piece) <= _FEW:
            return first_outside_subgroup(curve, group, piece, threads=threads)
        if all_inside(curve, group, piece, threads=threads, subsets=subsets, draw=draw):
            return None
        half = len(piece) // 2
        at = search(piece[:half])
        if at is not None:
            return at
        at = search(piece[half:])
        return None if at is None else half + at

    on_curve = points[:off]
    for start in range(0, len(on_curve), POINTS_AT_ONCE):
        at = search(on_curve[start : start + POINTS_AT_ONCE])
        if at is not None:
            return start + at
    return off


def all_inside(
    curve: Curve,
    group: Group,
    points: Array,
    *,
    threads: int,
    subsets: int = SUBSETS,
    draw: Draw = os.urandom,
) -> bool:
    """Whether the sums of `subsets` random subsets of points on the curve are of order r."""
    bits = _bits_a_pass(len(points), subsets)
    passes = -(-subsets // bits)
    choices = np.frombuffer(draw(2 * passes * len(points)), dtype=np.uint16).reshape(passes, len(points))
    sums = subset_sums(curve, group, points, choices, bits, threads=threads)[:subsets]
    return first_outside_subgroup(curve, group, sums, threads=threads) is None


def subset_sums(
    curve: Curve, group: Group, points: Array, choices: npt.NDArray[np.uint16], bits: int, *, threads: int
) -> Array:
    """Row p·bits + b is the sum of the points i on the curve for which choices[p, i] has bit b, b < bits ≤ 16.

    `choices` is (passes, n) uint16; the sums are (passes·bits, width). ValueError or TypeError for other shapes.
    """
    require_points(curve, group, points)
    out = np.empty((len(choices) * bits, points.shape[1]), dtype=np.uint64)
    native.subset_sums(curve.value, group is Group.G2, points, choices, bits, out, threads)
    return out


def _bits_a_pass(count: int, subsets: int) -> int:
    """The width with the fewest additions: one a point and two a bucket in each pass."""
    return min(range(1, _WIDEST + 1), key=lambda bits: -(-subsets // bits) * (count + (2 << bits)))
