"""Multi-scalar sums against the oracle, against known multiples, and against two other implementations."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import py_arkworks_bls12381 as arkworks
import pytest
from oracle import group_of
from zksnake._algebra import ec_bn254

from cuzkd.kernels import _native
from cuzkd.kernels.curve import Group, combine, decode, encode
from cuzkd.kernels.field import scalars_from_ints
from cuzkd.kernels.fixed_base import multiples
from cuzkd.kernels.msm import msm
from cuzkd.kernels.params import PARAMS
from cuzkd.model import G1, G2, Curve

pytestmark = [pytest.mark.parametrize("group", Group), pytest.mark.parametrize("curve", Curve)]


def points_of(curve: Curve, group: Group, logs: list[int]) -> np.ndarray:
    """logs[i] times the generator."""
    return multiples(curve, group, scalars_from_ints(log % PARAMS[curve].r for log in logs), threads=2)


def generator_times(curve: Curve, group: Group, k: int) -> np.ndarray:
    params = PARAMS[curve]
    generator = encode(curve, group, [params.g1 if group is Group.G1 else params.g2])
    return combine(curve, group, generator, scalars_from_ints([k % params.r]))


def check_known(curve: Curve, group: Group, logs: list[int], scalars: list[int], threads: int = 2) -> None:
    """The sum over points of known logarithm is the generator times the sum of products."""
    total = msm(curve, group, points_of(curve, group, logs), scalars_from_ints(scalars), threads=threads)
    expected = sum(k * log for k, log in zip(scalars, logs, strict=True))
    assert np.array_equal(total, generator_times(curve, group, expected))


@pytest.mark.parametrize("n", [0, 1, 2, 5, 33])
def test_it_is_the_oracles_sum(curve: Curve, group: Group, n: int):
    source, r = random.Random(n), PARAMS[curve].r
    points = points_of(curve, group, [source.randrange(r) for _ in range(n)])
    scalars = [source.randrange(r) for _ in range(n)]
    oracle = group_of(curve, 1 if group is Group.G1 else 2)
    expected = oracle.sum(list(zip(decode(curve, group, points), scalars, strict=True)))
    total = msm(curve, group, points, scalars_from_ints(scalars), threads=1)
    assert decode(curve, group, total) == [expected]


# How n scalars below r are drawn.
DISTRIBUTIONS: dict[str, Callable[[random.Random, int], int]] = {
    "uniform": lambda source, r: source.randrange(r),
    "mostly zeros and ones": lambda source, r: source.choice([0, 0, 0, 1, 1, 1, source.randrange(r)]),
    "64 bits": lambda source, _: source.randrange(1 << 64),
    "small and signed": lambda source, r: source.randrange(-300, 300) % r,
    "zero": lambda _, __: 0,
    "r - 1": lambda _, r: r - 1,
    "beside powers of two": lambda source, r: ((1 << source.randrange(256)) + source.randrange(-1, 2)) % r,
}


@pytest.mark.parametrize("draw", DISTRIBUTIONS.values(), ids=DISTRIBUTIONS.keys())
@pytest.mark.parametrize("n", [40, 700, 3000])
def test_it_is_right_for_scalars_of_every_kind(curve: Curve, group: Group, n: int, draw: Callable[..., int]):
    source, r = random.Random(n), PARAMS[curve].r
    logs = [source.randrange(r) for _ in range(n)]
    check_known(curve, group, logs, [draw(source, r) for _ in range(n)])


def test_every_kind_of_meeting_in_a_bucket_is_added_rightly(curve: Curve, group: Group):
    """Equal points double, opposite ones cancel, infinity adds nothing, alone or beside others."""
    r = PARAMS[curve].r
    meetings: list[list[int]] = [
        [1, 1],
        [1, -1],
        [0, 1],
        [0, 0],
        [1, 1, -2],
        [1, 1, 1, 1],
        [3, -3, 5],
        [2, 2, -2, -2],
    ]
    for logs in meetings:
        for k in (1, r - 1, 12345, r // 3):
            check_known(curve, group, logs, [k] * len(logs))
    source = random.Random(5)
    for n in (64, 1000):
        logs = [source.choice([0, 1, -1, 2, -2, 3]) for _ in range(n)]
        check_known(curve, group, logs, [source.choice([7, r - 7, 1, r - 1, 1 << 100]) for _ in range(n)])


@pytest.mark.parametrize("scalar", [1, -1, 2, 0x123456789ABCDEF0123456789ABCDEF0123456789ABCDEF])
def test_buckets_that_take_everything_are_summed_in_pieces(curve: Curve, group: Group, scalar: int):
    """More points in one bucket than two pieces of work hold, with and without equal points."""
    r, copies = PARAMS[curve].r, 100 if group is Group.G1 else 50
    source = random.Random(6)
    for logs in ([source.randrange(r) for _ in range(90)], [source.randrange(r)] * 90):
        points = np.tile(points_of(curve, group, logs), (copies, 1))
        scalars = scalars_from_ints([scalar % r] * len(points))
        total = msm(curve, group, points, scalars, threads=2)
        assert np.array_equal(total, generator_times(curve, group, copies * scalar * sum(logs)))


def test_the_number_of_threads_changes_nothing(curve: Curve, group: Group):
    source, r = random.Random(8), PARAMS[curve].r
    points = points_of(curve, group, [source.randrange(r) for _ in range(2000)])
    scalars = scalars_from_ints(source.choice([0, 1, 5, source.randrange(r)]) for _ in range(2000))
    sums = [msm(curve, group, points, scalars, threads=threads) for threads in (1, 2, 7)]
    assert all(np.array_equal(sums[0], other) for other in sums[1:])


def test_the_portable_build_gives_the_same_sums(curve: Curve, group: Group):
    """Its additions are others; among the points are equal, opposite and infinite ones."""
    source, r = random.Random(10), PARAMS[curve].r
    logs = [source.choice([0, 1, -1, 2, source.randrange(r), source.randrange(r)]) for _ in range(1000)]
    points = points_of(curve, group, logs)
    scalars = scalars_from_ints(source.choice([1, r - 7, 7, source.randrange(r)]) for _ in logs)
    out = np.empty((1, points.shape[1]), dtype=np.uint64)
    _native.msm(curve.value, group is Group.G2, points, scalars, out, 2)
    assert np.array_equal(out, msm(curve, group, points, scalars, threads=2))


def test_it_agrees_with_arkworks(curve: Curve, group: Group):
    """Through two independent bindings: py-arkworks-bls12381 and zksnake."""
    source, r = random.Random(9), PARAMS[curve].r
    points = points_of(curve, group, [source.randrange(1, r) for _ in range(200)])
    scalars = [source.choice([0, 1, r - 1, source.randrange(r)]) for _ in range(200)]
    [total] = decode(curve, group, msm(curve, group, points, scalars_from_ints(scalars), threads=2))
    plain = decode(curve, group, points)
    expected = (
        _arkworks(group, plain, scalars) if curve is Curve.BLS12_381 else _zksnake(group, plain, scalars)
    )
    assert total == expected


def _arkworks(group: Group, points: list[G1 | G2], scalars: list[int]) -> Any:
    kind = arkworks.G1Point if group is Group.G1 else arkworks.G2Point
    parsed = [kind.from_xy_bytes_le(b"".join(c.to_bytes(48, "little") for c in _flat(p))) for p in points]
    factors = [arkworks.Scalar.from_le_bytes(k.to_bytes(32, "little")) for k in scalars]
    data = kind.multiexp_unchecked(parsed, factors).to_xy_bytes_le()
    c = [int.from_bytes(data[i : i + 48], "little") for i in range(0, len(data), 48)]
    return tuple(c) if group is Group.G1 else ((c[0], c[1]), (c[2], c[3]))


def _zksnake(group: Group, points: list[G1 | G2], scalars: list[int]) -> Any:
    if group is Group.G1:
        total = ec_bn254.multiscalar_mul_g1([ec_bn254.PointG1(*_flat(p)) for p in points], scalars)
        return total.x, total.y
    total = ec_bn254.multiscalar_mul_g2([ec_bn254.PointG2(*_flat(p)) for p in points], scalars)
    return tuple(total.x), tuple(total.y)


def _flat(point: Any) -> list[int]:
    return [
        c for coordinate in point for c in (coordinate if isinstance(coordinate, tuple) else (coordinate,))
    ]


def test_read_only_views_of_mapped_files_are_taken(curve: Curve, group: Group, tmp_path: Any):
    points = points_of(curve, group, [1, 2, 3])
    (tmp_path / "points").write_bytes(bytes(12) + points.tobytes())
    mapped = np.memmap(tmp_path / "points", np.uint8, "r")[12:].view(np.uint64).reshape(points.shape)
    scalars = scalars_from_ints([4, 5, 6])
    scalars.flags.writeable = False
    assert np.array_equal(msm(curve, group, mapped, scalars, threads=1), generator_times(curve, group, 32))


def test_what_is_no_sum_is_refused(curve: Curve, group: Group):
    points, r = points_of(curve, group, [1, 2, 3]), PARAMS[curve].r
    scalars = scalars_from_ints([1, 2, 3])
    for message, wrong_points, wrong_scalars in (
        ("scalar 1 is not below the group order", points, scalars_from_ints([1, r, 2])),
        ("scalar 2 is not below the group order", points, scalars_from_ints([1, 0, 2**256 - 1])),
        ("3 bases and 2 scalars", points, scalars[:2]),
        ("points on", points[:, :-1], scalars),
        ("points on", points.astype(np.int64), scalars),
        ("not contiguous", np.repeat(points, 2, axis=0)[::2], scalars),
        ("not contiguous", points, np.repeat(scalars, 2, axis=0)[::2]),
    ):
        with pytest.raises(ValueError, match=message):
            msm(curve, group, wrong_points, wrong_scalars, threads=2)
