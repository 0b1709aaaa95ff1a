"""The quotient against plain polynomial arithmetic over integers."""

from __future__ import annotations

import random

import numpy as np
import pytest

from cuzkd.kernels.field import ints_from_scalars, scalars_from_ints, to_montgomery
from cuzkd.kernels.params import PARAMS
from cuzkd.kernels.quotient import SCRATCH_VECTORS, odd_coset_quotient
from cuzkd.model import Curve

Vectors = tuple[list[int], list[int], list[int]]


def root(curve: Curve, log_n: int) -> int:
    params = PARAMS[curve]
    return pow(params.root, 1 << (params.two_adicity - log_n), params.r)


def evaluate(coefficients: list[int], point: int, r: int) -> int:
    total = 0
    for c in reversed(coefficients):
        total = (total * point + c) % r
    return total


def at_odd_points(curve: Curve, values: list[int], log_n: int) -> list[int]:
    """By the definition: interpolate over the even points, evaluate at the odd ones."""
    r, n = PARAMS[curve].r, 1 << log_n
    padded = values + [0] * (n - len(values))
    back = pow(root(curve, log_n), -1, r)
    scale = pow(n, -1, r)
    coefficients = [evaluate(padded, pow(back, j, r), r) * scale % r for j in range(n)]
    odd = root(curve, log_n + 1)
    return [evaluate(coefficients, pow(odd, 2 * i + 1, r), r) for i in range(n)]


def random_vectors(curve: Curve, rows: int, seed: int) -> Vectors:
    source, r = random.Random(seed), PARAMS[curve].r
    a, b, c = ([source.randrange(r) for _ in range(rows)] for _ in range(3))
    return a, b, c


def native(
    curve: Curve, vectors: Vectors, log_n: int, *, threads: int = 2, given_scratch: bool = False
) -> list[int]:
    out = np.full((1 << log_n, 4), 2**64 - 1, dtype=np.uint64)
    scratch = np.full((SCRATCH_VECTORS << log_n, 4), 2**64 - 1, dtype=np.uint64) if given_scratch else None
    a, b, c = (to_montgomery(curve, scalars_from_ints(v), threads=1) for v in vectors)
    for vector in (a, b, c):
        vector.flags.writeable = False
    odd_coset_quotient(curve, a, b, c, log_n, out, scratch, threads=threads)
    return ints_from_scalars(out)


@pytest.mark.parametrize(
    ("log_n", "rows"), [(0, 1), (1, 2), (1, 1), (2, 3), (3, 8), (5, 17), (6, 64), (4, 0)]
)
@pytest.mark.parametrize("curve", Curve)
def test_it_is_the_polynomial_at_the_odd_points(curve: Curve, log_n: int, rows: int):
    vectors, r = random_vectors(curve, rows, rows), PARAMS[curve].r
    a, b, c = (at_odd_points(curve, v, log_n) for v in vectors)
    expected = [(x * y - z) % r for x, y, z in zip(a, b, c, strict=True)]
    assert native(curve, vectors, log_n) == expected
    assert native(curve, vectors, log_n, given_scratch=True) == expected


@pytest.mark.parametrize("log_n", [13, 14, 15])
@pytest.mark.parametrize("curve", Curve)
def test_above_the_cache_the_quotient_is_a_polynomial_of_the_right_degree(curve: Curve, log_n: int):
    """For c = a∘b, p is divisible: p(X) = h(X)·(X^n - 1), so at odd points p = -2h with deg h < n - 1.

    An inverse transform over the odd points must so have a zero as its last coefficient.
    """
    r, n = PARAMS[curve].r, 1 << log_n
    a, b, _ = random_vectors(curve, n - 5, log_n)
    p = native(curve, (a, b, [x * y % r for x, y in zip(a, b, strict=True)]), log_n)
    # Coefficient n - 1 of h, up to a factor: sum p_i·w_2n^(-(2i + 1)(n - 1)).
    step = pow(root(curve, log_n + 1), -(n - 1), r)
    assert evaluate(p, step * step % r, r) * step % r == 0
    assert evaluate(p, pow(step * step, 3, r), r) != 0


@pytest.mark.parametrize("curve", Curve)
def test_the_number_of_threads_changes_nothing(curve: Curve):
    vectors = random_vectors(curve, 30000, 7)
    assert native(curve, vectors, 15, threads=1) == native(curve, vectors, 15, threads=3)


@pytest.mark.parametrize(("curve", "log_n"), [(Curve.BN254, 28), (Curve.BLS12_381, 32), (Curve.BN254, -1)])
def test_a_domain_without_a_root_of_twice_its_order_is_refused_before_anything_is_allocated(
    curve: Curve, log_n: int
):
    vector = np.zeros((1, 4), dtype=np.uint64)
    with pytest.raises(ValueError, match="needs a root of unity of order 2"):
        odd_coset_quotient(curve, vector, vector, vector, log_n, vector, threads=1)


def test_arrays_that_do_not_fit_together_are_refused():
    def zeros(rows: int) -> np.ndarray:
        return np.zeros((rows, 4), dtype=np.uint64)

    a, out, scratch = zeros(4), zeros(4), zeros(8)
    read_only = zeros(4)
    read_only.flags.writeable = False
    wrong = [
        ("a, b and c have 4, 3 and 4 rows", (a, zeros(3), a, 2, out, scratch)),
        ("5 rows do not fit", (zeros(5), zeros(5), zeros(5), 2, out, scratch)),
        ("out has 3 rows", (a, a, a, 2, zeros(3), scratch)),
        ("out is a contiguous, writable", (a, a, a, 2, read_only, scratch)),
        ("scratch has 7 rows", (a, a, a, 2, out, zeros(7))),
        ("overlap", (a, out, a, 2, out, scratch)),
        ("overlap", (a, a, a, 2, scratch[:4], scratch)),
        ("contiguous", (zeros(8)[::2], a, a, 2, out, scratch)),
        ("uint64", (a.astype(np.float64), a, a, 2, out, scratch)),
    ]
    for message, arguments in wrong:
        with pytest.raises(ValueError, match=message):
            odd_coset_quotient(Curve.BN254, *arguments, threads=1)
