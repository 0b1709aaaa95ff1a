"""Which processes live, and which partitions each of them has; what a dead one says is stale."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from cuzkd.errors import InvalidTransition
from cuzkd.events import Worker
from cuzkd.ipc.handle import Handle
from cuzkd.model import CircuitShape, PartitionId, Phase, Role
from cuzkd.partitions import Partition


@dataclass(slots=True, eq=False)
class Stage:
    """A live worker and what it has; partitions of failed jobs stay until the worker has reported them.

    One that is `stuck` gets nothing more; it has only what it held, on behalf of nobody.
    """

    worker: Worker
    partitions: dict[PartitionId, Partition] = field(default_factory=dict)
    reported: tuple[PartitionId, Phase] | None = None
    stuck: bool = False

    def begin(self, partition: Partition) -> None:
        """The partition is being sent to the worker."""
        self.partitions[partition.id] = partition

    def end(self, partition: Partition) -> None:
        """The worker is through with the partition, for better or worse."""
        del self.partitions[partition.id]
        if self.reported is not None and self.reported[0] == partition.id:
            self.reported = None

    def give_up(self) -> list[Partition]:
        """Let go of every partition, but not of its lease: the worker keeps that in the partition's shadow."""
        lost = list(self.partitions.values())
        self.partitions = {partition.id: partition.shadow() for partition in lost}
        self.reported = None
        self.stuck = True
        return lost

    def holder_of(self, handle: Handle) -> Partition | None:
        """The partition that holds exactly this lease."""
        return next((p for p in self.partitions.values() if p.handle == handle), None)


class Stages:
    """The live synthesis workers by index, and the gpu process. `stale` counts what dead ones said."""

    def __init__(self) -> None:
        self.gpu: Stage | None = None
        self.stale = 0
        self._synthesis: dict[int, Stage] = {}
        self._incarnations: dict[tuple[Role, int], int] = {}

    def __iter__(self) -> Iterator[Stage]:
        """Synthesis workers by index, then the gpu process."""
        yield from (self._synthesis[index] for index in sorted(self._synthesis))
        if self.gpu is not None:
            yield self.gpu

    def idle_synthesis(self) -> list[Stage]:
        """The synthesis workers that have nothing to do."""
        return [s for s in self if s.worker.role is Role.SYNTHESIS and not s.partitions and not s.stuck]

    def gpu_has(self, circuit: str) -> bool:
        """Whether the gpu process has a partition of the circuit with this digest."""
        return self.gpu is not None and any(
            partition.job.circuit.digest == circuit for partition in self.gpu.partitions.values()
        )

    def shape_of(self, partition: PartitionId) -> CircuitShape | None:
        """The shape of the partition's circuit, if some worker has the partition."""
        held = (stage.partitions.get(partition) for stage in self)
        return next((found.job.circuit.shape for found in held if found is not None), None)

    def up(self, worker: Worker) -> bool:
        """Begin a worker's life; False when it is an old one's news, `InvalidTransition` while one lives."""
        key = (worker.role, worker.index)
        if worker.incarnation <= self._incarnations.get(key, -1):
            self.stale += 1
            return False
        if (before := self._current(worker)) is not None:
            raise InvalidTransition(f"{worker} is up, but the end of {before.worker} was not told")
        self._incarnations[key] = worker.incarnation
        if worker.role is Role.SYNTHESIS:
            self._synthesis[worker.index] = Stage(worker)
        else:
            self.gpu = Stage(worker)
        return True

    def down(self, worker: Worker) -> Stage | None:
        """End a worker's life; what it had, or None (counted) when that life was over."""
        stage = self.live(worker)
        if stage is None:
            return None
        if worker.role is Role.SYNTHESIS:
            del self._synthesis[worker.index]
        else:
            self.gpu = None
        return stage

    def live(self, worker: Worker) -> Stage | None:
        """The worker's stage, or None (counted) when that life is over."""
        stage = self._current(worker)
        if stage is not None and stage.worker == worker:
            return stage
        self.stale += 1
        return None

    def held(self, worker: Worker, partition: PartitionId) -> tuple[Stage, Partition] | None:
        """What the worker has under this id, or None (counted) when it is dead or has it not."""
        stage = self.live(worker)
        if stage is None:
            return None
        if partition not in stage.partitions:
            self.stale += 1
            return None
        return stage, stage.partitions[partition]

    def _current(self, worker: Worker) -> Stage | None:
        return self._synthesis.get(worker.index) if worker.role is Role.SYNTHESIS else self.gpu
