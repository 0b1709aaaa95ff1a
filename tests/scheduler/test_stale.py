"""What a dead process said, or says about an ended lease, is dropped and counted, and changes nothing."""

import dataclasses

import pytest

from cuzkd import events
from cuzkd.errors import BadWitness, InvalidTransition
from cuzkd.events import Event, Worker
from cuzkd.model import PartitionId, Phase, Role
from tests.scheduler.world import PREFIX, World


def mid_flight() -> World:
    """1.0 with the gpu process, 1.1 with the synthesis worker; both processes are second lives."""
    world = World()
    world.kill(Role.GPU)
    world.kill(Role.SYNTHESIS)
    world.up(Role.GPU)
    world.up(Role.SYNTHESIS)
    world.submit(partitions=3)
    for segment in list(world.gpu.to_prepare):
        world.prepare(segment)
    world.synthesize()
    return world


def says(world: World, gpu: Worker, synthesis: Worker) -> list[Event]:
    """Everything that the two could say about what is under way."""
    [proving], [writing] = world.gpu.orders, world.synthesis().orders
    return [
        events.PhaseReported(gpu, proving.partition, Phase.MSM),
        events.PhaseReported(synthesis, writing.partition, Phase.SYNTHESIS),
        events.SegmentDrained(gpu, proving.handle),
        events.Proved(gpu, proving.partition, b"proof", b"public"),
        events.PartitionFailed(gpu, proving.partition, BadWitness("row 3")),
        events.PartitionFailed(synthesis, writing.partition, BadWitness("row 3")),
        events.Synthesized(synthesis, writing.partition, writing.handle),
        events.SegmentPrepared(gpu, proving.handle.segment, True),
        events.SegmentFailed(proving.handle.segment, BadWitness("no"), gpu),
        events.WorkerDown(gpu, "signal 9"),
        events.WorkerDown(synthesis, "signal 9"),
        events.WorkerUp(gpu),
        events.WorkerUp(synthesis),
    ]


@pytest.mark.parametrize("index", range(13))
def test_fault_03_what_an_earlier_life_says_is_dropped_and_counted(index: int) -> None:
    world = mid_flight()
    gpu = dataclasses.replace(world.gpu.worker, incarnation=world.gpu.worker.incarnation - 2)
    synthesis = dataclasses.replace(world.synthesis().worker, incarnation=1)
    event = says(world, gpu, synthesis)[index]
    stale = world.scheduler.stale
    assert world.feed(event) == []
    assert world.scheduler.stale == stale + 1
    world.settle()
    assert isinstance(world.ends[1], events.CompleteJob)


def test_fault_03_a_handle_of_another_generation_ends_no_lease() -> None:
    world = mid_flight()
    [proving] = world.gpu.orders
    late = dataclasses.replace(proving.handle, generation=proving.handle.generation + 1)
    stale = world.scheduler.stale
    world.feed(events.SegmentDrained(world.gpu.worker, late))
    assert proving.handle.segment in world.scheduler.memory.holders()
    assert world.scheduler.stale == stale + 1


def test_fault_03_an_altered_handle_is_not_taken_for_a_synthesis() -> None:
    world = mid_flight()
    [writing] = world.synthesis().orders
    altered = dataclasses.replace(writing.handle, offsets=(0, 0, 0, 0))
    stale = world.scheduler.stale
    assert world.feed(events.Synthesized(world.synthesis().worker, writing.partition, altered)) == []
    assert world.scheduler.stale == stale + 1


def test_fault_03_draining_twice_ends_one_lease() -> None:
    world = mid_flight()
    [proving] = world.gpu.orders
    world.drain(proving)
    stale = world.scheduler.stale
    world.drain(proving)
    assert world.scheduler.stale == stale + 1


def test_fault_03_partitions_and_segments_that_nobody_knows_are_dropped() -> None:
    world = mid_flight()
    stale = world.scheduler.stale
    world.feed(events.Proved(world.gpu.worker, PartitionId(99, 0), b"", b""))
    world.feed(events.PhaseReported(world.gpu.worker, PartitionId(1, 2), Phase.MSM))
    world.feed(events.SegmentPrepared(world.gpu.worker, f"{PREFIX}99", True))
    world.feed(events.SegmentFailed(f"{PREFIX}99", BadWitness("no")))
    assert world.scheduler.stale == stale + 4


def test_the_ingest_process_is_none_of_the_scheduler_s_business() -> None:
    world = World()
    ingest = Worker(Role.INGEST, 0, 1)
    assert world.scheduler.handle(events.WorkerUp(ingest)) == []
    assert world.scheduler.handle(events.WorkerDown(ingest, "signal 9")) == []
    assert world.scheduler.stale == 0


def test_a_worker_cannot_come_up_twice_without_having_died() -> None:
    world = World()
    later = dataclasses.replace(world.gpu.worker, incarnation=1000)
    with pytest.raises(InvalidTransition, match="was not told"):
        world.scheduler.handle(events.WorkerUp(later))
