"""Sparse evaluation against rows of integers, and the check of matrices that nothing else is trusted with."""

from __future__ import annotations

import dataclasses
import random

import numpy as np
import pytest

from cuzkd.kernels.evaluate import Csr, CsrFault, check_csr, evaluate, hadamard
from cuzkd.kernels.field import from_montgomery, ints_from_scalars, scalars_from_ints, to_montgomery
from cuzkd.kernels.params import PARAMS
from cuzkd.model import Curve

pytestmark = pytest.mark.parametrize("curve", Curve)

Row = list[tuple[int, int]]
"""(column, value) terms."""


def csr(curve: Curve, rows: list[Row], extra_values: tuple[int, ...] = ()) -> Csr:
    r = PARAMS[curve].r
    terms = [term for row in rows for term in row]
    values = sorted({value % r for _, value in terms} | {value % r for value in extra_values})
    code = {value: i for i, value in enumerate(values)}
    return Csr(
        row_ptr=np.cumsum([0, *map(len, rows)], dtype=np.uint64),
        cols=np.array([column for column, _ in terms], dtype=np.uint32),
        coeffs=np.array([code[value % r] for _, value in terms], dtype=np.uint32),
        values=scalars_from_ints(value * 2**512 % r for value in values),
    )


def naive(curve: Curve, rows: list[Row], z: list[int]) -> list[int]:
    return [sum(value * z[column] for column, value in row) % PARAMS[curve].r for row in rows]


def native(curve: Curve, matrix: Csr, z: list[int], *, threads: int = 2) -> list[int]:
    out = np.full((matrix.rows, 4), 2**64 - 1, dtype=np.uint64)
    witness = scalars_from_ints(z)
    for array in (witness, matrix.row_ptr, matrix.cols, matrix.coeffs, matrix.values):
        array.flags.writeable = False
    evaluate(curve, matrix, witness, out, threads=threads)
    return ints_from_scalars(from_montgomery(curve, out, threads=1))


def random_rows(curve: Curve, count: int, columns: int, seed: int) -> list[Row]:
    """Lengths from none to many, coefficients mostly 1 and -1, some columns twice."""
    source, r = random.Random(seed), PARAMS[curve].r
    values = [1, -1, 1, -1, 2, -2, 1 << 200, source.randrange(r), source.randrange(r), 0]
    return [
        [(source.randrange(columns), source.choice(values)) for _ in range(source.choice([0, 1, 2, 3, 40]))]
        for _ in range(count)
    ]


@pytest.mark.parametrize("rows", [0, 1, 7, 300])
def test_it_is_the_sum_of_each_rows_terms(curve: Curve, rows: int):
    source = random.Random(rows)
    z = [1, *(source.randrange(PARAMS[curve].r) for _ in range(20)), PARAMS[curve].r - 1, 0]
    terms = random_rows(curve, rows, len(z), rows)
    assert native(curve, csr(curve, terms), z) == naive(curve, terms, z)


def test_signs_alone_other_values_alone_and_extremes(curve: Curve):
    r = PARAMS[curve].r
    z = [1, r - 1, r - 2, 5]
    rows: list[Row] = [
        [(1, 1)] * 600,
        [(2, -1)] * 601,
        [(1, r - 2)] * 600,
        [(1, 3), (1, -3)],
        [(3, 1), (3, -1)],
        [(0, -1)],
        [],
        [(0, 0)],
    ]
    assert native(curve, csr(curve, rows), z) == naive(curve, rows, z)
    assert native(curve, csr(curve, rows[3:4]), z) == [0]


def test_threads_share_uneven_rows_and_change_nothing(curve: Curve):
    """More entries than one task takes, most of them in a few rows."""
    source = random.Random(3)
    z = [source.randrange(PARAMS[curve].r) for _ in range(50)]
    long_row: Row = [(source.randrange(50), source.choice([1, -1, 7])) for _ in range(30000)]
    rows = [long_row, *random_rows(curve, 5000, 50, 3), long_row, [], long_row]
    matrix = csr(curve, rows)
    expected = naive(curve, rows, z)
    assert all(native(curve, matrix, z, threads=threads) == expected for threads in (1, 2, 8))


