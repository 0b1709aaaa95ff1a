"""What clients ask of accepted jobs: their results, what there is, their end, and word of their changes."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable

from cuzkd.errors import NotDone, WaitTimeout
from cuzkd.ipc.requests import JobCancel, JobFetch, JobList, JobListing, JobShow, JobWait, Watch
from cuzkd.reply import Reply
from cuzkd.supervisor.job import Job
from cuzkd.supervisor.jobs import Jobs
from cuzkd.supervisor.watches import Watches

# what fits a frame: a job's line has about 400 bytes
LISTED_JOBS = 1000

JobRequest = JobWait | JobFetch | JobShow | JobList | JobCancel | Watch


class JobAnswers:
    """Answers from the table of jobs; `cancel` ends one that has not ended."""

    def __init__(self, jobs: Jobs, watches: Watches, cancel: Callable[[Job], None]) -> None:
        self._jobs = jobs
        self._watches = watches
        self._cancel = cancel

    def answer(self, request: JobRequest, reply: Reply) -> None:
        """Answer now or later. `NotFound`, or `Restarted`, for a job that is not there for the peer."""
        match request:
            case JobWait():
                self._wait(self._jobs.find(request.job, reply), request, reply)
            case JobFetch():
                self._fetch(self._jobs.find(request.job, reply), reply)
            case JobShow():
                reply.send(self._jobs.find(request.job, reply).info(time.monotonic()))
            case JobCancel():
                self._end(self._jobs.find(request.job, reply), reply)
            case JobList():
                self._list(request, reply)
            case Watch(job=None):
                jobs = self._jobs.unfinished_ones()
                self._watches.all(jobs, reply, everybody=request.everybody)
            case Watch(job=int() as number):
                self._watches.one(self._jobs.find(number, reply), reply)

    def _wait(self, job: Job, request: JobWait, reply: Reply) -> None:
        if job.finished:
            job.tell_result(reply)
            return
        job.wait(reply, progress=request.progress)
        reply.on_close(lambda: job.leave(reply))
        if request.timeout_s is not None:
            seconds = max(0.0, request.timeout_s)
            reply.after(seconds, lambda: _time_up(job, reply, seconds))

    def _fetch(self, job: Job, reply: Reply) -> None:
        if not job.finished:
            raise NotDone(f"job {job.number} is not done: it is {job.state}")
        job.tell_result(reply)

    def _end(self, job: Job, reply: Reply) -> None:
        if not job.finished:
            self._cancel(job)
        reply.send(job.info(time.monotonic()))

    def _list(self, request: JobList, reply: Reply) -> None:
        now = time.monotonic()
        found = self._jobs.told_to(reply, everybody=request.everybody)
        jobs = tuple(job.status(now) for job in itertools.islice(found, LISTED_JOBS))
        reply.send(JobListing(jobs, more=next(found, None) is not None))


def _time_up(job: Job, reply: Reply, seconds: float) -> None:
    job.leave(reply)
    reply.fail(WaitTimeout(f"job {job.number} is not done after {seconds:g} s"))
