"""Which segments to make, prepare, set aside and unlink, around the pool that keeps their leases.

Segments are made for partitions that wait with none in sight, until `max_segments` are large enough for
them or the limit is reached; never ahead of need. A segment is leased, and read by the gpu process, only
after the live gpu process has prepared it. When shared memory runs out before the limit does, the limit
follows what there is; the configured one is tried again for a partition that could not run otherwise.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence

from cuzkd.events import Command, CreateSegment, PrepareSegment, UnlinkSegment, Worker
from cuzkd.ipc.handle import Handle
from cuzkd.ipc.pool import Pool, Pooled, SegmentState
from cuzkd.model import SegmentLayout


class Wait(enum.Enum):
    """Why there is no segment for a partition yet, and so whether a later one may start before it."""

    FOR_A_LEASE_TO_END = enum.auto()
    FOR_ALL_THAT_COMES_FREE = enum.auto()


class Memory:
    """The pool and the decisions about it. Sizes in bytes; `limit_bytes` is the configured limit."""

    def __init__(self, limit_bytes: int, max_segments: int, prefix: str) -> None:
        self.limit_bytes = limit_bytes
        self.max_segments = max_segments
        self.pool: Pool[Worker] = Pool(limit_bytes, prefix)
        self._retired: set[str] = set()
        self._aside: set[str] = set()
        self._smallest_need = 0

    @property
    def lowered(self) -> bool:
        """Whether the pool is kept smaller than configured, because shared memory ran out."""
        return self.pool.limit_bytes < self.limit_bytes

    # ---- the gpu process and its segments

    def gpu_up(self, worker: Worker, first: Sequence[str]) -> list[Command]:
        """Have a new gpu process prepare every segment; those in `first` it will read soon."""
        rest = [s.name for s in self._segments() if s.name not in first]
        segments = [s for name in (*first, *rest) if (s := self.pool.get(name)) is not None]
        return [PrepareSegment(worker, s.name, s.size_bytes) for s in segments]

    def gpu_down(self) -> None:
        """No segment is prepared any more; leases go on."""
        self.pool.unprepare()

    def expects(self, segment: str) -> bool:
        """Whether the segment is still to be prepared."""
        known = self.pool.get(segment)
        return known is not None and not known.prepared and segment not in self._retired

    def prepared(self, segment: str, *, pinned: bool) -> None:
        """The live gpu process has prepared an expected segment."""
        self.pool.prepared(segment, pinned=pinned)

    def failed(self, segment: str) -> list[Command]:
        """Give up an expected segment (once its writer has ended, if it has one); the rest must do."""
        known = self.pool.get(segment)
        assert known is not None
        if known.handle is not None:
            self._retired.add(segment)
            self.pool.limit_bytes = self.pool.size_bytes
            return []
        return self._give_up(segment)

    def name_taken(self, segment: str) -> None:
        """An expected segment could not be made, for somebody else has its name: the next one gets another."""
        self.pool.remove(segment)

    def _give_up(self, segment: str) -> list[Command]:
        self._retired.discard(segment)
        self.pool.remove(segment)
        self.pool.limit_bytes = self.pool.size_bytes
        return [UnlinkSegment(segment)]

    # ---- leases

    def is_prepared(self, handle: Handle) -> bool:
        """Whether the live gpu process can read the handle's segment."""
        known = self.pool.get(handle.segment)
        return known is not None and known.prepared

    def is_retired(self, handle: Handle) -> bool:
        """Whether the handle's segment failed while it was being written."""
        return handle.segment in self._retired

    def lease(self, layout: SegmentLayout, worker: Worker) -> Handle | None:
        """A free segment for a partition that the worker will write; None when none fits."""
        offsets = (layout.a, layout.b, layout.c, layout.z)
        return self.pool.lease(layout.size_bytes, offsets, worker.incarnation, worker)

    def hand_over(self, handle: Handle, worker: Worker | None) -> None:
        """Give a lease to another holder; None while it waits for the gpu process."""
        self.pool.transfer(handle, worker)

    def release(self, handle: Handle) -> list[Command]:
        """End a lease."""
        self.pool.release(handle)
        return self._give_up(handle.segment) if self.is_retired(handle) else []

    def reclaim(self, worker: Worker) -> list[Command]:
        """End every lease that a dead process still holds."""
        handles = self.pool.reclaim(worker)
        return [c for h in handles if self.is_retired(h) for c in self._give_up(h.segment)]

    # ---- growth

    def can_fit(self, need: int) -> bool:
        """Whether the memory that there is, all of it free, could hold a partition."""
        return self.pool.can_fit(need)

    def begin_round(self, smallest_need: int) -> None:
        """Begin to set segments aside, in the order of turns; no waiting partition needs less than this."""
        self._aside.clear()
        self._smallest_need = smallest_need

    def set_aside(self, need: int, *, startable: bool) -> list[Command] | Wait:
        """Find the segment that a waiting partition will get: one free or coming, else one to be created.

        Without one, a partition waits for a segment that is large enough and leased, which takes nothing
        from others; or there is none so large, and all memory that is free or comes free is kept for it.
        Free segments are unlinked to make room only for a partition that is `startable` but for memory, and
        only if it could not run otherwise or no waiting partition could use them.
        """
        in_sight = [s for s in self._segments() if s.handle is None and s.name not in self._aside]
        fitting = [s for s in in_sight if s.size_bytes >= need]
        if fitting:
            self._aside.add(min(fitting, key=_size).name)
            return []
        large_enough = sum(s.size_bytes >= need for s in self._segments())
        if large_enough >= self.max_segments:
            return Wait.FOR_A_LEASE_TO_END
        if not self.pool.can_fit(need):
            self.pool.limit_bytes = self.limit_bytes
        commands: list[Command] = []
        if startable and (large_enough == 0 or self._free_is_spare()):
            commands.extend(self._unlink_for(need))
        made = self.pool.create(need)
        if made is not None:
            self._aside.add(made.name)
            return [*commands, CreateSegment(made.name, made.size_bytes)]
        return Wait.FOR_A_LEASE_TO_END if large_enough else Wait.FOR_ALL_THAT_COMES_FREE

    def _free_is_spare(self) -> bool:
        free = (s for s in self.pool if s.state is SegmentState.FREE)
        return all(s.size_bytes < self._smallest_need for s in free)

    def _unlink_for(self, need: int) -> list[Command]:
        commands: list[Command] = []
        while (name := self.pool.to_unlink(need)) is not None:
            self.pool.remove(name)
            commands.append(UnlinkSegment(name))
        return commands

    def _segments(self) -> list[Pooled[Worker]]:
        """Every segment but those that are only waiting for their writer to end."""
        return [s for s in self.pool if s.name not in self._retired]

    # ---- invariants

    def holders(self) -> dict[str, Worker | None]:
        """Every leased segment's holder."""
        return {s.name: s.holder for s in self.pool if s.handle is not None}

    def validate(self) -> None:
        """Check every invariant; AssertionError names the first that does not hold."""
        self.pool.validate()
        assert self.pool.limit_bytes <= self.limit_bytes, "the pool may exceed the configured limit"
        for name in self._retired:
            segment = self.pool.get(name)
            assert segment is not None, f"{name} is retired and gone"
            assert segment.handle is not None, f"{name} is retired and kept for nobody"
            assert not segment.prepared, f"{name} is retired and prepared"


def _size(segment: Pooled[Worker]) -> int:
    return segment.size_bytes
