"""Any order of calls: the pool agrees with a simple model, and its invariants hold after every step."""

import dataclasses

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, multiple, rule

from cuzkd.ipc.handle import Handle
from cuzkd.ipc.pool import Pool, SegmentState
from cuzkd.model import page_align

KIB = 1 << 10
LIMIT = 2048 * KIB
HOLDERS = st.sampled_from(["synthesis 0", "synthesis 1", "gpu"])
SIZES = st.integers(1, 700 * KIB)


@dataclasses.dataclass
class Known:
    """What the model knows of a segment."""

    size: int
    generation: int = 0
    prepared: bool = False
    handle: Handle | None = None
    holder: str | None = None


class PoolMachine(RuleBasedStateMachine):
    """The model is a plain dictionary, and every answer of the pool is predicted from it."""

    names = Bundle("names")
    handles = Bundle("handles")

    def __init__(self) -> None:
        super().__init__()
        self.pool = Pool[str](LIMIT, "/cuzkd-00000000-")
        self.known: dict[str, Known] = {}
        self.created = self.reused = self.stale = 0

    def free(self) -> dict[str, Known]:
        return {name: known for name, known in self.known.items() if known.prepared and not known.handle}

    def used(self) -> int:
        return sum(known.size for known in self.known.values())

    def owner(self, handle: Handle) -> Known | None:
        """The segment whose live lease this is; a miss is counted as the pool should."""
        known = self.known.get(handle.segment)
        if known is not None and known.handle == handle:
            return known
        self.stale += 1
        return None

    @rule(target=names, size=SIZES)
    def create(self, size: int) -> object:
        segment = self.pool.create(size)
        assert (segment is not None) == (self.used() + page_align(size) <= LIMIT)
        if segment is None:
            return multiple()
        assert segment.size_bytes >= size
        self.known[segment.name] = Known(segment.size_bytes)
        self.created += 1
        return segment.name

    @rule(name=names, pinned=st.booleans())
    def prepare(self, name: str, pinned: bool) -> None:
        assert self.pool.prepared(name, pinned=pinned) == (name in self.known)
        if name in self.known:
            self.known[name].prepared = True

    @rule()
    def replace_gpu_process(self) -> None:
        assert {segment.name for segment in self.pool.unprepare()} == set(self.known)
        for known in self.known.values():
            known.prepared = False

    @rule(target=handles, size=SIZES, holder=HOLDERS, incarnation=st.integers(1, 3))
    def lease(self, size: int, holder: str, incarnation: int) -> object:
        fitting = {name: known.size for name, known in self.free().items() if known.size >= size}
        handle = self.pool.lease(size, (0, 0, 0, size), incarnation, holder)
        assert (handle is not None) == bool(fitting)
        if handle is None:
            return multiple()
        assert fitting[handle.segment] == min(fitting.values())
        known = self.known[handle.segment]
        self.reused += known.generation > 0
        known.generation += 1
        assert handle.generation == known.generation
        known.handle, known.holder = handle, holder
        return handle

    @rule(handle=handles, holder=HOLDERS)
    def transfer(self, handle: Handle, holder: str) -> None:
        known = self.owner(handle)
        assert self.pool.transfer(handle, holder) == (known is not None)
        if known is not None:
            known.holder = holder

    @rule(handle=handles)
    def release(self, handle: Handle) -> None:
        known = self.owner(handle)
        assert self.pool.release(handle) == (known is not None)
        if known is not None:
            known.handle = known.holder = None

    @rule(handle=handles, extra=st.integers(1, 100))
    def forge(self, handle: Handle, extra: int) -> None:
        forged = dataclasses.replace(handle, size_bytes=handle.size_bytes + extra)
        self.stale += 1
        assert not self.pool.release(forged)

    @rule(holder=HOLDERS)
    def reclaim(self, holder: str) -> None:
        ended = {handle.segment for handle in self.pool.reclaim(holder)}
        dead = {name: known for name, known in self.known.items() if known.handle and known.holder == holder}
        assert ended == set(dead)
        for known in dead.values():
            known.handle = known.holder = None

    @rule(name=consumes(names))
    def remove(self, name: str) -> None:
        known = self.known.get(name)
        if known is None or known.handle is None:
            assert self.pool.remove(name) == (known is not None)
            self.known.pop(name, None)

    @rule(size=SIZES)
    def make_room(self, size: int) -> None:
        """Unlinking what the pool names makes room, and nothing is named unless it will."""
        removable = sum(known.size for known in self.free().values())
        possible = self.used() - removable + page_align(size) <= LIMIT
        fits = any(known.size >= size for known in self.free().values())
        while (name := self.pool.to_unlink(size)) is not None:
            assert possible
            assert not fits
            assert name in self.free()
            assert self.pool.remove(name)
            del self.known[name]
        assert fits or not possible or self.used() + page_align(size) <= LIMIT

    @invariant()
    def the_pool_is_what_the_model_says(self) -> None:
        self.pool.validate()
        assert (self.pool.created, self.pool.reused, self.pool.stale) == (
            self.created,
            self.reused,
            self.stale,
        )
        assert {segment.name: segment.size_bytes for segment in self.pool} == {
            name: known.size for name, known in self.known.items()
        }
        states = {segment.name: segment.state for segment in self.pool}
        assert {name for name, state in states.items() if state is SegmentState.FREE} == set(self.free())
        for known in self.known.values():
            if known.handle is not None:
                assert states[known.handle.segment] is SegmentState.LEASED
                segment = self.pool.get(known.handle.segment)
                assert segment is not None
                assert segment.holder == known.holder


PoolMachine.TestCase.settings = settings(max_examples=100, stateful_step_count=100, deadline=None)
TestPool = PoolMachine.TestCase
