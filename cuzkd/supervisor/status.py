"""The daemon's state as a report for clients, and as one line for the service manager."""

from __future__ import annotations

import itertools
import os
import time
from collections import Counter
from dataclasses import dataclass

from cuzkd import __version__
from cuzkd.ipc.pool import SegmentState
from cuzkd.ipc.requests import PoolStatus, Status, WorkerStatus
from cuzkd.ipc.segment import SHM_DIR, free_bytes
from cuzkd.memory import Memory
from cuzkd.model import JobState, Role
from cuzkd.reply import Reply
from cuzkd.scheduler import Scheduler
from cuzkd.supervisor.backend import Choice
from cuzkd.supervisor.children import Roster
from cuzkd.supervisor.keys import Keys
from cuzkd.supervisor.service import ClientService
from cuzkd.supervisor.slots import Slot

_JOBS = 200


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


def report(daemon: Daemon, reply: Reply) -> Status:
    """The report that this peer may see: its own jobs, everybody's counters."""
    [gpu] = daemon.roster.of(Role.GPU)
    scheduler, service = daemon.scheduler, daemon.service
    now, ended = time.monotonic(), service.jobs.ended
    jobs = itertools.islice(service.jobs.told_to(reply), _JOBS)
    return Status(
        version=__version__,
        pid=os.getpid(),
        uptime_s=daemon.uptime_s,
        state=daemon.state,
        backend=str(daemon.backend.backend),
        device=gpu.ready.device if gpu.ready is not None else "",
        workers=tuple(_worker(slot) for slot in daemon.roster.slots),
        pool=pool_status(scheduler),
        jobs=tuple(job.status(now) for job in jobs),
        jobs_done=ended[JobState.DONE],
        jobs_failed=ended[JobState.FAILED],
        jobs_refused=service.admission.refused,
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
        jobs_cancelled=ended[JobState.CANCELLED],
    )


def degraded(daemon: Daemon) -> tuple[str, ...]:
    """Why not all is well."""
    reasons = [] if daemon.backend.degraded is None else [daemon.backend.degraded]
    reasons += [_missing(slot) for slot in daemon.roster.slots if slot.stuck or not slot.ready]
    reasons += _short_of_memory(daemon.scheduler.memory)
    if daemon.scheduler.device_suspect:
        reasons.append("the device has made wrong proofs of one partition twice: it is suspect")
    return tuple(reasons)


def _short_of_memory(memory: Memory) -> list[str]:
    """Why the pool is not, or could not become, as large as it is configured."""
    if memory.lowered:
        return ["shared memory ran out before pool.limit did: the pool is smaller than configured"]
    wanted, free = memory.limit_bytes - memory.pool.size_bytes, free_bytes()
    if free >= wanted:
        return []
    told = f"pool.limit is {memory.limit_bytes} bytes, of which {wanted} are not used yet"
    return [f"{told}, but {SHM_DIR} has only {free} bytes free"]


def _missing(slot: Slot) -> str:
    if slot.stuck and slot.child is not None:
        pid = slot.child.process.pid
        return f"the {slot.name} process (pid {pid}) cannot be ended: its place is lost until the kernel lets it go"
    return f"the {slot.name} process is being replaced"


def status_line(daemon: Daemon) -> str:
    """One line for `systemctl status`."""
    scheduler, ended = daemon.scheduler, daemon.service.jobs.ended
    states = Counter(job.state for job in scheduler.jobs.values())
    pool = pool_status(scheduler)
    line = (
        f"{daemon.state}: {states[JobState.RUNNING]} proving, {states[JobState.QUEUED]} queued, "
        f"{ended[JobState.DONE]} done, pool {pool.leased}/{pool.segments}"
    )
    reasons = degraded(daemon)
    return f"{line}; degraded: {reasons[0]}" if reasons else line


def _worker(slot: Slot) -> WorkerStatus:
    child = slot.child
    partition = phase = None
    if slot.doing is not None:
        partition, phase = slot.doing.partition, slot.doing.phase
    return WorkerStatus(
        role=slot.settings.role,
        index=slot.settings.index,
        pid=0 if child is None else child.process.pid,
        incarnation=slot.incarnation,
        restarts=max(0, slot.incarnation - 1),
        ready=slot.ready is not None and not slot.stuck,
        partition=partition,
        phase=phase,
    )


def pool_status(scheduler: Scheduler) -> PoolStatus:
    """The segment pool as it is told."""
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
