"""The pool: which segments there are, who holds which, and what may be made. Bookkeeping only.

A lease ends by its handle's release or by its holder's death, never otherwise. Each lease raises its
segment's generation, and the pool keeps the handle that it issued, so whatever comes back late or altered
is told from it, counted and dropped. Sizes are the pool's own: nothing here believes a borrower.

A segment is created once and prepared (allocated, touched, registered) by the gpu process; when that
process is replaced, its segments are to be prepared again, also those that are leased meanwhile.
"""

from __future__ import annotations

import enum
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from cuzkd.errors import InternalError
from cuzkd.ipc.handle import Handle
from cuzkd.model import PAGE_BYTES, page_align

MIN_CLASS_BYTES = 64 << 10
_CLASSES_PER_OCTAVE = 4

Holder = TypeVar("Holder", bound=Hashable)


class SegmentState(enum.StrEnum):
    """Where a segment is: being made ready, waiting for a partition, or held."""

    CREATING = "creating"
    FREE = "free"
    LEASED = "leased"


@dataclass(slots=True)
class Pooled(Generic[Holder]):
    """One segment. `handle` is the live lease's; its `holder` may be None while it waits for the next."""

    name: str
    size_bytes: int
    generation: int = 0
    prepared: bool = False
    pinned: bool = False
    handle: Handle | None = None
    holder: Holder | None = None

    @property
    def state(self) -> SegmentState:
        """A lease goes before preparation: a leased segment may be waiting to be prepared again."""
        if self.handle is not None:
            return SegmentState.LEASED
        return SegmentState.FREE if self.prepared else SegmentState.CREATING


