"""One accepted job: what it is, how far it has come, what became of it, and who waits for that."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from cuzkd.errors import Cancelled, CuzkdError
from cuzkd.ipc.messages import Failure, Message
from cuzkd.ipc.requests import JobInfo, JobResult, JobStatus, PartitionResult
from cuzkd.model import CircuitRef, JobState
from cuzkd.registry import Artefacts
from cuzkd.reply import Reply


@dataclass(frozen=True, slots=True)
class Payload:
    """One partition's witness or inputs: the client's name for the file, and its copy in the spool."""

    name: str
    path: Path


@dataclass(slots=True, eq=False)
class Job:
    """One accepted job. Times are of the monotonic clock.

    `name` is that of its circuit, empty for a key that came with it. `inputs` says that the payloads are inputs for
    the program of its artefacts, not witnesses. `untie` forgets the submitter's connection; it is None when that has
    gone, or knows of the job's end.
    """

    number: int
    uid: int
    circuit: CircuitRef
    name: str
    artefacts: Artefacts
    inputs: bool
    payloads: tuple[Payload, ...]
    accepted_at: float
    finished_at: float | None = None
    started: bool = False
    stage: str = ""
    done: int = 0
    proofs: tuple[bytes, ...] = ()
    publics: tuple[bytes, ...] = ()
    error: CuzkdError | None = None
    untie: Callable[[], object] | None = None
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
    def state(self) -> JobState:
        """Where the job is."""
        if not self.finished:
            return JobState.RUNNING if self.started else JobState.QUEUED
        if self.error is None:
            return JobState.DONE
        return JobState.CANCELLED if isinstance(self.error, Cancelled) else JobState.FAILED

    @property
    def seconds(self) -> float:
        """From acceptance to the end."""
        assert self.finished_at is not None
        return self.finished_at - self.accepted_at

    @property
    def result_bytes(self) -> int:
        """What its proofs and public inputs take."""
        return sum(map(len, self.proofs)) + sum(map(len, self.publics))

    def visible_to(self, reply: Reply) -> bool:
        """A job is its submitter's and the operators'."""
        return reply.operator or reply.peer.uid == self.uid

    def status(self, now: float) -> JobStatus:
        """The job as it is told."""
        return JobStatus(
            job=self.number,
            uid=self.uid,
            state=self.state,
            partitions=self.partitions,
            done=self.done,
            circuit=self.circuit.digest,
            name=self.name,
            age_s=now - self.accepted_at,
            stage="" if self.finished else self.stage,
            error="" if self.error is None else self.error.code,
            seconds=self.seconds if self.finished else None,
        )

    def info(self, now: float) -> JobInfo:
        """The job as it is told, with what it failed with."""
        return JobInfo(self.status(now), None if self.error is None else Failure.of(self.error))

    def wait(self, reply: Reply, *, progress: bool) -> None:
        """Answer when the job ends; until then tell of progress if wanted."""
        self.waiters.append(reply)
        if progress:
            self.watchers.append(reply)

    def leave(self, reply: Reply) -> None:
        """Stop waiting for the end, which may just be told."""
        for waiting in (self.waiters, self.watchers):
            if reply in waiting:
                waiting.remove(reply)

    def tell_result(self, reply: Reply) -> None:
        """Answer with the proofs, or with what the job failed with."""
        self.forget_submitter()
        if self.error is not None:
            reply.fail(self.error)
        else:
            reply.stream(self._answers())

    def forget_submitter(self) -> None:
        """Whether the submitter's connection goes or stays is nothing to the job any more."""
        if self.untie is not None:
            self.untie()
            self.untie = None

    def _answers(self) -> Iterator[Message]:
        """`JobResult` and its `PartitionResult`s, in partition order."""
        curve, flavour = self.circuit.shape.curve, self.circuit.flavour
        yield JobResult(self.number, curve, self.partitions, self.seconds, flavour)
        for index, (proof, public) in enumerate(zip(self.proofs, self.publics, strict=True)):
            yield PartitionResult(self.number, index, proof, public)
