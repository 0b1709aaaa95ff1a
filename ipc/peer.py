"""Who is at the other end of a Unix socket, as the kernel recorded it when the peer connected."""

from __future__ import annotations

import socket
import struct
from dataclasses import dataclass

_UCRED = struct.Struct("3i")


@dataclass(frozen=True, slots=True)
class Peer:
    """A peer's process and effective ids. The pid may have been reused since: never act on it alone."""

    pid: int
    uid: int
    gid: int


def peer_of(sock: socket.socket) -> Peer:
    """The credentials (SO_PEERCRED) of a connected Unix socket's peer; `OSError` if there is none."""
    return Peer(*_UCRED.unpack(sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _UCRED.size)))