def test_a_value_that_stands_twice_in_the_dictionary_counts_by_value(curve: Curve):
    matrix = csr(curve, [[(0, 1), (1, 1), (1, -1)]])
    doubled = dataclasses.replace(
        matrix,
        values=np.concatenate([matrix.values, matrix.values]),
        coeffs=matrix.coeffs + np.array([2, 0, 2], dtype=np.uint32),
    )
    assert native(curve, doubled, [10, 4]) == native(curve, matrix, [10, 4]) == [10]


def faulty(curve: Curve) -> dict[CsrFault, Csr]:
    """A matrix with one thing wrong for each fault."""
    good = csr(curve, [[(0, 1), (1, 2)], [(2, 3)], []])

    def changed(name: str, index: int, value: object) -> Csr:
        array = getattr(good, name).copy()
        array[index] = value
        return dataclasses.replace(good, **{name: array})

    return {
        CsrFault("row_ptr", 0): changed("row_ptr", 0, 1),
        CsrFault("row_ptr", 2): changed("row_ptr", 1, 3),
        CsrFault("row_ptr", 1): changed("row_ptr", 1, 2**63),
        CsrFault("row_ptr", 3): changed("row_ptr", 3, 2),
        CsrFault("cols", 2): changed("cols", 2, 3),
        CsrFault("coeffs", 1): changed("coeffs", 1, 2**32 - 1),
        CsrFault("values", 1): changed("values", 1, scalars_from_ints([PARAMS[curve].r])[0]),
    }


def test_the_check_names_the_first_fault(curve: Curve):
    assert check_csr(curve, csr(curve, random_rows(curve, 100, 9, 1)), 9, threads=2) is None
    cases = faulty(curve)
    # Row 1 ends before it begins, which the pointer after it shows.
    cases[CsrFault("row_ptr", 2)].row_ptr[2] = 2
    for fault, matrix in cases.items():
        assert check_csr(curve, matrix, 3, threads=2) == fault
    assert check_csr(curve, csr(curve, [[(0, 1)], [(2, 1), (5, 1)]]), 2, threads=2) == CsrFault("cols", 1)


def test_evaluation_itself_refuses_indices_out_of_range(curve: Curve):
    z, out = scalars_from_ints([1, 2, 3]), np.zeros((3, 4), dtype=np.uint64)
    for fault, matrix in faulty(curve).items():
        if fault.array in ("cols", "coeffs") or fault == CsrFault("row_ptr", 1):
            with pytest.raises(ValueError, match="out of range"):
                evaluate(curve, matrix, z, out, threads=1)


def test_hadamard_multiplies_entry_by_entry_and_in_place(curve: Curve):
    source, r = random.Random(2), PARAMS[curve].r
    x, y = ([source.randrange(r) for _ in range(5000)] for _ in range(2))
    a, b = (to_montgomery(curve, scalars_from_ints(v), threads=1) for v in (x, y))
    hadamard(curve, a, b, a, threads=2)
    assert ints_from_scalars(from_montgomery(curve, a, threads=1)) == [
        i * j % r for i, j in zip(x, y, strict=True)
    ]


def test_arrays_of_the_wrong_kind_are_refused(curve: Curve):
    matrix, z = csr(curve, [[(0, 1)], [(1, 1)]]), scalars_from_ints([1, 2])
    out = np.zeros((2, 4), dtype=np.uint64)
    read_only = out.copy()
    read_only.flags.writeable = False
    for message, bad_matrix, bad_z, bad_out in (
        ("out has 3 rows", matrix, z, np.zeros((3, 4), dtype=np.uint64)),
        ("out is a contiguous, writable", matrix, z, read_only),
        ("out overlaps z", matrix, out, out),
        ("uint64", matrix, z.astype(np.int64), out),
        ("row_ptr is", dataclasses.replace(matrix, row_ptr=matrix.row_ptr.astype(np.uint32)), z, out),
        ("cols is", dataclasses.replace(matrix, cols=matrix.cols.astype(np.int64)), z, out),
        ("2 columns and 1 coefficients", dataclasses.replace(matrix, coeffs=matrix.coeffs[:1]), z, out),
    ):
        with pytest.raises(ValueError, match=message):
            evaluate(curve, bad_matrix, bad_z, bad_out, threads=1)
