"""Transforms against the definition, against themselves backwards, and against another implementation."""

from __future__ import annotations

import random

import numpy as np
import pytest
from zksnake._algebra import polynomial_bn254

from cuzkd.kernels.field import from_montgomery, ints_from_scalars, scalars_from_ints, to_montgomery
from cuzkd.kernels.ntt import ntt
from cuzkd.kernels.params import PARAMS
from cuzkd.model import Curve

# Odd and even logarithms on both sides of the size that one core's cache holds (2^13), and one sweep further.
SIZES_ABOVE_CACHE = (13, 14, 15, 16)


def elements(curve: Curve, values: list[int]) -> np.ndarray:
    return to_montgomery(curve, scalars_from_ints(values), threads=1)


def integers(curve: Curve, array: np.ndarray) -> list[int]:
    return ints_from_scalars(from_montgomery(curve, array, threads=1))


def random_values(curve: Curve, count: int, seed: int) -> list[int]:
    source = random.Random(seed)
    return [source.randrange(PARAMS[curve].r) for _ in range(count)]


def root(curve: Curve, log_n: int) -> int:
    params = PARAMS[curve]
    return pow(params.root, 1 << (params.two_adicity - log_n), params.r)


def transform(curve: Curve, values: list[int], *, inverse: bool = False, threads: int = 2) -> list[int]:
    array = elements(curve, values)
    ntt(curve, array, inverse=inverse, threads=threads)
    return integers(curve, array)


@pytest.mark.parametrize("log_n", range(8))
@pytest.mark.parametrize("curve", Curve)
def test_it_is_the_sum_of_the_definition(curve: Curve, log_n: int):
    r, w, n = PARAMS[curve].r, root(curve, log_n), 1 << log_n
    values = random_values(curve, n, log_n)
    assert transform(curve, values) == [
        sum(x * pow(w, i * j, r) for i, x in enumerate(values)) % r for j in range(n)
    ]


@pytest.mark.parametrize("log_n", [0, 1, 2, 5, *SIZES_ABOVE_CACHE])
@pytest.mark.parametrize("curve", Curve)
def test_the_inverse_takes_it_back(curve: Curve, log_n: int):
    values = elements(curve, random_values(curve, 1 << log_n, 1))
    array = values.copy()
    ntt(curve, array, threads=2)
    assert log_n == 0 or not np.array_equal(array, values)
    ntt(curve, array, inverse=True, threads=2)
    assert np.array_equal(array, values)


@pytest.mark.parametrize("log_n", SIZES_ABOVE_CACHE)
@pytest.mark.parametrize("curve", Curve)
def test_above_the_cache_it_evaluates_the_polynomial_at_powers_of_the_root(curve: Curve, log_n: int):
    r, w, n = PARAMS[curve].r, root(curve, log_n), 1 << log_n
    values = random_values(curve, n, 2)
    got = transform(curve, values)
    for j in (0, 1, n // 2 - 1, n - 1):
        point, total = pow(w, j, r), 0
        for x in reversed(values):
            total = (total * point + x) % r
        assert got[j] == total


@pytest.mark.parametrize("inverse", [False, True])
@pytest.mark.parametrize("curve", Curve)
def test_the_number_of_threads_changes_nothing(curve: Curve, inverse: bool):
    values = elements(curve, random_values(curve, 1 << 15, 3))
    results = []
    for threads in (1, 2, 5):
        array = values.copy()
        ntt(curve, array, inverse=inverse, threads=threads)
        results.append(array)
    assert all(np.array_equal(results[0], other) for other in results[1:])


@pytest.mark.parametrize("log_n", [3, 10, 14])
def test_it_agrees_with_arkworks_on_bn254(log_n: int):
    values = random_values(Curve.BN254, 1 << log_n, 4)
    assert transform(Curve.BN254, values) == polynomial_bn254.fft(values, 1 << log_n)
    assert transform(Curve.BN254, values, inverse=True) == polynomial_bn254.ifft(values, 1 << log_n)


def test_arrays_that_cannot_be_transformed_in_place_are_refused():
    values = elements(Curve.BN254, [1, 2, 3, 4])
    read_only = values.copy()
    read_only.flags.writeable = False
    wrong = {
        "no power of two": values[:3],
        "no power of two ": values[:0],
        "contiguous": np.asfortranarray(values),
        "writable": read_only,
        "uint64": values.astype(np.int64),
        "(n, 4)": values.reshape(8, 2),
    }
    for message, array in wrong.items():
        with pytest.raises(ValueError, match=message.strip().replace("(", r"\(").replace(")", r"\)")):
            ntt(Curve.BN254, array, threads=1)