def class_size(size_bytes: int) -> int:
    """The least class that holds `size_bytes`: four an octave, from 64 KiB, all of whole pages."""
    if size_bytes <= MIN_CLASS_BYTES:
        return MIN_CLASS_BYTES
    octave = 1 << ((size_bytes - 1).bit_length() - 1)
    step = octave // _CLASSES_PER_OCTAVE
    return -(-size_bytes // step) * step


class Pool(Generic[Holder]):
    """The segments of one daemon, their sizes together within `limit_bytes`.

    `created` counts segments, `reused` leases of a segment that had been leased before, and `stale` the
    handles that were dropped.
    """

    def __init__(self, limit_bytes: int, prefix: str) -> None:
        self.limit_bytes = limit_bytes
        self.created = 0
        self.reused = 0
        self.stale = 0
        self._prefix = prefix
        self._segments: dict[str, Pooled[Holder]] = {}

    def __iter__(self) -> Iterator[Pooled[Holder]]:
        """Every segment, oldest first; they are to be read only."""
        return iter(tuple(self._segments.values()))

    def __len__(self) -> int:
        return len(self._segments)

    def get(self, name: str) -> Pooled[Holder] | None:
        """The segment of this name, to be read only."""
        return self._segments.get(name)

    @property
    def size_bytes(self) -> int:
        """What all segments occupy together."""
        return sum(segment.size_bytes for segment in self._segments.values())

    # ---- segments

    def can_fit(self, size_bytes: int) -> bool:
        """Whether an empty pool could hold a segment of this size."""
        return 0 < page_align(size_bytes) <= self.limit_bytes

    def create(self, size_bytes: int) -> Pooled[Holder] | None:
        """Enter a new segment that holds `size_bytes`, or None when the limit leaves no room for it.

        Its size is the next class, or what is left of the limit where that is less. A name is used once.
        """
        room = (self.limit_bytes - self.size_bytes) // PAGE_BYTES * PAGE_BYTES
        if not 0 < size_bytes <= room:
            return None
        segment = Pooled[Holder](f"{self._prefix}{self.created}", min(class_size(size_bytes), room))
        self._segments[segment.name] = segment
        self.created += 1
        return segment

    def prepared(self, name: str, *, pinned: bool) -> bool:
        """The gpu process has the segment ready; False for one that the pool does not have (any more)."""
        segment = self._segments.get(name)
        if segment is None:
            return False
        segment.prepared = True
        segment.pinned = pinned
        return True

    def unprepare(self) -> list[Pooled[Holder]]:
        """The gpu process is gone: every segment must be prepared again. Leases go on."""
        for segment in self._segments.values():
            segment.prepared = segment.pinned = False
        return list(self._segments.values())

    def remove(self, name: str) -> bool:
        """Forget a segment that nobody holds; False when there is none. `InternalError` if it is leased."""
        segment = self._segments.get(name)
        if segment is None:
            return False
        if segment.handle is not None:
            raise InternalError(f"segment {name} is leased and cannot be removed")
        del self._segments[name]
        return True

    def to_unlink(self, size_bytes: int) -> str | None:
        """A free segment to unlink so that one of `size_bytes` can be created; ask again until None.

        None when there is room already, when a free segment fits, or when unlinking every free one would
        not make room. The smallest that suffices goes; failing that, the largest.
        """
        free = sorted(self._in_state(SegmentState.FREE), key=lambda segment: segment.size_bytes)
        missing = self.size_bytes + page_align(size_bytes) - self.limit_bytes
        if missing <= 0 or not free or free[-1].size_bytes >= size_bytes:
            return None
        if sum(segment.size_bytes for segment in free) < missing:
            return None
        return next((s.name for s in free if s.size_bytes >= missing), free[-1].name)

    # ---- leases

    def lease(
        self, size_bytes: int, offsets: tuple[int, int, int, int], incarnation: int, holder: Holder | None
    ) -> Handle | None:
        """Lease the smallest free segment that fits; None when there is none.

        `InternalError` for a layout that does not lie within its own size.
        """
        if size_bytes <= 0 or any(not 0 <= offset <= size_bytes for offset in offsets):
            raise InternalError(f"offsets {offsets} do not lie within {size_bytes} bytes")
        fitting = [s for s in self._in_state(SegmentState.FREE) if s.size_bytes >= size_bytes]
        if not fitting:
            return None
        segment = min(fitting, key=lambda s: s.size_bytes)
        self.reused += segment.generation > 0
        segment.generation += 1
        segment.holder = holder
        segment.handle = Handle(segment.name, segment.generation, incarnation, offsets, size_bytes)
        return segment.handle

    def transfer(self, handle: Handle, holder: Holder | None) -> bool:
        """Give the lease to another holder (None: it waits for one); False and counted if it is stale."""
        segment = self._live(handle)
        if segment is None:
            return False
        segment.holder = holder
        return True

    def release(self, handle: Handle) -> bool:
        """End the lease; False and counted if it is stale."""
        segment = self._live(handle)
        if segment is None:
            return False
        segment.handle = segment.holder = None
        return True

    def reclaim(self, holder: Holder) -> list[Handle]:
        """End every lease of a holder that is dead; their handles are stale from now on."""
        ended = []
        for segment in self._in_state(SegmentState.LEASED):
            if segment.holder == holder and segment.handle is not None:
                ended.append(segment.handle)
                segment.handle = segment.holder = None
        return ended

    def validate(self) -> None:
        """Check every invariant; AssertionError names the first that does not hold."""
        assert self.size_bytes <= self.limit_bytes, "the pool is over its limit"
        assert len(self._segments) <= self.created, "a segment was never created"
        for name, segment in self._segments.items():
            assert name == segment.name, f"{name} is filed under another name"
            assert segment.size_bytes % PAGE_BYTES == 0, f"{name} is not of whole pages"
            assert segment.prepared or not segment.pinned, f"{name} is pinned before it is prepared"
            if segment.handle is None:
                assert segment.holder is None, f"{name} is held without a lease"
                continue
            handle = segment.handle
            assert (handle.segment, handle.generation) == (name, segment.generation), (
                f"{name}: another's lease"
            )
            assert 0 < handle.size_bytes <= segment.size_bytes, f"{name} is smaller than its lease"
            assert all(0 <= at <= handle.size_bytes for at in handle.offsets), f"{name}: offsets are outside"

    def _in_state(self, state: SegmentState) -> list[Pooled[Holder]]:
        return [segment for segment in self._segments.values() if segment.state is state]

    def _live(self, handle: Handle) -> Pooled[Holder] | None:
        segment = self._segments.get(handle.segment)
        if segment is None or segment.handle != handle:
            self.stale += 1
            return None
        return segment
