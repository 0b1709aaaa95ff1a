"""The daemon's two sockets: taken over from systemd or made, and removed at the end if they were made."""

from __future__ import annotations

import socket
from pathlib import Path

from cuzkd.access import Access
from cuzkd.listener import CONTROL, JOB, Entrance, group_of, listen
from cuzkd.server import Server
from cuzkd.supervisor.configuration import Configuration
from cuzkd.supervisor.directories import Directories

_JOB_MODE = 0o660
_CONTROL_MODE = 0o600  # operators whom it does not let in come by the job socket


class Doors:
    """Opens the sockets for a server. `adopted` are those that systemd passed, by name."""

    def __init__(
        self, directories: Directories, configuration: Configuration, adopted: dict[str, socket.socket]
    ) -> None:
        self._directories = directories
        self._configuration = configuration
        self._adopted = adopted
        self._made: list[Path] = []

    def open(self, server: Server) -> None:
        """Have the server take connections by both sockets."""
        self._open(server, JOB, self._directories.socket, _JOB_MODE)
        self._open(server, CONTROL, self._directories.control_socket, _CONTROL_MODE)

    def close(self) -> None:
        """Remove the sockets that were made; one that systemd passed keeps its name, to start the next daemon."""
        for path in self._made:
            path.unlink(missing_ok=True)

    def _open(self, server: Server, entrance: Entrance, path: Path, mode: int) -> None:
        sock = self._adopted.pop(entrance.name, None)
        if sock is None:
            sock = listen(path, mode)
            self._made.append(path)
        group = group_of(sock) if entrance.control else None
        server.listen(sock, entrance, _Current(self._configuration, group))


class _Current:
    """What the configuration in force says of access; groups are looked up once, and not for every connection."""

    def __init__(self, configuration: Configuration, operators_group: int | None) -> None:
        self._configuration = configuration
        self._operators_group = operators_group
        self._configured = configuration.now.access
        self._access = Access.of(self._configured, operators_group)

    def __call__(self) -> Access:
        if self._configuration.now.access is not self._configured:
            self._configured = self._configuration.now.access
            self._access = Access.of(self._configured, self._operators_group)
        return self._access
