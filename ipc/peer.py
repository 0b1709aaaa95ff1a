"""Who is at the other end of a Unix socket, as the kernel recorded it when the peer connected."""

from __future__ import annotations

import array
import contextlib
import socket
import struct
from dataclasses import dataclass

_UCRED = struct.Struct("3i")
_SO_PEERGROUPS = 59  # asm-generic/socket.h; the socket module has no name for it
_GROUPS_BYTES = 1024  # the most that getsockopt takes


@dataclass(frozen=True, slots=True)
class Peer:
    """A peer's process, its effective ids and its supplementary groups.

    The pid may have been reused since: never act on it alone. Of a peer in more than 256 groups none is known.
    """

    pid: int
    uid: int
    gid: int
    groups: frozenset[int] = frozenset()

    @property
    def all_groups(self) -> frozenset[int]:
        """Every group that the peer is in, as far as known."""
        return self.groups | {self.gid}


def peer_of(sock: socket.socket) -> Peer:
    """The credentials (SO_PEERCRED, SO_PEERGROUPS) of a connected Unix socket's peer; `OSError` if there is none."""
    pid, uid, gid = _UCRED.unpack(sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _UCRED.size))
    groups = array.array("I")
    with contextlib.suppress(OSError):
        groups.frombytes(sock.getsockopt(socket.SOL_SOCKET, _SO_PEERGROUPS, _GROUPS_BYTES))
    return Peer(pid, uid, gid, frozenset(groups))
