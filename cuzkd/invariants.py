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
    synthesizing = {p for s in stages if s.worker.role is Role.SYNTHESIS for p in s.partitions.values()}
    proving = set() if stages.gpu is None else set(stages.gpu.partitions.values())
    assert not synthesizing & proving, "a partition is with two workers"
    for job in jobs.values():
        assert job.done < len(job.partitions), f"job {job.id} is done and still here"
        assert job.done == sum(p.state is PartitionState.DONE for p in job.partitions)
        assert (job in turns) == bool(job.waiting), f"job {job.id} has a turn without waiting, or none"
        waiting = set(job.waiting)
        assert len(waiting) == len(job.waiting), f"a partition of job {job.id} waits twice"
        for p in job.partitions:
            places = {
                PartitionState.QUEUED: p.id.index in waiting,
                PartitionState.SYNTHESIZING: p in synthesizing,
                PartitionState.READY: p in ready,
                PartitionState.PROVING: p in proving,
                PartitionState.DONE: p.result is not None,
                PartitionState.DROPPED: False,
            }
            found = [state for state, here in places.items() if here]
            assert found == [p.state], f"partition {p.id} is {p.state}, and found in {found}"
            assert len(p.failures) < job.max_attempts, f"partition {p.id} has no attempt left"
    for p in (*synthesizing, *proving, *ready):
        assert (p.job.id in jobs and p.job is jobs[p.job.id]) == p.live, f"partition {p.id} outlives its job"
    for job in turns:
        assert jobs.get(job.id) is job, f"job {job.id} has ended and still takes turns"
    assert list(ready) == sorted(ready, key=lambda p: p.ready_order), "the ready ones are out of order"
    for stage in stages:
        assert stage.worker.role is Role.GPU or len(stage.partitions) <= 1, f"{stage.worker} has too many"
        assert stage.reported is None or stage.reported[0] in stage.partitions, f"{stage.worker} reported"


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
