"""The pool's bookkeeping: what fits, what may be made, and that no late or altered handle gets through."""

import dataclasses

import pytest

from cuzkd.errors import InternalError
from cuzkd.ipc.handle import Handle
from cuzkd.ipc.pool import MIN_CLASS_BYTES, Pool, Pooled, SegmentState, class_size
from cuzkd.model import PAGE_BYTES

KIB = 1 << 10
MIB = 1 << 20
PREFIX = "/cuzkd-00000000-"
OFFSETS = (0, 0, 0, 0)


def pool_of(*sizes: int, limit: int = 64 * MIB) -> Pool[str]:
    """A pool with one free segment of each size, in order."""
    pool = Pool[str](limit, PREFIX)
    for size in sizes:
        assert pool.prepared(created(pool, size).name, pinned=True)
    return pool


def is_live(pool: Pool[str], handle: Handle) -> bool:
    segment = pool.get(handle.segment)
    return segment is not None and segment.handle == handle


def holder_of(pool: Pool[str], handle: Handle) -> str | None:
    segment = pool.get(handle.segment)
    assert segment is not None
    return segment.holder


def created(pool: Pool[str], size: int) -> Pooled[str]:
    segment = pool.create(size)
    assert segment is not None
    return segment


def leased(pool: Pool[str], size: int, holder: str | None = "synthesis") -> Handle:
    handle = pool.lease(size, OFFSETS, 1, holder)
    assert handle is not None
    return handle


def test_classes_are_four_an_octave_in_whole_pages() -> None:
    classes, size = [], 1
    while size <= 1 << 34:
        classes.append(class_size(size))
        size = classes[-1] + 1
    assert classes[0] == MIN_CLASS_BYTES == 64 * KIB
    assert all(each % PAGE_BYTES == 0 for each in classes)
    assert all(upper == 2 * lower for lower, upper in zip(classes, classes[4:], strict=False))
    assert all(class_size(each) == each for each in classes)
    assert classes[:5] == [64 * KIB, 80 * KIB, 96 * KIB, 112 * KIB, 128 * KIB]


def test_a_segment_is_leased_only_after_it_was_prepared() -> None:
    pool = Pool[str](MIB, PREFIX)
    segment = created(pool, 100 * KIB)
    assert segment.state is SegmentState.CREATING
    assert pool.lease(100 * KIB, OFFSETS, 1, "w") is None
    assert pool.prepared(segment.name, pinned=False)
    assert segment.state is SegmentState.FREE
    handle = leased(pool, 100 * KIB)
    assert segment.state is SegmentState.LEASED
    assert handle == Handle(segment.name, 1, 1, OFFSETS, 100 * KIB)
    assert pool.lease(1, OFFSETS, 1, "w") is None


def test_the_smallest_free_segment_that_fits_is_leased_and_a_larger_one_will_do() -> None:
    pool = pool_of(4 * MIB, MIB, 2 * MIB)
    assert [leased(pool, MIB).segment for _ in range(3)] == [f"{PREFIX}{n}" for n in (1, 2, 0)]
    assert pool.lease(MIB, OFFSETS, 1, "w") is None


def test_new_segments_have_the_next_class_and_never_exceed_the_limit() -> None:
    pool = Pool[str](10 * MIB, PREFIX)
    assert created(pool, 4 * MIB + 1).size_bytes == 5 * MIB
    assert created(pool, 3 * MIB + 1).size_bytes == 3584 * KIB
    assert pool.create(2 * MIB) is None
    assert created(pool, 1300 * KIB).size_bytes == 1536 * KIB
    assert pool.size_bytes == 10 * MIB
    assert pool.create(1) is None
    pool.validate()


def test_a_segment_takes_what_is_left_of_the_limit_when_its_class_does_not_fit() -> None:
    pool = Pool[str](9 * MIB + 100, PREFIX)
    assert pool.can_fit(9 * MIB)
    assert not pool.can_fit(9 * MIB + 1)
    assert created(pool, 9 * MIB - 5000).size_bytes == 9 * MIB
    pool.validate()


def test_names_are_never_used_twice() -> None:
    pool = Pool[str](MIB, PREFIX)
    names = []
    for _ in range(3):
        names.append(created(pool, MIB).name)
        assert pool.remove(names[-1])
        assert not pool.remove(names[-1])
    assert names == [f"{PREFIX}{n}" for n in range(3)]
    assert not pool.prepared(names[0], pinned=True)


def test_a_leased_segment_cannot_be_removed() -> None:
    pool = pool_of(MIB)
    handle = leased(pool, MIB)
    with pytest.raises(InternalError, match="is leased"):
        pool.remove(handle.segment)


