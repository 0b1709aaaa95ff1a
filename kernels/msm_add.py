"""The second stage of a multi-scalar multiplication on a device: rounds of batched affine additions.

Each round halves the points of every bucket: `forward` multiplies denominators up, `invert` inverts the threads'
products, `backward` adds (see cuda/msm_add.cu).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from cuzkd.kernels.device import Array, Device
from cuzkd.kernels.msm_plan import SUM_THREADS, MsmPlan
from cuzkd.kernels.msm_sort import PairLister

_LEAST_TOTALS = 4
_MANY_TOTALS = 8


@dataclass(frozen=True, slots=True)
class Buckets:
    """What is left of the buckets: points in planes `stride` apart; bucket b's begin at starts[b] / 2^shift."""

    points: Array
    stride: int
    starts: Array
    shift: int


class Adder:
    """Adds up the points of each bucket until most have one, in the plan's buffers."""

    def __init__(self, device: Device, plan: MsmPlan, buffers: Mapping[str, Array]) -> None:
        self._plan = plan
        self._buffers = buffers
        self._kernels = device.kernels("msm_add", plan.curve, plan.group)
        self._pairs = PairLister(device, plan, buffers)
        self._kernels.allow_shared("backward_table", plan.staging_bytes)

    def run(self, table: Array, slots: int) -> Buckets:
        """The buckets of the sorted entries over a table of points; `slots` is how many there are."""
        points, source, left = (self._buffers["points"], self._buffers["other_points"]), table, slots
        for number in range(self._plan.rounds):
            pairs, to = left // 2, points[number % 2]
            kind = "table" if number == 0 else "points"
            given = (table, self._buffers["slots"]) if number == 0 else (source, np.uint64(left))
            self._round(kind, (*given, np.uint64(pairs)), pairs, to)
            source, left = to, pairs
        return self._by_lists(source, left)

    def _by_lists(self, source: Array, left: int) -> Buckets:
        plan = self._plan
        points = (self._buffers["points"], self._buffers["other_points"])
        starts, other, shift = self._buffers["starts"], self._buffers["other_starts"], plan.rounds
        self._pairs.start()
        for number in range(plan.list_rounds):
            pair_list, count = self._pairs.run(number, starts, shift, other)
            most = min((left + plan.buckets) // 2, left)
            to = points[(plan.rounds + number) % 2]
            self._round("list", (source, np.uint64(left), pair_list, count), most, to)
            source, left = to, most
            starts, other, shift = other, starts, 0
        return Buckets(source, left, starts, shift)

    def _round(self, kind: str, given: tuple[Any, ...], pairs: int, to: Array) -> None:
        if pairs == 0:
            return
        buffers = self._buffers
        blocks = self._plan.addition_blocks(pairs)
        count = blocks * SUM_THREADS
        middle = (*given, buffers["before"], np.uint64(pairs), buffers["totals"])
        self._kernels[f"forward_{kind}"]((blocks,), (SUM_THREADS,), middle)
        inverters = self._inverters(count)
        self._kernels["invert"](
            (inverters,), (SUM_THREADS,), (buffers["totals"], np.uint64(count), buffers["scratch"])
        )
        shared = self._plan.staging_bytes if kind == "table" else 0
        self._kernels[f"backward_{kind}"]((blocks,), (SUM_THREADS,), (*middle, to, np.uint64(pairs)), shared)

    def _inverters(self, count: int) -> int:
        """Blocks that invert `count` totals: one for each processor soon, more when each thread has many."""
        processors = self._plan.processors
        few = min(-(-count // (SUM_THREADS * _LEAST_TOTALS)), processors)
        return max(few, min(-(-count // (SUM_THREADS * _MANY_TOTALS)), 4 * processors))
