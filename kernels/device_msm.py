"""Multi-scalar multiplication on a CUDA device: sorted entries, rounds of batched affine additions, running sums."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cuzkd.kernels.curve import Group, combine, encode, width
from cuzkd.kernels.device_points import THREADS, group_define
from cuzkd.kernels.field import scalars_from_ints
from cuzkd.kernels.loader import kernels
from cuzkd.kernels.params import PARAMS, fp2_inv, fp2_mul
from cuzkd.model import Curve

Array = npt.NDArray[np.uint64]

_PROCESSORS = 132
_SORT_THREADS = 256
_TILE_THREADS = 1024
_TILE_BYTES = 220 << 10
_BIN_THREADS = 512
_SCAN_THREADS = 1024
_SUM_THREADS = 64
_LOG_JOIN = 6
_BUCKETS_A_BLOCK = 2048
_WAVE = 3 * _PROCESSORS


@dataclass(frozen=True, slots=True)
class MsmPlan:
    """The shape of a sum of `count` products: windows of `bits` bits, buckets, bins, and rounds of additions."""

    curve: Curve
    group: Group
    count: int
    bits: int
    stored: bool

    @property
    def windows(self) -> int:
        """Digits of a scalar; s + k·r stays below 2^(windows·bits - 1) for the k that spread digits."""
        return -(-(PARAMS[self.curve].r.bit_length() + 1) // self.bits)

    @property
    def spread(self) -> int:
        """How many multiples of r fit."""
        return (1 << (self.windows * self.bits - 1)) // PARAMS[self.curve].r

    @property
    def groups(self) -> int:
        """Sets of buckets: one, or one a window."""
        return 1 if self.stored else self.windows

    @property
    def buckets(self) -> int:
        """Buckets of all sets."""
        return self.groups << (self.bits - 1)

    @property
    def sub_bits(self) -> int:
        """log2 of the buckets of a bin."""
        fitting = self.entries // 50_000 or 1
        bins = min(max(fitting.bit_length(), 11), 13)
        return min(max(self.buckets.bit_length() - 1 - bins, 2), 12, self.bits - 1)

    @property
    def bins(self) -> int:
        """Blocks of the second sorting step."""
        return self.buckets >> self.sub_bits

    @property
    def tile(self) -> int:
        """Scalars whose entries a block sorts at once: what fits its shared memory, but work for every processor."""
        fits = (_TILE_BYTES - 8 * self.bins) // (8 * self.windows)
        return max(32, min(fits, 2 * _TILE_THREADS, -(-self.count // _PROCESSORS)) // 32 * 32)

    @property
    def tile_bytes(self) -> int:
        """The shared memory of such a block."""
        return 8 * (self.bins + self.tile * self.windows)

    @property
    def entries(self) -> int:
        """The most entries."""
        return self.count * self.windows

    @property
    def rounds(self) -> int:
        """Rounds of additions of neighbours, for which buckets are filled up."""
        return min(max(int(self.mean / 8).bit_length() - 1, 1), 6)

    @property
    def mean(self) -> float:
        """Entries of a bucket, if no scalar is zero."""
        return self.entries / self.buckets

    @property
    def list_rounds(self) -> int:
        """Rounds by lists of pairs, after which most buckets have one point."""
        return max(0, math.ceil(math.log2(1.3 * self.mean / (1 << self.rounds))))

    @property
    def capacity(self) -> int:
        """Slots of a bin that is sorted in shared memory: a third more than it has if no scalar is zero."""
        fits = (_TILE_BYTES >> 2) - (1 << self.sub_bits)
        return min(fits, self.slots // self.bins * 4 // 3 + 256)

    @property
    def slots(self) -> int:
        """The most slots: entries, and what fills buckets up."""
        return self.entries + self.buckets * ((1 << self.rounds) - 1)

    @property
    def log_run(self) -> int:
        """log2 of the buckets that one thread of the reduction takes."""
        return 4 if self.buckets >= 1 << 20 else 2


@dataclass(frozen=True, slots=True)
class _Buckets:
    """What is left of the buckets: points in planes, and where each bucket's begin (times 2^shift)."""

    points: Any
    stride: int
    starts: Any
    shift: int


