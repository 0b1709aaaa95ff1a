"""The last stage of a multi-scalar multiplication on a device: buckets to weighted sums, and the ones to their sum."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from cuzkd.kernels.device import Array, Device
from cuzkd.kernels.msm_add import Buckets
from cuzkd.kernels.msm_plan import LOG_JOIN, SUM_THREADS, MsmPlan

_ADD_THREADS = 64
_ADDED_BY_A_THREAD = 16


class Reducer:
    """Makes one sum of each set of buckets, in XYZZ planes, in the plan's buffers."""

    def __init__(self, device: Device, plan: MsmPlan, buffers: Mapping[str, Array]) -> None:
        self._plan = plan
        self._buffers = buffers
        self._kernels = device.kernels("msm_reduce", plan.curve, plan.group)

    def buckets(self, buckets: Buckets) -> Array:
        """The sum of weight times bucket for each of the plan's sets: planes of `groups` sums."""
        plan, runs = self._plan, self._plan.runs
        names = ("weighted", "plain", "to_weighted", "to_plain")
        weighted, plain, to_weighted, to_plain = (self._buffers[name] for name in names)
        self._kernels["reduce_buckets"](
            (-(-runs // SUM_THREADS),), (SUM_THREADS,),
            (buckets.points, np.uint64(buckets.stride), buckets.starts, np.uint32(buckets.shift),
             np.uint32(plan.log_run), np.uint64(runs), weighted, plain),
        )  # fmt: skip
        bits = plan.bits - 1 - plan.log_run
        while bits > 0:
            join = min(LOG_JOIN, bits)
            self._kernels["join_runs"](
                (runs >> join,), (1 << join,),
                (weighted, plain, np.uint64(runs), np.uint32(join), to_weighted, to_plain),
            )  # fmt: skip
            weighted, plain, to_weighted, to_plain = to_weighted, to_plain, weighted, plain
            runs >>= join
            bits -= join
        return weighted[: plan.sum_bytes * plan.groups]

    def ones(self, table: Array, listed: Array, count: Array) -> Array:
        """The sum of the listed bases with their signs, as planes of one sum; `count` is a number on the device."""
        sums, other = self._buffers["ones_sums"], self._buffers["ones_other"]
        left = SUM_THREADS * self._plan.ones_blocks
        self._kernels["sum_list"]((self._plan.ones_blocks,), (SUM_THREADS,), (table, listed, count, sums))
        while left > 1:
            threads = max(1, left // _ADDED_BY_A_THREAD)
            block = min(threads, _ADD_THREADS)
            blocks = -(-threads // block)
            self._kernels["add_sums"]((blocks,), (block,), (sums, np.uint64(left), other))
            sums, other, left = other, sums, blocks * block
        return sums[: self._plan.sum_bytes]
