"""The quadratic arithmetic program at a secret point: what every element of a proving key is a multiple of.

With L_i the Lagrange polynomials of the domain, wire s has u_s = sum_i A[i][s]·L_i(tau), v_s and w_s the same
with B and C. (Groth, "On the Size of Pairing-based Non-interactive Arguments", EUROCRYPT 2016, section 3.)
L_i(tau) for all i is one inverse transform of the powers of tau.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cuzkd.formats.system import ConstraintSystem
from cuzkd.kernels.evaluate import Csr, coefficient_form, evaluate, hadamard
from cuzkd.kernels.field import from_montgomery, scalars_from_ints, to_montgomery
from cuzkd.kernels.ntt import ntt
from cuzkd.kernels.params import PARAMS
from cuzkd.model import Curve, Flavour

Scalars = npt.NDArray[np.uint64]


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


def lagrange(
    curve: Curve, tau: int, log_n: int, scale: int, threads: int, flavour: Flavour = Flavour.SNARKJS
) -> Scalars:
    """scale·L_i(tau) over the domain of size 2^log_n, in its natural order; (2^log_n, 4), canonical."""
    values = powers(curve, scale, tau, 1 << log_n, threads)
    ntt(curve, values, inverse=True, flavour=flavour, threads=threads)
    return from_montgomery(curve, values, threads=threads)


def transpose(matrix: Csr, columns: int) -> Csr:
    """The same entries by columns."""
    ends = matrix.row_ptr.astype(np.int64)
    per_row = ends[1:] - ends[:-1]
    rows = np.repeat(np.arange(matrix.rows, dtype=np.uint32), per_row)
    order = np.argsort(matrix.cols, kind="stable")
    row_ptr = np.zeros(columns + 1, dtype=np.uint64)
    np.cumsum(np.bincount(matrix.cols, minlength=columns), out=row_ptr[1:])
    return Csr(
        row_ptr, np.ascontiguousarray(rows[order]), np.ascontiguousarray(matrix.coeffs[order]), matrix.values
    )


def at_point(curve: Curve, matrix: Csr, lagrange_values: Scalars, num_vars: int, threads: int) -> Scalars:
    """sum_i M[i][s]·L_i for every wire s; (num_vars, 4), canonical."""
    out = np.zeros((num_vars, 4), dtype=np.uint64)
    evaluate(curve, transpose(matrix, num_vars), lagrange_values, out, threads=threads)
    return from_montgomery(curve, out, threads=threads)


@dataclass(frozen=True, slots=True)
class Qap:
    """u, v, w of every wire at tau, (num_vars, 4) canonical."""

    curve: Curve
    u: Scalars
    v: Scalars
    w: Scalars

    @classmethod
    def at(cls, system: ConstraintSystem, tau: int, flavour: Flavour, threads: int) -> Qap:
        """The polynomials of a system's wires at tau, over the flavour's domain."""
        curve = system.curve
        values = lagrange(curve, tau, system.log_domain, 1, threads, flavour)
        u, v, w = (
            at_point(curve, matrix, values, system.num_vars, threads)
            for matrix in (system.a, system.b, system.c)
        )
        return cls(curve, u, v, w)

    def combined(self, alpha: int, beta: int, divisor: int, wires: slice, threads: int) -> Scalars:
        """(beta·u_s + alpha·v_s + w_s)/divisor for some wires, canonical."""
        r = PARAMS[self.curve].r
        inverse = pow(divisor, -1, r)
        parts = [part[wires] for part in (self.u, self.v, self.w)]
        count = len(parts[0])
        # Each row is a sum over the three vectors, one below the other.
        place = np.arange(count, dtype=np.uint32)
        matrix = Csr(
            np.arange(0, 3 * count + 1, 3, dtype=np.uint64),
            np.stack([place, place + np.uint32(count), place + np.uint32(2 * count)], axis=1).reshape(-1),
            np.tile(np.arange(3, dtype=np.uint32), count),
            coefficient_form(
                self.curve, scalars_from_ints(k * inverse % r for k in (beta, alpha, 1)), threads=1
            ),
        )
        out = np.empty((count, 4), dtype=np.uint64)
        evaluate(self.curve, matrix, np.concatenate(parts), out, threads=threads)
        return from_montgomery(self.curve, out, threads=threads)
