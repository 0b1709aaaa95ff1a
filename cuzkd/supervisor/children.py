"""The roster of children: every slot of it is filled again when its process dies, until the daemon stops.

A child that dies before it has booted is tried again after a pause that doubles, a few times; then the daemon
gives up with `BootFailed`. One that had booted is replaced at once or, when the system has no descriptor,
process or memory left for it, as soon as there is one.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import signal
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from cuzkd.child import BootingChild, Child, Process, Settings, spawn
from cuzkd.errors import BadRequest, BootFailed, CuzkdError, ResourceExhausted, VersionMismatch
from cuzkd.events import Worker
from cuzkd.ipc.channel import ChannelClosed
from cuzkd.ipc.descriptors import OutOfDescriptors
from cuzkd.ipc.messages import Message
from cuzkd.ipc.orders import Heartbeat, ProofDone, StageFailed, SynthesisDone
from cuzkd.model import PartitionId, Phase, Role

BOOT_ATTEMPTS = 5
SILENCE_S = 30.0
_FIRST_PAUSE_S = 0.1
_STOP_PATIENCE_S = 2.0
_LAST_READS = 1000
_LATE_S = 5.0
_SHORTAGE_PAUSE_S = 0.5
_SHORTAGES = {errno.EMFILE, errno.ENFILE, errno.EAGAIN, errno.ENOMEM}

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Listener:
    """Whom the roster tells: a child is up, a message came from it, it is dead, or booting was given up."""

    up: Callable[[Child], None]
    message: Callable[[Worker, Message], None]
    down: Callable[[Worker, str], None]
    gave_up: Callable[[BootFailed], None]


class Slot:
    """One place in the roster, and the process that fills it now, if any."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.child: BootingChild | Child | None = None
        self.incarnation = 0
        self.boot_failures = 0
        self.has_booted = False
        self.short = False
        self.boot_timer: asyncio.TimerHandle | None = None
        self.doing: tuple[PartitionId, Phase] | None = None
        self.heard_at = 0.0

    @property
    def ready(self) -> Child | None:
        """The child, if it takes orders."""
        return self.child if isinstance(self.child, Child) else None

    @property
    def name(self) -> str:
        """For log lines."""
        role = self.settings.role
        return f"{role} {self.settings.index}" if role is Role.SYNTHESIS else str(role)


