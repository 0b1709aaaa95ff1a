"""Points in bellperson's uncompressed form: big-endian x then y, c1 before c0, three flags in the top bits."""

from __future__ import annotations

import enum
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cuzkd.kernels import native
from cuzkd.kernels.curve import Array, Group, require_points, width
from cuzkd.model import Curve


class Fault(enum.IntEnum):
    """What makes bytes no finite point."""

    COMPRESSED = 1
    INFINITY = 2
    FLAGS = 3
    COORDINATE = 4

    def __str__(self) -> str:
        return _TEXTS[self]


_TEXTS = {
    Fault.COMPRESSED: "has the flag of a compressed point",
    Fault.INFINITY: "is the identity",
    Fault.FLAGS: "has flags that no finite point has",
    Fault.COORDINATE: "has a coordinate that is not below q",
}


@dataclass(frozen=True, slots=True)
class BadPoint:
    """The first point that could not be read."""

    index: int
    fault: Fault


def point_bytes(curve: Curve, group: Group) -> int:
    """Bytes of one uncompressed point."""
    return 8 * width(curve, group)


def read_points(
    curve: Curve, group: Group, data: npt.NDArray[np.uint8], out: Array, *, threads: int
) -> BadPoint | None:
    """Fill `out` (n, width), affine Montgomery, from n uncompressed points; the first that is no finite point.

    Whether they are on the curve is not looked at. ValueError when `data` has not exactly the bytes of n points.
    """
    require_points(curve, group, out)
    bad = native.read_uncompressed(curve.value, group is Group.G2, data, out, threads)
    return None if bad is None else BadPoint(bad[0], Fault(bad[1]))


def write_points(curve: Curve, group: Group, points: Array, *, threads: int) -> npt.NDArray[np.uint8]:
    """The uncompressed bytes of (n, width) affine Montgomery points."""
    require_points(curve, group, points)
    out = np.empty(8 * points.size, dtype=np.uint8)
    native.write_uncompressed(curve.value, group is Group.G2, points, out, threads)
    return out
