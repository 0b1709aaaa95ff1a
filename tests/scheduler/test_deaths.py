"""What a process's death costs: its leases, its partitions' progress, and one attempt of the guilty one."""

from cuzkd.errors import Poisoned, ResourceExhausted
from cuzkd.events import CompleteJob, PrepareSegment, Prove, WorkerStuck
from cuzkd.model import Phase, Role
from cuzkd.partitions import PartitionState
from tests.scheduler.world import MIB, World

NO_SPACE = ResourceExhausted("no space left on /dev/shm")


def running(workers: int = 1, partitions: int = 1, max_attempts: int = 3) -> World:
    """A world with one job whose segments are all prepared."""
    world = World(workers=workers, max_attempts=max_attempts)
    world.submit(partitions=partitions)
    for segment in list(world.gpu.to_prepare):
        world.prepare(segment)
    return world


def failures(world: World, index: int = 0) -> int:
    return len(world.scheduler.jobs[1].partitions[index].failures)


def state(world: World, index: int = 0) -> PartitionState:
    return world.scheduler.jobs[1].partitions[index].state


def new_gpu(world: World) -> None:
    world.kill(Role.GPU)
    world.up(Role.GPU)
    for segment in list(world.gpu.to_prepare):
        world.prepare(segment)


def test_a_dead_synthesis_worker_s_lease_comes_back_and_its_partition_starts_again() -> None:
    world = running()
    [order] = world.synthesis().orders
    world.kill(Role.SYNTHESIS)
    assert state(world) is PartitionState.QUEUED
    assert world.scheduler.memory.holders() == {}
    world.up(Role.SYNTHESIS)
    [again] = world.synthesis().orders
    assert again.handle.generation == order.handle.generation + 1
    world.settle()
    assert isinstance(world.ends[1], CompleteJob)


def test_another_idle_worker_takes_a_dead_one_s_partition_at_once() -> None:
    world = running(workers=2)
    world.kill(Role.SYNTHESIS, 0)
    assert [str(order.partition) for order in world.synthesis(1).orders] == ["1.0"]


def test_a_death_is_charged_only_after_a_phase_was_reported() -> None:
    world = running()
    world.kill(Role.SYNTHESIS)
    assert failures(world) == 0
    world.up(Role.SYNTHESIS)
    world.report(world.synthesis(), world.synthesis().orders[0])
    world.kill(Role.SYNTHESIS)
    assert failures(world) == 1


def test_a_partition_that_kills_its_process_max_attempts_times_fails_its_job_and_says_how() -> None:
    world = running(max_attempts=2)
    for reason in ("signal 11", "signal 9"):
        world.report(world.synthesis(), world.synthesis().orders[0])
        world.kill(Role.SYNTHESIS, reason=reason)
        world.up(Role.SYNTHESIS)
    error = world.error_of(1)
    assert isinstance(error, Poisoned)
    for told in ("signal 11", "signal 9", "synthesis"):
        assert told in error.message
    assert world.scheduler.idle
    assert world.scheduler.memory.holders() == {}


def test_other_jobs_go_on_after_a_poisoned_one() -> None:
    world = running(max_attempts=1)
    world.submit()
    world.report(world.synthesis(), world.synthesis().orders[0])
    world.kill(Role.SYNTHESIS)
    world.up(Role.SYNTHESIS)
    world.settle()
    assert isinstance(world.error_of(1), Poisoned)
    assert isinstance(world.ends[2], CompleteJob)


def test_the_gpu_process_s_death_charges_only_the_partition_last_reported() -> None:
    world = running(workers=2, partitions=2)
    world.synthesize(0)
    world.synthesize(1)
    first, second = world.gpu.orders
    world.report(world.gpu, first, Phase.UPLOAD)
    world.report(world.gpu, second, Phase.MSM)
    world.kill(Role.GPU)
    assert (failures(world, 0), failures(world, 1)) == (0, 1)


def test_a_report_about_a_finished_partition_charges_nobody() -> None:
    world = running(workers=2, partitions=2)
    world.synthesize(0)
    world.synthesize(1)
    first, _ = world.gpu.orders
    world.report(world.gpu, first, Phase.VERIFY)
    world.prove(first)
    world.kill(Role.GPU)
    assert failures(world, 1) == 0


def test_what_a_dead_gpu_process_had_not_read_to_the_end_is_proved_without_a_new_synthesis() -> None:
    world = running()
    world.synthesize()
    [order] = world.gpu.orders
    world.kill(Role.GPU)
    assert state(world) is PartitionState.READY
    assert world.scheduler.memory.holders() == {order.handle.segment: None}
    world.up(Role.GPU)
    [prove] = world.prepare(order.handle.segment)
    assert isinstance(prove, Prove)
    assert prove.handle == order.handle
    assert world.started() == ["1.0"]


def test_what_a_dead_gpu_process_had_read_must_be_synthesized_again() -> None:
    world = running()
    world.synthesize()
    world.drain(world.gpu.orders[0])
    world.kill(Role.GPU)
    assert state(world) is PartitionState.QUEUED
    world.up(Role.GPU)
    world.settle()
    assert world.started() == ["1.0", "1.0"]
    assert isinstance(world.ends[1], CompleteJob)


