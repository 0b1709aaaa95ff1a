"""Tables of points on a CUDA device: stored multiples of fixed bases, and sums of two lists."""

from __future__ import annotations

from typing import Any

import numpy as np

from cuzkd.kernels.curve import Group, width
from cuzkd.kernels.loader import kernels
from cuzkd.model import Curve

THREADS = 128
_POINTS_AT_ONCE = 1 << 22
_EACH = 16


def group_define(group: Group) -> tuple[tuple[str, str], ...]:
    """What a module of this group is compiled with."""
    return (("CUZKD_GROUP", "1" if group is Group.G1 else "2"),)


class PointTables:
    """Makes tables of one group; every array is (n, width) uint64, affine records as on the host."""

    def __init__(self, curve: Curve, group: Group) -> None:
        self.curve = curve
        self.group = group
        self._points = kernels("points", curve, group_define(group))
        self._invert = kernels("msm_add", curve, group_define(group))["invert"]
        self._coordinate_bytes = 4 * width(curve, group)

    def multiples(self, bases: Any, windows: int, bits: int) -> Any:
        """(windows·n, width): window w of base i, 2^(bits·w) times it, is row w·n + i."""
        import cupy

        count = len(bases)
        table = cupy.empty((windows * count, bases.shape[1]), dtype=cupy.uint64)
        table[:count] = bases
        for row in range(count, windows * count, count):
            for first in range(0, count, _POINTS_AT_ONCE):
                some = min(_POINTS_AT_ONCE, count - first)
                source = table[row - count + first : row - count + first + some]
                self._made(table[row + first : row + first + some], "double_points", source, np.uint64(some),
                           np.uint32(bits))  # fmt: skip
        return table

    def sums(self, left: Any, right: Any, out: Any) -> None:
        """out[i·m + j] = left[i] + right[j], m = len(right) a power of two."""
        log_right = len(right).bit_length() - 1
        step = max(1, _POINTS_AT_ONCE >> log_right)
        for first in range(0, len(left), step):
            some = left[first : first + step]
            count = len(some) << log_right
            rows = out[first << log_right : (first << log_right) + count]
            self._made(rows, "add_lists", some, right, np.uint32(log_right), np.uint64(count))

    def _made(self, out: Any, kernel: str, *arguments: Any) -> None:
        import cupy

        count = len(out)
        blocks = max(1, min(-(-count // (THREADS * _EACH)), 1 << 16))
        totals_count = blocks * THREADS
        sums = cupy.empty(4 * self._coordinate_bytes * count, dtype=cupy.uint8)
        before = cupy.empty(self._coordinate_bytes * count, dtype=cupy.uint8)
        totals = cupy.empty(self._coordinate_bytes * totals_count, dtype=cupy.uint8)
        scratch = cupy.empty_like(totals)
        self._points[kernel]((blocks,), (THREADS,), (*arguments, sums, before, totals))
        self._invert(
            (max(1, blocks // 16),), (THREADS,), (totals, np.uint64(totals_count), scratch)
        )
        self._points["to_affine"]((blocks,), (THREADS,), (sums, np.uint64(count), before, totals, out))
