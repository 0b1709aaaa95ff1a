"""What children say goes to whom it concerns: the scheduler, the intake of files, or those who ask for keys."""

from __future__ import annotations

import logging
from collections.abc import Callable

from cuzkd.child import Child
from cuzkd.errors import BootFailed
from cuzkd.events import Worker, WorkerDown, WorkerStuck, WorkerUp
from cuzkd.ipc import messages, orders
from cuzkd.logs import Event, about
from cuzkd.model import Role
from cuzkd.supervisor.children import Audience
from cuzkd.supervisor.dispatch import Dispatcher
from cuzkd.supervisor.intake import Intake
from cuzkd.supervisor.keys import Keys
from cuzkd.supervisor.patience import Doing
from cuzkd.supervisor.submission import IngestAnswer

_log = logging.getLogger(__name__)


class Switchboard:
    """Hears the roster. `changed` is called when a child is up, `gave_up` when one cannot be booted."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        intake: Intake,
        keys: Keys,
        changed: Callable[[], None],
        gave_up: Callable[[BootFailed], None],
    ) -> None:
        self.audience = Audience(self._up, self._hear, self._stalled, self._stuck, self._down, gave_up)
        self._dispatcher = dispatcher
        self._intake = intake
        self._keys = keys
        self._changed = changed

    def _up(self, child: Child) -> None:
        worker = child.worker
        told = about(Event.CHILD_UP)
        _log.info("the %s process is up (pid %d)", worker.name, child.process.pid, extra=told)
        if worker.role is Role.INGEST:
            self._intake.ingest_up()
        self._dispatcher.feed(WorkerUp(worker))
        self._changed()

    def _stalled(self, worker: Worker, doing: Doing | None, why: str) -> None:
        """A child is being ended; a file that it waited for is refused, for the next one would wait too."""
        if worker.role is Role.INGEST and doing is not None and doing.ticket is not None:
            self._intake.stalled(doing.ticket, why)

    def _stuck(self, worker: Worker, reason: str) -> None:
        self._dispatcher.feed(WorkerStuck(worker, reason))

    def _down(self, worker: Worker, reason: str) -> None:
        if worker.role is Role.INGEST:
            self._intake.ingest_down()
        if worker.role is Role.GPU:
            self._keys.gpu_down()
        self._dispatcher.feed(WorkerDown(worker, reason))

    def _hear(self, worker: Worker, message: messages.Message) -> None:
        if isinstance(message, IngestAnswer | orders.IngestFailed):
            self._intake.answered(message)
        elif isinstance(message, orders.IngestProgress):
            self._intake.progressed(message)
        elif isinstance(message, orders.CacheUsed) and message.cache is orders.Cache.PROGRAM:
            self._intake.program_used(found=message.found)
        elif isinstance(message, orders.KeysHeld | orders.KeyMoved | orders.CacheUsed):
            self._keys.hear(message)
        elif not self._dispatcher.hear(worker, message):
            _log.error("the %s process sent an unexpected %s", worker.name, type(message).__name__)
