"""Multi-scalar multiplication on a device: a plan's buffers, its stages in order, and one sum on the host."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cuzkd.kernels.curve import Group, combine, encode
from cuzkd.kernels.device import Array, Device, HostArray
from cuzkd.kernels.field import scalars_from_ints
from cuzkd.kernels.msm_add import Adder
from cuzkd.kernels.msm_plan import MsmPlan
from cuzkd.kernels.msm_reduce import Reducer
from cuzkd.kernels.msm_sort import Sorter
from cuzkd.kernels.params import PARAMS, fp2_inv, fp2_mul

_ITEM_TYPES = {2: np.uint16, 4: np.uint32}
_PLANE_BYTES = 16


@dataclass(frozen=True, slots=True)
class Sums:
    """What a run leaves on the device for each chunk: the buckets' sums by set, and that of the ones, if any."""

    buckets: Array
    ones: Array | None


class DeviceMsm:
    """Sums of one plan. It holds every buffer, so that a run allocates nothing but a few sums.

    `memory` is the plan's `bytes` as uint8, aligned to 256; it is allocated if None.
    """

    def __init__(self, device: Device, plan: MsmPlan, memory: Array | None = None) -> None:
        self.plan = plan
        self._device = device
        given = device.empty((plan.bytes,), np.uint8) if memory is None else memory
        buffers = {}
        for name, buffer in plan.buffers.items():
            part = given[buffer.offset : buffer.offset + buffer.size_bytes]
            buffers[name] = part.view(_ITEM_TYPES.get(buffer.item_bytes, np.uint8))
        self._listed = buffers["ones"]
        self._sort = Sorter(device, plan, buffers)
        self._add = Adder(device, plan, buffers)
        self._reduce = Reducer(device, plan, buffers)
        self._results = device.empty((plan.batch * plan.chunks, plan.sum_bytes * (plan.groups + 1)), np.uint8)

    def run(self, table: Array, scalars: Array) -> list[Sums]:
        """The sums of `count` products: (count, 4) canonical `scalars`, or (batch, count, 4), over a table.

        The table holds the bases or, chunk after chunk, their stored multiples (`stored_multiples`). What is returned
        is the next run's scratch; `joined` makes a point of it.
        """
        vectors = scalars if scalars.ndim == 3 else [scalars]
        parts = [
            (vector, first) for vector in vectors for first in range(0, self.plan.count, self.plan.chunk)
        ]
        if len(parts) > len(self._results):
            raise ValueError(f"the plan is for {self.plan.batch} vectors at once, not {len(vectors)}")
        return [
            self._chunk(table, vector, first, result)
            for (vector, first), result in zip(parts, self._results, strict=False)
        ]

    def sum(self, table: Array, scalars: Array) -> npt.NDArray[np.uint64]:
        """The sum of one vector of scalars as a point on the host, (1, width) affine Montgomery."""
        return joined(self._device, self.plan, self.run(table, scalars))

    def _chunk(self, table: Array, scalars: Array, first: int, result: Array) -> Sums:
        plan = self.plan
        some = scalars[first : first + plan.chunk]
        rows = table[plan.table_rows * first : plan.table_rows * (first + len(some))]
        slots, ones = self._sort.run(some)
        buckets, listed = result[: -plan.sum_bytes], result[-plan.sum_bytes :]
        buckets[:] = self._reduce.buckets(self._add.run(rows, slots))
        if ones == 0:
            return Sums(buckets, None)
        listed[:] = self._reduce.ones(rows, self._listed, self._sort.ones_count)
        return Sums(buckets, listed)


def joined(device: Device, plan: MsmPlan, sums: list[Sums]) -> npt.NDArray[np.uint64]:
    """The whole sum of one vector, (1, width) affine Montgomery as on the host, from what a run left."""
    points: list[Any] = []
    weights: list[int] = []
    for chunk in sums:
        points += _affine(plan, device.download(chunk.buckets), plan.groups)
        weights += [1 << (plan.bits * window) for window in range(plan.groups)]
        if chunk.ones is not None:
            points += _affine(plan, device.download(chunk.ones), 1)
            weights.append(1)
    scalars = scalars_from_ints([weight % PARAMS[plan.curve].r for weight in weights])
    return combine(plan.curve, plan.group, encode(plan.curve, plan.group, points), scalars)


def _affine(plan: MsmPlan, planes: HostArray, count: int) -> Iterator[Any]:
    """XYZZ sums in planes as affine points of integers: Montgomery factors cancel in X/ZZ and Y/ZZZ."""
    q = PARAMS[plan.curve].q
    data = planes.reshape(-1, count, _PLANE_BYTES).transpose(1, 0, 2).reshape(count, 4, -1)
    for sums in data:
        point = _of_sum(q, [_numbers(plan, coordinate.tobytes()) for coordinate in sums])
        yield point if plan.group is Group.G2 or point is None else (point[0][0], point[1][0])


def _numbers(plan: MsmPlan, data: bytes) -> tuple[int, int]:
    if plan.group is Group.G1:
        return int.from_bytes(data, "little"), 0
    half = len(data) // 2
    return int.from_bytes(data[:half], "little"), int.from_bytes(data[half:], "little")


def _of_sum(q: int, coordinates: list[tuple[int, int]]) -> Any:
    x, y, zz, zzz = coordinates
    if zz == (0, 0):
        return None
    return fp2_mul(q, x, fp2_inv(q, zz)), fp2_mul(q, y, fp2_inv(q, zzz))
