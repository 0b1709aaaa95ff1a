"""The plan of a multi-scalar multiplication on a device: windows, buckets, bins, rounds of additions, and every buffer.

A sum of `count` products is done in chunks of at most `chunk` points, one after the other in the same buffers. A
scalar has `windows` signed digits of `bits` bits. With stored multiples all windows share one set of buckets, else
each has its own. A bucket is filled up to a multiple of 2^rounds slots, so that so many rounds add neighbouring slots
without looking at buckets; `list_rounds` more go by lists of pairs.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass

from cuzkd.kernels.curve import Group, width
from cuzkd.kernels.params import PARAMS
from cuzkd.model import Curve

MAX_LOG_COUNT = 27
SUM_THREADS = 128
"""Threads of a block of the kernels that add points."""

LOG_JOIN = 6
BUCKETS_A_BLOCK = 2048
SHARED_BYTES = 220 << 10
SCATTER_THREADS = 1024
_MAX_ENTRIES = 1 << 30
_ALIGNED_BYTES = 256
_H200_PROCESSORS = 132
_LOG_RUNS = 15  # of a set of buckets: threads enough for the reduction, few sums to join


@dataclass(frozen=True, slots=True)
class Buffer:
    """`count` items of `item_bytes` each, at `offset` of the plan's memory."""

    offset: int
    count: int
    item_bytes: int

    @property
    def size_bytes(self) -> int:
        """Without what aligns the next one."""
        return self.count * self.item_bytes


