"""How a job is taken in: whether there is room, what is done with its files, and its acceptance."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cuzkd.errors import Busy, CuzkdError, Refused, TooLarge
from cuzkd.events import JobAccepted as AcceptedEvent
from cuzkd.events import JobCancelled
from cuzkd.ipc.messages import MAX_FRAME_BYTES
from cuzkd.ipc.requests import JobAccepted, JobSubmit
from cuzkd.logs import Event, about
from cuzkd.model import SCALAR_BYTES, Flavour
from cuzkd.registry import Named
from cuzkd.reply import Reply
from cuzkd.server import Files
from cuzkd.supervisor.circuits import NamedCircuits
from cuzkd.supervisor.configuration import Configuration
from cuzkd.supervisor.intake import Intake
from cuzkd.supervisor.job import Job, Payload
from cuzkd.supervisor.jobs import Jobs
from cuzkd.supervisor.numbers import JobNumbers
from cuzkd.supervisor.submission import Submission, Work
from cuzkd.supervisor.taking import Taking

# what a PartitionResult takes beside the public inputs
_RESULT_OVERHEAD_BYTES = 4096

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Places:
    """Where payloads are copied, and how many clients' files may be open for that."""

    spool: Path
    max_files: int


class Admission:
    """Takes jobs from the server to the scheduler, which is told by `feed`. `refused` counts those that get nowhere."""

    def __init__(
        self,
        configuration: Configuration,
        places: Places,
        numbers: JobNumbers,
        jobs: Jobs,
        taking: Taking,
        intake: Intake,
        circuits: NamedCircuits,
        feed: Callable[[AcceptedEvent | JobCancelled], None],
    ) -> None:
        self.refused = 0
        self._configuration = configuration
        self._places = places
        self._numbers = numbers
        self._jobs = jobs
        self._taking = taking
        self._intake = intake
        self._circuits = circuits
        self._feed = feed

    def submit(self, request: JobSubmit, files: Files, reply: Reply) -> None:
        """Take a job in; answered when its files are copied and its key is compiled."""
        try:
            self._submit(request, files, reply)
        except CuzkdError:
            self.refused += 1
            raise

    def _submit(self, request: JobSubmit, files: Files, reply: Reply) -> None:
        entry = None if request.circuit is None else self._circuits.use(reply, request.circuit)
        has_program = files.wasm is not None or (entry is not None and entry.program is not None)
        if request.inputs and not has_program:
            raise Refused(
                "inputs need the circuit's witness program",
                advice="give its .wasm with the key, or add it to the named circuit (`cuzkctl circuit add`)",
            )
        self.require_room(files, reply.peer.uid)
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
        self._intake.submit(submission)

    def require_room(self, files: Files, uid: int) -> None:
        """`Draining`, `Busy` or `TooLarge` when a request with these files has no place now, or ever."""
        self._taking.require()
        limits = self._configuration.now.jobs
        partitions = len(files.payloads)
        if partitions > limits.max_partitions:
            raise TooLarge(
                f"a job of {partitions} partitions; jobs.max_partitions is {limits.max_partitions}"
            )
        retry_after_s = self._jobs.retry_after_s
        if self._jobs.active + self._intake.pending >= limits.max_queued:
            raise Busy(f"{limits.max_queued} jobs are queued already", retry_after_s=retry_after_s)
        if self._jobs.active_of(uid) + self._intake.pending_of(uid) >= limits.max_queued_per_uid:
            told = f"{limits.max_queued_per_uid} jobs of uid {uid} are queued already"
            raise Busy(f"{told} (jobs.max_queued_per_uid)", retry_after_s=retry_after_s)
        if self._intake.open_files + len(files) > self._places.max_files:
            told = f"{self._intake.open_files} files are being read already"
            raise Busy(told, retry_after_s=retry_after_s)

    def _submission(
        self, number: int, entry: Named | None, request: JobSubmit, files: Files, reply: Reply
    ) -> Submission:
        work, suffix = (Work.INPUTS, "json") if request.inputs else (Work.WITNESS, "wtns")
        payloads = tuple(
            Payload(file.name, self._places.spool / f"{number}.{index}.{suffix}")
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
        self._jobs.add(job)
        if entry is not None:
            self._circuits.hit(entry)
            self._intake.circuits_found += 1
        checked = job.artefacts.constraints is not None or circuit.flavour is Flavour.BELLPERSON
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
            self._feed(JobCancelled(job.number))

    def _refused(self, submission: Submission, error: CuzkdError) -> None:
        self.refused += 1
        told = about(Event.REFUSED, uid=submission.reply.peer.uid)
        _log.info("%s is refused: %s", submission.title, error, extra=told)
        submission.reply.fail(error)
