"""Whose partition starts next, and in which order the gpu process gets them."""

import pytest

from cuzkd.errors import InvalidTransition
from cuzkd.events import CompleteJob, FailJob, JobAccepted, Synthesize
from cuzkd.ipc.handle import Handle
from cuzkd.model import JobState, PartitionId, Role
from cuzkd.partitions import Job, PartitionState
from tests.scheduler.world import MIB, PREFIX, World, circuit


def test_one_job_goes_all_the_way() -> None:
    world = World()
    job = world.submit(partitions=1)
    assert world.scheduler.jobs[job].state is JobState.QUEUED
    world.prepare(world.gpu.to_prepare[0])
    assert world.started() == ["1.0"]
    assert world.scheduler.jobs[job].state is JobState.RUNNING
    world.synthesize()
    [order] = world.gpu.orders
    world.drain(order)
    assert world.prove(order) == [CompleteJob(job, (b"1.0",), (b"public 1.0",))]
    assert world.scheduler.idle
    assert world.scheduler.counters.jobs_done == 1
    assert world.scheduler.counters.partitions_proved == 1


def test_proofs_come_in_partition_order_whatever_the_order_of_proving() -> None:
    world = World(workers=2)
    job = world.submit(partitions=2)
    for segment in list(world.gpu.to_prepare):
        world.prepare(segment)
    world.synthesize(1)
    world.synthesize(0)
    for order in list(world.gpu.orders):
        world.prove(order)
    assert world.ends[job] == CompleteJob(job, (b"1.0", b"1.1"), (b"public 1.0", b"public 1.1"))


def test_inside_a_uid_the_oldest_job_and_the_lowest_partition_come_first() -> None:
    world = World()
    world.submit(partitions=3)
    world.submit(partitions=2)
    world.settle()
    assert world.started() == ["1.0", "1.1", "1.2", "2.0", "2.1"]


def test_uids_take_turns_by_partitions_so_a_big_job_does_not_hold_up_a_small_one() -> None:
    world = World()
    world.submit(partitions=4, uid=1)
    world.submit(partitions=2, uid=2)
    world.submit(partitions=1, uid=3)
    world.settle()
    assert world.started() == ["1.0", "2.0", "3.0", "1.1", "2.1", "1.2", "1.3"]


def test_two_jobs_of_one_uid_get_no_more_turns_than_one_of_another() -> None:
    world = World()
    for _ in range(3):
        world.submit(partitions=1, uid=1)
    world.submit(partitions=3, uid=2)
    world.settle()
    assert world.started() == ["1.0", "4.0", "2.0", "4.1", "3.0", "4.2"]


def test_the_gpu_process_has_two_partitions_at_most_and_gets_the_oldest_ready_first() -> None:
    world = World(workers=4)
    world.submit(partitions=4)
    for segment in list(world.gpu.to_prepare):
        world.prepare(segment)
    for index in (3, 0, 2, 1):
        world.synthesize(index)
    assert world.proving() == ["1.3", "1.0"]
    world.drain(world.gpu.orders[0])
    assert world.proving() == ["1.3", "1.0"]
    world.prove(world.gpu.orders[0])
    assert world.proving() == ["1.0", "1.2"]


def test_a_partition_on_its_last_chance_is_proved_alone() -> None:
    world = World(max_attempts=2, workers=2)
    world.submit(partitions=3)
    world.prepare(world.gpu.to_prepare[0])
    world.synthesize(0)
    world.report(world.gpu, world.gpu.orders[0])
    world.kill(Role.GPU)
    world.up(Role.GPU)
    for segment in list(world.gpu.to_prepare):
        world.prepare(segment)
    world.synthesize(0)
    assert world.proving() == ["1.0"], "1.0 has killed once and goes alone"
    world.prove(world.gpu.orders[0])
    world.synthesize(1)
    assert world.proving() == ["1.1", "1.2"]


def test_a_retried_partition_starts_at_its_old_place() -> None:
    world = World()
    world.submit(partitions=3, uid=1)
    world.submit(partitions=1, uid=2)
    world.prepare(world.gpu.to_prepare[0])
    world.kill(Role.SYNTHESIS)
    world.up(Role.SYNTHESIS)
    world.settle()
    assert world.started() == ["1.0", "1.0", "2.0", "1.1", "1.2"]


def test_an_older_job_s_lost_partition_goes_before_a_younger_job_of_its_uid() -> None:
    world = World()
    world.submit(partitions=1)
    world.submit(partitions=1)
    world.prepare(world.gpu.to_prepare[0])
    world.kill(Role.SYNTHESIS)
    world.up(Role.SYNTHESIS)
    assert world.started() == ["1.0", "1.0"]


def test_a_job_number_cannot_be_accepted_twice_while_it_lives() -> None:
    world = World()
    job = world.submit()
    with pytest.raises(InvalidTransition, match=f"job {job}"):
        world.scheduler.handle(JobAccepted(job, 1, circuit(MIB), 1, True))


def test_a_step_that_the_picture_does_not_have_tells_the_story_so_far() -> None:
    job = Job.of(JobAccepted(7, 1, circuit(MIB), 1, True), order=0, max_attempts=3)
    partition = job.take_lowest()
    partition.move(PartitionState.SYNTHESIZING, "leased x")
    partition.move(PartitionState.READY, "synthesized")
    with pytest.raises(InvalidTransition, match=r"7\.0: ready → done .*leased x.*synthesized"):
        partition.move(PartitionState.DONE, "proved")


def test_the_handle_names_the_vectors_of_the_circuit() -> None:
    world = World()
    job = world.submit(size_bytes=4 * MIB)
    [start] = world.prepare(world.gpu.to_prepare[0])
    worker = world.synthesis().worker
    handle = Handle(f"{PREFIX}0", 1, worker.incarnation, (0, MIB, 2 * MIB, 3 * MIB), 4 * MIB)
    assert start == Synthesize(worker, PartitionId(job, 0), circuit(4 * MIB), handle)


def test_no_job_is_both_done_and_failed() -> None:
    world = World(workers=2)
    first, second = world.submit(partitions=2), world.submit(partitions=2)
    world.settle()
    ends = [c for c in world.log if isinstance(c, CompleteJob | FailJob)]
    assert sorted(end.job for end in ends) == [first, second]
