"""Tables of points on a CUDA device: stored multiples of fixed bases, and sums of two lists."""

from __future__ import annotations

from typing import Any

import numpy as np

from cuzkd.kernels.curve import Group, width
from cuzkd.kernels.device import Array, Device
from cuzkd.kernels.msm_plan import MsmPlan
from cuzkd.model import Curve

THREADS = 128
_POINTS_AT_ONCE = 1 << 22
_EACH = 16


class PointTables:
    """Makes tables of one group; every array is (n, width) uint64, affine records as on the host."""

    def __init__(self, device: Device, curve: Curve, group: Group) -> None:
        self.curve = curve
        self.group = group
        self._device = device
        self._points = device.kernels("points", curve, group)
        self._invert = device.kernels("msm_add", curve, group)["invert"]
        self._coordinate_bytes = 4 * width(curve, group)

    def stored_multiples(self, plan: MsmPlan, bases: Array) -> Array:
        """The table of a plan with stored multiples: `multiples` of each chunk, one after the other."""
        table = self._device.empty((plan.windows * plan.count, bases.shape[1]), np.uint64)
        for first in range(0, plan.count, plan.chunk):
            some = bases[first : first + plan.chunk]
            rows = table[plan.windows * first : plan.windows * (first + len(some))]
            self._fill_multiples(rows, some, plan.windows, plan.bits)
        return table

    def multiples(self, bases: Array, windows: int, bits: int) -> Array:
        """(windows·n, width): window w of base i, 2^(bits·w) times it, is row w·n + i."""
        table = self._device.empty((windows * len(bases), bases.shape[1]), np.uint64)
        self._fill_multiples(table, bases, windows, bits)
        return table

    def _fill_multiples(self, table: Array, bases: Array, windows: int, bits: int) -> None:
        count = len(bases)
        table[:count] = bases
        for row in range(count, windows * count, count):
            for first in range(0, count, _POINTS_AT_ONCE):
                some = min(_POINTS_AT_ONCE, count - first)
                source = table[row - count + first : row - count + first + some]
                self._made(table[row + first : row + first + some], "double_points", source, np.uint64(some),
                           np.uint32(bits))  # fmt: skip

    def sums(self, left: Array, right: Array, out: Array) -> None:
        """out[i·m + j] = left[i] + right[j], m = len(right) a power of two."""
        log_right = len(right).bit_length() - 1
        step = max(1, _POINTS_AT_ONCE >> log_right)
        for first in range(0, len(left), step):
            some = left[first : first + step]
            count = len(some) << log_right
            rows = out[first << log_right : (first << log_right) + count]
            self._made(rows, "add_lists", some, right, np.uint32(log_right), np.uint64(count))

    def _made(self, out: Array, kernel: str, *arguments: Any) -> None:
        count = len(out)
        blocks = max(1, min(-(-count // (THREADS * _EACH)), 1 << 16))
        totals_count = blocks * THREADS
        sums = self._device.empty((4 * self._coordinate_bytes * count,), np.uint8)
        before = self._device.empty((self._coordinate_bytes * count,), np.uint8)
        totals = self._device.empty((self._coordinate_bytes * totals_count,), np.uint8)
        scratch = self._device.empty((self._coordinate_bytes * totals_count,), np.uint8)
        self._points[kernel]((blocks,), (THREADS,), (*arguments, sums, before, totals))
        self._invert((max(1, blocks // 16),), (THREADS,), (totals, np.uint64(totals_count), scratch))
        self._points["to_affine"]((blocks,), (THREADS,), (sums, np.uint64(count), before, totals, out))