@dataclass(frozen=True)  # without slots: what is derived is computed once
class MsmPlan:
    """The shape of sums of up to `count` products each, for `batch` vectors of scalars in one run.

    `limit` bounds the points of a chunk where memory is short. ValueError if count or bits are out of range.
    """

    curve: Curve
    group: Group
    count: int
    bits: int
    stored: bool
    batch: int = 1
    limit: int = 1 << MAX_LOG_COUNT
    processors: int = _H200_PROCESSORS

    def __post_init__(self) -> None:
        if not 1 <= self.count <= 1 << MAX_LOG_COUNT or self.batch < 1 or self.limit < 1:
            raise ValueError(f"a sum has 1 … 2^{MAX_LOG_COUNT} products, not {self.count}")
        if not 3 <= self.bits <= 24:
            raise ValueError(f"windows have 3 … 24 bits, not {self.bits}")

    @functools.cached_property
    def windows(self) -> int:
        """Digits of a scalar; s + k·r stays below 2^(windows·bits - 1) for the k that spread digits."""
        return -(-(PARAMS[self.curve].r.bit_length() + 1) // self.bits)

    @functools.cached_property
    def spread(self) -> int:
        """How many multiples of r fit."""
        return (1 << (self.windows * self.bits - 1)) // PARAMS[self.curve].r

    @functools.cached_property
    def chunks(self) -> int:
        """How many runs of the kernels make one sum: an entry's base takes 30 bits."""
        return -(-self.count // min(self.limit, _MAX_ENTRIES // self.windows))

    @functools.cached_property
    def chunk(self) -> int:
        """Points of a chunk; the last one may have fewer."""
        return -(-self.count // self.chunks)

    @functools.cached_property
    def table_rows(self) -> int:
        """Rows of the table for each point."""
        return self.windows if self.stored else 1

    @functools.cached_property
    def groups(self) -> int:
        """Sets of buckets: one, or one a window."""
        return 1 if self.stored else self.windows

    @functools.cached_property
    def buckets(self) -> int:
        """Buckets of all sets."""
        return self.groups << (self.bits - 1)

    @functools.cached_property
    def entries(self) -> int:
        """The most entries of a chunk: digits that are not zero."""
        return self.chunk * self.windows

    @functools.cached_property
    def mean(self) -> float:
        """Entries of a bucket, if no scalar is zero."""
        return self.entries / self.buckets

    @functools.cached_property
    def sub_bits(self) -> int:
        """log2 of the buckets of a bin."""
        fitting = self.entries // 50_000 or 1
        bins = min(max(fitting.bit_length(), 11), 13)
        return min(max(self.buckets.bit_length() - 1 - bins, 2), 12, self.bits - 1)

    @functools.cached_property
    def bins(self) -> int:
        """Blocks of the second sorting step."""
        return self.buckets >> self.sub_bits

    @functools.cached_property
    def tile(self) -> int:
        """Scalars whose entries a block sorts at once: what fits its shared memory, but work for every processor."""
        fits = (SHARED_BYTES - 8 * self.bins) // (8 * self.windows)
        return max(32, min(fits, 2 * SCATTER_THREADS, -(-self.chunk // self.processors)) // 32 * 32)

    @functools.cached_property
    def tile_bytes(self) -> int:
        """The shared memory of such a block."""
        return 8 * (self.bins + self.tile * self.windows)

    @functools.cached_property
    def rounds(self) -> int:
        """Rounds of additions of neighbours, for which buckets are filled up."""
        return min(max(int(self.mean / 8).bit_length() - 1, 1), 6)

    @functools.cached_property
    def list_rounds(self) -> int:
        """Rounds by lists of pairs, after which most buckets have one point."""
        return max(0, math.ceil(math.log2(1.3 * self.mean / (1 << self.rounds))))

    @functools.cached_property
    def slots(self) -> int:
        """The most slots: entries, and what fills buckets up."""
        return self.entries + self.buckets * ((1 << self.rounds) - 1)

    @functools.cached_property
    def capacity(self) -> int:
        """Slots of a bin that is sorted in shared memory: a third more than it has if no scalar is zero."""
        fits = (SHARED_BYTES >> 2) - (1 << self.sub_bits)
        return min(fits, self.slots // self.bins * 4 // 3 + 256)

    @functools.cached_property
    def list_blocks(self) -> int:
        """Blocks of the kernels that list pairs."""
        return -(-self.buckets // BUCKETS_A_BLOCK)

    @functools.cached_property
    def log_run(self) -> int:
        """log2 of the buckets that one thread of the reduction takes."""
        return min(max(2, self.bits - 1 - _LOG_RUNS), self.bits - 1)

    @functools.cached_property
    def runs(self) -> int:
        """Threads of the reduction."""
        return self.buckets >> self.log_run

    @functools.cached_property
    def ones_blocks(self) -> int:
        """Blocks that add the bases whose scalars are ±1."""
        return max(1, min(3 * self.processors, self.chunk // (SUM_THREADS * 8)))

    @functools.cached_property
    def coordinate_bytes(self) -> int:
        """Of one coordinate."""
        return 4 * width(self.curve, self.group)

    @functools.cached_property
    def sum_bytes(self) -> int:
        """Of one sum in XYZZ coordinates."""
        return 4 * self.coordinate_bytes

    @functools.cached_property
    def staging_bytes(self) -> int:
        """Shared memory for the points that a block's warps fetch: 64 a warp, at an odd distance in quads."""
        return SUM_THREADS // 32 * 64 * 16 * (2 * self.coordinate_bytes // 16 | 1)

    def addition_blocks(self, pairs: int) -> int:
        """Blocks of a round: whole waves of some fifty pairs a thread, or fewer pairs and threads."""
        wave = 3 * self.processors
        if pairs >= wave * SUM_THREADS * 24:
            return wave * max(1, round(pairs / (wave * SUM_THREADS * 48)))
        return max(1, min(-(-pairs // (SUM_THREADS * 4)), wave))

    @functools.cached_property
    def addition_threads(self) -> int:
        """The most threads of a round."""
        pairs = [self.slots >> (1 + r) for r in range(self.rounds)]
        pairs += [(self.slots >> self.rounds) + self.buckets] * min(self.list_rounds, 1)
        return SUM_THREADS * max(self.addition_blocks(count) for count in pairs)

    @functools.cached_property
    def buffers(self) -> Mapping[str, Buffer]:
        """Every buffer of a run by its name, one behind the other in the plan's memory."""
        shapes = {**self._sort_buffers(), **self._addition_buffers(), **self._reduction_buffers()}
        found: dict[str, Buffer] = {}
        offset = 0
        for name, (count, item_bytes) in shapes.items():
            found[name] = Buffer(offset, count, item_bytes)
            offset += -(-count * item_bytes // _ALIGNED_BYTES) * _ALIGNED_BYTES
        return found

    @property
    def bytes(self) -> int:
        """The memory of a run beside the table, the scalars and the kernels."""
        last = list(self.buffers.values())[-1]
        return last.offset + last.size_bytes

    def _sort_buffers(self) -> dict[str, tuple[int, int]]:
        return {
            "counters": (2 * self.bins + 1, 4),  # entries of bins, slots of bins, ones
            "bin_starts": (self.bins + 1, 4),
            "cursors": (self.bins, 4),
            "slot_starts": (self.bins + 1, 4),
            "counts": (self.buckets, 4),
            "starts": (self.buckets + 1, 4),
            "subs": (self.entries, 2),
            "values": (self.entries, 4),
            "slots": (self.slots, 4),
            "ones": (self.chunk, 4),
        }

    def _addition_buffers(self) -> dict[str, tuple[int, int]]:
        pairs, coordinate = self.slots // 2, self.coordinate_bytes
        return {
            "points": (2 * pairs, coordinate),
            "other_points": (2 * (pairs // 2 + self.buckets), coordinate),
            "before": (pairs, coordinate),
            "totals": (self.addition_threads, coordinate),
            "scratch": (self.addition_threads, coordinate),
            "other_starts": (self.buckets + 1, 4),
            "list_sums": (max(self.list_rounds, 1) * self.list_blocks, 4),
            "list_offsets": (self.list_blocks + 1, 4),
            "list": ((self.slots >> (self.rounds + 1)) + self.buckets, 4),
        }

    def _reduction_buffers(self) -> dict[str, tuple[int, int]]:
        joined = max(self.runs >> LOG_JOIN, self.groups)
        ones = SUM_THREADS * self.ones_blocks
        return {
            "weighted": (self.runs, self.sum_bytes),
            "plain": (self.runs, self.sum_bytes),
            "to_weighted": (joined, self.sum_bytes),
            "to_plain": (joined, self.sum_bytes),
            "ones_sums": (ones, self.sum_bytes),
            "ones_other": (ones, self.sum_bytes),
        }


_BITS_OF_LOG_COUNT = {16: 13, 18: 15, 20: 19, 22: 20, 24: 22}


def window_bits(count: int, *, stored: bool) -> int:
    """The width of windows that is fastest, as measured for sums over stored multiples."""
    log_count = max(count - 1, 1).bit_length()
    if log_count < 16:
        return min(max(log_count - 3, 4), 13)
    largest = max(log for log in _BITS_OF_LOG_COUNT if log <= log_count)
    return min(_BITS_OF_LOG_COUNT[largest], 22) - (0 if stored else 3)
