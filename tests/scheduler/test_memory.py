"""The pool is the throttle: when segments are made, who waits for which, and what happens without memory."""

from cuzkd.errors import ResourceExhausted, TooLarge, Unavailable
from cuzkd.events import CreateSegment, FailJob, SegmentFailed, Synthesize, UnlinkSegment
from cuzkd.model import Role
from tests.scheduler.world import MIB, World

NO_SPACE = ResourceExhausted("no space left on /dev/shm")


def created(world: World) -> list[int]:
    return [c.size_bytes for c in world.log if isinstance(c, CreateSegment)]


def unlinked(world: World) -> list[str]:
    return [c.segment for c in world.log if isinstance(c, UnlinkSegment)]


def test_a_synthesis_starts_only_into_a_prepared_segment() -> None:
    world = World()
    world.submit()
    assert created(world) == [MIB]
    assert world.started() == []
    [start] = world.prepare(world.gpu.to_prepare[0])
    assert isinstance(start, Synthesize)


def test_a_synthesis_starts_only_on_an_idle_worker() -> None:
    world = World(workers=1)
    world.submit(partitions=2)
    for segment in list(world.gpu.to_prepare):
        world.prepare(segment)
    assert world.started() == ["1.0"]
    world.synthesize()
    assert world.started() == ["1.0", "1.1"]


def test_as_many_segments_are_made_as_workers_and_gpu_can_use() -> None:
    world = World(workers=2)
    world.submit(partitions=50)
    assert created(world) == [MIB] * 4
    world.settle()
    assert created(world) == [MIB] * 4, "they are used again instead"
    assert world.scheduler.memory.pool.reused >= 46


def test_no_more_segments_are_made_than_partitions_wait() -> None:
    world = World(workers=4)
    world.submit(partitions=2)
    assert created(world) == [MIB] * 2


def test_no_more_segments_are_made_than_the_limit_allows() -> None:
    world = World(workers=4, limit_bytes=3 * MIB)
    world.submit(partitions=9)
    assert created(world) == [MIB] * 3
    world.settle()
    assert created(world) == [MIB] * 3
    assert len(world.ends) == 1


def test_a_free_larger_segment_serves_a_smaller_partition() -> None:
    world = World()
    world.submit(size_bytes=8 * MIB)
    world.settle()
    world.submit(size_bytes=MIB)
    world.settle()
    assert created(world) == [8 * MIB]


def test_what_can_never_fit_is_refused_at_once_with_both_numbers() -> None:
    world = World(limit_bytes=4 * MIB)
    job = world.submit(size_bytes=8 * MIB)
    error = world.error_of(job)
    assert isinstance(error, TooLarge)
    assert str(8 * MIB) in error.message
    assert str(4 * MIB) in error.message
    world.submit(size_bytes=4 * MIB)
    world.settle()
    assert created(world) == [4 * MIB]


def test_a_later_job_overtakes_one_that_waits_for_a_bigger_segment() -> None:
    world = World(workers=2, limit_bytes=10 * MIB)
    world.submit(8 * MIB)
    world.submit(8 * MIB)
    world.submit(MIB)
    for segment in list(world.gpu.to_prepare):
        world.prepare(segment)
    assert world.started() == ["1.0", "3.0"], "2.0 waits for the only segment of 8 MiB, which 1.0 has"
    world.settle()
    assert len(world.ends) == 3


def test_a_later_job_does_not_take_the_memory_that_a_bigger_one_is_next_for() -> None:
    world = World(workers=2, limit_bytes=4 * MIB)
    world.submit(MIB, partitions=4, uid=1)
    world.submit(4 * MIB, uid=2)
    world.submit(MIB, partitions=8, uid=3)
    world.settle()
    started = world.started()
    assert started.index("2.0") < started.index("3.0"), "every segment that came free was kept for 2.0"
    assert len(world.ends) == 3


def test_small_free_segments_are_unlinked_for_a_partition_that_could_not_run_otherwise() -> None:
    world = World(limit_bytes=4 * MIB, workers=2)
    world.submit(MIB, partitions=4)
    world.settle()
    assert created(world) == [MIB] * 4
    world.submit(3 * MIB)
    assert len(unlinked(world)) == 3
    world.settle()
    assert created(world)[4:] == [3 * MIB]
    assert len(world.ends) == 2


