"""The journal's own protocol: a record of fields as one datagram, or as a sealed memory file when it is large.

See systemd's JOURNAL_NATIVE_PROTOCOL. Nothing here waits: what the journal does not take at once is lost and
counted, for a log must not stop the daemon that it is the log of.
"""

from __future__ import annotations

import array
import errno
import fcntl
import os
import re
import socket
from collections.abc import Iterable
from pathlib import Path
from typing import Final

SOCKET: Final = Path("/run/systemd/journal/socket")
_NAME = re.compile(r"[A-Z][A-Z0-9_]{0,63}")
_TOO_LARGE = (errno.EMSGSIZE, errno.ENOBUFS)
_SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SEAL


class Journal:
    """A way to the journal. `lost` counts the records that it did not take. `OSError` when there is no journal."""

    def __init__(self, path: Path = SOCKET) -> None:
        self.lost = 0
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
        try:
            self._socket.connect(os.fspath(path))
        except OSError:
            self._socket.close()
            raise
        self._socket.setblocking(False)

    def send(self, fields: Iterable[tuple[str, str]]) -> None:
        """Write one record; a name may occur several times."""
        record = encode(fields)
        try:
            self._send(record)
        except OSError:
            self.lost += 1

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()

    def _send(self, record: bytes) -> None:
        try:
            self._socket.send(record)
        except OSError as error:
            if error.errno not in _TOO_LARGE:
                raise
            self._send_file(record)

    def _send_file(self, record: bytes) -> None:
        """The journal maps the file, so it takes only one that nobody can change any more."""
        fd = os.memfd_create("cuzkd-log", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            with open(fd, "wb", closefd=False) as file:
                file.write(record)
            fcntl.fcntl(fd, fcntl.F_ADD_SEALS, _SEALS)
            rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))
            self._socket.sendmsg([b""], [rights])
        finally:
            os.close(fd)


def encode(fields: Iterable[tuple[str, str]]) -> bytes:
    """The record as the journal reads it.

    A value of several lines goes with its length before it, so that no value can begin another field. ValueError
    for a name that the journal does not take.
    """
    out = bytearray()
    for name, value in fields:
        if not _NAME.fullmatch(name):
            raise ValueError(f"{name!r} is no name of a journal's field")
        data = value.encode("utf-8", "backslashreplace")
        if b"\n" in data:
            out += name.encode() + b"\n" + len(data).to_bytes(8, "little") + data + b"\n"
        else:
            out += name.encode() + b"=" + data + b"\n"
    return bytes(out)
