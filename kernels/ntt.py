"""Number-theoretic transforms over the scalar field."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cuzkd.kernels import native
from cuzkd.kernels.field import require_scalars
from cuzkd.kernels.params import PARAMS
from cuzkd.model import Curve, Flavour

Array = npt.NDArray[np.uint64]


def ntt(
    curve: Curve,
    values: Array,
    *,
    inverse: bool = False,
    flavour: Flavour = Flavour.SNARKJS,
    threads: int,
) -> None:
    """Transform `values` in place: X_j = sum x_i·w^(i·j), natural order in and out.

    `values` is a writable C-contiguous (n, 4) uint64 array of Montgomery elements below r, n = 2^k, k up to
    the field's two-adicity (28 on BN254, 32 on BLS12-381); w = root^(2^(two_adicity - k)) with `root` of
    `PARAMS`, or its `bellperson_root` for that flavour. The inverse takes 1/w and divides by n. Twiddles are
    made once for each root and kept: n/2 elements of the largest n so far. ValueError for other arrays and
    sizes.

    Source: Cooley-Tukey butterflies to bit-reversed order (Chu, George, "Inside the FFT black box"), radix
    4.
    """
    require_scalars(values)
    n = len(values)
    if n == 0 or n & (n - 1):
        raise ValueError(f"{n} is no power of two")
    if n.bit_length() - 1 > PARAMS[curve].two_adicity:
        raise ValueError(f"{curve} has no root of unity of order {n}")
    if not (values.flags.c_contiguous and values.flags.writeable):
        raise ValueError("values are transformed in place: a contiguous, writable array")
    native.ntt(curve.value, values, inverse, flavour is Flavour.BELLPERSON, threads)
