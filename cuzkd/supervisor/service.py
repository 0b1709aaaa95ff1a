"""What the daemon does for its clients: take jobs in, tell of their ends, and report its state."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence

from cuzkd.config import Config
from cuzkd.connection import Attachment, Reply
from cuzkd.errors import Busy, CuzkdError, Draining, TooLarge, WaitTimeout
from cuzkd.events import CompleteJob, FailJob
from cuzkd.events import JobAccepted as AcceptedEvent
from cuzkd.ipc.messages import MAX_FRAME_BYTES, JobAccepted, Status
from cuzkd.model import SCALAR_BYTES, CircuitRef, PartitionId
from cuzkd.supervisor.directories import Directories
from cuzkd.supervisor.intake import Intake, SendOrder, Submission
from cuzkd.supervisor.jobs import Job, Jobs

# what a PartitionResult takes beside the public inputs
_RESULT_OVERHEAD_BYTES = 4096

_log = logging.getLogger(__name__)


class ClientService:
    """The server's service: jobs from submission to result."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        config: Config,
        directories: Directories,
        order_ingest: SendOrder,
        max_files: int,
    ) -> None:
        self.jobs = Jobs()
        self.intake = Intake(
            directories.spool, config.limits.payload_bytes, order_ingest, self._accepted, self._refused
        )
        self.refused = 0
        self.draining = False
        self._loop = loop
        self._config = config
        self._max_files = max_files
        self._next_job = 1
        self._feed: Callable[[AcceptedEvent], None] | None = None
        self._report: Callable[[Reply], Status] | None = None

    def connect(self, feed: Callable[[AcceptedEvent], None], report: Callable[[Reply], Status]) -> None:
        """Say who schedules accepted jobs, and who makes the status report."""
        self._feed = feed
        self._report = report

    # ---- requests

    def submit(self, zkey: Attachment, witnesses: Sequence[Attachment], reply: Reply) -> None:
        """Take a job in; answered when its files are copied and its key is compiled."""
        self._require_room(1 + len(witnesses))
        number, self._next_job = self._next_job, self._next_job + 1
        _log.info("job %d of uid %d: %s and %d witnesses", number, reply.peer.uid, zkey.name, len(witnesses))
        self.intake.submit(number, zkey, witnesses, reply)

    def wait(self, number: int, timeout_s: float | None, reply: Reply) -> None:
        """Answer with the job's result or error, or `WaitTimeout` when the time is up."""
        job = self.jobs.find(number, reply.peer)
        if timeout_s is None or job.finished:
            reply.on_close(lambda: job.leave(reply))
        else:
            timer = self._loop.call_later(max(0.0, timeout_s), self._time_up, job, reply, timeout_s)

            def leave() -> None:
                timer.cancel()
                job.leave(reply)

            reply.on_close(leave)
        self.jobs.wait(job, reply)

    def status(self, reply: Reply) -> None:
        """Answer with the daemon's state."""
        assert self._report is not None
        reply.send(self._report(reply))

    def _require_room(self, files: int) -> None:
        if self.draining:
            raise Draining("the daemon is stopping")
        if files - 1 > self._config.jobs.max_partitions:
            raise TooLarge(
                f"a job of {files - 1} partitions; jobs.max_partitions is {self._config.jobs.max_partitions}"
            )
        if self.jobs.active + self.intake.pending >= self._config.jobs.max_queued:
            raise Busy(f"{self._config.jobs.max_queued} jobs are queued already")
        if self.intake.open_files + files > self._max_files:
            raise Busy(f"{self.intake.open_files} files are being read already")

    def _time_up(self, job: Job, reply: Reply, timeout_s: float) -> None:
        if job.leave(reply):
            reply.fail(WaitTimeout(f"job {job.number} is not done after {timeout_s:g} s"))

    # ---- what becomes of a job

    def _accepted(self, submission: Submission, circuit: CircuitRef) -> None:
        """Schedule the job, and tell the client unless that shows at once that it can never be proved."""
        reply = submission.reply
        public_bytes = circuit.shape.num_public * SCALAR_BYTES
        if public_bytes + _RESULT_OVERHEAD_BYTES > MAX_FRAME_BYTES:
            submission.remove_spooled()
            most = (MAX_FRAME_BYTES - _RESULT_OVERHEAD_BYTES) // SCALAR_BYTES
            error = TooLarge(f"the circuit has {circuit.shape.num_public} public inputs; {most} are the most")
            self._refused(submission, error)
            return
        partitions = len(submission.spooled)
        job = Job(submission.job, reply.peer.uid, circuit, partitions, reply, time.monotonic())
        job.witnesses = submission.spooled
        self.jobs.add(job)
        assert self._feed is not None
        self._feed(AcceptedEvent(job.number, job.uid, circuit, partitions))
        if job.error is not None:
            self.refused += 1
            reply.fail(job.error)
        else:
            reply.send(JobAccepted(job.number, partitions))

    def _refused(self, submission: Submission, error: CuzkdError) -> None:
        self.refused += 1
        _log.info("job %d is refused: %s", submission.job, error)
        submission.reply.fail(error)

    def ended(self, end: CompleteJob | FailJob) -> None:
        """The scheduler says that a job is over."""
        if isinstance(end, CompleteJob):
            job = self.jobs.complete(end.job, end.proofs, end.publics)
            _log.info("job %d is done in %.3f s: %d proofs", job.number, job.seconds, job.partitions)
        else:
            job = self.jobs.fail(end.job, end.error)
            _log.warning("job %d failed: %s: %s", job.number, end.error.code, end.error)
        for path in job.witnesses:
            path.unlink(missing_ok=True)

    def witness_path(self, partition: PartitionId) -> str:
        """Where the spool has a partition's witness."""
        return str(self.intake.witness_path(partition.job, partition.index))

    def stop_taking(self) -> None:
        """Refuse new jobs, and those that are not accepted yet."""
        self.draining = True
        self.intake.refuse_all(Draining("the daemon is stopping"))