def test_segments_that_no_waiting_partition_can_use_make_room_for_more_of_those_that_are_useful() -> None:
    world = World(limit_bytes=4 * MIB, workers=2)
    world.submit(MIB, partitions=4)
    world.settle()
    world.submit(2 * MIB, partitions=2)
    assert len(unlinked(world)) == 4
    assert created(world)[4:] == [2 * MIB] * 2


def test_free_segments_stay_while_no_worker_could_use_what_their_memory_would_become() -> None:
    world = World(limit_bytes=5 * MIB, workers=2)
    world.submit(MIB, partitions=4)
    world.settle()
    world.submit(MIB, partitions=2)
    world.submit(3 * MIB)
    assert unlinked(world) == [], "both workers are busy"
    world.synthesize(0)
    assert len(unlinked(world)) == 2
    world.settle()
    assert len(world.ends) == 3


def test_free_segments_stay_that_a_waiting_partition_can_use() -> None:
    world = World(limit_bytes=5 * MIB, workers=2)
    world.submit(MIB, partitions=3)
    world.settle()
    world.submit(2 * MIB)
    world.prepare(world.gpu.to_prepare[0])
    world.submit(MIB)
    assert created(world) == [MIB, MIB, MIB, 2 * MIB]
    world.submit(2 * MIB, uid=1)
    world.submit(MIB, uid=2)
    world.synthesize(1)
    assert unlinked(world) == [], "4.0 will get the segment that 2.0 has"
    assert world.started()[-1] == "5.0"


def test_the_limit_follows_when_shared_memory_runs_out_and_the_work_goes_on() -> None:
    world = World(workers=2)
    job = world.submit(partitions=8)
    first, *others = list(world.gpu.to_prepare)
    world.prepare(first)
    for segment in others:
        world.fail_segment(segment, NO_SPACE)
    assert unlinked(world) == others
    world.settle()
    assert job in world.ends
    assert len(created(world)) == 4, "it is not tried again and again"
    assert world.scheduler.memory.lowered


def test_jobs_that_wait_fail_when_no_segment_at_all_can_be_made() -> None:
    world = World()
    job, other = world.submit(), world.submit()
    for segment in list(world.gpu.to_prepare):
        world.fail_segment(segment, NO_SPACE)
    for failed in (job, other):
        error = world.error_of(failed)
        assert isinstance(error, ResourceExhausted)
        assert "no space left on /dev/shm" in error.message
    assert world.scheduler.idle


def test_memory_is_tried_again_for_the_next_job_after_none_could_be_had() -> None:
    world = World()
    world.submit()
    world.fail_segment(world.gpu.to_prepare[0], NO_SPACE)
    job = world.submit()
    world.settle()
    assert world.ends[job].job == job
    assert not isinstance(world.ends[job], FailJob)
    assert not world.scheduler.memory.lowered


def test_only_the_jobs_that_the_remaining_memory_cannot_serve_fail() -> None:
    world = World()
    small = world.submit(MIB, partitions=2, uid=1)
    world.prepare(world.gpu.to_prepare[0])
    big = world.submit(8 * MIB, uid=2)
    for segment in list(world.gpu.to_prepare):
        world.fail_segment(segment, NO_SPACE)
    assert isinstance(world.error_of(big), ResourceExhausted)
    world.settle()
    assert not isinstance(world.ends[small], FailJob)


def test_the_supervisor_s_own_failure_to_create_counts_alike() -> None:
    world = World()
    job = world.submit()
    world.feed(SegmentFailed(world.gpu.to_prepare.pop(), NO_SPACE))
    assert isinstance(world.error_of(job), ResourceExhausted)


def test_nothing_is_created_before_there_is_a_gpu_process_to_prepare_it() -> None:
    world = World(start=False)
    world.up(Role.SYNTHESIS)
    world.submit()
    assert created(world) == []
    world.up(Role.GPU)
    assert created(world) == [MIB]


def test_fault_30_a_name_that_is_taken_costs_the_name_and_nothing_else() -> None:
    world = World()
    world.submit()
    for _ in range(3):
        taken = world.gpu.to_prepare.pop()
        del world.segments[taken]
        world.feed(SegmentFailed(taken, Unavailable("it exists already")))
    assert created(world) == [MIB] * 4
    world.settle()
    assert unlinked(world) == []
    assert not world.scheduler.memory.lowered
    assert len(world.ends) == 1
