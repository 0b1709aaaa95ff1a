"""A listening socket and the connections that come by it: how many there may be, of whom, and for how long.

The job socket and the operators' have each their own backlog, limits and share of the loop, so that what happens on
one of them never keeps the other from being answered.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import socket
import stat
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from cuzkd.access import Access
from cuzkd.connection import Connection, Requests
from cuzkd.errors import BadConfig, Busy, Forbidden, ResourceExhausted
from cuzkd.share import Share

_BACKLOG = 128
_ACCEPTS_AT_ONCE = 16
_TICK_S = 1.0
_RETRY_AFTER_S = 1.0
_OUT_OF_DESCRIPTORS = {errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS}

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Entrance:
    """One of the daemon's sockets: connections in all and per uid; `control` says that it is the operators'."""

    name: str
    control: bool
    connections: int
    connections_per_uid: int


JOB = Entrance("job", control=False, connections=512, connections_per_uid=128)
CONTROL = Entrance("ctl", control=True, connections=64, connections_per_uid=32)


class Listener:
    """Accepts connections, and closes those that are overdue. `access` says who may come, each time it is asked."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        sock: socket.socket,
        entrance: Entrance,
        requests: Requests,
        access: Callable[[], Access],
    ) -> None:
        self.entrance = entrance
        self.accepted = 0
        self._loop = loop
        self._socket = sock
        self._requests = requests
        self._access = access
        self._share = Share(loop)
        self._connections: set[Connection] = set()
        self._of_uid: Counter[int] = Counter()
        self._starved = self._paused = False
        sock.setblocking(False)
        loop.add_reader(sock.fileno(), self._accept)
        self._timer = loop.call_later(_TICK_S, self._tick)

    def __iter__(self) -> Iterator[Connection]:
        return iter(self._connections)

    def __len__(self) -> int:
        return len(self._connections)

    def close(self) -> None:
        """Stop listening and close every connection."""
        self._timer.cancel()
        self._loop.remove_reader(self._socket.fileno())
        self._socket.close()
        for connection in list(self._connections):
            connection.close()

    def forget(self, connection: Connection) -> None:
        """The connection is closed; nothing if it is another listener's."""
        if connection in self._connections:
            self._connections.discard(connection)
            self._of_uid[connection.peer.uid] -= 1
            if not self._of_uid[connection.peer.uid]:
                del self._of_uid[connection.peer.uid]

    def _accept(self) -> None:
        for _ in range(_ACCEPTS_AT_ONCE):
            try:
                sock, _ = self._socket.accept()
            except (BlockingIOError, ConnectionAbortedError):
                return
            except OSError as error:
                if error.errno not in _OUT_OF_DESCRIPTORS:
                    raise
                self._pause(error)
                return
            self._starved = False
            self._admit(sock)

    def _admit(self, sock: socket.socket) -> None:
        connection = Connection(self._loop, sock, self._requests, share=self._share)
        self._connections.add(connection)
        self.accepted += 1
        uid = connection.peer.uid
        self._of_uid[uid] += 1
        try:
            connection.operator = self._access().admit(connection.peer, control=self.entrance.control)
        except Forbidden as error:
            _log.warning("a connection to the %s socket is refused: %s", self.entrance.name, error)
            connection.end_with(error)
            return
        over = len(self._connections) > self.entrance.connections
        if over or self._of_uid[uid] > self.entrance.connections_per_uid:
            connection.end_with(Busy("too many connections to the daemon", retry_after_s=_RETRY_AFTER_S))

    def _pause(self, error: OSError) -> None:
        """Accept nothing until the next tick: the process is out of descriptors or memory."""
        if not self._starved:
            _log.warning("no connections are accepted for now: %s", error.strerror)
        self._starved = self._paused = True
        self._loop.remove_reader(self._socket.fileno())

    def _tick(self) -> None:
        now = time.monotonic()
        for connection in list(self._connections):
            if (reason := connection.overdue(now)) is not None:
                _log.info("a connection of uid %d is closed: %s", connection.peer.uid, reason)
                connection.close()
        if self._paused:
            self._paused = False
            self._loop.add_reader(self._socket.fileno(), self._accept)
        self._timer = self._loop.call_later(_TICK_S, self._tick)


def listen(path: Path, mode: int = 0o660) -> socket.socket:
    """A socket at `path` with this mode, in place of one that a dead daemon left.

    Call under the instance lock only. `BadConfig` when something else than a socket of ours is there.
    """
    try:
        info = path.lstat()
    except FileNotFoundError:
        pass
    else:
        if not stat.S_ISSOCK(info.st_mode) or info.st_uid != os.geteuid():
            raise BadConfig(f"{path} is in the way: it is not a socket of the daemon's user")
        path.unlink()
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        sock.bind(os.fspath(path))
        # nobody can connect before listen(), so the mode is right from the first connection on
        path.chmod(mode)
        sock.listen(_BACKLOG)
    except OSError as error:
        sock.close()
        raise ResourceExhausted(f"cannot listen at {path}: {error.strerror}") from error
    return sock


def group_of(sock: socket.socket) -> int | None:
    """The group that may connect to a listening socket by its file's mode; None if none may, or it has no file."""
    try:
        info = os.stat(sock.getsockname())
    except (OSError, ValueError):
        return None
    return info.st_gid if info.st_mode & stat.S_IWGRP else None
