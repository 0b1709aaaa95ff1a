"""What the daemon does for its clients: take jobs in, tell of their ends, and report its state."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cuzkd.errors import Busy, Cancelled, CuzkdError, Draining, Refused, TooLarge
from cuzkd.events import CompleteJob, FailJob, JobCancelled, Synthesize
from cuzkd.events import JobAccepted as AcceptedEvent
from cuzkd.ipc.messages import MAX_FRAME_BYTES
from cuzkd.ipc.orders import SynthesizeOrder
from cuzkd.ipc.requests import (
    CircuitAdd,
    CircuitPreload,
    Drain,
    JobAccepted,
    JobSubmit,
    Metrics,
    MetricsRequest,
    Reload,
    Reloaded,
    Status,
    StatusRequest,
)
from cuzkd.logs import About, Event, about
from cuzkd.model import SCALAR_BYTES, PartitionId, Phase
from cuzkd.registry import Named
from cuzkd.reply import Reply
from cuzkd.server import Files, Request
from cuzkd.supervisor.answers import JobAnswers, JobRequest
from cuzkd.supervisor.circuits import NamedCircuits
from cuzkd.supervisor.configuration import Configuration
from cuzkd.supervisor.directories import remove_payload
from cuzkd.supervisor.intake import Intake, Needed
from cuzkd.supervisor.job import Job, Payload
from cuzkd.supervisor.jobs import Jobs
from cuzkd.supervisor.numbers import JobNumbers
from cuzkd.supervisor.phases import PhaseTimes
from cuzkd.supervisor.submission import Submission, Work
from cuzkd.supervisor.taking import Taking
from cuzkd.supervisor.watches import Watches

# what a PartitionResult takes beside the public inputs
_RESULT_OVERHEAD_BYTES = 4096

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Reports:
    """What is told of the whole daemon, and its configuration read again."""

    status: Callable[[Reply], Status]
    metrics: Callable[[], Metrics]
    reload: Callable[[], Reloaded]


class ClientService:
    """The server's service: jobs from submission to result, and what is asked of circuits and of the daemon.

    `connect` has to be called before any request comes.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        configuration: Configuration,
        spool: Path,
        max_files: int,
        numbers: JobNumbers,
    ) -> None:
        self.watches = Watches(loop)
        self.jobs = Jobs(numbers.first, self.watches.changed)
        self.taking = Taking(lambda: self.jobs.active)
        self.refused = 0
        self.phases = PhaseTimes()
        self._configuration = configuration
        self._spool = spool
        self._max_files = max_files
        self._numbers = numbers
        self._answers = JobAnswers(self.jobs, self.watches, self._cancel)

    def connect(
        self,
        intake: Intake,
        circuits: NamedCircuits,
        feed: Callable[[AcceptedEvent | JobCancelled], None],
        reports: Reports,
    ) -> None:
        """Say who takes files in, who knows circuits' names, who schedules jobs, and who tells of the daemon."""
        self.intake = intake
        self.circuits = circuits
        self._feed = feed
        self._reports = reports

    # ---- requests

    def submit(self, request: JobSubmit, files: Files, reply: Reply) -> None:
        """Take a job in; answered when its files are copied and its key is compiled."""
        try:
            self._submit(request, files, reply)
        except CuzkdError:
            self.refused += 1
            raise

    def _submit(self, request: JobSubmit, files: Files, reply: Reply) -> None:
        entry = None if request.circuit is None else self.circuits.use(reply, request.circuit)
        has_program = files.wasm is not None or (entry is not None and entry.program is not None)
        if request.inputs and not has_program:
            raise Refused(
                "inputs need the circuit's witness program",
                advice="give its .wasm with the key, or add it to the named circuit (`cuzkctl circuit add`)",
            )
        self._require_room(files, reply.peer.uid)
        number = self._numbers.take()
        submission = self._submission(number, entry, request, files, reply)
        _log.info(
            "job %d of uid %d: %s and %d %s",
            number,
            reply.peer.uid,
            files.zkey.name if files.zkey is not None else repr(request.circuit),
            len(files.payloads),
            "inputs" if request.inputs else "witnesses",
            extra=about(Event.JOB_SUBMITTED, job=number, uid=reply.peer.uid),
        )
        self.intake.submit(submission)

    def add_circuit(self, request: CircuitAdd, files: Files, reply: Reply) -> None:
        """Take a circuit in; answered when it has its name."""
        self._require_room(files, reply.peer.uid)
        self.circuits.add(request, files, reply)

    def answer(self, request: Request, reply: Reply) -> None:
        """Answer what needs no files."""
        match request:
            case StatusRequest():
                reply.send(self._reports.status(reply))
            case MetricsRequest():
                reply.send(self._reports.metrics())
            case Reload():
                reply.send(self._reports.reload())
            case Drain():
                self.taking.drain(request, reply)
                if self.taking.draining:
                    self.intake.refuse_all(Draining("the daemon was drained before the job was accepted"))
            case _ if isinstance(request, JobRequest):
                self._answers.answer(request, reply)
            case _:
                if isinstance(request, CircuitPreload):
                    self.taking.require()
                self.circuits.answer(request, reply)

    def _require_room(self, files: Files, uid: int) -> None:
        self.taking.require()
        limits = self._configuration.now.jobs
        partitions = len(files.payloads)
        if partitions > limits.max_partitions:
            raise TooLarge(
                f"a job of {partitions} partitions; jobs.max_partitions is {limits.max_partitions}"
            )
        retry_after_s = self.jobs.retry_after_s
        if self.jobs.active + self.intake.pending >= limits.max_queued:
            raise Busy(f"{limits.max_queued} jobs are queued already", retry_after_s=retry_after_s)
        if self.jobs.active_of(uid) + self.intake.pending_of(uid) >= limits.max_queued_per_uid:
            told = f"{limits.max_queued_per_uid} jobs of uid {uid} are queued already"
            raise Busy(f"{told} (jobs.max_queued_per_uid)", retry_after_s=retry_after_s)
        if self.intake.open_files + len(files) > self._max_files:
            told = f"{self.intake.open_files} files are being read already"
            raise Busy(told, retry_after_s=retry_after_s)

    # ---- what becomes of a job

    def _submission(
        self, number: int, entry: Named | None, request: JobSubmit, files: Files, reply: Reply
    ) -> Submission:
        work, suffix = (Work.INPUTS, "json") if request.inputs else (Work.WITNESS, "wtns")
        payloads = tuple(
            Payload(file.name, self._spool / f"{number}.{index}.{suffix}")
            for index, file in enumerate(files.payloads)
        )

        def accepted(submission: Submission) -> None:
            self._accepted(number, entry, payloads, request, submission)

        submission = Submission(
            f"job {number}", reply, accepted, self._refused, request.points, request.progress
        )
        if entry is not None:
            submission.circuit = entry.circuit
            submission.program, submission.constraints = entry.program, entry.constraints
        submission.add(files.zkey, Work.KEY)
        submission.add(files.wasm, Work.PROGRAM)
        submission.add(files.r1cs, Work.CONSTRAINTS)
        for file, payload in zip(files.payloads, payloads, strict=True):
            submission.add(file, work, payload.path)
        return submission

    def _accepted(
        self,
        number: int,
        entry: Named | None,
        payloads: tuple[Payload, ...],
        request: JobSubmit,
        submission: Submission,
    ) -> None:
        """Schedule the job, and tell the client unless that shows at once that it can never be proved."""
        circuit, reply = submission.circuit, submission.reply
        assert circuit is not None
        public_bytes = circuit.shape.num_public * SCALAR_BYTES
        if public_bytes + _RESULT_OVERHEAD_BYTES > MAX_FRAME_BYTES:
            submission.remove_spooled()
            most = (MAX_FRAME_BYTES - _RESULT_OVERHEAD_BYTES) // SCALAR_BYTES
            error = TooLarge(f"the circuit has {circuit.shape.num_public} public inputs; {most} are the most")
            self._refused(submission, error)
            return
        job = Job(
            number=number,
            uid=reply.peer.uid,
            circuit=circuit,
            name="" if entry is None else entry.name,
            artefacts=submission.artefacts,
            inputs=bool(request.inputs),
            payloads=payloads,
            accepted_at=time.monotonic(),
        )
        job.untie = reply.when_gone(lambda: self._submitter_gone(job, cancel=request.cancel_on_disconnect))
        self.jobs.add(job)
        if entry is not None:
            self.circuits.hit(entry)
            self.intake.circuits_found += 1
        checked = job.artefacts.constraints is not None
        self._feed(AcceptedEvent(number, job.uid, circuit, job.partitions, checked))
        if job.error is not None:
            job.forget_submitter()
            self.refused += 1
            reply.fail(job.error)
        else:
            reply.send(JobAccepted(number, job.partitions))

    def _submitter_gone(self, job: Job, *, cancel: bool) -> None:
        job.untie = None
        if cancel and not job.finished:
            _log.info("job %d is cancelled: its client is gone", job.number)
            self._cancel(job)

    def _cancel(self, job: Job) -> None:
        self._feed(JobCancelled(job.number))

    def _refused(self, submission: Submission, error: CuzkdError) -> None:
        self.refused += 1
        told = about(Event.REFUSED, uid=submission.reply.peer.uid)
        _log.info("%s is refused: %s", submission.title, error, extra=told)
        submission.reply.fail(error)

    def order_of(self, command: Synthesize) -> SynthesizeOrder | None:
        """What the synthesis process is told to do for a partition; nothing for a job that was ended to stop."""
        job = self.jobs.unfinished(command.partition.job)
        if job is None:
            return None
        payload = job.payloads[command.partition.index]
        return SynthesizeOrder(
            partition=command.partition,
            circuit=command.circuit,
            name=payload.name,
            payload=str(payload.path),
            program=job.artefacts.program if job.inputs else None,
            constraints=job.artefacts.constraints,
            handle=command.handle,
        )

    def working(self, partition: PartitionId, phase: Phase | None, done: int | None) -> None:
        """A partition enters a phase, or (None) has its proof; `done` of its job are done (None: the job has ended)."""
        if phase is None or done is not None:
            self.phases.entered(partition, phase)
        if done is not None:
            self.jobs.working(partition, phase, done)

    def ended(self, end: CompleteJob | FailJob) -> None:
        """The scheduler says that a job is over; one that was ended to stop the daemon is not told twice."""
        if self.jobs.unfinished(end.job) is None:
            return
        if isinstance(end, CompleteJob):
            job = self.jobs.complete(end.job, end.proofs, end.publics)
            told = _about(Event.JOB_DONE, job)
            _log.info("job %d is done in %.3f s: %d proofs", job.number, job.seconds, job.partitions, extra=told)
        else:
            job = self.jobs.fail(end.job, end.error)
            self.phases.forget(job.number)
            if isinstance(end.error, Cancelled):
                _log.info("job %d is cancelled", job.number, extra=_about(Event.JOB_CANCELLED, job))
            else:
                told = _about(Event.JOB_FAILED, job)
                _log.warning("job %d failed: %s: %s", job.number, end.error.code, end.error, extra=told)
        for payload in job.payloads:
            remove_payload(payload.path)
        self.intake.job_ended()
        self.taking.job_ended()

    def needed(self) -> Needed:
        """What must not be deleted of the state directory."""
        return Needed(self.circuits.registry.digests, self.jobs.digests)

    def stop_taking(self) -> None:
        """Refuse new jobs, and those that are not accepted yet."""
        self.taking.stop()
        self.intake.refuse_all(Draining("the daemon is stopping"))


def _about(event: Event, job: Job) -> dict[str, About]:
    return about(event, job=job.number, uid=job.uid, circuit=job.circuit.digest, seconds=job.seconds)
