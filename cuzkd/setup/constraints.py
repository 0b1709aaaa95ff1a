"""From an R1CS file's terms to the matrices of a set-up: coefficients converted, public wires bound."""

from __future__ import annotations

import numpy as np

from cuzkd.formats.r1cs import R1cs
from cuzkd.kernels.evaluate import Csr, coefficient_form
from cuzkd.kernels.field import scalars_from_ints
from cuzkd.model import Curve
from cuzkd.setup.qap import ConstraintSystem


def constraint_system(r1cs: R1cs) -> ConstraintSystem:
    """The system with one row more in A for wire 0 and each public wire, which binds the public inputs."""
    curve = r1cs.curve
    a, b, c = (terms.matrix(curve, threads=1) for terms in (r1cs.a, r1cs.b, r1cs.c))
    return ConstraintSystem(
        curve=curve,
        num_vars=r1cs.num_vars,
        num_public=r1cs.num_public,
        constraints=r1cs.constraints,
        a=_with_binding_rows(curve, a, r1cs.num_public),
        b=b,
        c=c,
    )


def _with_binding_rows(curve: Curve, a: Csr, num_public: int) -> Csr:
    wires = np.arange(num_public + 1, dtype=np.uint32)
    one = coefficient_form(curve, scalars_from_ints([1]), threads=1)
    return Csr(
        np.concatenate([a.row_ptr, a.row_ptr[-1] + 1 + wires.astype(np.uint64)]),
        np.concatenate([a.cols, wires]),
        np.concatenate([a.coeffs, np.full(len(wires), len(a.values), dtype=np.uint32)]),
        np.concatenate([a.values, one]),
    )
