"""The quadratic arithmetic program at a secret point: what every element of a proving key is a multiple of.

With L_i the Lagrange polynomials of the domain, wire s has u_s = sum_i A[i][s]·L_i(tau), v_s and w_s the same
with B and C. (Groth, "On the Size of Pairing-based Non-interactive Arguments", EUROCRYPT 2016, section 3.)
L_i(tau) for all i is one inverse transform of the powers of tau.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cuzkd.kernels.evaluate import Csr, evaluate, hadamard
from cuzkd.kernels.field import from_montgomery, scalars_from_ints, to_montgomery
from cuzkd.kernels.ntt import ntt
from cuzkd.kernels.params import PARAMS
from cuzkd.model import Curve

Scalars = npt.NDArray[np.uint64]


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
    def log_domain(self) -> int:
        """The least power of two that holds the constraints and the binding rows (at least 2)."""
        return max(1, (self.constraints + self.num_public).bit_length())


def powers(curve: Curve, first: int, ratio: int, count: int, threads: int) -> Scalars:
    """first·ratio^i for i < count (a power of two), (count, 4) uint64, Montgomery: by doubling."""
    r = PARAMS[curve].r
    out = np.zeros((count, 4), dtype=np.uint64)
    out[0] = to_montgomery(curve, scalars_from_ints([first % r]), threads=1)[0]
    filled = 1
    while filled < count:
        step = to_montgomery(curve, scalars_from_ints([pow(ratio, filled, r)]), threads=1)
        factor = np.ascontiguousarray(np.broadcast_to(step, (filled, 4)))
        hadamard(curve, out[:filled], factor, out[filled : 2 * filled], threads=threads)
        filled *= 2
    return out


def lagrange(curve: Curve, tau: int, log_n: int, scale: int, threads: int) -> Scalars:
    """scale·L_i(tau) over the domain of size 2^log_n, in its natural order; (2^log_n, 4), canonical."""
    values = powers(curve, scale, tau, 1 << log_n, threads)
    ntt(curve, values, inverse=True, threads=threads)
    return from_montgomery(curve, values, threads=threads)


def entries_per_row(matrix: Csr) -> npt.NDArray[np.int64]:
    """How many entries each row has, (rows,)."""
    ends = matrix.row_ptr.astype(np.int64)
    return ends[1:] - ends[:-1]


def transpose(matrix: Csr, columns: int) -> Csr:
    """The same entries by columns."""
    rows = np.repeat(np.arange(len(matrix.row_ptr) - 1, dtype=np.uint32), entries_per_row(matrix))
    order = np.argsort(matrix.cols, kind="stable")
    row_ptr = np.zeros(columns + 1, dtype=np.uint64)
    np.cumsum(np.bincount(matrix.cols, minlength=columns), out=row_ptr[1:])
    return Csr(
        row_ptr, np.ascontiguousarray(rows[order]), np.ascontiguousarray(matrix.coeffs[order]), matrix.values
    )


def scaled(curve: Curve, matrix: Csr, factor: int) -> Csr:
    """factor·matrix: only the dictionary changes."""
    table = to_montgomery(curve, scalars_from_ints([factor]), threads=1)
    out = np.empty_like(matrix.values)
    hadamard(curve, matrix.values, np.ascontiguousarray(np.broadcast_to(table, out.shape)), out, threads=1)
    return Csr(matrix.row_ptr, matrix.cols, matrix.coeffs, out)


def added(first: Csr, second: Csr) -> Csr:
    """first + second: each row holds the entries of both."""
    lengths = [entries_per_row(m) for m in (first, second)]
    owner = np.concatenate([np.repeat(np.arange(len(n)), n) for n in lengths])
    order = np.argsort(owner, kind="stable")
    row_ptr = np.zeros(len(lengths[0]) + 1, dtype=np.uint64)
    np.cumsum(lengths[0] + lengths[1], out=row_ptr[1:])
    offset = np.uint32(len(first.values))
    return Csr(
        row_ptr,
        np.ascontiguousarray(np.concatenate([first.cols, second.cols])[order]),
        np.ascontiguousarray(np.concatenate([first.coeffs, second.coeffs + offset])[order]),
        np.concatenate([first.values, second.values]),
    )


def at_point(curve: Curve, by_wire: Csr, lagrange_values: Scalars, threads: int) -> Scalars:
    """sum_i M[i][s]·L_i for every wire s, given the matrix by wires; (wires, 4), canonical."""
    out = np.zeros((len(by_wire.row_ptr) - 1, 4), dtype=np.uint64)
    evaluate(curve, by_wire, lagrange_values, out, threads=threads)
    return from_montgomery(curve, out, threads=threads)
