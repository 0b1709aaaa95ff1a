"""Constraint systems as three matrices by rows, public inputs bound: what keys are made from and held to.

Variables are numbered alike in all formats: first the constant one, then the public inputs, then the others (outputs
first among the public ones of circom; bellperson calls one and the public ones "inputs", the others "aux"). Rows are
the constraints in their order; then A alone has a row more for each of one and the public inputs, in that order, which
holds that variable. They make public inputs' polynomials independent of what the constraints say.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from cuzkd.formats.r1cs import R1cs
from cuzkd.kernels.evaluate import Csr, coefficient_form
from cuzkd.kernels.field import ints_from_scalars, scalars_from_ints
from cuzkd.kernels.params import PARAMS
from cuzkd.model import Curve

_ROWS_AT_ONCE = 1 << 20


@dataclass(frozen=True, slots=True)
class ConstraintSystem:
    """A, B, C by rows. `a` has one more row a public input and the one wire, which bind them; b and c do not."""

    curve: Curve
    num_vars: int
    num_public: int
    constraints: int
    a: Csr
    b: Csr
    c: Csr

    @property
    def rows(self) -> int:
        """Constraints and binding rows."""
        return self.constraints + self.num_public + 1

    @property
    def log_domain(self) -> int:
        """The least power of two that holds the constraints and the binding rows (at least 2)."""
        return max(1, (self.constraints + self.num_public).bit_length())

    @property
    def aux(self) -> int:
        """Variables that are neither one nor public."""
        return self.num_vars - self.num_public - 1

    def merged(self) -> ConstraintSystem:
        """The same system, each variable at most once in a row and never with zero."""
        a, b, c = (merged(self.curve, matrix) for matrix in (self.a, self.b, self.c))
        return replace(self, a=a, b=b, c=c)


def constraint_system(r1cs: R1cs, *, threads: int = 1) -> ConstraintSystem:
    """The system of an R1CS file, its public wires bound."""
    curve = r1cs.curve
    a, b, c = (terms.matrix(curve, threads=threads) for terms in (r1cs.a, r1cs.b, r1cs.c))
    return ConstraintSystem(
        curve=curve,
        num_vars=r1cs.num_vars,
        num_public=r1cs.num_public,
        constraints=r1cs.constraints,
        a=with_binding_rows(curve, a, r1cs.num_public),
        b=b,
        c=c,
    )


def with_binding_rows(curve: Curve, a: Csr, num_public: int) -> Csr:
    """A and, below it, a row for the one wire and each public one."""
    wires = np.arange(num_public + 1, dtype=np.uint32)
    one = coefficient_form(curve, scalars_from_ints([1]), threads=1)
    return Csr(
        np.concatenate([a.row_ptr, a.row_ptr[-1] + 1 + wires.astype(np.uint64)]),
        np.concatenate([a.cols, wires]),
        np.concatenate([a.coeffs, np.full(len(wires), len(a.values), dtype=np.uint32)]),
        np.concatenate([a.values, one]),
    )


def with_empty_rows(matrix: Csr, rows: int) -> Csr:
    """The matrix with empty rows below, `rows` in all."""
    more = np.full(rows - matrix.rows, matrix.row_ptr[-1], dtype=np.uint64)
    return replace(matrix, row_ptr=np.concatenate([matrix.row_ptr, more]))


def occurring(matrix: Csr, num_vars: int) -> npt.NDArray[np.bool_]:
    """Which variables a merged matrix has an entry of, (num_vars,)."""
    found = np.zeros(num_vars, dtype=np.bool_)
    found[matrix.cols] = True
    return found


def nonzero_rows(scalars: npt.NDArray[np.uint64]) -> npt.NDArray[np.bool_]:
    """Which scalars of an (n, 4) array are not zero, (n,)."""
    found: npt.NDArray[np.bool_] = np.bitwise_or.reduce(scalars, axis=1) != 0
    return found


def merged(curve: Curve, matrix: Csr) -> Csr:
    """The matrix with a row's entries of one column added up, and without zeros; as it is if it has neither."""
    nonzero = nonzero_rows(matrix.values)
    parts, extra, changed = [], list[int](), not bool(nonzero[matrix.coeffs].all())
    for begin in range(0, matrix.rows, _ROWS_AT_ONCE):
        part = _Part.of(matrix, begin, min(begin + _ROWS_AT_ONCE, matrix.rows))
        repeated = part.repeated()
        changed = changed or bool(repeated.any())
        parts.append((part, repeated))
    if not changed:
        return matrix
    rows, cols, codes = zip(
        *(part.merge(curve, matrix, repeated, extra) for part, repeated in parts), strict=True
    )
    values = np.concatenate([matrix.values, scalars_from_ints(extra)])
    row, code = np.concatenate(rows), np.concatenate(codes)
    keep = nonzero_rows(values)[code]
    row_ptr = np.zeros(matrix.rows + 1, dtype=np.uint64)
    np.cumsum(np.bincount(row[keep], minlength=matrix.rows), out=row_ptr[1:])
    return Csr(row_ptr, np.concatenate(cols)[keep], code[keep], values)


@dataclass(frozen=True, slots=True)
class _Part:
    """The entries of some rows, sorted by row and column."""

    row: npt.NDArray[np.int64]
    col: npt.NDArray[np.uint32]
    code: npt.NDArray[np.uint32]

    @classmethod
    def of(cls, matrix: Csr, begin: int, end: int) -> _Part:
        ends = matrix.row_ptr[begin : end + 1].astype(np.int64)
        row = np.repeat(np.arange(begin, end), np.diff(ends))
        place = slice(ends[0], ends[-1])
        col, code = matrix.cols[place], matrix.coeffs[place]
        order = np.lexsort((col, row))
        return cls(row[order], col[order], code[order])

    def repeated(self) -> npt.NDArray[np.bool_]:
        """Which entries have the row and column of the entry before."""
        same = (self.row[1:] == self.row[:-1]) & (self.col[1:] == self.col[:-1])
        return np.concatenate([np.zeros(min(1, len(self.row)), dtype=np.bool_), same])

    def merge(
        self, curve: Curve, matrix: Csr, repeated: npt.NDArray[np.bool_], extra: list[int]
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint32], npt.NDArray[np.uint32]]:
        """Row, column and code of each pair of row and column; new values are appended to `extra`."""
        first = np.flatnonzero(~repeated)
        code = self.code[first].copy()
        length = np.diff(np.append(first, len(self.row)))
        for group in np.flatnonzero(length > 1):
            codes = self.code[first[group] : first[group] + length[group]]
            code[group] = len(matrix.values) + len(extra)
            extra.append(sum(ints_from_scalars(matrix.values[codes])) % PARAMS[curve].r)
        return self.row[first], self.col[first], code
