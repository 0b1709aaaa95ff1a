"""What bellperson's keys ask of the kernels: its domain, the quotient's coefficients, its points, any generator."""

from __future__ import annotations

import random
from types import ModuleType

import numpy as np
import pytest

from cuzkd.kernels import _native, native
from cuzkd.kernels.curve import Group, decode, encode
from cuzkd.kernels.field import ints_from_scalars, scalars_from_ints, to_montgomery
from cuzkd.kernels.fixed_base import multiples
from cuzkd.kernels.ntt import ntt
from cuzkd.kernels.params import PARAMS
from cuzkd.kernels.quotient import monomial_quotient
from cuzkd.kernels.reference import msm1, msm2
from cuzkd.kernels.uncompressed import Fault, read_points, write_points
from cuzkd.model import Curve, Flavour

BUILDS = [pytest.param(_native, id="portable"), pytest.param(native, id=native.arithmetic)]


def root_of(curve: Curve, log_n: int) -> int:
    return pow(7, (PARAMS[curve].r - 1) >> log_n, PARAMS[curve].r)


def at(curve: Curve, values: list[int], x: int) -> int:
    """The polynomial with these values at the powers of the root, at another point: Lagrange's formula."""
    r, n = PARAMS[curve].r, len(values)
    root = root_of(curve, n.bit_length() - 1)
    front = (pow(x, n, r) - 1) * pow(n, -1, r)
    points = [pow(root, i, r) for i in range(n)]
    return sum(v * p * pow(x - p, -1, r) for v, p in zip(values, points, strict=True)) * front % r


@pytest.mark.parametrize("curve", Curve)
@pytest.mark.parametrize("log_n", [1, 2, 3, 5, 6])
def test_the_transform_is_over_the_powers_of_sevens_root(curve: Curve, log_n: int):
    r, n = PARAMS[curve].r, 1 << log_n
    values = [random.Random(log_n).randrange(r) for _ in range(n)]
    array = to_montgomery(curve, scalars_from_ints(values), threads=1)
    ntt(curve, array, flavour=Flavour.BELLPERSON, threads=2)
    root = root_of(curve, log_n)
    expected = [sum(v * pow(root, i * j, r) for i, v in enumerate(values)) % r for j in range(n)]
    assert np.array_equal(array, to_montgomery(curve, scalars_from_ints(expected), threads=1))


@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize("curve", Curve)
@pytest.mark.parametrize(("log_n", "rows"), [(1, 1), (1, 2), (2, 3), (4, 16), (6, 41), (14, 12_345)])
def test_the_quotient_times_the_vanishing_polynomial_is_what_it_was_of(
    build: ModuleType, curve: Curve, log_n: int, rows: int, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("cuzkd.kernels.quotient.native", build)
    r, n, chance = PARAMS[curve].r, 1 << log_n, random.Random(rows)
    a, b = ([chance.randrange(r) for _ in range(rows)] for _ in range(2))
    c = [x * y % r for x, y in zip(a, b, strict=True)]
    vectors = [to_montgomery(curve, scalars_from_ints(values), threads=1) for values in (a, b, c)]
    out = np.empty((n, 4), dtype=np.uint64)
    monomial_quotient(curve, *vectors, log_n, out, threads=2)
    h = ints_from_scalars(out)
    assert h[-1] == 0
    assert max(h) < r
    x = chance.randrange(r)
    of_h = sum(k * pow(x, j, r) for j, k in enumerate(h)) % r
    of_a, of_b, of_c = (at(curve, values + [0] * (n - rows), x) for values in (a, b, c))
    assert of_h * (pow(x, n, r) - 1) % r == (of_a * of_b - of_c) % r


@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize("group", Group)
def test_points_are_big_endian_with_c1_first(
    build: ModuleType, group: Group, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("cuzkd.kernels.uncompressed.native", build)
    curve = Curve.BLS12_381
    params, size = PARAMS[curve], curve.coordinate_bytes
    point = params.g1 if group is Group.G1 else params.g2
    array = encode(curve, group, [point])
    data = write_points(curve, group, array, threads=1)
    flat = [*params.g1] if group is Group.G1 else [c for pair in params.g2 for c in pair[::-1]]
    assert data.tobytes() == b"".join(c.to_bytes(size, "big") for c in flat)
    back = np.empty_like(array)
    assert read_points(curve, group, data, back, threads=1) is None
    assert np.array_equal(back, array)


def test_the_first_of_many_bad_points_is_told():
    group, curve = Group.G1, Curve.BLS12_381
    array = np.repeat(encode(curve, group, [PARAMS[curve].g1]), 5000, axis=0)
    data = write_points(curve, group, array, threads=2)
    for index in (4999, 4000, 17):
        data[96 * index] |= 0x80
        bad = read_points(curve, group, data, np.empty_like(array), threads=3)
        assert bad is not None
        assert (bad.index, bad.fault) == (index, Fault.COMPRESSED)


@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize("group", Group)
@pytest.mark.parametrize("curve", Curve)
def test_multiples_are_of_the_point_that_is_given(
    build: ModuleType, curve: Curve, group: Group, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("cuzkd.kernels.fixed_base.native", build)
    params = PARAMS[curve]
    combine = msm1 if group is Group.G1 else msm2
    base = combine(curve, [params.g1 if group is Group.G1 else params.g2], [12345])
    scalars = [0, 1, 2, params.r - 1, 1 << 200, 3, 3, 0]
    found = multiples(curve, group, scalars_from_ints(scalars), base=encode(curve, group, [base]), threads=2)
    assert decode(curve, group, found) == [combine(curve, [base], [k]) for k in scalars]
