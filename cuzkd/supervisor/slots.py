"""One place in the roster, life after life: who fills it, what that one does, and when the next may start.

A child that dies is replaced at once, unless life after life ends before it has done anything: then the pauses
double, so that a machine on which nothing works is not kept busy with starting processes.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import Final

from cuzkd.child import BootingChild, Child, Settings
from cuzkd.ipc.messages import Message
from cuzkd.ipc.orders import (
    Compiled,
    ConstraintsKept,
    IngestFailed,
    KeyMoved,
    ProgramKept,
    ProofDone,
    Spooled,
    SynthesisDone,
)
from cuzkd.model import Role
from cuzkd.supervisor.line import Line
from cuzkd.supervisor.patience import Doing, Watch

FIRST_PAUSE_S: Final = 0.1
LONGEST_PAUSE_S: Final = 2.0
_STEADY_S: Final = 10.0
_AT_ONCE: Final = 3
_ACHIEVEMENTS = (
    Compiled, ConstraintsKept, IngestFailed, KeyMoved, ProgramKept, ProofDone, Spooled, SynthesisDone,
)  # fmt: skip


@dataclass(slots=True, eq=False)
class Slot:
    """A place and its present life, if any.

    `ending` says why the child is being ended. `stuck` is set when it did not die of SIGKILL: the kernel waits
    for something on its behalf, and whatever it held is not to be touched.
    """

    settings: Settings
    child: BootingChild | Child | None = None
    line: Line | None = None
    watch: Watch = field(default_factory=lambda: Watch(time.monotonic()))
    incarnation: int = 0
    boot_failures: int = 0
    has_booted: bool = False
    short: bool = False
    ending: str | None = None
    stuck: bool = False
    timers: list[asyncio.TimerHandle] = field(default_factory=list)
    _up_at: float = 0.0
    _achieved: bool = False
    _vain_lives: int = 0

    @property
    def ready(self) -> Child | None:
        """The child, if it takes orders."""
        return self.child if isinstance(self.child, Child) else None

    @property
    def doing(self) -> Doing | None:
        """What the child does, by its own word."""
        return self.watch.doing

    @property
    def name(self) -> str:
        """For people."""
        return self.settings.role.named(self.settings.index)

    @property
    def may_be_harmful(self) -> bool:
        """Whether a process that could not be ended may still be at a device or in a segment."""
        return self.settings.role is not Role.INGEST

    def begin(self, child: BootingChild, line: Line, now: float) -> None:
        """A process was started."""
        self.child = child
        self.line = line
        self.watch = Watch(now)
        self.incarnation += 1
        self.short = False
        self.ending = None
        self.stuck = False
        self._achieved = False

    def booted(self, child: Child, now: float) -> None:
        """The process takes orders."""
        self.child = child
        self.boot_failures = 0
        self.has_booted = True
        self._up_at = now

    def write(self) -> None:
        """Write the orders that the child was given."""
        if self.line is not None:
            self.line.write()

    def heard(self, message: Message) -> None:
        """Note what shows that the life is of use."""
        self._achieved = self._achieved or isinstance(message, _ACHIEVEMENTS)

    def end(self) -> None:
        """The process is gone, or given up."""
        self.child = self.line = None
        self.watch.done(time.monotonic())
        self.cancel_timers()

    def pause_s(self, now: float) -> float:
        """How long to wait before the next life, after one that had booted."""
        if self._achieved or now - self._up_at >= _STEADY_S:
            self._vain_lives = 0
            return 0.0
        self._vain_lives += 1
        return pause_s(self._vain_lives - _AT_ONCE)

    def cancel_timers(self) -> None:
        """Nothing more is to happen to this life."""
        while self.timers:
            self.timers.pop().cancel()


def pause_s(failures: int) -> float:
    """The pause after so many failures in a row: none, then doubling from `FIRST_PAUSE_S` on."""
    return 0.0 if failures < 1 else min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2 ** min(failures - 1, 32))
