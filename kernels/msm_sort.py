"""The first stage of a multi-scalar multiplication on a device: scalars to entries, sorted by bucket."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from cuzkd.kernels.device import Array, Device
from cuzkd.kernels.msm_plan import SCATTER_THREADS, MsmPlan

_COUNT_THREADS = 256
_BIN_THREADS = 512
_SCAN_THREADS = 1024
_LARGE_BIN = 8192


class Sorter:
    """Sorts into the plan's buffers: `slots` (bases with signs, and holes), `starts` of buckets, `ones`."""

    def __init__(self, device: Device, plan: MsmPlan, buffers: Mapping[str, Array]) -> None:
        self._plan = plan
        self._buffers = buffers
        self._kernels = device.kernels("msm_sort", plan.curve)
        counters = buffers["counters"]
        self._bins, self._slots_of_bins = counters[: plan.bins], counters[plan.bins : -1]
        self._ones_count = counters[-1:]
        self._bin_bytes = 4 << plan.sub_bits
        self._kernels.allow_shared("count_entries", 4 * plan.bins)
        self._kernels.allow_shared("scan", 4 * max(plan.bins, plan.list_blocks))
        self._kernels.allow_shared("scatter_entries", plan.tile_bytes)
        self._kernels.allow_shared("place_entries", self._bin_bytes + 4 * plan.capacity)

    @property
    def ones_count(self) -> Array:
        """One number on the device: the scalars ±1, whose bases are in `ones`."""
        return self._ones_count

    def run(self, scalars: Array) -> tuple[int, int]:
        """Sort the entries of up to `chunk` canonical scalars; how many slots and how many ones there are."""
        self._buffers["counters"].fill(0)
        self._into_bins(scalars)
        self._into_slots()
        return int(self._buffers["slot_starts"][-1]), int(self._ones_count[0])

    def _into_bins(self, scalars: Array) -> None:
        plan, buffers, count = self._plan, self._buffers, len(scalars)
        some = (
            scalars, np.uint64(count), np.uint32(plan.bits), np.uint32(plan.windows), np.uint32(plan.sub_bits),
            np.uint32(plan.spread), np.uint32(plan.stored), np.uint32(plan.bins),
        )  # fmt: skip
        blocks = min(-(-count // _COUNT_THREADS), 8 * plan.processors)
        self._kernels["count_entries"]((blocks,), (_COUNT_THREADS,), (*some, self._bins), 4 * plan.bins)
        self._scan(self._bins, buffers["bin_starts"], buffers["cursors"])
        to = (buffers["cursors"], buffers["subs"], buffers["values"], buffers["ones"], self._ones_count)
        self._kernels["scatter_entries"](
            (-(-count // plan.tile),), (SCATTER_THREADS,), (*some, np.uint32(plan.tile), *to), plan.tile_bytes
        )

    def _into_slots(self) -> None:
        plan, buffers = self._plan, self._buffers
        sub = (np.uint32(plan.sub_bits), np.uint32(plan.rounds))
        bin_starts, subs = buffers["bin_starts"], buffers["subs"]
        self._kernels["count_buckets"](
            (plan.bins,), (_BIN_THREADS,), (bin_starts, subs, *sub, buffers["counts"], self._slots_of_bins),
            self._bin_bytes,
        )  # fmt: skip
        self._scan(self._slots_of_bins, buffers["slot_starts"], 0)
        large = plan.mean * (1 << plan.sub_bits) > _LARGE_BIN
        self._kernels["place_entries"](
            (plan.bins,), (SCATTER_THREADS if large else _BIN_THREADS,),
            (bin_starts, buffers["slot_starts"], subs, buffers["values"], *sub, np.uint32(plan.capacity),
             buffers["counts"], buffers["starts"], buffers["slots"]),
            self._bin_bytes + 4 * plan.capacity,
        )  # fmt: skip

    def _scan(self, sizes: Array, starts: Array, cursors: Array | int) -> None:
        bins = self._plan.bins
        self._kernels["scan"]((1,), (_SCAN_THREADS,), (sizes, np.uint32(bins), starts, cursors), 4 * bins)


class PairLister:
    """Lists the pairs of points of the same bucket, when buckets are no longer filled up."""

    def __init__(self, device: Device, plan: MsmPlan, buffers: Mapping[str, Array]) -> None:
        self._plan = plan
        self._kernels = device.kernels("msm_sort", plan.curve)
        self._sums, self._offsets, self._list = (
            buffers[name] for name in ("list_sums", "list_offsets", "list")
        )

    def start(self) -> None:
        """Before the first round."""
        self._sums.fill(0)

    def run(self, number: int, starts: Array, shift: int, next_starts: Array) -> tuple[Array, Array]:
        """The list of pairs of one round, and one number on the device: how many. Buckets begin at starts[b] / 2^shift;
        `next_starts` gets where those of the sums do.
        """
        blocks = self._plan.list_blocks
        sums = self._sums[number * blocks : (number + 1) * blocks]
        some = (starts, np.uint32(shift), np.uint64(self._plan.buckets))
        self._kernels["count_pairs"]((blocks,), (_BIN_THREADS,), (*some, sums))
        self._kernels["scan"]((1,), (_SCAN_THREADS,), (sums, np.uint32(blocks), self._offsets, 0), 4 * blocks)
        self._kernels["list_pairs"](
            (blocks,), (_BIN_THREADS,), (*some, self._offsets, next_starts, self._list)
        )
        return self._list, self._offsets[-1:]
