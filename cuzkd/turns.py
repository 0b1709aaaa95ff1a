"""Whose partition is next: uids take turns; inside a uid the oldest job first, in it the lowest partition.

This is deficit round robin with the partition as the unit: a turn is worth one partition and each costs
one, so no deficit is ever left over to carry. A uid that comes back from having nothing to do joins at the
end, so leaving gains nothing.
"""

from __future__ import annotations

from bisect import insort
from collections import OrderedDict, deque
from collections.abc import Iterator

from cuzkd.partitions import Job


def _age(job: Job) -> int:
    return job.order


class Turns:
    """The jobs that have a waiting partition, by uid; the uid whose turn it is comes first."""

    def __init__(self) -> None:
        self._jobs: OrderedDict[int, list[Job]] = OrderedDict()

    def join(self, job: Job, *, keep_turn: bool = False) -> None:
        """Have a job take part from now on; `keep_turn` gives its uid the next turn, as it had it before."""
        jobs = self._jobs.setdefault(job.uid, [])
        if job not in jobs:
            insort(jobs, job, key=_age)
        if keep_turn:
            self._jobs.move_to_end(job.uid, last=False)

    def leave(self, job: Job) -> None:
        """Forget a job, if it takes part."""
        jobs = self._jobs.get(job.uid, [])
        if job in jobs:
            jobs.remove(job)
            if not jobs:
                del self._jobs[job.uid]

    def spend(self, job: Job) -> None:
        """The job's uid has used its turn: it goes to the end; the job leaves when nothing of it waits."""
        self._jobs.move_to_end(job.uid)
        if not job.waiting:
            self.leave(job)

    def upcoming(self, per_job: int) -> Iterator[Job]:
        """Jobs in the order in which their partitions would start, one item a partition, ≤ `per_job` each."""
        rounds = deque(self._partitions_of(jobs, per_job) for jobs in self._jobs.values())
        while rounds:
            mine = rounds.popleft()
            job = next(mine, None)
            if job is not None:
                yield job
                rounds.append(mine)

    @staticmethod
    def _partitions_of(jobs: list[Job], per_job: int) -> Iterator[Job]:
        for job in jobs:
            for _ in range(min(per_job, len(job.waiting))):
                yield job

    def __iter__(self) -> Iterator[Job]:
        """Every job that takes part."""
        return (job for jobs in self._jobs.values() for job in jobs)
