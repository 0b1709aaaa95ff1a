"""What the daemon does for its clients: take jobs in, tell of their ends, and report its state."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cuzkd.errors import Cancelled, Draining
from cuzkd.events import CompleteJob, FailJob, JobCancelled, Synthesize
from cuzkd.events import JobAccepted as AcceptedEvent
from cuzkd.ipc.orders import SynthesizeOrder
from cuzkd.ipc.requests import (
    CircuitAdd,
    CircuitPreload,
    Drain,
    JobSubmit,
    Metrics,
    MetricsRequest,
    Reload,
    Reloaded,
    Status,
    StatusRequest,
)
from cuzkd.logs import About, Event, about
from cuzkd.model import PartitionId, Phase
from cuzkd.reply import Reply
from cuzkd.server import Files, Request
from cuzkd.supervisor.admission import Admission, Places
from cuzkd.supervisor.answers import JobAnswers, JobRequest
from cuzkd.supervisor.circuits import NamedCircuits
from cuzkd.supervisor.configuration import Configuration
from cuzkd.supervisor.directories import remove_payload
from cuzkd.supervisor.intake import Intake, Needed
from cuzkd.supervisor.job import Job
from cuzkd.supervisor.jobs import Jobs
from cuzkd.supervisor.numbers import JobNumbers
from cuzkd.supervisor.phases import PhaseTimes
from cuzkd.supervisor.taking import Taking
from cuzkd.supervisor.watches import Watches

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
        self.phases = PhaseTimes()
        self._configuration = configuration
        self._places = Places(spool, max_files)
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
        self.admission = Admission(
            self._configuration, self._places, self._numbers, self.jobs, self.taking, intake, circuits, feed
        )

    # ---- requests

    def submit(self, request: JobSubmit, files: Files, reply: Reply) -> None:
        """Take a job in; answered when its files are copied and its key is compiled."""
        self.admission.submit(request, files, reply)

    def add_circuit(self, request: CircuitAdd, files: Files, reply: Reply) -> None:
        """Take a circuit in; answered when it has its name."""
        self.admission.require_room(files, reply.peer.uid)
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

    # ---- what becomes of a job

    def _cancel(self, job: Job) -> None:
        self._feed(JobCancelled(job.number))

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
            _log.info(
                "job %d is done in %.3f s: %d proofs", job.number, job.seconds, job.partitions, extra=told
            )
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
