"""A cancelled job ends at once and only once, and everything that it had comes back as its workers report."""

from collections.abc import Callable

import pytest

from cuzkd.errors import BadWitness, Cancelled, WrongProof
from cuzkd.events import CompleteJob, FailJob, Prove, Synthesize
from cuzkd.model import Phase, Role
from tests.scheduler.world import MIB, World


def queued(world: World) -> int:
    """Behind a job that has the only worker."""
    prepared(world, world.submit())
    return world.submit()


def preparing_memory(world: World) -> int:
    job = world.submit()
    assert world.gpu.to_prepare
    return job


def prepared(world: World, job: int) -> int:
    for segment in list(world.gpu.to_prepare):
        world.prepare(segment)
    return job


def synthesizing(world: World) -> int:
    job = prepared(world, world.submit())
    assert world.synthesis().orders
    return job


def ready(world: World) -> int:
    """Synthesized while the gpu process has all that it takes."""
    prepared(world, world.submit(partitions=2))
    world.synthesize()
    world.synthesize()
    job = prepared(world, world.submit())
    world.synthesize()
    assert len(world.proving()) == 2
    return job


def uploading(world: World) -> int:
    job = synthesizing(world)
    world.synthesize()
    assert world.proving() == [f"{job}.0"]
    return job


def proving(world: World) -> int:
    job = uploading(world)
    world.drain(world.gpu.orders[0])
    return job


STATES: list[Callable[[World], int]] = [
    queued,
    preparing_memory,
    synthesizing,
    ready,
    uploading,
    proving,
]
each_state = pytest.mark.parametrize("reach", STATES, ids=lambda reach: reach.__name__)


def assert_all_is_back(world: World) -> None:
    assert world.scheduler.idle
    assert world.scheduler.memory.holders() == {}
    pool = world.scheduler.memory.pool
    assert all(segment.prepared for segment in pool)
    assert {segment.name for segment in pool} == set(world.segments)


@each_state
def test_fault_17_a_cancelled_job_ends_at_once_and_once(reach: Callable[[World], int]) -> None:
    world = World()
    job = reach(world)
    told = len(world.log)
    assert isinstance(world.cancel(job)[0], FailJob)
    assert isinstance(world.error_of(job), Cancelled)
    world.settle()  # the world refuses a second end
    begun = [c.partition.job for c in world.log[told:] if isinstance(c, Synthesize | Prove)]
    assert job not in begun
    assert_all_is_back(world)


@each_state
def test_fault_17_other_jobs_are_done_after_a_cancel(reach: Callable[[World], int]) -> None:
    world = World()
    job = reach(world)
    other = world.submit(partitions=3)
    world.cancel(job)
    world.settle()
    assert isinstance(world.ends[other], CompleteJob)
    assert_all_is_back(world)


@each_state
@pytest.mark.parametrize("role", [Role.GPU, Role.SYNTHESIS])
def test_fault_17_a_worker_s_death_after_a_cancel_brings_everything_back(
    reach: Callable[[World], int], role: Role
) -> None:
    world = World()
    job = reach(world)
    for process in world.processes.values():
        for order in process.orders:
            world.report(process, order, Phase.MSM)
    world.cancel(job)
    world.kill(role)
    world.up(role)
    world.settle()
    assert isinstance(world.error_of(job), Cancelled)
    assert_all_is_back(world)


def test_fault_17_a_lease_is_kept_until_the_writer_of_a_cancelled_partition_reports() -> None:
    """A writer that nobody waits for may still be writing."""
    world = World()
    job = synthesizing(world)
    [order] = world.synthesis().orders
    world.cancel(job)
    assert world.scheduler.memory.holders() == {order.handle.segment: world.synthesis().worker}
    assert not world.scheduler.idle
    world.synthesize()
    assert_all_is_back(world)


def test_fault_17_a_lease_is_kept_until_the_gpu_process_has_read_a_cancelled_partition() -> None:
    world = World()
    job = uploading(world)
    [order] = world.gpu.orders
    world.cancel(job)
    assert order.handle.segment in world.scheduler.memory.holders()
    world.drain(order)
    assert world.scheduler.memory.holders() == {}
    assert not world.scheduler.idle
    world.prove(order)
    assert_all_is_back(world)


def test_fault_17_a_ready_partition_s_segment_goes_to_the_next_one_at_once() -> None:
    world = World()
    job = ready(world)
    waiting = world.submit()
    assert not world.synthesis().orders, "every segment is leased"
    started = [c for c in world.cancel(job) if isinstance(c, Synthesize)]
    assert [c.partition.job for c in started] == [waiting]


def test_fault_17_a_cancel_beside_completion_changes_nothing() -> None:
    """The last proof came first: the job is done, and a cancel that was under way finds it ended."""
    world = World()
    job = proving(world)
    world.prove(world.gpu.orders[0])
    assert world.cancel(job) == []
    assert isinstance(world.ends[job], CompleteJob)
    assert_all_is_back(world)


def test_fault_17_a_proof_that_comes_after_the_cancel_is_not_handed_out() -> None:
    world = World()
    job = proving(world)
    world.cancel(job)
    assert world.prove(world.gpu.orders[0]) == []
    assert isinstance(world.error_of(job), Cancelled)
    assert_all_is_back(world)


@pytest.mark.parametrize("error", [BadWitness("row 3"), WrongProof("does not verify")])
def test_fault_17_a_failure_after_the_cancel_is_nobody_s(error: BadWitness | WrongProof) -> None:
    world = World()
    job = proving(world)
    world.cancel(job)
    assert world.fail(world.gpu, world.gpu.orders[0], error) == []
    counters = world.scheduler.counters
    assert (counters.jobs_cancelled, counters.jobs_failed, counters.jobs_done) == (1, 0, 0)
    assert not world.scheduler.device_suspect
    assert_all_is_back(world)


def test_fault_17_a_job_that_is_in_all_states_at_once_ends_whole() -> None:
    world = World(workers=2)
    job = prepared(world, world.submit(partitions=8))
    world.synthesize(0)
    world.synthesize(1)
    world.drain(world.gpu.orders[0])
    world.prove(world.gpu.orders[0])
    world.synthesize(0)
    world.synthesize(1)
    states = {p.state for p in world.scheduler.jobs[job].partitions}
    assert len(states) == 5, states
    world.cancel(job)
    world.settle()
    assert isinstance(world.error_of(job), Cancelled)
    assert_all_is_back(world)


def test_fault_17_cancelling_twice_or_what_never_was_is_nothing() -> None:
    world = World()
    job = synthesizing(world)
    world.cancel(job)
    assert world.cancel(job) == []
    assert world.cancel(99) == []


def test_fault_17_memory_that_a_cancelled_job_was_next_for_goes_to_others() -> None:
    """A job that waits for all memory to come free holds up smaller ones, until it is cancelled."""
    world = World(limit_bytes=4 * MIB, workers=2)
    prepared(world, world.submit(size_bytes=2 * MIB))
    large = world.submit(size_bytes=4 * MIB)
    small = world.submit(size_bytes=MIB)
    assert world.gpu.to_prepare == []
    world.cancel(large)
    assert world.gpu.to_prepare, "there is a segment to come for the small job"
    world.settle()
    assert isinstance(world.ends[small], CompleteJob)
