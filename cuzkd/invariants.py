"""What is true of the scheduler's state after every event; cheap enough to check in tests at each step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cuzkd.events import Worker
from cuzkd.memory import Memory
from cuzkd.model import Role
from cuzkd.partitions import Job, Partition, PartitionState
from cuzkd.stages import Stages
from cuzkd.turns import Turns


def check_partitions(
    jobs: Mapping[int, Job], turns: Turns, ready: Sequence[Partition], stages: Stages
) -> None:
    """Every partition of a live job is in exactly the one place that its state says; AssertionError else."""
    synthesizing = [p for s in stages if s.worker.role is Role.SYNTHESIS for p in s.partitions.values()]
    proving = [] if stages.gpu is None else list(stages.gpu.partitions.values())
    by_state: dict[PartitionState, set[Partition]] = {state: set() for state in PartitionState}
    for job in jobs.values():
        _check_job(job, turns)
        for p in job.partitions:
            by_state[p.state].add(p)
    assert not by_state[PartitionState.DROPPED], "a partition is dropped and its job lives"
    assert {p for p in synthesizing if p.live} == by_state[PartitionState.SYNTHESIZING]
    assert {p for p in proving if p.live} == by_state[PartitionState.PROVING]
    assert set(ready) == by_state[PartitionState.READY], "the ready partitions are not those that are kept"
    for p in (*synthesizing, *proving, *ready):
        is_shadow = p is not p.job.partitions[p.id.index]
        wanted = jobs.get(p.job.id) is p.job and not is_shadow
        assert p.live == wanted, f"partition {p.id} outlives its job"
    for job in turns:
        assert jobs.get(job.id) is job, f"job {job.id} has ended and still takes turns"
    assert list(ready) == sorted(ready, key=lambda p: p.ready_order), "the ready ones are out of order"
    for stage in stages:
        assert stage.worker.role is Role.GPU or len(stage.partitions) <= 1, f"{stage.worker} has too many"
        assert not (stage.stuck and any(p.live for p in stage.partitions.values())), (
            f"{stage.worker} is stuck"
        )
        assert stage.reported is None or stage.reported[0] in stage.partitions, f"{stage.worker} reported"


def _check_job(job: Job, turns: Turns) -> None:
    done = [p for p in job.partitions if p.state is PartitionState.DONE]
    assert job.done == len(done) < len(job.partitions), f"job {job.id} is done and still here"
    assert all(p.result is not None for p in done), f"job {job.id} has lost a proof"
    queued = [p.id.index for p in job.partitions if p.state is PartitionState.QUEUED]
    assert sorted(job.waiting) == queued, f"job {job.id}: the queued partitions are not those that wait"
    assert (job in turns) == bool(job.waiting), f"job {job.id} takes turns without waiting, or waits without"
    for p in job.partitions:
        assert len(p.failures) < job.max_attempts, f"partition {p.id} has no attempt left"


def check_leases(ready: Sequence[Partition], stages: Stages, memory: Memory) -> None:
    """The pool's leases are exactly the handles that partitions hold, each with its right holder."""
    expected: dict[str, Worker | None] = {}
    for partition in ready:
        assert partition.handle is not None, f"partition {partition.id} is ready and has no segment"
        expected[partition.handle.segment] = None
    for stage in stages:
        for partition in stage.partitions.values():
            if stage.worker.role is Role.SYNTHESIS:
                assert partition.handle is not None, f"partition {partition.id} has no segment to write"
            elif partition.handle is not None:
                assert memory.is_prepared(partition.handle), f"partition {partition.id} is read unprepared"
            if partition.handle is not None:
                assert partition.handle.segment not in expected, f"{partition.handle} is held twice"
                expected[partition.handle.segment] = stage.worker
    assert memory.holders() == expected, "the pool's leases are not those of the partitions"
    memory.validate()
