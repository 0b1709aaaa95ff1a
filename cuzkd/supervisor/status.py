"""The daemon's state as a report for clients, and as one line for the service manager."""

from __future__ import annotations

import os
import time
from collections import Counter
from dataclasses import dataclass

from cuzkd import __version__
from cuzkd.ipc.peer import Peer
from cuzkd.ipc.pool import SegmentState
from cuzkd.ipc.requests import JobStatus, PoolStatus, Status, WorkerStatus
from cuzkd.model import JobState, Role
from cuzkd.scheduler import Scheduler
from cuzkd.supervisor.backend import Choice
from cuzkd.supervisor.children import Roster, Slot
from cuzkd.supervisor.jobs import Job, status_of
from cuzkd.supervisor.keys import Keys
from cuzkd.supervisor.service import ClientService


@dataclass(frozen=True, slots=True)
class Daemon:
    """What a report looks at."""

    state: str
    uptime_s: float
    backend: Choice
    roster: Roster
    scheduler: Scheduler
    service: ClientService
    keys: Keys


def report(daemon: Daemon, peer: Peer) -> Status:
    """The report that this peer may see: its own jobs, everybody's counters."""
    [gpu] = daemon.roster.of(Role.GPU)
    scheduler, service = daemon.scheduler, daemon.service
    return Status(
        version=__version__,
        pid=os.getpid(),
        uptime_s=daemon.uptime_s,
        state=daemon.state,
        backend=str(daemon.backend.backend),
        device=gpu.ready.device if gpu.ready is not None else "",
        workers=tuple(_worker(slot) for slot in daemon.roster.slots),
        pool=_pool(scheduler),
        jobs=tuple(_job(job, scheduler) for job in service.jobs.visible_to(peer)),
        jobs_done=service.jobs.done,
        jobs_failed=service.jobs.failed,
        jobs_refused=service.refused,
        partitions_proved=scheduler.counters.partitions_proved,
        partitions_retried=scheduler.counters.partitions_retried,
        circuits_compiled=service.intake.circuits_compiled,
        circuits_found=service.intake.circuits_found,
        circuits_named=len(service.circuits.registry),
        programs_compiled=service.intake.programs_compiled,
        programs_found=service.intake.programs_found,
        key_loads=daemon.keys.loads,
        key_hits=daemon.keys.hits,
        degraded=degraded(daemon),
    )


def degraded(daemon: Daemon) -> tuple[str, ...]:
    """Why not all is well."""
    reasons = [] if daemon.backend.degraded is None else [daemon.backend.degraded]
    reasons += [
        f"the {slot.name} process is being replaced" for slot in daemon.roster.slots if not slot.ready
    ]
    if daemon.scheduler.memory.lowered:
        reasons.append("shared memory ran out before pool.limit did: the pool is smaller than configured")
    if daemon.scheduler.device_suspect:
        reasons.append("the device has made wrong proofs of one partition twice: it is suspect")
    return tuple(reasons)


def status_line(daemon: Daemon) -> str:
    """One line for `systemctl status`."""
    jobs = daemon.service.jobs
    pool = _pool(daemon.scheduler)
    line = f"{daemon.state}: {jobs.active} jobs, {jobs.done} done, pool {pool.leased}/{pool.segments}"
    reasons = degraded(daemon)
    return f"{line}; degraded: {reasons[0]}" if reasons else line


def _worker(slot: Slot) -> WorkerStatus:
    child = slot.child
    partition, phase = slot.doing or (None, None)
    return WorkerStatus(
        role=slot.settings.role,
        index=slot.settings.index,
        pid=0 if child is None else child.process.pid,
        incarnation=slot.incarnation,
        restarts=max(0, slot.incarnation - 1),
        ready=slot.ready is not None,
        partition=partition,
        phase=phase,
    )


def _pool(scheduler: Scheduler) -> PoolStatus:
    pool = scheduler.memory.pool
    states = Counter(segment.state for segment in pool)
    return PoolStatus(
        segments=len(pool),
        free=states[SegmentState.FREE],
        leased=states[SegmentState.LEASED],
        preparing=states[SegmentState.CREATING],
        pinned=sum(segment.pinned for segment in pool),
        size_bytes=pool.size_bytes,
        limit_bytes=pool.limit_bytes,
        created=pool.created,
        reused=pool.reused,
        stale_handles=scheduler.stale,
    )


def _job(job: Job, scheduler: Scheduler) -> JobStatus:
    scheduled = scheduler.jobs.get(job.number)
    state, done = (JobState.QUEUED, 0) if scheduled is None else (scheduled.state, scheduled.done)
    return status_of(job, state, done, time.monotonic())
