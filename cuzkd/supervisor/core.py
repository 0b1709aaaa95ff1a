"""The supervisor's life: start the children, serve, drain, stop. One event loop; no heavy work in it."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import time
from collections.abc import Callable
from typing import Any

from cuzkd.closing import Closing
from cuzkd.errors import Unavailable
from cuzkd.ipc.descriptors import close_now, have_closed_by
from cuzkd.ipc.requests import Reloaded, Status
from cuzkd.logs import Event, about
from cuzkd.registry import Registry
from cuzkd.reply import Reply
from cuzkd.scheduler import Scheduler
from cuzkd.server import FileLimits, Server
from cuzkd.supervisor.backend import Choice
from cuzkd.supervisor.children import Roster
from cuzkd.supervisor.circuits import NamedCircuits
from cuzkd.supervisor.configuration import Configuration
from cuzkd.supervisor.directories import Directories
from cuzkd.supervisor.dispatch import Dispatcher
from cuzkd.supervisor.doors import Doors
from cuzkd.supervisor.intake import Intake
from cuzkd.supervisor.keys import Keys
from cuzkd.supervisor.manager import ServiceManager
from cuzkd.supervisor.metrics import metrics
from cuzkd.supervisor.namefile import NameFile
from cuzkd.supervisor.numbers import JobNumbers
from cuzkd.supervisor.patience import Patience
from cuzkd.supervisor.segments import Segments
from cuzkd.supervisor.service import ClientService, Reports
from cuzkd.supervisor.staff import raise_file_limit, settings
from cuzkd.supervisor.status import Daemon, report, status_line
from cuzkd.supervisor.switchboard import Switchboard
from cuzkd.uploads import Uploads

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)
SIGNALS = (*STOP_SIGNALS, signal.SIGHUP)
_TICK_S = 1.0
_DRAIN_POLL_S = 0.02
_LAST_ANSWERS_S = 2.0

_log = logging.getLogger(__name__)


class Supervisor:
    """Owns every piece of the daemon's state."""

    def __init__(
        self,
        configuration: Configuration,
        directories: Directories,
        backend: Choice,
        children_lock: int,
        segments: Segments,
        adopted: dict[str, socket.socket],
    ) -> None:
        config = configuration.now
        self._configuration = configuration
        self._directories = directories
        self._backend = backend
        self._started_at = time.monotonic()
        self._loop = asyncio.get_running_loop()
        self._manager = ServiceManager(self._loop, configuration, self._booting)
        self._changed = asyncio.Event()
        self._stop_signals = 0
        self._fatal: BaseException | None = None
        max_files = raise_file_limit()
        have_closed_by(Closing(close_now).take)
        self._limits = FileLimits(partitions=config.jobs.max_partitions, attached=max_files)
        self._segments = segments
        self._scheduler = Scheduler(
            limit_bytes=config.pool.limit_bytes,
            synthesis_workers=config.synthesis.workers,
            segment_prefix=directories.segment_prefix,
            max_attempts=config.jobs.max_attempts,
        )
        self._roster = Roster(
            self._loop,
            settings(config, backend, children_lock),
            config.boot_timeout_s,
        )
        self._numbers = JobNumbers(self._loop, directories.job_numbers)
        self._service = ClientService(self._loop, configuration, directories.spool, max_files, self._numbers)
        self._dispatcher = Dispatcher(
            self._scheduler,
            self._roster,
            segments,
            self._service.order_of,
            self._service.working,
            self._service.ended,
        )
        self._intake = Intake(self._payload_limit, self._dispatcher.tell_ingest, self._service.needed)
        self._keys = Keys(self._dispatcher.tell_gpu)
        self._names = NameFile(self._loop, directories.names)
        self._service.connect(
            self._intake,
            NamedCircuits(
                Registry.load(directories.names),
                self._names,
                self._intake,
                self._keys,
                self._scheduler.stages.gpu_has,
            ),
            self._dispatcher.feed,
            Reports(self._report, lambda: metrics(self._daemon(), self._server), self._reloaded),
        )
        uploads = Uploads(
            directories.spool,
            self._payload_limit,
            lambda: configuration.now.limits.upload_per_uid_bytes,
        )
        self._server = Server(self._loop, self._service, uploads, self._limits)
        self._doors = Doors(directories, configuration, adopted)

    async def main(self) -> None:
        """Run until a signal ends the daemon; raises what made it impossible to go on."""
        self._loop.set_exception_handler(self._broken)
        for number in STOP_SIGNALS:
            self._loop.add_signal_handler(number, self._stop_signal, number)
        self._loop.add_signal_handler(signal.SIGHUP, self._hang_up)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
        self._manager.beat()
        hears = Switchboard(self._dispatcher, self._intake, self._keys, self._changed.set, self._fail)
        self._roster.start(hears.audience)
        try:
            await self._until(lambda: self._roster.all_up)
            if not self._stopping:
                await self._serve()
        finally:
            await self._roster.stop()
            self._doors.close()
            self._server.close()
            # the loop's handlers end with it: a late signal must not cut the clean-up that follows
            signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
            self._names.close()
            self._numbers.close()
        if self._fatal is not None:
            raise self._fatal

    @property
    def _stopping(self) -> bool:
        return self._stop_signals > 0 or self._fatal is not None

    async def _serve(self) -> None:
        """Take jobs until asked to stop, then finish those that were accepted."""
        self._doors.open(self._server)
        self._tick(time.monotonic())
        self._manager.ready()
        ready = about(Event.READY, seconds=time.monotonic() - self._started_at)
        _log.info(
            "ready: %s backend, socket %s", self._backend.backend, self._directories.socket, extra=ready
        )
        if self._backend.degraded is not None:
            _log.warning("%s", self._backend.degraded)
        await self._until(lambda: False)
        self._manager.stopping()
        await self._drain()

    async def _drain(self) -> None:
        jobs = self._service.jobs
        _log.info("stopping: no new jobs, %d to finish", jobs.active, extra=about(Event.STOPPING))
        self._service.stop_taking()
        deadline = time.monotonic() + self._configuration.now.drain_timeout_s
        while jobs.active and self._stop_signals < 2 and self._fatal is None and time.monotonic() < deadline:
            await asyncio.sleep(_DRAIN_POLL_S)
        if jobs.active:
            _log.warning("%d jobs are not finished", jobs.active)
            jobs.fail_all(Unavailable("the daemon stopped before the job was done"))
        deadline = time.monotonic() + _LAST_ANSWERS_S
        while self._answers_to_come and self._stop_signals < 2 and time.monotonic() < deadline:
            await asyncio.sleep(_DRAIN_POLL_S)

    @property
    def _answers_to_come(self) -> bool:
        return self._service.jobs.untold or self._server.writing

    async def _until(self, done: Callable[[], bool]) -> None:
        """Wait until `done()`, or until the daemon is to stop."""
        while not done() and not self._stopping:
            self._changed.clear()
            await self._changed.wait()

    # ---- signals, time, faults

    def _stop_signal(self, number: int) -> None:
        self._stop_signals += 1
        if self._stop_signals <= 2:
            _log.info("%s", signal.Signals(number).name)
        self._changed.set()

    def _hang_up(self) -> None:
        """Read the configuration again; in a terminal, stop with it."""
        if os.isatty(0):
            self._stop_signal(signal.SIGHUP)
        else:
            self._manager.hang_up()

    def _reloaded(self) -> Reloaded:
        changes = self._manager.reload()
        return Reloaded((*changes.live, *changes.at_restart), changes.at_restart)

    def _booting(self) -> str:
        slots = self._roster.slots
        return f"{sum(slot.ready is not None for slot in slots)} of {len(slots)} processes are up"

    def _payload_limit(self) -> int:
        return self._configuration.now.limits.payload_bytes

    def _patience(self) -> Patience:
        memory, stages = self._scheduler.memory, self._scheduler.stages
        return Patience(self._configuration.now.limits, memory.limit_bytes, stages.shape_of)

    def _tick(self, due: float) -> None:
        """Once a second: the unit's status line, and children that have fallen silent."""
        now = time.monotonic()
        self._roster.end_overdue(now, now - due, self._patience())
        self._service.jobs.forget_old(now)
        self._manager.status(status_line(self._daemon()))
        self._loop.call_later(_TICK_S, self._tick, now + _TICK_S)

    def _broken(self, _: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """An exception that nothing expected: the state cannot be trusted, so the daemon stops."""
        error = context.get("exception") or RuntimeError(context["message"])
        _log.critical("unexpected failure: %s", context["message"], exc_info=error)
        self._fail(error)

    def _fail(self, error: BaseException) -> None:
        self._fatal = self._fatal or error
        self._changed.set()

    def _daemon(self) -> Daemon:
        return Daemon(
            state="draining" if self._service.taking.draining else "ready",
            uptime_s=time.monotonic() - self._started_at,
            backend=self._backend,
            roster=self._roster,
            scheduler=self._scheduler,
            service=self._service,
            keys=self._keys,
        )

    def _report(self, reply: Reply) -> Status:
        return report(self._daemon(), reply)