def test_the_generation_rises_with_every_lease_and_the_old_handle_is_stale() -> None:
    pool = pool_of(MIB)
    first = leased(pool, MIB)
    assert is_live(pool, first)
    assert pool.release(first)
    second = leased(pool, MIB)
    assert (first.generation, second.generation) == (1, 2)
    assert not is_live(pool, first)
    assert not pool.release(first)
    assert not pool.transfer(first, "gpu")
    assert pool.stale == 2
    assert is_live(pool, second)
    assert holder_of(pool, second) == "synthesis"
    assert pool.reused == 1


@pytest.mark.parametrize(
    "change",
    [
        {"segment": "/cuzkd-00000000-9"},
        {"segment": "/etc/passwd"},
        {"generation": 2},
        {"incarnation": 2},
        {"offsets": (0, 0, 0, PAGE_BYTES)},
        {"offsets": (0, 0, 0, -1)},
        {"offsets": (0, 0, 0, 1 << 63)},
        {"size_bytes": MIB + 1},
        {"size_bytes": 0},
    ],
)
def test_a_handle_that_differs_from_the_issued_one_in_anything_is_dropped(change: dict[str, object]) -> None:
    pool = pool_of(MIB)
    handle = leased(pool, MIB)
    forged = dataclasses.replace(handle, **change)
    assert not pool.transfer(forged, "thief")
    assert not pool.release(forged)
    assert pool.stale == 2
    assert is_live(pool, handle)
    pool.validate()


@pytest.mark.parametrize("offsets", [(0, 0, 0, 101), (-1, 0, 0, 0)])
def test_a_layout_outside_its_own_size_is_never_issued(offsets: tuple[int, int, int, int]) -> None:
    pool = pool_of(MIB)
    with pytest.raises(InternalError, match="do not lie within 100 bytes"):
        pool.lease(100, offsets, 1, "w")


def test_a_transfer_changes_the_holder_and_not_the_handle() -> None:
    pool = pool_of(MIB)
    handle = leased(pool, MIB)
    assert pool.transfer(handle, None)
    assert holder_of(pool, handle) is None
    assert pool.transfer(handle, "gpu")
    assert holder_of(pool, handle) == "gpu"
    assert pool.reclaim("synthesis") == []
    assert pool.release(handle)


def test_a_dead_holders_leases_end_and_nobody_elses() -> None:
    pool = pool_of(MIB, MIB, MIB)
    dead, alive, also_dead = (leased(pool, MIB, holder) for holder in ("dead", "alive", "dead"))
    assert pool.reclaim("dead") == [dead, also_dead]
    assert not pool.release(dead)
    assert is_live(pool, alive)
    assert leased(pool, MIB).generation == 2
    pool.validate()


def test_after_the_gpu_process_is_replaced_every_segment_must_be_prepared_again() -> None:
    pool = pool_of(MIB, MIB)
    handle = leased(pool, MIB)
    assert [segment.name for segment in pool.unprepare()] == [f"{PREFIX}0", f"{PREFIX}1"]
    assert pool.lease(MIB, OFFSETS, 1, "w") is None
    assert is_live(pool, handle)
    assert pool.release(handle)
    assert [segment.state for segment in pool] == [SegmentState.CREATING] * 2
    assert pool.prepared(handle.segment, pinned=False)
    assert leased(pool, MIB).generation == 2
    segment = pool.get(handle.segment)
    assert segment is not None
    assert not segment.pinned
    pool.validate()


class TestShrinking:
    """Which free segment goes so that a bigger one can be made."""

    def test_none_goes_while_there_is_room_or_a_free_one_fits(self) -> None:
        assert pool_of(MIB).to_unlink(2 * MIB) is None
        assert pool_of(MIB, 4 * MIB, limit=5 * MIB).to_unlink(3 * MIB) is None

    def test_the_smallest_that_suffices_goes(self) -> None:
        pool = pool_of(MIB, 3 * MIB, 2 * MIB, limit=8 * MIB)
        assert pool.to_unlink(4 * MIB) == f"{PREFIX}2"

    def test_several_go_the_largest_first_until_there_is_room(self) -> None:
        pool = pool_of(MIB, 2 * MIB, 2 * MIB, MIB, limit=6 * MIB)
        gone = []
        while (name := pool.to_unlink(4 * MIB)) is not None:
            gone.append(name)
            assert pool.remove(name)
        assert sorted(gone) == [f"{PREFIX}1", f"{PREFIX}2"]
        assert created(pool, 4 * MIB).size_bytes == 4 * MIB

    def test_none_goes_in_vain(self) -> None:
        pool = pool_of(2 * MIB, 2 * MIB, limit=4 * MIB)
        leased(pool, MIB)
        assert pool.to_unlink(4 * MIB) is None
        assert pool.to_unlink(100 * MIB) is None