class DeviceMsm:
    """Sums of one plan; holds every buffer, so that a run allocates nothing."""

    def __init__(self, plan: MsmPlan) -> None:
        import cupy

        self.plan = plan
        define = group_define(plan.group)
        self._sort = kernels("msm_sort", plan.curve)
        self._add = kernels("msm_add", plan.curve, define)
        self._reduce = kernels("msm_reduce", plan.curve, define)
        coordinate = 4 * width(plan.curve, plan.group)
        self._coordinate = coordinate
        u32, u8 = cupy.uint32, cupy.uint8
        self._small = cupy.zeros(2 * plan.bins + 1, u32)  # bins, slots of bins, ones
        self._bin_starts = cupy.empty(plan.bins + 1, u32)
        self._cursors = cupy.empty(plan.bins, u32)
        self._slot_starts = cupy.empty(plan.bins + 1, u32)
        self._counts = cupy.empty(plan.buckets, u32)
        self._starts = cupy.empty(plan.buckets + 1, u32)
        self._other_starts = cupy.empty(plan.buckets + 1, u32)
        list_blocks = -(-plan.buckets // _BUCKETS_A_BLOCK)
        self._list_sums = cupy.zeros((max(plan.list_rounds, 1), list_blocks), u32)
        self._list_offsets = cupy.empty(list_blocks + 1, u32)
        self._list = cupy.empty((plan.slots >> (plan.rounds + 1)) + plan.buckets, u32)
        self._subs = cupy.empty(plan.entries, cupy.uint16)
        self._values = cupy.empty(plan.entries, u32)
        self._slots = cupy.empty(plan.slots, u32)
        self._ones = cupy.empty(plan.count, u32)
        pairs = plan.slots // 2
        self._points = [
            cupy.empty(2 * coordinate * pairs, u8),
            cupy.empty(2 * coordinate * (pairs // 2 + plan.buckets), u8),
        ]
        self._before = cupy.empty(coordinate * pairs, u8)
        most = THREADS * max(self._blocks(pairs >> r) for r in range(plan.rounds + plan.list_rounds))
        self._totals = cupy.empty(coordinate * most, u8)
        self._scratch = cupy.empty(coordinate * most, u8)
        runs = plan.buckets >> plan.log_run
        self._runs = [cupy.empty(4 * coordinate * max(runs >> (_LOG_JOIN * i), plan.groups), u8) for i in (0, 0, 1, 1)]
        self._list_blocks = max(1, min(_WAVE, plan.count // (THREADS * 8)))
        self._sums = [cupy.empty(4 * coordinate * THREADS * self._list_blocks, u8) for _ in range(2)]
        # points of the table that the warps of a block fetch: 64 a warp, at an odd distance in quads
        self._staging = THREADS // 32 * 64 * 16 * (2 * coordinate // 16 | 1)
        self._add.allow_shared("backward_table", self._staging)
        self._sort.allow_shared("scatter_entries", plan.tile_bytes)
        self._sort.allow_shared("place_entries", 4 * (plan.capacity + (1 << plan.sub_bits)))
        for name in ("count_entries", "scan"):
            self._sort.allow_shared(name, 4 * max(plan.bins, list_blocks))

    def run(self, table: Any, scalars: Any) -> tuple[Any, Any]:
        """Sums of each set of buckets, weighted, and of the bases whose scalars are ±1: XYZZ planes on the device.

        `table` holds the bases, or their stored multiples; `scalars` is (count, 4), canonical.
        """
        slots, ones = self._sorted(scalars)
        return self._reduced(self._added(table, slots)), self._listed(table, ones)

    def _sorted(self, scalars: Any) -> tuple[int, int]:
        plan = self.plan
        self._small.fill(0)
        self._list_sums.fill(0)
        bins, slots, ones = self._small[: plan.bins], self._small[plan.bins : -1], self._small[-1:]
        digits = (
            np.uint32(plan.bits), np.uint32(plan.windows), np.uint32(plan.sub_bits), np.uint32(plan.spread),
            np.uint32(plan.stored), np.uint32(plan.bins),
        )  # fmt: skip
        shared = 4 * plan.bins
        some = (scalars, np.uint64(plan.count), *digits)
        blocks = min(-(-plan.count // _SORT_THREADS), 8 * _PROCESSORS)
        self._sort["count_entries"]((blocks,), (_SORT_THREADS,), (*some, bins), shared)
        scanned = (np.uint32(plan.bins), self._bin_starts, self._cursors)
        self._sort["scan"]((1,), (_SCAN_THREADS,), (bins, *scanned), shared)
        self._sort["scatter_entries"](
            (-(-plan.count // plan.tile),), (_TILE_THREADS,),
            (*some, np.uint32(plan.tile), self._cursors, self._subs, self._values, self._ones, ones),
            plan.tile_bytes,
        )  # fmt: skip
        sub = (np.uint32(plan.sub_bits), np.uint32(plan.rounds))
        local = 4 << plan.sub_bits
        self._sort["count_buckets"](
            (plan.bins,), (_BIN_THREADS,), (self._bin_starts, self._subs, *sub, self._counts, slots), local
        )
        self._sort["scan"]((1,), (_SCAN_THREADS,), (slots, np.uint32(plan.bins), self._slot_starts, 0), shared)
        self._sort["place_entries"](
            (plan.bins,), (_TILE_THREADS if plan.mean * (1 << plan.sub_bits) > 8192 else _BIN_THREADS,),
            (self._bin_starts, self._slot_starts, self._subs, self._values, *sub, np.uint32(plan.capacity),
             self._counts, self._starts, self._slots), local + 4 * plan.capacity,
        )  # fmt: skip
        return int(self._slot_starts[-1]), int(ones[0])

    def _added(self, table: Any, slots: int) -> _Buckets:
        left = slots
        source: Any = None
        for r in range(self.plan.rounds):
            pairs = left // 2
            given = (table, self._slots) if r == 0 else (source, np.uint64(left))
            to = self._points[r % 2]
            self._round("table" if r == 0 else "points", (*given, np.uint64(pairs)), pairs, to)
            source, left = to, pairs
        return self._added_by_lists(source, left)

    def _added_by_lists(self, source: Any, left: int) -> _Buckets:
        plan = self.plan
        starts, other, shift = self._starts, self._other_starts, plan.rounds
        blocks = self._list_sums.shape[1]
        for r in range(plan.list_rounds):
            sums, offsets = self._list_sums[r], self._list_offsets
            some = (np.uint32(shift), np.uint64(plan.buckets))
            self._sort["count_pairs"]((blocks,), (_BIN_THREADS,), (starts, *some, sums))
            self._sort["scan"]((1,), (_SCAN_THREADS,), (sums, np.uint32(blocks), offsets, 0), 4 * blocks)
            self._sort["list_pairs"](
                (blocks,), (_BIN_THREADS,), (starts, *some, offsets, other, self._list)
            )
            most = min((left + plan.buckets) // 2, left)
            to = self._points[(plan.rounds + r) % 2]
            self._round("list", (source, np.uint64(left), self._list, offsets[-1:]), most, to)
            source, left = to, most
            starts, other, shift = other, starts, 0
        return _Buckets(source, left, starts, shift)

    def _round(self, kind: str, given: tuple[Any, ...], pairs: int, to: Any) -> None:
        if pairs == 0:
            return
        blocks = self._blocks(pairs)
        count = blocks * THREADS
        middle = (*given, self._before, np.uint64(pairs), self._totals)
        self._add[f"forward_{kind}"]((blocks,), (THREADS,), middle)
        inverters = max(1, min(-(-count // (THREADS * 4)), 4 * _PROCESSORS))
        self._add["invert"]((inverters,), (THREADS,), (self._totals, np.uint64(count), self._scratch))
        shared = self._staging if kind == "table" else 0
        self._add[f"backward_{kind}"]((blocks,), (THREADS,), (*middle, to, np.uint64(pairs)), shared)

    def _reduced(self, buckets: _Buckets) -> Any:
        plan = self.plan
        runs = plan.buckets >> plan.log_run
        weighted, plain, to_weighted, to_plain = self._runs
        self._reduce["reduce_buckets"](
            (-(-runs // THREADS),), (THREADS,),
            (buckets.points, np.uint64(buckets.stride), buckets.starts, np.uint32(buckets.shift),
             np.uint32(plan.log_run), np.uint64(runs), weighted, plain),
        )  # fmt: skip
        bits = plan.bits - 1 - plan.log_run
        while bits > 0:
            join = min(_LOG_JOIN, bits)
            self._reduce["join_runs"](
                (runs >> join,), (2 << (join - 1),),
                (weighted, plain, np.uint64(runs), np.uint32(join), to_weighted, to_plain),
            )  # fmt: skip
            weighted, plain, to_weighted, to_plain = to_weighted, to_plain, weighted, plain
            runs >>= join
            bits -= join
        return weighted[: 4 * self._coordinate * plan.groups]

    def _listed(self, table: Any, ones: int) -> Any:
        if ones == 0:
            return None
        sums, other = self._sums
        count = THREADS * self._list_blocks
        self._reduce["sum_list"](
            (self._list_blocks,), (THREADS,), (table, self._ones, self._small[-1:], sums)
        )
        while count > 1:
            threads = max(1, count // 16)
            block = min(threads, _SUM_THREADS)
            blocks = -(-threads // block)
            self._reduce["add_sums"]((blocks,), (block,), (sums, np.uint64(count), other))
            sums, other, count = other, sums, blocks * block
        return sums[: 4 * self._coordinate]

    @staticmethod
    def _blocks(pairs: int) -> int:
        """Blocks of one round: whole waves of some fifty pairs a thread, or fewer pairs and threads."""
        if pairs >= _WAVE * THREADS * 24:
            return _WAVE * max(1, round(pairs / (_WAVE * THREADS * 48)))
        return max(1, min(-(-pairs // (THREADS * 4)), _WAVE))


def joined(plan: MsmPlan, sums: Any, ones: Any) -> Array:
    """The whole sum, (1, width) affine Montgomery as on the host, from the planes that a run left."""
    points = _affine(plan, sums, plan.groups)
    weights = [1 << (plan.bits * window) for window in range(plan.groups)]
    if ones is not None:
        points += _affine(plan, ones, 1)
        weights.append(1)
    scalars = scalars_from_ints([weight % PARAMS[plan.curve].r for weight in weights])
    return combine(plan.curve, plan.group, encode(plan.curve, plan.group, points), scalars)


def _affine(plan: MsmPlan, planes: Any, count: int) -> list[Any]:
    """XYZZ sums in planes as affine points of integers: Montgomery factors cancel in X/ZZ and Y/ZZZ."""
    q = PARAMS[plan.curve].q
    data = planes.get().reshape(-1, count, 16).transpose(1, 0, 2).reshape(count, 4, -1)
    points = [_of_sum(q, [_numbers(plan, coordinate.tobytes()) for coordinate in sums]) for sums in data]
    if plan.group is Group.G2:
        return points
    return [None if point is None else (point[0][0], point[1][0]) for point in points]


def _numbers(plan: MsmPlan, data: bytes) -> tuple[int, int]:
    if plan.group is Group.G1:
        return int.from_bytes(data, "little"), 0
    half = len(data) // 2
    return int.from_bytes(data[:half], "little"), int.from_bytes(data[half:], "little")


def _of_sum(q: int, coordinates: list[tuple[int, int]]) -> Any:
    x, y, zz, zzz = coordinates
    if zz == (0, 0):
        return None
    x, y = fp2_mul(q, x, fp2_inv(q, zz)), fp2_mul(q, y, fp2_inv(q, zzz))
    return (x, y)