class Roster:
    """All children."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        settings: Iterable[Settings],
        listener: Listener,
        boot_timeout_s: float,
    ) -> None:
        self.slots = [Slot(each) for each in settings]
        self._loop = loop
        self._listener = listener
        self._boot_timeout_s = boot_timeout_s
        self._stopping = False
        self._emptied = asyncio.Event()

    def start(self) -> None:
        """Start every child."""
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
        self._write(slot, child.process)

    async def stop(self) -> None:
        """End every child: SIGTERM, then SIGKILL for those that live on; returns when none is left."""
        self._stopping = True
        self._signal_all(signal.SIGTERM)
        timer = self._loop.call_later(_STOP_PATIENCE_S, self._signal_all, signal.SIGKILL)
        while any(slot.child for slot in self.slots):
            self._emptied.clear()
            await self._emptied.wait()
        timer.cancel()

    def end_silent(self, now: float, late_s: float) -> None:
        """End children that have not beaten for long: SIGABRT shows their stacks, then SIGKILL.

        `late_s` says how late the caller is: a supervisor that did not run could not hear either.
        """
        for slot in self.slots:
            child = slot.ready
            if child is None:
                continue
            if late_s > _LATE_S:
                slot.heard_at = now
            elif now - slot.heard_at > SILENCE_S + _STOP_PATIENCE_S:
                child.process.kill(signal.SIGKILL)
            elif now - slot.heard_at > SILENCE_S:
                _log.error("the %s process has been silent for %g s: it is ended", slot.name, SILENCE_S)
                child.process.kill(signal.SIGABRT)

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
            slot.child = spawn(slot.settings, slot.incarnation + 1)
        except OSError as error:
            self._not_spawned(slot, error)
            return
        slot.incarnation += 1
        slot.short = False
        process = slot.child.process
        slot.doing = None
        self._loop.add_reader(process.pidfd, self._died, slot, process)
        self._loop.add_reader(process.channel.fileno(), self._readable, slot, process)
        slot.boot_timer = self._loop.call_later(self._boot_timeout_s, self._boot_overdue, slot, process)

    def _not_spawned(self, slot: Slot, error: OSError) -> None:
        if error.errno not in _SHORTAGES or not slot.has_booted:
            self._boot_failed(slot, f"could not be started: {error}")
            return
        if not slot.short:
            _log.error("the %s process cannot be replaced for now: %s", slot.name, error.strerror)
        slot.short = True
        self._loop.call_later(_SHORTAGE_PAUSE_S, self._spawn, slot)

    def _readable(self, slot: Slot, process: Process) -> None:
        """Read once; a channel that ends is left alone, for the pidfd tells of the death."""
        try:
            for received in process.receive():
                received.descriptors.close()
                self._received(slot, received.message)
        except ChannelClosed:
            self._loop.remove_reader(process.channel.fileno())
        except (BadRequest, VersionMismatch, BootFailed) as error:
            _log.error("%s is replaced: it broke the protocol: %s", slot.name, error)
            self._loop.remove_reader(process.channel.fileno())
            process.kill(signal.SIGKILL)

    def _received(self, slot: Slot, message: Message) -> None:
        slot.heard_at = time.monotonic()
        if isinstance(slot.child, BootingChild):
            slot.child = slot.child.booted(message)
            slot.boot_failures = 0
            slot.has_booted = True
            self._cancel_boot_timer(slot)
            self._listener.up(slot.child)
        elif isinstance(slot.child, Child):
            if isinstance(message, Heartbeat):
                slot.doing = self._doing(message)
            elif isinstance(message, SynthesisDone | ProofDone | StageFailed):
                slot.doing = None
            self._listener.message(slot.child.worker, message)

    @staticmethod
    def _doing(beat: Heartbeat) -> tuple[PartitionId, Phase] | None:
        return None if beat.partition is None or beat.phase is None else (beat.partition, beat.phase)

    def _write(self, slot: Slot, process: Process) -> None:
        try:
            process.channel.on_writable()
        except (ChannelClosed, CuzkdError) as error:
            # in-flight descriptors are the one thing that a living child can run out of
            self._loop.remove_writer(process.channel.fileno())
            if not isinstance(error, ChannelClosed):
                _log.error("%s is replaced: %s", slot.name, error)
                process.kill(signal.SIGKILL)
            return
        if process.channel.wants_write:
            self._loop.add_writer(process.channel.fileno(), self._write, slot, process)
        else:
            self._loop.remove_writer(process.channel.fileno())

    def _died(self, slot: Slot, process: Process) -> None:
        """What the child had sent counts; then nothing of it runs any more."""
        self._read_rest(slot, process)
        self._loop.remove_reader(process.pidfd)
        self._loop.remove_reader(process.channel.fileno())
        self._loop.remove_writer(process.channel.fileno())
        self._cancel_boot_timer(slot)
        had_booted = slot.ready is not None
        slot.child = None
        slot.doing = None
        reason = process.reap()
        self._emptied.set()
        if self._stopping:
            return
        _log.warning("the %s process (pid %d) %s", slot.name, process.pid, reason)
        if had_booted:
            self._listener.down(process.worker, reason)
            self._spawn(slot)
        else:
            self._boot_failed(slot, reason)

    def _read_rest(self, slot: Slot, process: Process) -> None:
        """Read to the end of the stream; a whole frame takes several reads, so an empty one ends nothing."""
        try:
            for _ in range(_LAST_READS):
                for received in process.receive():
                    received.descriptors.close()
                    self._received(slot, received.message)
        except (ChannelClosed, CuzkdError):
            return

    def _boot_overdue(self, slot: Slot, process: Process) -> None:
        _log.error("the %s process did not boot in %g s", slot.name, self._boot_timeout_s)
        process.kill(signal.SIGABRT)
        slot.boot_timer = self._loop.call_later(_STOP_PATIENCE_S, process.kill, signal.SIGKILL)

    def _boot_failed(self, slot: Slot, reason: str) -> None:
        slot.boot_failures += 1
        if slot.boot_failures >= BOOT_ATTEMPTS:
            told = (
                f"the {slot.name} process failed to start {slot.boot_failures} times; the last one {reason}"
            )
            self._listener.gave_up(BootFailed(told))
            return
        pause_s = _FIRST_PAUSE_S * 2 ** (slot.boot_failures - 1)
        self._loop.call_later(pause_s, self._spawn, slot)

    @staticmethod
    def _cancel_boot_timer(slot: Slot) -> None:
        if slot.boot_timer is not None:
            slot.boot_timer.cancel()
            slot.boot_timer = None
