"""The table of accepted jobs: who may see them, who waits for them, and what became of them.

A finished job is kept for its clients for a limited time, number and size, then it is forgotten.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cuzkd.connection import Reply
from cuzkd.errors import CuzkdError, NotFound
from cuzkd.ipc.messages import Message
from cuzkd.ipc.peer import Peer
from cuzkd.ipc.requests import JobResult, JobStatus, PartitionResult
from cuzkd.model import CircuitRef, JobState, PartitionId, Phase
from cuzkd.registry import Artefacts

KEEP_S = 3600.0
KEEP_JOBS = 1000
KEEP_BYTES = 256 << 20
_STATUS_JOBS = 200
_STAGES = {
    Phase.SYNTHESIS: "synthesis",
    Phase.UPLOAD: "proving: upload",
    Phase.QUOTIENT: "proving: quotient",
    Phase.MSM: "proving: sums over the key",
    Phase.FINISH: "proving: assembly",
    Phase.VERIFY: "proving: verification",
}


@dataclass(frozen=True, slots=True)
class Payload:
    """One partition's witness or inputs: the client's name for the file, and its copy in the spool."""

    name: str
    path: Path


@dataclass(slots=True, eq=False)
class Job:
    """One accepted job. Times are of the monotonic clock; `submitter` is where the job came from.

    `name` is that of its circuit, empty for a key that came with it. `inputs` says that the payloads are inputs for
    the program of its artefacts, not witnesses.
    """

    number: int
    uid: int
    circuit: CircuitRef
    name: str
    artefacts: Artefacts
    inputs: bool
    payloads: tuple[Payload, ...]
    submitter: Reply
    accepted_at: float
    finished_at: float | None = None
    proofs: tuple[bytes, ...] = ()
    publics: tuple[bytes, ...] = ()
    error: CuzkdError | None = None
    result_bytes: int = 0
    told: bool = False
    waiters: list[Reply] = field(default_factory=list)
    watchers: list[Reply] = field(default_factory=list)

    @property
    def partitions(self) -> int:
        """How many proofs the job is for."""
        return len(self.payloads)

    @property
    def finished(self) -> bool:
        """Whether the job has its result or its error."""
        return self.finished_at is not None

    @property
    def seconds(self) -> float:
        """From acceptance to the end."""
        assert self.finished_at is not None
        return self.finished_at - self.accepted_at

    def leave(self, reply: Reply) -> bool:
        """Stop waiting for the end; whether `reply` was waiting."""
        waited = reply in self.waiters
        if waited:
            self.waiters.remove(reply)
        if reply in self.watchers:
            self.watchers.remove(reply)
        return waited

    def tell(self, stage: str, done: int) -> None:
        """Tell those who wait, and want to know, what is being done and how many partitions are done."""
        for reply in self.watchers:
            reply.progress(stage, done, self.partitions)

    def answers(self) -> Iterator[Message]:
        """`JobResult` and its `PartitionResult`s, in partition order."""
        yield JobResult(self.number, self.circuit.shape.curve, self.partitions, self.seconds)
        for index, (proof, public) in enumerate(zip(self.proofs, self.publics, strict=True)):
            yield PartitionResult(self.number, index, proof, public)


class Jobs:
    """Every job that is running or still remembered, by number."""

    def __init__(self) -> None:
        self._active: dict[int, Job] = {}
        self._finished: OrderedDict[int, Job] = OrderedDict()
        self.done = 0
        self.failed = 0

    @property
    def active(self) -> int:
        """How many jobs are not finished."""
        return len(self._active)

    @property
    def untold(self) -> bool:
        """Whether a finished job was told to nobody yet, though its submitter is still connected."""
        return any(not job.told and not job.submitter.closed for job in self._finished.values())

    @property
    def digests(self) -> set[str]:
        """What the unfinished jobs need of the state directory."""
        return {digest for job in self._active.values() for digest in job.artefacts.digests}

    def unfinished(self, number: int) -> Job | None:
        """A job that is accepted and not finished."""
        return self._active.get(number)

    def working(self, partition: PartitionId, phase: Phase, done: int) -> None:
        """A process has begun with a phase of a partition; `done` partitions of its job are done."""
        job = self.unfinished(partition.job)
        if job is not None:
            job.tell(_STAGES[phase], done)

    def add(self, job: Job) -> None:
        """Begin to know an accepted job."""
        self._active[job.number] = job

    def find(self, number: int, peer: Peer) -> Job:
        """The job, if the peer may see it; `NotFound` for others' jobs too, so that numbers tell nothing."""
        job = self._active.get(number) or self._finished.get(number)
        if job is None or not may_see(peer, job):
            raise NotFound(f"there is no job {number}")
        return job

    def wait(self, job: Job, reply: Reply, *, progress: bool) -> None:
        """Answer `reply` when the job ends, or now if it has ended; until then tell of progress if wanted."""
        if job.finished:
            _tell(job, reply)
            return
        job.waiters.append(reply)
        if progress:
            job.watchers.append(reply)

    def complete(self, number: int, proofs: tuple[bytes, ...], publics: tuple[bytes, ...]) -> Job:
        """The job has all its proofs; everybody who waits is told."""
        job = self._active[number]
        job.proofs, job.publics = proofs, publics
        job.result_bytes = sum(map(len, proofs)) + sum(map(len, publics))
        self.done += 1
        self._finish(job)
        return job

    def fail(self, number: int, error: CuzkdError) -> Job:
        """The job ends with an error; everybody who waits is told."""
        job = self._active[number]
        job.error = error
        self.failed += 1
        self._finish(job)
        return job

    def fail_all(self, error: CuzkdError) -> None:
        """End every unfinished job with this error."""
        for number in list(self._active):
            self.fail(number, error)

    def forget_old(self, now: float) -> None:
        """Drop finished jobs past the limits, oldest first."""
        size_bytes = sum(job.result_bytes for job in self._finished.values())
        while self._finished:
            number, job = next(iter(self._finished.items()))
            assert job.finished_at is not None
            over = len(self._finished) > KEEP_JOBS or size_bytes > KEEP_BYTES
            if not over and now - job.finished_at < KEEP_S:
                return
            size_bytes -= job.result_bytes
            del self._finished[number]

    def visible_to(self, peer: Peer) -> Sequence[Job]:
        """The peer's jobs: unfinished ones first, then the latest finished ones."""
        jobs = [*self._active.values(), *reversed(self._finished.values())]
        return [job for job in jobs if may_see(peer, job)][:_STATUS_JOBS]

    def _finish(self, job: Job) -> None:
        del self._active[job.number]
        job.finished_at = time.monotonic()
        self._finished[job.number] = job
        waiters, job.waiters, job.watchers = job.waiters, [], []
        for reply in waiters:
            if not reply.closed:
                _tell(job, reply)
        self.forget_old(job.finished_at)


def may_see(peer: Peer, job: Job) -> bool:
    """A job is its submitter's and root's."""
    return peer.uid in (job.uid, 0)


def _tell(job: Job, reply: Reply) -> None:
    job.told = True
    if job.error is not None:
        reply.fail(job.error)
    else:
        reply.stream(job.answers())


def status_of(job: Job, state: JobState, done: int, now: float) -> JobStatus:
    """The job's line in the status report; `state` and `done` as the scheduler has them."""
    if job.finished:
        state = JobState.FAILED if job.error is not None else JobState.DONE
        done = len(job.proofs)
    return JobStatus(
        job=job.number,
        uid=job.uid,
        state=state,
        partitions=job.partitions,
        done=done,
        circuit=job.circuit.digest,
        name=job.name,
        age_s=now - job.accepted_at,
        error="" if job.error is None else job.error.code,
        seconds=job.seconds if job.finished else None,
    )
