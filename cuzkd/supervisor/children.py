"""The roster of children: every slot of it is filled again when its process dies, until the daemon stops.

A child that dies before it has booted is tried again after a pause that doubles, a few times; then the daemon
gives up with `BootFailed`. One that had booted is replaced (`slots` says when) or, when the system has no
descriptor, process or memory left for it, as soon as there is one.

A child that makes no progress is ended: SIGABRT shows its stacks, SIGKILL follows. One that even SIGKILL does not
end keeps its slot, for it may still be at a device or in a segment; an ingest process, which holds neither, is
replaced beside it.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import signal
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

from cuzkd.child import BootingChild, Child, Process, Settings, spawn
from cuzkd.errors import BootFailed, ResourceExhausted
from cuzkd.events import Worker
from cuzkd.ipc.descriptors import OutOfDescriptors
from cuzkd.ipc.messages import Message
from cuzkd.ipc.orders import Heartbeat, ProofDone, StageFailed, SynthesisDone
from cuzkd.logs import Event, about
from cuzkd.model import Role
from cuzkd.supervisor.line import Line
from cuzkd.supervisor.patience import Doing, Patience
from cuzkd.supervisor.slots import Slot, pause_s

BOOT_ATTEMPTS = 5
ABORT_PATIENCE_S = 5.0
KILL_PATIENCE_S = 10.0
_STOP_PATIENCE_S = 2.0
_LATE_S = 5.0
_SHORTAGE_PAUSE_S = 0.5
_SHORTAGES = {errno.EMFILE, errno.ENFILE, errno.EAGAIN, errno.ENOMEM}

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Audience:
    """Whom the roster tells: a child is up, a message came from it, it makes no progress and is being ended, it could
    not be ended, it is dead (or could not be ended and holds nothing), or booting was given up."""

    up: Callable[[Child], None]
    message: Callable[[Worker, Message], None]
    stalled: Callable[[Worker, Doing | None, str], None]
    stuck: Callable[[Worker, str], None]
    down: Callable[[Worker, str], None]
    gave_up: Callable[[BootFailed], None]


class Roster:
    """All children; `start` begins with them and says whom to tell of them."""

    _audience: Audience

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        settings: Iterable[Settings],
        boot_timeout_s: float,
    ) -> None:
        self.slots = [Slot(each) for each in settings]
        self._loop = loop
        self._boot_timeout_s = boot_timeout_s
        self._stopping = False
        self._emptied = asyncio.Event()
        self._left_behind: list[Process] = []

    def start(self, audience: Audience) -> None:
        """Start every child."""
        self._audience = audience
        for slot in self.slots:
            self._spawn(slot)

    @property
    def all_up(self) -> bool:
        """Whether every child takes orders."""
        return all(slot.ready for slot in self.slots)

    def of(self, role: Role) -> list[Slot]:
        """The slots of a role, by index."""
        return [slot for slot in self.slots if slot.settings.role is role]

    def order(self, worker: Worker, message: Message, fds: tuple[int, ...] = ()) -> None:
        """Send an order to this life of a child; nothing if it is over, for its death is or will be told.

        `OutOfDescriptors`, with nothing sent, when this process can hold no more of them.
        """
        slot = self._slot(worker)
        child = slot.ready
        if child is None or child.worker != worker:
            return
        try:
            child.order(message, fds)
        except OutOfDescriptors:
            raise
        except ResourceExhausted as error:
            _log.error("%s does not read its orders: %s", slot.name, error)
            child.process.kill(signal.SIGKILL)
            return
        slot.write()

    async def stop(self) -> None:
        """End every child: SIGTERM, then SIGKILL for those that live on; returns when none is left that can end."""
        self._stopping = True
        self._signal_all(signal.SIGTERM)
        timer = self._loop.call_later(_STOP_PATIENCE_S, self._signal_all, signal.SIGKILL)
        try:
            async with asyncio.timeout(_STOP_PATIENCE_S + KILL_PATIENCE_S):
                while any(slot.child for slot in self.slots):
                    self._emptied.clear()
                    await self._emptied.wait()
        except TimeoutError:
            stuck = [slot.child.process.pid for slot in self.slots if slot.child is not None]
            _log.error("left behind, for SIGKILL does not end them: %s", ", ".join(map(str, stuck)))
        timer.cancel()

    def end_overdue(self, now: float, late_s: float, patience: Patience) -> None:
        """End children that have made no progress for too long.

        `late_s` says how late the caller is: a supervisor that did not run could not hear either.
        """
        for slot in self.slots:
            child = slot.ready
            if child is None or slot.ending is not None:
                continue
            if late_s > _LATE_S:
                slot.watch.forgive(now)
            elif (why := slot.watch.overdue(now, patience)) is not None:
                self._audience.stalled(child.worker, slot.doing, why)
                self._end(slot, child.process, why)

    def _signal_all(self, number: signal.Signals) -> None:
        for slot in self.slots:
            if slot.child is not None:
                slot.child.process.kill(number)

    def _slot(self, worker: Worker) -> Slot:
        return next(
            slot
            for slot in self.slots
            if (slot.settings.role, slot.settings.index) == (worker.role, worker.index)
        )

    # ---- the life of a child

    def _spawn(self, slot: Slot) -> None:
        if self._stopping:
            return
        try:
            child = spawn(slot.settings, slot.incarnation + 1)
        except OSError as error:
            self._not_spawned(slot, error)
            return
        line = Line(self._loop, child.process, partial(self._received, slot), partial(self._died, slot))
        slot.begin(child, line, time.monotonic())
        late = f"not ready after {self._boot_timeout_s:g} s"
        slot.timers.append(self._loop.call_later(self._boot_timeout_s, self._end, slot, child.process, late))

    def _not_spawned(self, slot: Slot, error: OSError) -> None:
        if error.errno not in _SHORTAGES or not slot.has_booted:
            self._boot_failed(slot, f"could not be started: {error}")
            return
        if not slot.short:
            _log.error("the %s process cannot be replaced for now: %s", slot.name, error.strerror)
        slot.short = True
        self._loop.call_later(_SHORTAGE_PAUSE_S, self._spawn, slot)

    def _received(self, slot: Slot, message: Message) -> None:
        now = time.monotonic()
        slot.watch.hear(now)
        if isinstance(slot.child, BootingChild):
            child = slot.child.booted(message)
            slot.booted(child, now)
            if slot.ending is None:
                slot.cancel_timers()
            self._audience.up(child)
        elif isinstance(slot.child, Child):
            if isinstance(message, Heartbeat):
                slot.watch.beat(now, Doing.of(message), message.progress)
            elif isinstance(message, SynthesisDone | ProofDone | StageFailed):
                slot.watch.done(now)
            slot.heard(message)
            self._audience.message(slot.child.worker, message)

    def _died(self, slot: Slot) -> None:
        """What the child had sent counts; then nothing of it runs any more."""
        assert slot.line is not None, "only a life can end"
        slot.line.read_rest()
        slot.line.close()
        process = slot.line.process
        reason = process.reap()
        if slot.ending is not None:
            reason = f"{slot.ending}, {reason}"
        self._vacate(slot, process, reason)

    def _vacate(self, slot: Slot, process: Process, reason: str) -> None:
        """The slot is empty: tell of it, and fill it again."""
        had_booted = slot.ready is not None
        slot.end()
        self._emptied.set()
        if self._stopping:
            return
        told = about(Event.CHILD_DIED)
        _log.warning("the %s process (pid %d) %s", slot.name, process.pid, reason, extra=told)
        if not had_booted:
            self._boot_failed(slot, reason)
            return
        self._audience.down(process.worker, reason)
        self._spawn_after(slot.pause_s(time.monotonic()), slot)

    def _end(self, slot: Slot, process: Process, why: str) -> None:
        """SIGABRT, for the stacks; SIGKILL; and then there is nothing that one could do."""
        _log.error("the %s process (pid %d) is ended: %s", slot.name, process.pid, why)
        slot.ending = why
        slot.cancel_timers()
        process.kill(signal.SIGABRT)
        slot.timers += [
            self._loop.call_later(ABORT_PATIENCE_S, process.kill, signal.SIGKILL),
            self._loop.call_later(ABORT_PATIENCE_S + KILL_PATIENCE_S, self._is_stuck, slot, process),
        ]

    def _is_stuck(self, slot: Slot, process: Process) -> None:
        told = f"pid {process.pid} did not end by SIGKILL ({slot.ending})"
        _log.error("the %s process: %s", slot.name, told)
        if slot.may_be_harmful:
            slot.stuck = True
            if slot.ready is not None:
                self._audience.stuck(process.worker, told)
            return
        assert slot.line is not None, "its end was not told"
        slot.line.close()
        self._left_behind.append(process)
        self._loop.add_reader(process.pidfd, self._left_behind_died, process)
        self._vacate(slot, process, f"is left behind: {told}")

    def _left_behind_died(self, process: Process) -> None:
        self._loop.remove_reader(process.pidfd)
        self._left_behind.remove(process)
        _log.info("pid %d, which was left behind, %s", process.pid, process.reap())

    def _boot_failed(self, slot: Slot, reason: str) -> None:
        slot.boot_failures += 1
        if slot.boot_failures >= BOOT_ATTEMPTS:
            told = (
                f"the {slot.name} process failed to start {slot.boot_failures} times; the last one {reason}"
            )
            self._audience.gave_up(BootFailed(told))
            return
        self._spawn_after(pause_s(slot.boot_failures), slot)

    def _spawn_after(self, seconds: float, slot: Slot) -> None:
        if seconds > 0:
            self._loop.call_later(seconds, self._spawn, slot)
        else:
            self._spawn(slot)
