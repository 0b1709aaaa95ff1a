"""What the supervisor says to systemd and what it inherits from it; silent where there is no systemd.

Only the supervisor notifies: children are started without `NOTIFY_SOCKET`.
"""

from __future__ import annotations

import logging
import os
import socket
import time
from collections import deque

import sdnotify

_FIRST_INHERITED_FD = 3
_LISTEN_VARIABLES = ("LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES")
CHILD_SCRUBBED = ("NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC", *_LISTEN_VARIABLES)

_log = logging.getLogger(__name__)


class Notifier:
    """The service manager's notification socket, if `NOTIFY_SOCKET` names one.

    Nothing here waits. A manager that is behind is told of the daemon's states later, in order, by `beat`; its status
    line as it is then; and nothing of beats that it missed.
    """

    def __init__(self) -> None:
        self._systemd = None
        self._owed: deque[str] = deque()
        self._last_status = ""
        if "NOTIFY_SOCKET" in os.environ:
            try:
                # with `debug`, the package raises what it would else swallow
                self._systemd = sdnotify.SystemdNotifier(debug=True)
            except OSError as error:
                _log.warning("the service manager cannot be told anything: %s", error.strerror)
            else:
                self._systemd.socket.setblocking(False)

    def ready(self) -> None:
        """Say that the daemon takes work, or that it has reloaded."""
        self._owe("READY=1")

    def status(self, text: str) -> None:
        """Set the unit's status line, if it is another than before; the package can send Latin-1 only."""
        if text != self._last_status and self._sent(
            "STATUS=" + text.encode("ascii", "replace").decode("ascii")
        ):
            self._last_status = text

    def reloading(self) -> None:
        """Say that the configuration is being read again; `ready` ends it."""
        self._owe(f"RELOADING=1\nMONOTONIC_USEC={time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000}")

    def stopping(self, seconds: float) -> None:
        """Say that the daemon is stopping, and how long that may take."""
        self._owe(f"STOPPING=1\nEXTEND_TIMEOUT_USEC={int(seconds * 1_000_000)}")

    def need(self, seconds: float) -> None:
        """Ask for so much time from now on, for starting."""
        self._sent(f"EXTEND_TIMEOUT_USEC={int(seconds * 1_000_000)}")

    def beat(self, *, watched: bool) -> None:
        """Say what is still owed and, to a watchdog, that the loop runs."""
        self._pay()
        if watched:
            self._sent("WATCHDOG=1")

    def _owe(self, state: str) -> None:
        if self._systemd is not None:
            self._owed.append(state)
            self._pay()

    def _pay(self) -> None:
        while self._owed and self._sent(self._owed[0]):
            self._owed.popleft()

    def _sent(self, state: str) -> bool:
        if self._systemd is None:
            return True
        try:
            self._systemd.notify(state)
        except OSError:
            return False
        return True


def watchdog_s() -> float | None:
    """Within how many seconds the service manager wants to hear that this process is alive; None if it does not."""
    microseconds = os.environ.get("WATCHDOG_USEC", "")
    ours = os.environ.get("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
    return int(microseconds) / 1_000_000 if ours and microseconds.isdecimal() and int(microseconds) else None


def adopt_sockets() -> dict[str, socket.socket]:
    """The listening sockets that systemd passed, by `FileDescriptorName`; taken once, closed on exec."""
    values = {name: os.environ.pop(name, "") for name in _LISTEN_VARIABLES}
    if values["LISTEN_PID"] != str(os.getpid()) or not values["LISTEN_FDS"].isdecimal():
        return {}
    count = int(values["LISTEN_FDS"])
    names = values["LISTEN_FDNAMES"].split(":") if values["LISTEN_FDNAMES"] else []
    names += ["unknown"] * (count - len(names))
    adopted = {}
    for offset, name in enumerate(names[:count]):
        fd = _FIRST_INHERITED_FD + offset
        os.set_inheritable(fd, False)
        adopted[name] = socket.socket(fileno=fd)
    return adopted
