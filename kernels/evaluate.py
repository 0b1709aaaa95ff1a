"""Sparse matrix times witness, and products by entries: the constraint evaluations of a proof."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from cuzkd.kernels import native
from cuzkd.kernels.field import require_scalars, to_montgomery
from cuzkd.model import Curve

Array = npt.NDArray[np.uint64]
FaultyArray = Literal["row_ptr", "cols", "coeffs", "values"]


@dataclass(frozen=True, slots=True, eq=False)
class Csr:
    """A sparse matrix over Fr by rows, its coefficients numbered by a dictionary.

    Row i has the entries e in row_ptr[i] … row_ptr[i + 1] - 1, each values[coeffs[e]] at column cols[e]; a
    column that occurs twice in a row adds up. A value v is stored as v·2^512 mod r, as a snarkjs key has
    it.
    """

    row_ptr: Array
    """(rows + 1,) uint64, from 0 to the number of entries, never falling."""
    cols: npt.NDArray[np.uint32]
    """(entries,)"""
    coeffs: npt.NDArray[np.uint32]
    """(entries,) indices into `values`."""
    values: Array
    """(k, 4) uint64, each below r."""

    @property
    def rows(self) -> int:
        """Rows of the matrix."""
        return len(self.row_ptr) - 1

    @property
    def entries(self) -> int:
        """Stored coefficients."""
        return len(self.cols)


@dataclass(frozen=True, slots=True)
class CsrFault:
    """The first thing wrong with a matrix: its array, and the index in it."""

    array: FaultyArray
    index: int


_ARRAYS: tuple[FaultyArray, ...] = ("row_ptr", "cols", "coeffs", "values")


def coefficient_form(curve: Curve, values: Array, *, threads: int) -> Array:
    """Plain v to v·2^512 mod r, the form in which matrices hold coefficients; (k, 4) uint64, canonical."""
    return to_montgomery(curve, to_montgomery(curve, values, threads=threads), threads=threads)


def check_csr(curve: Curve, matrix: Csr, num_vars: int, *, threads: int) -> CsrFault | None:
    """What makes `matrix` no matrix of `num_vars` columns, or None.

    In this order: a row pointer out of order or of range, a column or a coefficient's number that does not
    exist, a value that is not below r. ValueError for arrays of other types or shapes.
    """
    _require_csr(matrix)
    fault = native.check_csr(
        curve.value, matrix.row_ptr, matrix.cols, matrix.coeffs, matrix.values, num_vars, threads
    )
    return None if fault is None else CsrFault(_ARRAYS[fault[0]], fault[1])


def evaluate(curve: Curve, matrix: Csr, z: Array, out: Array, *, threads: int) -> None:
    """Write matrix·z into `out`.

    `z` is (num_vars, 4), canonical; `out` (rows, 4) becomes Montgomery elements. Arrays are uint64 and
    C-contiguous; all but `out` may be read-only, and `out` overlaps none of them. ValueError for others,
    and for an index out of range, after which `out` holds anything; `check_csr` finds it beforehand and
    says where.

    Coefficients 1 and -1 cost an addition, and so do values 0 and 1; all else a product. Threads share the entries
    evenly.
    """
    _require_csr(matrix)
    require_scalars(z)
    _require_written(out, matrix.rows)
    if not z.flags.c_contiguous:
        raise ValueError("z is contiguous")
    if np.may_share_memory(out, z):
        raise ValueError("out overlaps z")
    native.evaluate(curve.value, matrix.row_ptr, matrix.cols, matrix.coeffs, matrix.values, z, out, threads)


def evaluate_constraints(
    curve: Curve,
    a: Csr,
    b: Csr,
    c: Csr | None,
    z: Array,
    out: tuple[Array, Array, Array],
    *,
    threads: int,
) -> int | None:
    """Write A·z, B·z and C·z into the three arrays `out`, (rows, 4) each, and give the first row that z breaks.

    That is the first where the third is not the product of the others. C may have fewer rows than A and B: the others
    are zero. Without C the third array becomes the products, and None is returned. Arrays and errors are as in
    `evaluate`; one sweep, so it costs less than three.
    """
    require_scalars(z)
    if not z.flags.c_contiguous:
        raise ValueError("z is contiguous")
    if b.rows != a.rows or (c is not None and c.rows > a.rows):
        raise ValueError(f"A has {a.rows} rows, B {b.rows}, C {c.rows if c is not None else 'none'}")
    for vector in out:
        _require_written(vector, a.rows)
        if np.may_share_memory(vector, z):
            raise ValueError("out overlaps z")
    return native.evaluate_constraints(
        curve.value, _arrays(a), _arrays(b), None if c is None else _arrays(c), z, *out, threads
    )


def _arrays(matrix: Csr) -> tuple[Array, npt.NDArray[np.uint32], npt.NDArray[np.uint32], Array]:
    _require_csr(matrix)
    return matrix.row_ptr, matrix.cols, matrix.coeffs, matrix.values


def hadamard(curve: Curve, a: Array, b: Array, out: Array, *, threads: int) -> None:
    """out[i] = a[i]·b[i] for (n, 4) C-contiguous arrays of Montgomery elements; `out` may be a or b."""
    for vector in (a, b):
        require_scalars(vector)
        if not vector.flags.c_contiguous:
            raise ValueError("a and b are contiguous")
    _require_written(out, len(a))
    if len(b) != len(a):
        raise ValueError(f"a has {len(a)} rows and b {len(b)}")
    native.hadamard(curve.value, a, b, out, threads)


_ROWS_AT_ONCE = 1 << 16


def first_broken(curve: Curve, a: Array, b: Array, c: Array, *, threads: int) -> int | None:
    """The first row where a∘b is not c, (n, 4) arrays of Montgomery elements; in pieces, without a fourth vector."""
    product = np.empty((min(_ROWS_AT_ONCE, len(a)), 4), dtype=np.uint64)
    for start in range(0, len(a), _ROWS_AT_ONCE):
        rows = slice(start, start + _ROWS_AT_ONCE)
        piece = product[: len(a[rows])]
        hadamard(curve, a[rows], b[rows], piece, threads=threads)
        if not np.array_equal(piece, c[rows]):
            return start + int((piece != c[rows]).any(axis=1).argmax())
    return None


def _require_csr(matrix: Csr) -> None:
    require_scalars(matrix.values)
    if matrix.row_ptr.dtype != np.uint64 or matrix.row_ptr.ndim != 1 or len(matrix.row_ptr) == 0:
        raise ValueError("row_ptr is (rows + 1,) uint64")
    for name, indices in (("cols", matrix.cols), ("coeffs", matrix.coeffs)):
        if indices.dtype != np.uint32 or indices.ndim != 1:
            raise ValueError(f"{name} is (entries,) uint32")
    if len(matrix.cols) != len(matrix.coeffs):
        raise ValueError(f"{len(matrix.cols)} columns and {len(matrix.coeffs)} coefficients")
    arrays = (matrix.row_ptr, matrix.cols, matrix.coeffs, matrix.values)
    if not all(array.flags.c_contiguous for array in arrays):
        raise ValueError("the matrix's arrays are contiguous")


def _require_written(out: Array, rows: int) -> None:
    require_scalars(out)
    if len(out) != rows:
        raise ValueError(f"out has {len(out)} rows, not {rows}")
    if not (out.flags.c_contiguous and out.flags.writeable):
        raise ValueError("out is a contiguous, writable array")
