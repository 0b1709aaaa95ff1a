"""Many multiples of one point, by a table of window multiples; for making keys."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cuzkd.kernels import native
from cuzkd.kernels.curve import Group, encode, require_points, width
from cuzkd.kernels.params import PARAMS
from cuzkd.model import Curve

Array = npt.NDArray[np.uint64]


def generator(curve: Curve, group: Group) -> Array:
    """The standard generator of a group, (1, width) affine Montgomery."""
    params = PARAMS[curve]
    return encode(curve, group, [params.g1 if group is Group.G1 else params.g2])


def multiples(
    curve: Curve, group: Group, scalars: Array, *, base: Array | None = None, threads: int
) -> Array:
    """scalars[i]·base; `base` (1, width) is the standard generator if not given; scalars (n, 4) uint64 canonical.

    Returns affine Montgomery points: (n, 2L) in G1, (n, 4L) in G2, zeros for infinity. The time of an entry
    depends on its digits. Sources: Brickell, Gordon, McCurley, Wilson, "Fast exponentiation with
    precomputation", EUROCRYPT 1992; additions that share an inversion, Montgomery 1987.
    """
    if scalars.dtype != np.uint64 or scalars.ndim != 2 or scalars.shape[1] != 4:
        raise ValueError(f"scalars are (n, 4) uint64, not {scalars.shape} {scalars.dtype}")
    base = generator(curve, group) if base is None else base
    require_points(curve, group, base)
    out = np.empty((len(scalars), width(curve, group)), dtype=np.uint64)
    if len(scalars):
        native.fixed_base(curve.value, group is Group.G2, base, np.ascontiguousarray(scalars), out, threads)
    return out
