"""What the daemon does for its clients: take jobs in, tell of their ends, and report its state."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from pathlib import Path

from cuzkd.config import Config
from cuzkd.connection import Reply
from cuzkd.errors import Busy, CuzkdError, Draining, Refused, TooLarge, WaitTimeout
from cuzkd.events import CompleteJob, FailJob, Synthesize
from cuzkd.events import JobAccepted as AcceptedEvent
from cuzkd.ipc.messages import MAX_FRAME_BYTES
from cuzkd.ipc.orders import SynthesizeOrder
from cuzkd.ipc.requests import CircuitAdd, CircuitPreload, JobAccepted, JobSubmit, JobWait, Status
from cuzkd.model import SCALAR_BYTES
from cuzkd.registry import Named
from cuzkd.server import CircuitRequest, Files
from cuzkd.supervisor.circuits import NamedCircuits
from cuzkd.supervisor.directories import remove_payload
from cuzkd.supervisor.intake import Intake, Needed
from cuzkd.supervisor.jobs import Job, Jobs, Payload
from cuzkd.supervisor.submission import Submission, Work

# what a PartitionResult takes beside the public inputs
_RESULT_OVERHEAD_BYTES = 4096

_log = logging.getLogger(__name__)


class ClientService:
    """The server's service: jobs from submission to result, and what is asked of circuits and of the daemon.

    `connect` has to be called before any request comes.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, config: Config, spool: Path, max_files: int) -> None:
        self.jobs = Jobs()
        self.refused = 0
        self.draining = False
        self._loop = loop
        self._config = config
        self._spool = spool
        self._max_files = max_files
        self._next_job = 1

    def connect(
        self,
        intake: Intake,
        circuits: NamedCircuits,
        feed: Callable[[AcceptedEvent], None],
        report: Callable[[Reply], Status],
    ) -> None:
        """Say who takes files in, who knows circuits' names, who schedules jobs, and who makes the status report."""
        self.intake = intake
        self.circuits = circuits
        self._feed = feed
        self._report = report

    # ---- requests

    def submit(self, request: JobSubmit, files: Files, reply: Reply) -> None:
        """Take a job in; answered when its files are copied and its key is compiled."""
        entry = None if request.circuit is None else self.circuits.use(reply.peer.uid, request.circuit)
        has_program = files.wasm is not None or (entry is not None and entry.program is not None)
        if request.inputs and not has_program:
            raise Refused(
                "inputs need the circuit's witness program",
                advice="give its .wasm with the key, or add it to the named circuit (`cuzkctl circuit add`)",
            )
        self._require_room(files)
        number, self._next_job = self._next_job, self._next_job + 1
        submission = self._submission(number, entry, request, files, reply)
        _log.info(
            "job %d of uid %d: %s and %d %s",
            number,
            reply.peer.uid,
            files.zkey.name if files.zkey is not None else repr(request.circuit),
            len(files.payloads),
            "inputs" if request.inputs else "witnesses",
        )
        self.intake.submit(submission)

    def add_circuit(self, request: CircuitAdd, files: Files, reply: Reply) -> None:
        """Take a circuit in; answered when it has its name."""
        self._require_room(files)
        self.circuits.add(request, files, reply)

    def circuit(self, request: CircuitRequest, reply: Reply) -> None:
        """Answer what is asked of named circuits."""
        if isinstance(request, CircuitPreload):
            self._require_taking()
        self.circuits.answer(request, reply)

    def wait(self, request: JobWait, reply: Reply) -> None:
        """Answer with the job's result or error, or `WaitTimeout` when the time is up."""
        job = self.jobs.find(request.job, reply.peer)
        if request.timeout_s is None or job.finished:
            reply.on_close(lambda: job.leave(reply))
        else:
            seconds = max(0.0, request.timeout_s)
            timer = self._loop.call_later(seconds, self._time_up, job, reply, seconds)

            def leave() -> None:
                timer.cancel()
                job.leave(reply)

            reply.on_close(leave)
        self.jobs.wait(job, reply, progress=request.progress)

    def status(self, reply: Reply) -> None:
        """Answer with the daemon's state."""
        reply.send(self._report(reply))

    def _require_taking(self) -> None:
        if self.draining:
            raise Draining("the daemon is stopping")

    def _require_room(self, files: Files) -> None:
        self._require_taking()
        partitions, most = len(files.payloads), self._config.jobs.max_partitions
        if partitions > most:
            raise TooLarge(f"a job of {partitions} partitions; jobs.max_partitions is {most}")
        if self.jobs.active + self.intake.pending >= self._config.jobs.max_queued:
            raise Busy(f"{self._config.jobs.max_queued} jobs are queued already")
        if self.intake.open_files + len(files) > self._max_files:
            raise Busy(f"{self.intake.open_files} files are being read already")

    def _time_up(self, job: Job, reply: Reply, timeout_s: float) -> None:
        if job.leave(reply):
            reply.fail(WaitTimeout(f"job {job.number} is not done after {timeout_s:g} s"))

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
            self._accepted(number, entry, payloads, bool(request.inputs), submission)

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
        inputs: bool,
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
            inputs=inputs,
            payloads=payloads,
            submitter=reply,
            accepted_at=time.monotonic(),
        )
        self.jobs.add(job)
        if entry is not None:
            self.circuits.hit(entry)
            self.intake.circuits_found += 1
        checked = job.artefacts.constraints is not None
        self._feed(AcceptedEvent(number, job.uid, circuit, job.partitions, checked))
        if job.error is not None:
            self.refused += 1
            reply.fail(job.error)
        else:
            reply.send(JobAccepted(number, job.partitions))

    def _refused(self, submission: Submission, error: CuzkdError) -> None:
        self.refused += 1
        _log.info("%s is refused: %s", submission.title, error)
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

    def ended(self, end: CompleteJob | FailJob) -> None:
        """The scheduler says that a job is over; one that was ended to stop the daemon is not told twice."""
        if self.jobs.unfinished(end.job) is None:
            return
        if isinstance(end, CompleteJob):
            job = self.jobs.complete(end.job, end.proofs, end.publics)
            _log.info("job %d is done in %.3f s: %d proofs", job.number, job.seconds, job.partitions)
        else:
            job = self.jobs.fail(end.job, end.error)
            _log.warning("job %d failed: %s: %s", job.number, end.error.code, end.error)
        for payload in job.payloads:
            remove_payload(payload.path)
        self.intake.job_ended()

    def needed(self) -> Needed:
        """What must not be deleted of the state directory."""
        return Needed(self.circuits.registry.digests, self.jobs.digests)

    def stop_taking(self) -> None:
        """Refuse new jobs, and those that are not accepted yet."""
        self.draining = True
        self.intake.refuse_all(Draining("the daemon is stopping"))