def test_ready_partitions_keep_their_order_over_the_gpu_process_s_death() -> None:
    world = running(workers=3, partitions=3)
    for index in (2, 0, 1):
        world.synthesize(index)
    assert world.proving() == ["1.2", "1.0"]
    new_gpu(world)
    assert world.proving() == ["1.2", "1.0"]
    assert state(world, 1) is PartitionState.READY


def test_a_new_gpu_process_prepares_every_segment_before_any_is_leased_or_read() -> None:
    world = running(workers=2, partitions=5)
    segments = sorted(world.segments)
    world.kill(Role.GPU)
    world.synthesize(0)
    assert len(world.started()) == 2, "there is a free segment and an idle worker, but nobody to prepare it"
    commands = world.up(Role.GPU) and [c for c in world.log if isinstance(c, PrepareSegment)]
    assert sorted(c.segment for c in commands) == segments
    world.settle()
    assert isinstance(world.ends[1], CompleteJob)


def test_a_segment_that_was_being_made_is_prepared_by_the_next_gpu_process() -> None:
    world = World()
    world.submit()
    [coming] = world.gpu.to_prepare
    world.kill(Role.GPU)
    world.up(Role.GPU)
    assert world.gpu.to_prepare == [coming]
    world.settle()
    assert isinstance(world.ends[1], CompleteJob)


def lose_written_segment(world: World) -> str:
    """A new gpu process cannot prepare the segment that the synthesis worker is writing."""
    segment = world.synthesis().orders[0].handle.segment
    world.kill(Role.GPU)
    world.up(Role.GPU)
    assert world.fail_segment(segment, NO_SPACE) == []
    return segment


def test_a_segment_lost_while_it_is_written_is_kept_until_its_writer_reports() -> None:
    world = running()
    segment = lose_written_segment(world)
    assert segment in world.segments
    world.synthesize()
    assert segment not in world.segments
    assert state(world) is PartitionState.QUEUED
    world.settle()
    assert isinstance(world.ends[1], CompleteJob), "the configured limit is tried again for it"


def test_a_segment_lost_while_it_is_written_is_kept_until_its_writer_dies() -> None:
    world = running()
    segment = lose_written_segment(world)
    world.kill(Role.SYNTHESIS)
    assert segment not in world.segments
    world.up(Role.SYNTHESIS)
    world.settle()
    assert isinstance(world.ends[1], CompleteJob)


def test_a_lost_segment_is_not_prepared_again() -> None:
    world = running()
    segment = lose_written_segment(world)
    world.kill(Role.GPU)
    world.up(Role.GPU)
    assert segment not in world.gpu.to_prepare


def test_a_segment_lost_while_its_partition_is_ready_costs_a_synthesis() -> None:
    world = running()
    world.synthesize()
    [order] = world.gpu.orders
    world.submit(4 * MIB)
    world.kill(Role.GPU)
    world.up(Role.GPU)
    world.fail_segment(order.handle.segment, NO_SPACE)
    assert order.handle.segment not in world.segments
    world.settle()
    assert isinstance(world.ends[1], CompleteJob)
    assert world.started().count("1.0") == 2


def test_two_processes_that_die_together_lose_nothing() -> None:
    world = running(workers=2, partitions=6)
    world.synthesize(0)
    world.kill(Role.GPU)
    world.kill(Role.SYNTHESIS, 0)
    world.kill(Role.SYNTHESIS, 1)
    for role, index in ((Role.SYNTHESIS, 1), (Role.GPU, 0), (Role.SYNTHESIS, 0)):
        world.up(role, index)
    world.settle()
    assert isinstance(world.ends[1], CompleteJob)


def test_fault_07_a_stuck_synthesis_worker_s_partition_is_done_elsewhere_and_its_segment_is_not_touched() -> (
    None
):
    world = running(workers=2, partitions=4)
    order = world.synthesis(0).orders[0]
    world.report(world.synthesis(0), order)
    world.stick(Role.SYNTHESIS, 0)
    assert failures(world) == 1
    world.settle()
    assert isinstance(world.ends[1], CompleteJob)
    assert world.scheduler.memory.holders() == {order.handle.segment: world.synthesis(0).worker}
    world.kill(Role.SYNTHESIS, 0)
    assert world.scheduler.memory.holders() == {}


def test_fault_07_a_stuck_gpu_process_gets_nothing_more_and_keeps_what_it_reads() -> None:
    world = running()
    world.synthesize()
    [order] = world.gpu.orders
    world.stick(Role.GPU)
    assert state(world) is PartitionState.QUEUED
    assert world.submit() == 2
    world.settle()
    assert world.scheduler.memory.holders() == {order.handle.segment: world.gpu.worker}
    new_gpu(world)
    world.settle()
    assert isinstance(world.ends[1], CompleteJob)
    assert isinstance(world.ends[2], CompleteJob)
    assert world.scheduler.memory.holders() == {}


def test_fault_07_what_a_stuck_worker_says_in_the_end_ends_its_lease_and_nothing_else() -> None:
    world = running(workers=2)
    process = world.synthesis(0)
    [order] = process.orders
    world.stick(Role.SYNTHESIS, 0)
    [another] = world.gpu.to_prepare
    world.prepare(another)
    assert state(world) is PartitionState.SYNTHESIZING, "the other worker has it"
    assert world.synthesize(0) == []
    assert order.handle.segment not in world.scheduler.memory.holders()
    assert world.feed(WorkerStuck(process.worker, "again")) == []
    world.settle()
    assert isinstance(world.ends[1], CompleteJob)
