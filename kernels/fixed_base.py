"""Many multiples of a group's generator, by a table of window multiples; for making keys."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cuzkd.kernels import native
from cuzkd.kernels.curve import Group
from cuzkd.model import Curve


def multiples(
    curve: Curve, group: Group, scalars: npt.NDArray[np.uint64], *, threads: int
) -> npt.NDArray[np.uint64]:
    """scalars[i]·G for the standard generator G; scalars (n, 4) uint64 canonical.

    Returns affine Montgomery points: (n, 2L) in G1, (n, 4L) in G2, zeros for infinity. The time of an entry
    depends on its digits. Source: Brickell, Gordon, McCurley, Wilson, "Fast exponentiation with precomputation".
    """
    if scalars.dtype != np.uint64 or scalars.ndim != 2 or scalars.shape[1] != 4:
        raise ValueError(f"scalars are (n, 4) uint64, not {scalars.shape} {scalars.dtype}")
    limbs = curve.coordinate_bytes // 8
    out = np.empty((len(scalars), (2 if group is Group.G1 else 4) * limbs), dtype=np.uint64)
    if len(scalars):
        native.fixed_base(curve.value, group is Group.G2, np.ascontiguousarray(scalars), out, threads)
    return out
