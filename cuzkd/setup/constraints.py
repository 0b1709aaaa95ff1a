"""From an R1CS file's terms to the matrices of a set-up: coefficients converted, public wires bound."""

from __future__ import annotations

import numpy as np

from cuzkd.formats.r1cs import R1cs, Terms
from cuzkd.kernels.evaluate import Csr
from cuzkd.kernels.field import scalars_from_ints, to_montgomery
from cuzkd.model import Curve
from cuzkd.setup.qap import ConstraintSystem, Scalars


def coefficient_form(curve: Curve, values: Scalars) -> Scalars:
    """Plain v to v·R² mod r, the form in which matrices hold coefficients."""
    return to_montgomery(curve, to_montgomery(curve, values, threads=1), threads=1)


def constraint_system(r1cs: R1cs) -> ConstraintSystem:
    """The system with one row more in A for wire 0 and each public wire, which binds the public inputs."""
    curve = r1cs.curve

    def matrix(terms: Terms) -> Csr:
        return Csr(terms.row_ptr, terms.cols, terms.codes, coefficient_form(curve, terms.values))

    return ConstraintSystem(
        curve=curve,
        num_vars=r1cs.num_vars,
        num_public=r1cs.num_public,
        constraints=r1cs.constraints,
        a=_with_binding_rows(curve, matrix(r1cs.a), r1cs.num_public),
        b=matrix(r1cs.b),
        c=matrix(r1cs.c),
    )


def _with_binding_rows(curve: Curve, a: Csr, num_public: int) -> Csr:
    wires = np.arange(num_public + 1, dtype=np.uint32)
    one = coefficient_form(curve, scalars_from_ints([1]))
    return Csr(
        np.concatenate([a.row_ptr, a.row_ptr[-1] + 1 + wires.astype(np.uint64)]),
        np.concatenate([a.cols, wires]),
        np.concatenate([a.coeffs, np.full(len(wires), len(a.values), dtype=np.uint32)]),
        np.concatenate([a.values, one]),
    )
