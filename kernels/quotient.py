"""The quotient of a Groth16 proof: values at the odd coset for snarkjs keys, coefficients for bellperson's."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cuzkd.kernels import native
from cuzkd.kernels.field import require_scalars
from cuzkd.kernels.params import PARAMS, SCALAR_LIMBS
from cuzkd.model import Curve, Flavour

Array = npt.NDArray[np.uint64]

SCRATCH_VECTORS = 2
"""Vectors of the domain's size that a quotient needs beside `out`."""


def odd_coset_quotient(
    curve: Curve,
    a: Array,
    b: Array,
    c: Array,
    log_domain: int,
    out: Array,
    scratch: Array | None = None,
    *,
    threads: int,
) -> None:
    """Write p_i = a'_i·b'_i - c'_i, canonical, into `out` (n, 4), n = 2^log_domain.

    a, b, c are C-contiguous (rows, 4) arrays of Montgomery elements below r, rows ≤ n: the values at w_n^i
    of three polynomials, zero from `rows` on. a' are the values of the first at the odd points w_2n^(2i+1),
    and so on. Where a·b = c on all rows, the key's H bases take the p_i as their scalars: nothing is
    divided.

    `scratch`, of (2n, 4) or more rows, saves allocating 64 n bytes; what it held is lost. `out` and
    `scratch` overlap none of the others. ValueError for other arrays, and where the field has no 2n-th root
    of unity (log_domain = 28 on BN254, 32 on BLS12-381). Six transforms of size n, without bit reversals.
    """
    _quotient(curve, a, b, c, log_domain, out, scratch, Flavour.SNARKJS, threads)


def monomial_quotient(
    curve: Curve,
    a: Array,
    b: Array,
    c: Array,
    log_domain: int,
    out: Array,
    scratch: Array | None = None,
    *,
    threads: int,
) -> None:
    """Write the coefficients h_0 … h_(n-1), canonical, of h = (A·B - C)/(X^n - 1) into `out` (n, 4).

    The arrays are those of `odd_coset_quotient`, but row i stands at the power i of bellperson's root. Where
    a·b = c on all rows, h_(n-1) is zero: a bellperson key has no base for it. Seven transforms of size n.
    """
    _quotient(curve, a, b, c, log_domain, out, scratch, Flavour.BELLPERSON, threads)


def _quotient(
    curve: Curve,
    a: Array,
    b: Array,
    c: Array,
    log_domain: int,
    out: Array,
    scratch: Array | None,
    flavour: Flavour,
    threads: int,
) -> None:
    two_adicity = PARAMS[curve].two_adicity
    if not 0 <= log_domain < two_adicity:
        raise ValueError(
            f"a domain of 2^{log_domain} needs a root of unity of order 2^{log_domain + 1}; "
            f"{curve} has them up to 2^{two_adicity}"
        )
    n = 1 << log_domain
    _check_vectors(a, b, c, n)
    if scratch is None:
        scratch = np.empty((SCRATCH_VECTORS * n, SCALAR_LIMBS), dtype=np.uint64)
    _check_written(out, n, "out")
    _check_written(scratch, None, "scratch")
    if len(scratch) < SCRATCH_VECTORS * n:
        raise ValueError(f"scratch has {len(scratch)} rows, and {SCRATCH_VECTORS * n} are needed")
    written = (out, scratch)
    if any(np.may_share_memory(w, x) for w in written for x in (a, b, c)) or np.may_share_memory(*written):
        raise ValueError("out and scratch overlap another array")
    bellperson = flavour is Flavour.BELLPERSON
    used = scratch[: SCRATCH_VECTORS * n]
    native.quotient(curve.value, a, b, c, log_domain, out, used, bellperson, threads)


def _check_vectors(a: Array, b: Array, c: Array, n: int) -> None:
    for vector in (a, b, c):
        require_scalars(vector)
        if not vector.flags.c_contiguous:
            raise ValueError("a, b and c are contiguous")
    if not len(a) == len(b) == len(c):
        raise ValueError(f"a, b and c have {len(a)}, {len(b)} and {len(c)} rows")
    if len(a) > n:
        raise ValueError(f"{len(a)} rows do not fit a domain of {n}")


def _check_written(array: Array, rows: int | None, name: str) -> None:
    require_scalars(array)
    if rows is not None and len(array) != rows:
        raise ValueError(f"{name} has {len(array)} rows, not {rows}")
    if not (array.flags.c_contiguous and array.flags.writeable):
        raise ValueError(f"{name} is a contiguous, writable array")
