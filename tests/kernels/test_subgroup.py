"""Many points are tested by sums of random subsets: the sums are right, and what they miss is as rare as was said."""

from __future__ import annotations

import os
import random
from functools import cache
from math import gcd
from types import ModuleType

import numpy as np
import pytest
from points import GROUPS, WITH_OUTSIDE, cofactor, of_smallest_order, outside_subgroup, point, smallest_order

from cuzkd.kernels import _native, native
from cuzkd.kernels.curve import Array, Group, decode, encode, width
from cuzkd.kernels.fixed_base import multiples
from cuzkd.kernels.params import PARAMS
from cuzkd.kernels.reference import msm1, msm2
from cuzkd.kernels.subgroup import SUBSETS, all_inside, first_outside, subset_sums
from cuzkd.model import Curve

BUILDS = [pytest.param(_native, id="portable"), pytest.param(native, id=native.arithmetic)]
MANY = 2000


@cache
def members(c: Curve, group: Group, count: int = MANY) -> Array:
    """Random points of order r, two of them infinity."""
    scalars = np.frombuffer(random.Random(7).randbytes(32 * count), dtype="<u8").reshape(count, 4).copy()
    scalars[:, 3] >>= np.uint64(3)
    scalars[5] = scalars[count - 1] = 0
    return multiples(c, group, scalars, threads=1)


def with_strangers(c: Curve, group: Group, at: list[int], *, minus: list[int] | None = None) -> Array:
    """Members, to which a point of the smallest order is added at some places and subtracted at others."""
    stranger = of_smallest_order(c, group)
    points = members(c, group).copy()
    for index in at:
        points[index] = encode(c, group, [stranger])
    for index in minus or []:
        points[index] = encode(c, group, [_negative(c, stranger)])
    return points


def _negative(c: Curve, p):
    x, y = p
    q = PARAMS[c].q
    return (x, q - y) if isinstance(y, int) else (x, tuple(-part % q for part in y))


@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize(("c", "group"), GROUPS)
def test_the_sums_are_those_of_the_chosen_subsets(build: ModuleType, c: Curve, group: Group) -> None:
    source = random.Random(3)
    points = [point(c, group, source.choice([1, 2, 3, PARAMS[c].r - 2, 99])) for _ in range(40)]
    points += [None, outside_subgroup(c, group, 1), outside_subgroup(c, group, 1)]
    passes, bits = 3, 5
    choices = np.frombuffer(source.randbytes(2 * passes * len(points)), dtype=np.uint16)
    choices = choices.reshape(passes, len(points))
    out = np.empty((passes * bits, width(c, group)), dtype=np.uint64)
    build.subset_sums(c.value, group is Group.G2, encode(c, group, points), choices, bits, out, 2)
    total = msm1 if group is Group.G1 else msm2
    expected = [
        total(c, points, [int(choice) >> bit & 1 for choice in choices[p]])  # type: ignore[operator]
        for p in range(passes)
        for bit in range(bits)
    ]
    assert decode(c, group, out) == expected


def test_sums_over_no_points_are_infinity() -> None:
    choices = np.zeros((2, 0), dtype=np.uint16)
    sums = subset_sums(Curve.BN254, Group.G2, members(Curve.BN254, Group.G2)[:0], choices, 3, threads=1)
    assert sums.shape == (6, 16)
    assert not sums.any()


def test_choices_and_room_of_other_shapes_are_refused() -> None:
    points = members(Curve.BN254, Group.G2)[:4]
    out = np.empty((3, 16), dtype=np.uint64)
    for shape, bits in (((1, 3), 3), ((2, 4), 3), ((1, 4), 4), ((1, 4), 0), ((1, 4), 17)):
        with pytest.raises(ValueError, match=r"choice|out"):
            native.subset_sums("bn128", True, points, np.zeros(shape, dtype=np.uint16), bits, out, 1)


@pytest.mark.parametrize(("c", "group"), GROUPS)
def test_no_factor_of_the_cofactor_is_r(c: Curve, group: Group) -> None:
    """So that each point is a sum of one of order r and one that the cofactor kills, in one way."""
    assert gcd(PARAMS[c].r, cofactor(c, group)) == 1


