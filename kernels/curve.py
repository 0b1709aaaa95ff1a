"""Points of both groups as arrays: encoding, checks, and small exact linear combinations.

A G1 point is a row of 2L uint64 limbs, x then y; a G2 point one of 4L, x.c0, x.c1, y.c0, y.c1; each coordinate in
Montgomery form, least limb first, all zeros for infinity: the layout of a snarkjs key. L is 4 or 6.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from cuzkd.kernels import native
from cuzkd.kernels.params import PARAMS, SCALAR_LIMBS
from cuzkd.model import G1, G2, Curve

Array = npt.NDArray[np.uint64]


class Group(enum.Enum):
    """Which of a pairing's two source groups."""

    G1 = "g1"
    G2 = "g2"


def width(curve: Curve, group: Group) -> int:
    """Limbs of one affine point."""
    return PARAMS[curve].limbs * (2 if group is Group.G1 else 4)


def _coordinates(point: G1 | G2) -> Iterator[int]:
    if point is None:
        return
    for coordinate in point:
        if isinstance(coordinate, int):
            yield coordinate
        else:
            yield from coordinate


def encode(curve: Curve, group: Group, points: Sequence[G1 | G2]) -> Array:
    """The (n, width) array of points given in affine canonical coordinates, None for infinity.

    ValueError when a coordinate is not in 0 … q - 1 or a point is of the other group; the curve's equation is not
    checked.
    """
    params = PARAMS[curve]
    limbs = width(curve, group)
    data = bytearray()
    for point in points:
        values = list(_coordinates(point)) or [0] * (limbs // params.limbs)
        if len(values) * params.limbs != limbs:
            raise ValueError(f"{len(values)} coordinates are no {group.name} point")
        for value in values:
            if not 0 <= value < params.q:
                raise ValueError("a coordinate is not in the base field")
            data += (value * params.radix_q % params.q).to_bytes(8 * params.limbs, "little")
    return np.frombuffer(bytes(data), dtype="<u8").reshape(len(points), limbs).astype(np.uint64)


def decode(curve: Curve, group: Group, points: Array) -> list[G1 | G2]:
    """The inverse of `encode` for an (n, width) array; ValueError for another shape."""
    params = PARAMS[curve]
    require_points(curve, group, points)
    inverse_radix = pow(params.radix_q, -1, params.q)
    size = 8 * params.limbs
    decoded: list[G1 | G2] = []
    for row in points:
        data = row.astype("<u8").tobytes()
        c = [
            int.from_bytes(data[i : i + size], "little") * inverse_radix % params.q
            for i in range(0, len(data), size)
        ]
        if not any(c):
            decoded.append(None)
        elif group is Group.G1:
            decoded.append((c[0], c[1]))
        else:
            decoded.append(((c[0], c[1]), (c[2], c[3])))
    return decoded


def require_points(curve: Curve, group: Group, points: Array) -> None:
    """ValueError unless `points` is a C-contiguous (n, width) array of uint64."""
    limbs = width(curve, group)
    if points.dtype != np.uint64 or points.ndim != 2 or points.shape[1] != limbs:
        raise ValueError(
            f"{group.name} points on {curve} are (n, {limbs}) uint64, not {points.shape} {points.dtype}"
        )
    if not points.flags.c_contiguous:
        raise ValueError("points are not contiguous")


def first_off_curve(curve: Curve, group: Group, points: Array, *, threads: int) -> int | None:
    """The index of the first point with a coordinate ≥ q or off its curve (infinity is on it), or None."""
    require_points(curve, group, points)
    return native.first_off_curve(curve.value, group is Group.G2, points, threads)


def first_outside_subgroup(curve: Curve, group: Group, points: Array, *, threads: int) -> int | None:
    """The index of the first point that is off its curve or outside the subgroup of order r, or None.

    By endomorphisms: Scott, eprint 2021/1130, for BLS12-381; Dai, Lin, Zhao, Zhou, eprint 2022/348, for G2 of BN254.
    """
    require_points(curve, group, points)
    return native.first_outside_subgroup(curve.value, group is Group.G2, points, threads)


def combine(curve: Curve, group: Group, points: Array, scalars: Array, *, secret: bool = True) -> Array:
    """Sum of scalars[i]·points[i] as a (1, width) array, for a few points on the curve; scalars (n, 4), any 256 bits.

    With `secret` neither branches nor addresses depend on the scalars (the complete formulas of Renes, Costello,
    Batina, 2016); without it the sum is several times faster. ValueError for shapes that disagree.
    """
    require_points(curve, group, points)
    if scalars.dtype != np.uint64 or scalars.shape != (len(points), SCALAR_LIMBS):
        raise ValueError(f"{len(points)} points need ({len(points)}, 4) uint64 scalars, not {scalars.shape}")
    out = np.empty((1, width(curve, group)), dtype=np.uint64)
    native.combine(curve.value, group is Group.G2, points, np.ascontiguousarray(scalars), out, secret)
    return out
