"""What the supervisor says to systemd and what it inherits from it; silent where there is no systemd.

Only the supervisor notifies: children are started without `NOTIFY_SOCKET`.
"""

from __future__ import annotations

import os
import socket
import time

import sdnotify

_FIRST_INHERITED_FD = 3
_SEND_TIMEOUT_S = 1.0
_LISTEN_VARIABLES = ("LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES")
CHILD_SCRUBBED = ("NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC", *_LISTEN_VARIABLES)


class Notifier:
    """The service manager's notification socket, if `NOTIFY_SOCKET` names one.

    What cannot be sent at once is dropped after a moment: a manager that does not read must not stop the loop.
    """

    def __init__(self) -> None:
        self._systemd = sdnotify.SystemdNotifier() if "NOTIFY_SOCKET" in os.environ else None
        if self._systemd is not None and self._systemd.socket is not None:
            self._systemd.socket.settimeout(_SEND_TIMEOUT_S)
        self._last_status = ""

    def ready(self) -> None:
        """Say that the daemon takes work, or that it has reloaded."""
        self._send("READY=1")

    def status(self, text: str) -> None:
        """Set the unit's status line, if it is another than before; the package can send Latin-1 only."""
        if text != self._last_status:
            self._last_status = text
            self._send("STATUS=" + text.encode("ascii", "replace").decode("ascii"))

    def reloading(self) -> None:
        """Say that the configuration is being read again; `ready` ends it."""
        self._send(f"RELOADING=1\nMONOTONIC_USEC={time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000}")

    def stopping(self) -> None:
        """Say that the daemon is stopping."""
        self._send("STOPPING=1")

    def alive(self) -> None:
        """Say that the loop runs."""
        self._send("WATCHDOG=1")

    def need(self, seconds: float) -> None:
        """Ask for so much time from now on, for starting or stopping."""
        self._send(f"EXTEND_TIMEOUT_USEC={int(seconds * 1_000_000)}")

    def _send(self, state: str) -> None:
        if self._systemd is not None:
            self._systemd.notify(state)


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