@pytest.mark.parametrize(("c", "group"), GROUPS)
def test_members_pass(c: Curve, group: Group) -> None:
    assert first_outside(c, group, members(c, group), threads=2) is None
    assert first_outside(c, group, members(c, group)[:0], threads=2) is None


@pytest.mark.parametrize(("c", "group"), WITH_OUTSIDE)
def test_one_point_of_the_smallest_order_is_found_wherever_it_is(c: Curve, group: Group) -> None:
    source = random.Random(1)
    for at in (0, MANY - 1, *source.sample(range(MANY), 4)):
        assert first_outside(c, group, with_strangers(c, group, [at]), threads=2) == at


@pytest.mark.parametrize(("c", "group"), WITH_OUTSIDE)
def test_the_first_of_several_that_cancel_each_other_is_found(c: Curve, group: Group) -> None:
    points = with_strangers(c, group, [1200], minus=[700])
    assert first_outside(c, group, points, threads=2) == 700


def test_the_first_fault_of_either_kind_is_found() -> None:
    c, group = Curve.BN254, Group.G2
    for stranger, off in ((900, 1500), (1500, 900)):
        points = with_strangers(c, group, [stranger])
        points[off, 0] ^= np.uint64(1)
        assert first_outside(c, group, points, threads=2) == 900


def test_the_smallest_orders_are_those_that_are_known() -> None:
    found = {(c, group): smallest_order(c, group) for c, group in WITH_OUTSIDE}
    assert list(found.values()) == [10069, 3, 13]


def missed(c: Curve, group: Group, points: Array, subsets: int, trials: int) -> int:
    """How often sums of so few subsets find nothing wrong."""
    draw = random.Random(subsets).randbytes
    return sum(all_inside(c, group, points, threads=1, subsets=subsets, draw=draw) for _ in range(trials))


def assert_near(count: int, trials: int, chance: float) -> None:
    """Within five standard deviations of what the chance makes expect."""
    assert abs(count - trials * chance) <= 5 * (trials * chance * (1 - chance)) ** 0.5


@pytest.mark.parametrize("subsets", [1, 2, 3, 5])
@pytest.mark.parametrize(("c", "group"), WITH_OUTSIDE)
def test_few_subsets_miss_a_point_outside_as_often_as_was_said(c: Curve, group: Group, subsets: int) -> None:
    """One subset misses it when it is not in it: half of the time, whatever its order."""
    points = with_strangers(c, group, [17])[:40]
    trials = 600
    assert_near(missed(c, group, points, subsets, trials), trials, 0.5**subsets)


@pytest.mark.parametrize("subsets", [1, 3])
def test_points_that_cancel_each_other_gain_nothing(subsets: int) -> None:
    """T and -T pass when both are in or neither is, half of the time; three of order 3 a quarter."""
    c, group, trials = Curve.BLS12_381, Group.G1, 600
    two = with_strangers(c, group, [3], minus=[30])[:40]
    assert_near(missed(c, group, two, subsets, trials), trials, 0.5**subsets)
    three = with_strangers(c, group, [3, 20, 30])[:40]
    assert_near(missed(c, group, three, subsets, trials), trials, 0.25**subsets)


def test_all_subsets_never_miss() -> None:
    c, group = Curve.BLS12_381, Group.G1
    assert missed(c, group, with_strangers(c, group, [3], minus=[30])[:40], SUBSETS, 200) == 0


def test_the_coins_are_the_systems_and_new_for_each_test() -> None:
    drawn = []

    def draw(count: int) -> bytes:
        drawn.append(os.urandom(count))
        return drawn[-1]

    for _ in range(2):
        all_inside(Curve.BN254, Group.G2, members(Curve.BN254, Group.G2), threads=1, draw=draw)
    assert 8 * len(drawn[0]) >= SUBSETS * MANY
    assert len(drawn) == 2
    assert all_inside.__kwdefaults__["draw"] is first_outside.__kwdefaults__["draw"] is os.urandom
