"""Streams of jobs' changes: a client that reads slowly is told the latest of each job, and what waits is bounded."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator

from cuzkd.errors import Busy
from cuzkd.ipc.requests import JobChanged, JobStatus
from cuzkd.pace import EVERY_S
from cuzkd.reply import Reply
from cuzkd.supervisor.job import Job

MAX_WATCHES_PER_UID = 64
MAX_UNTOLD = 4096
_RETRY_AFTER_S = 1.0


class Watches:
    """Everybody who watches jobs."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._watches: set[_Watch] = set()

    def __len__(self) -> int:
        return len(self._watches)

    def one(self, job: Job, reply: Reply) -> None:
        """Tell of a job until it ends; its state is told at once."""
        status = job.status(time.monotonic())
        if job.finished:
            reply.send(JobChanged(status))
        else:
            self._add(_Watch(self._loop, reply, job=job.number)).tell(status)

    def all(self, jobs: Iterator[Job], reply: Reply, *, everybody: bool) -> None:
        """Tell of the peer's jobs, or everybody's, until the connection ends: first of these, as they are."""
        watch = self._add(_Watch(self._loop, reply, uid=None if everybody else reply.peer.uid))
        now = time.monotonic()
        for job in jobs:
            if watch.wants(job):
                watch.tell(job.status(now))

    def changed(self, job: Job) -> None:
        """Pass on a change of a job."""
        wanting = [watch for watch in self._watches if watch.wants(job)]
        if not wanting:
            return
        status = job.status(time.monotonic())
        for watch in wanting:
            watch.tell(status)
            if watch.ended:
                self._watches.discard(watch)

    def _add(self, watch: _Watch) -> _Watch:
        of_uid = sum(other.reply.peer.uid == watch.reply.peer.uid for other in self._watches)
        if of_uid >= MAX_WATCHES_PER_UID:
            told = f"{MAX_WATCHES_PER_UID} watches of one user are the most"
            raise Busy(told, advice="end one of them", retry_after_s=_RETRY_AFTER_S)
        self._watches.add(watch)

        def gone() -> None:
            watch.end()
            self._watches.discard(watch)

        watch.reply.on_close(gone)
        return watch


class _Watch:
    """One stream: of one job, or of those of one user, or (both None) of all."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, reply: Reply, *, job: int | None = None, uid: int | None = None
    ) -> None:
        self.reply = reply
        self.ended = False
        self._loop = loop
        self._job = job
        self._uid = uid
        self._untold: dict[int, JobStatus] = {}
        self._queued = False
        self._due = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def wants(self, job: Job) -> bool:
        """Whether the job is one that is watched."""
        return job.number == self._job if self._job is not None else self._uid in (None, job.uid)

    def tell(self, status: JobStatus) -> None:
        """Pass on a change when it is time, in place of earlier ones of the job that are not told."""
        if self.ended:
            return
        if self._job is not None and status.state.final:
            self._untold.clear()
            self.end()
            self.reply.send(JobChanged(status))
            return
        self._untold[status.job] = status
        if len(self._untold) > MAX_UNTOLD:
            self.end()
            told = "more jobs have changed than the client has read of"
            self.reply.fail(Busy(told, advice="watch again", retry_after_s=_RETRY_AFTER_S))
        elif not self._queued and self._timer is None:
            self._timer = self._loop.call_at(self._due, self._flush)

    def end(self) -> None:
        """Tell nothing more."""
        self.ended = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _flush(self) -> None:
        self._timer = None
        self._due = self._loop.time() + EVERY_S
        self._queued = True
        self.reply.tell(self._changes())

    def _changes(self) -> Iterator[JobChanged]:
        """What is untold when the client has room for it."""
        while self._untold:
            yield JobChanged(self._untold.pop(next(iter(self._untold))))
        self._queued = False
