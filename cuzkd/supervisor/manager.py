"""What the service manager is told through the daemon's life, and what SIGHUP asks for."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

from cuzkd import sd
from cuzkd.config import Changes
from cuzkd.errors import BadConfig
from cuzkd.supervisor.configuration import Configuration

_BEAT_S = 1.0
_BOOT_STEP_S = 20.0
_END_S = 15.0  # last answers, children that end, and what is swept after them


class ServiceManager:
    """systemd's view of the daemon. Its watchdog watches this loop and nothing else: children are the roster's.

    `booting` says how far the start is.
    """

    def __init__(
        self, loop: asyncio.AbstractEventLoop, configuration: Configuration, booting: Callable[[], str]
    ) -> None:
        self._loop = loop
        self._configuration = configuration
        self._booting = booting
        self._notifier = sd.Notifier()
        self._watchdog_s = sd.watchdog_s()
        self._starting = True
        self._serving = False

    def beat(self) -> None:
        """Say that the loop runs, now and from now on; while the daemon starts, ask for more time to."""
        self._notifier.beat(watched=self._watchdog_s is not None)
        if self._starting:
            self._notifier.need(_BOOT_STEP_S)
            self._notifier.status(f"starting: {self._booting()}")
        self._loop.call_later(min(_BEAT_S, (self._watchdog_s or _BEAT_S) / 3), self.beat)

    def ready(self) -> None:
        """The daemon takes work."""
        self._starting, self._serving = False, True
        self._notifier.ready()

    def status(self, line: str) -> None:
        """What the daemon does, for `systemctl status`."""
        self._notifier.status(line)

    def stopping(self) -> None:
        """The daemon finishes what it has accepted, and ends; it asks for the time that this may take."""
        self._serving = False
        self._notifier.stopping(self._configuration.now.drain_timeout_s + _END_S)

    def reload(self) -> Changes:
        """Read the configuration again: all of it is taken, or `BadConfig` says why none is."""
        if self._serving:
            self._notifier.reloading()
        try:
            return self._configuration.reload()
        finally:
            if self._serving:
                self._notifier.ready()

    def hang_up(self) -> None:
        """SIGHUP: reload; what is wrong is told in the log, and the daemon goes on as it was."""
        with contextlib.suppress(BadConfig):
            self.reload()
