"""A partition's states and the steps between them; a job is its partitions in order.

    QUEUED ──lease──▶ SYNTHESIZING ──▶ READY ──▶ PROVING ──▶ DONE
       ▲                   │           │  ▲         │ │
       │                   │           │  └─────────┘ │    its gpu process died before it had read the
       └───────────────────┴───────────┴──────────────┘    segment (to READY), or the vectors are lost

Every state can also go to DROPPED: the job has failed or was cancelled, and what still runs of it is ignored.
"""

from __future__ import annotations

import enum
import heapq
from dataclasses import dataclass
from typing import Final

from cuzkd.errors import CuzkdError, InvalidTransition
from cuzkd.events import JobAccepted
from cuzkd.ipc.handle import Handle
from cuzkd.model import CircuitRef, JobState, PartitionId, SegmentLayout

_STORY_STEPS = 24


class PartitionState(enum.StrEnum):
    """Where a partition is; the last two are final."""

    QUEUED = "queued"
    SYNTHESIZING = "synthesizing"
    READY = "ready"
    PROVING = "proving"
    DONE = "done"
    DROPPED = "dropped"


_S = PartitionState
_STEPS: Final[dict[PartitionState, frozenset[PartitionState]]] = {
    _S.QUEUED: frozenset({_S.SYNTHESIZING, _S.DROPPED}),
    _S.SYNTHESIZING: frozenset({_S.READY, _S.QUEUED, _S.DROPPED}),
    _S.READY: frozenset({_S.PROVING, _S.QUEUED, _S.DROPPED}),
    _S.PROVING: frozenset({_S.DONE, _S.READY, _S.QUEUED, _S.DROPPED}),
    _S.DONE: frozenset({_S.DROPPED}),
    _S.DROPPED: frozenset(),
}


@dataclass(slots=True, eq=False)
class Partition:
    """One proof in the making.

    `handle` is its lease, from the start of its synthesis until the gpu process has read the segment.
    `failures` holds one line for each attempt that is charged to it. `ready_order` keeps its place among
    the ready ones when the gpu process dies.
    """

    id: PartitionId
    job: Job
    state: PartitionState = PartitionState.QUEUED
    handle: Handle | None = None
    ready_order: int = 0
    failures: tuple[str, ...] = ()
    wrong_proofs: int = 0
    result: tuple[bytes, bytes] | None = None
    story: tuple[str, ...] = ()

    def move(self, to: PartitionState, because: str) -> None:
        """Take one step of the picture above; `InvalidTransition` tells the story of those before it."""
        if to not in _STEPS[self.state]:
            told = "; ".join(self.story) or "accepted"
            raise InvalidTransition(f"partition {self.id}: {self.state} → {to} ({because}), after: {told}")
        self.story = (*self.story[1 - _STORY_STEPS :], f"{to} ({because})")
        self.state = to

    def shadow(self) -> Partition:
        """What a worker that is stuck keeps of it: the lease, which this partition loses, and no result wanted."""
        shadow = Partition(self.id, self.job, PartitionState.DROPPED, self.handle)
        self.handle = None
        return shadow

    def named(self, error: CuzkdError) -> CuzkdError:
        """The error with the partition's number before it, where the job has more than one."""
        if len(self.job.partitions) == 1:
            return error
        return type(error)(f"partition {self.id.index}: {error.message}", advice=error.advice)

    @property
    def live(self) -> bool:
        """Whether its result is still wanted."""
        return self.state is not PartitionState.DROPPED

    @property
    def last_chance(self) -> bool:
        """Whether it has failed before and once more ends its job: such a partition is proved alone."""
        return 0 < len(self.failures) == self.job.max_attempts - 1


@dataclass(slots=True, eq=False)
class Job:
    """A circuit and its partitions. `order` rises with acceptance; `waiting` is a heap of queued indices."""

    id: int
    uid: int
    order: int
    circuit: CircuitRef
    checked: bool
    max_attempts: int
    layout: SegmentLayout
    partitions: list[Partition]
    waiting: list[int]
    done: int = 0

    @classmethod
    def of(cls, accepted: JobAccepted, *, order: int, max_attempts: int) -> Job:
        """A job whose partitions are all queued."""
        indices = range(accepted.partitions)
        layout = SegmentLayout.of(accepted.circuit.shape)
        job = cls(
            accepted.job,
            accepted.uid,
            order,
            accepted.circuit,
            accepted.checked,
            max_attempts,
            layout,
            [],
            list(indices),
        )
        job.partitions = [Partition(PartitionId(job.id, index), job) for index in indices]
        return job

    @property
    def state(self) -> JobState:
        """QUEUED until its first partition starts."""
        return JobState.QUEUED if len(self.waiting) == len(self.partitions) else JobState.RUNNING

    def take_lowest(self) -> Partition:
        """Remove the lowest waiting partition, which is about to start."""
        return self.partitions[heapq.heappop(self.waiting)]

    def put_back(self, partition: Partition) -> None:
        """Have a partition wait again, at its old place."""
        heapq.heappush(self.waiting, partition.id.index)
