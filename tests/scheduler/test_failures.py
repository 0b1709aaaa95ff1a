"""What a worker's refusal or failure does to the partition, its job and its job's other partitions."""

import pytest

from cuzkd.errors import (
    BadWitness,
    CuzkdError,
    InternalError,
    Refused,
    ResourceExhausted,
    Unsupported,
    WrongProof,
)
from cuzkd.events import CompleteJob, FailJob, Prove
from cuzkd.model import Role
from tests.scheduler.world import World

WRONG = WrongProof("the proof does not verify")


def running(workers: int = 1, partitions: int = 1, max_attempts: int = 3, *, checked: bool = True) -> World:
    """A world with one job whose segments are all prepared."""
    world = World(workers=workers, max_attempts=max_attempts)
    world.submit(partitions=partitions, checked=checked)
    for segment in list(world.gpu.to_prepare):
        world.prepare(segment)
    return world


@pytest.mark.parametrize("error", [BadWitness("row 3"), Refused("no"), Unsupported("custom gates")])
def test_refused_input_fails_the_job_at_once_with_that_error(error: CuzkdError) -> None:
    world = running()
    world.fail(world.synthesis(), world.synthesis().orders[0], error)
    assert world.error_of(1) is error
    assert world.scheduler.idle
    assert world.scheduler.counters.jobs_failed == 1


def test_the_error_says_which_of_several_partitions_it_was() -> None:
    world = running(workers=2, partitions=2)
    world.fail(world.synthesis(1), world.synthesis(1).orders[0], BadWitness("row 3", advice="look at it"))
    error = world.error_of(1)
    assert isinstance(error, BadWitness)
    assert (error.message, error.advice) == ("partition 1: row 3", "look at it")


def test_other_failures_are_retried_from_synthesis_and_count_as_attempts() -> None:
    world = running(max_attempts=2)
    error = ResourceExhausted("out of device memory")
    world.synthesize()
    world.fail(world.gpu, world.gpu.orders[0], error)
    assert world.started() == ["1.0", "1.0"]
    world.synthesize()
    world.fail(world.gpu, world.gpu.orders[0], error)
    assert world.error_of(1) is error
    assert world.scheduler.counters.partitions_retried == 1


def test_a_failed_synthesis_may_succeed_the_next_time() -> None:
    world = running()
    world.fail(world.synthesis(), world.synthesis().orders[0], InternalError("once"))
    world.settle()
    assert isinstance(world.ends[1], CompleteJob)


def test_a_wrong_proof_is_made_again_from_synthesis_once_and_costs_no_attempt() -> None:
    world = running(max_attempts=1)
    world.synthesize()
    world.drain(world.gpu.orders[0])
    world.fail(world.gpu, world.gpu.orders[0], WRONG)
    assert not world.scheduler.device_suspect
    world.settle()
    assert world.started() == ["1.0", "1.0"]
    assert isinstance(world.ends[1], CompleteJob)


def test_a_second_wrong_proof_fails_the_job_and_makes_the_device_suspect() -> None:
    world = running()
    for _ in range(2):
        world.synthesize()
        world.fail(world.gpu, world.gpu.orders[0], WRONG)
    assert isinstance(world.error_of(1), WrongProof)
    assert world.scheduler.device_suspect


def test_a_wrong_proof_of_an_unchecked_witness_says_nothing_about_the_device() -> None:
    """The witness may be what is wrong: anybody could make the device suspect."""
    world = running(checked=False)
    for _ in range(2):
        world.synthesize()
        world.fail(world.gpu, world.gpu.orders[0], WRONG)
    assert isinstance(world.error_of(1), WrongProof)
    assert not world.scheduler.device_suspect


def test_the_failure_of_one_partition_drops_its_waiting_and_ready_siblings_at_once() -> None:
    world = running(workers=3, partitions=6)
    for index in (0, 1, 2):
        world.synthesize(index)
    assert world.proving() == ["1.0", "1.1"]
    world.fail(world.synthesis(0), world.synthesis(0).orders[0], BadWitness("row 3"))
    started = world.started()
    held = set(world.scheduler.memory.holders())
    assert held == set(world.touched()), "only what a process may still touch is leased"
    world.settle()
    assert world.started() == started
    assert world.scheduler.memory.holders() == {}
    assert list(world.ends) == [1]


def test_a_writer_of_a_failed_job_keeps_its_lease_until_it_reports() -> None:
    world = running(workers=2, partitions=2)
    writing = world.synthesis(1).orders[0].handle
    world.fail(world.synthesis(0), world.synthesis(0).orders[0], BadWitness("row 3"))
    assert writing.segment in world.scheduler.memory.holders()
    commands = world.synthesize(1)
    assert not any(isinstance(c, Prove) for c in commands)
    assert world.scheduler.memory.holders() == {}


def test_a_writer_of_a_failed_job_keeps_its_lease_until_it_dies() -> None:
    world = running(workers=2, partitions=2)
    world.fail(world.synthesis(0), world.synthesis(0).orders[0], BadWitness("row 3"))
    assert len(world.scheduler.memory.holders()) == 1
    world.kill(Role.SYNTHESIS, 1)
    assert world.scheduler.memory.holders() == {}
    assert world.scheduler.idle


def test_a_failed_job_s_partition_in_the_gpu_process_is_ignored_when_it_ends() -> None:
    world = running(workers=2, partitions=2)
    world.synthesize(0)
    [proving] = world.gpu.orders
    world.fail(world.synthesis(1), world.synthesis(1).orders[0], BadWitness("row 3"))
    assert not world.scheduler.idle
    world.drain(proving)
    assert world.scheduler.memory.holders() == {}
    assert world.prove(proving) == []
    assert world.scheduler.idle
    assert world.scheduler.counters.partitions_proved == 0


def test_a_failed_job_s_partition_cannot_fail_or_poison_anything_again() -> None:
    world = running(workers=2, partitions=3, max_attempts=1)
    world.synthesize(0)
    [proving] = world.gpu.orders
    world.fail(world.synthesis(0), world.synthesis(0).orders[0], BadWitness("row 3"))
    world.report(world.gpu, proving)
    world.kill(Role.GPU)
    world.fail(world.synthesis(1), world.synthesis(1).orders[0], BadWitness("row 4"))
    assert [c.job for c in world.log if isinstance(c, FailJob)] == [1]
    assert world.scheduler.idle
    assert world.scheduler.memory.holders() == {}


def test_failures_of_the_first_jobs_do_not_stop_later_ones() -> None:
    world = World(workers=2)
    for _ in range(4):
        world.submit(partitions=2)
    for segment in list(world.gpu.to_prepare):
        world.prepare(segment)
    for _ in range(3):
        process = world.synthesis(0)
        world.fail(process, process.orders[0], BadWitness("row 1"))
    world.settle()
    assert [type(world.ends[job]) for job in (1, 2, 3, 4)].count(CompleteJob) == 1
    assert len(world.ends) == 4
