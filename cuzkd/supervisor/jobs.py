"""The table of accepted jobs: who may see them, who is told of their changes, and what became of them.

A finished job is kept for its clients for a limited time, number and size, then it is forgotten.
"""

from __future__ import annotations

import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterator

from cuzkd.errors import CuzkdError, NotFound, Restarted
from cuzkd.model import JobState, PartitionId, Phase
from cuzkd.reply import Reply
from cuzkd.supervisor.job import Job

KEEP_S = 3600.0
KEEP_JOBS = 1000
KEEP_BYTES = 256 << 20
_RECENT_ENDS = 16
_SHORTEST_RETRY_S, _LONGEST_RETRY_S = 0.1, 60.0
_STAGES = {
    Phase.SYNTHESIS: "synthesis",
    Phase.LOAD: "proving: loading the key",
    Phase.UPLOAD: "proving: upload",
    Phase.QUOTIENT: "proving: quotient",
    Phase.MSM: "proving: sums over the key",
    Phase.FINISH: "proving: assembly",
    Phase.VERIFY: "proving: verification",
}


class Jobs:
    """Every job that is running or still remembered, by number.

    Numbers below `first` are those of jobs that the daemon's earlier lives accepted. `changed` is told of every
    change of a job.
    """

    def __init__(self, first: int, changed: Callable[[Job], object]) -> None:
        self._first = first
        self._changed = changed
        self._active: dict[int, Job] = {}
        self._finished: OrderedDict[int, Job] = OrderedDict()
        self._of_uid: Counter[int] = Counter()
        self._ends: deque[float] = deque(maxlen=_RECENT_ENDS)
        self.ended: Counter[JobState] = Counter()

    @property
    def active(self) -> int:
        """How many jobs are not finished."""
        return len(self._active)

    @property
    def untold(self) -> bool:
        """Whether a finished job was told to nobody yet, though its submitter is still connected."""
        return any(job.untie is not None for job in self._finished.values())

    @property
    def digests(self) -> set[str]:
        """What the unfinished jobs need of the state directory."""
        return {digest for job in self._active.values() for digest in job.artefacts.digests}

    @property
    def retry_after_s(self) -> float:
        """When another job is likely to have ended, going by the last ones."""
        if len(self._ends) < 2:
            return 1.0
        mean_s = (self._ends[-1] - self._ends[0]) / (len(self._ends) - 1)
        return min(max(mean_s, _SHORTEST_RETRY_S), _LONGEST_RETRY_S)

    def active_of(self, uid: int) -> int:
        """How many jobs of a user are not finished."""
        return self._of_uid[uid]

    def unfinished(self, number: int) -> Job | None:
        """A job that is accepted and not finished."""
        return self._active.get(number)

    def find(self, number: int, reply: Reply) -> Job:
        """The job, if the peer may see it; `NotFound` for others' jobs too, so that numbers tell nothing."""
        job = self._active.get(number) or self._finished.get(number)
        if job is not None and job.visible_to(reply):
            return job
        if 0 < number < self._first:
            raise Restarted(f"job {number} was lost when the daemon restarted")
        raise NotFound(f"there is no job {number}")

    def unfinished_ones(self) -> Iterator[Job]:
        """The jobs that have not ended, oldest first."""
        return iter(self._active.values())

    def told_to(self, reply: Reply, *, everybody: bool = True) -> Iterator[Job]:
        """The jobs that the peer may see, or its own ones only: unfinished ones first, then the latest ones."""
        for job in (*self._active.values(), *reversed(self._finished.values())):
            if job.visible_to(reply) and (everybody or job.uid == reply.peer.uid):
                yield job

    # ---- what becomes of them

    def add(self, job: Job) -> None:
        """Begin to know an accepted job."""
        self._active[job.number] = job
        self._of_uid[job.uid] += 1
        self._changed(job)

    def working(self, partition: PartitionId, phase: Phase | None, done: int) -> None:
        """A partition enters a phase, or (None) has its proof; `done` partitions of its job are done."""
        job = self.unfinished(partition.job)
        if job is None:
            return
        if phase is not None:
            job.started, job.stage = True, _STAGES.get(phase, str(phase))
        job.done = done
        for reply in list(job.watchers):
            reply.progress(job.stage, done, job.partitions)
        self._changed(job)

    def complete(self, number: int, proofs: tuple[bytes, ...], publics: tuple[bytes, ...]) -> Job:
        """The job has all its proofs; everybody who waits is told."""
        job = self._active[number]
        job.proofs, job.publics, job.done = proofs, publics, len(proofs)
        self._finish(job)
        return job

    def fail(self, number: int, error: CuzkdError) -> Job:
        """The job ends with an error; everybody who waits is told."""
        job = self._active[number]
        job.error = error
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
            job.forget_submitter()
            del self._finished[number]

    def _finish(self, job: Job) -> None:
        del self._active[job.number]
        self._of_uid[job.uid] -= 1
        if not self._of_uid[job.uid]:
            del self._of_uid[job.uid]
        job.finished_at = time.monotonic()
        self._ends.append(job.finished_at)
        self._finished[job.number] = job
        self.ended[job.state] += 1
        waiters, job.waiters, job.watchers = job.waiters, [], []
        for reply in waiters:
            job.tell_result(reply)
        self._changed(job)
        self.forget_old(job.finished_at)
