"""Multi-scalar multiplication in G1 and G2."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cuzkd.kernels import native
from cuzkd.kernels.curve import Group, require_points, width
from cuzkd.kernels.field import require_scalars
from cuzkd.model import Curve

Array = npt.NDArray[np.uint64]


def msm(curve: Curve, group: Group, bases: Array, scalars: Array, *, threads: int) -> Array:
    """sum scalars[i]·bases[i] as a (1, width) array, affine Montgomery, zeros for infinity.

    `bases` is (n, 2L) in G1 and (n, 4L) in G2, points of the subgroup of order r or infinity, as the key's
    check found them: for others the sum is meaningless. `scalars` is (n, 4), canonical. Both are uint64,
    C-contiguous, may be read-only, n < 2^30, and n = 0 gives infinity. ValueError for other arrays, and for
    a scalar that is not below r.

    Time depends on the scalars: zeros cost nothing, and r - 1, ones and other small numbers little. Beside the
    inputs it takes about 140 (G1 of BN254) to 200 bytes a point (G2 of BLS12-381), and the buckets: 2^15 points
    for each of 8 windows at n = 2^17.

    Sources: buckets, Pippenger 1976 and Bernstein et al., INDOCRYPT 2012; half-length scalars by
    endomorphism, Gallant, Lambert, Vanstone, CRYPTO 2001; additions that share an inversion, Montgomery
    1987.
    """
    require_points(curve, group, bases)
    require_scalars(scalars)
    if len(scalars) != len(bases):
        raise ValueError(f"{len(bases)} bases and {len(scalars)} scalars")
    if not scalars.flags.c_contiguous:
        raise ValueError("scalars are not contiguous")
    out = np.empty((1, width(curve, group)), dtype=np.uint64)
    native.msm(curve.value, group is Group.G2, bases, scalars, out, threads)
    return out


def give_back_memory() -> None:
    """Return freed memory to the system, in milliseconds: allocators keep what each thread's last sum was made in."""
    native.give_back_memory()
