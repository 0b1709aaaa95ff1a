"""Files that come in pieces, from clients that cannot pass descriptors: written to the spool, and never named there.

What a user has uploaded counts against a quota until the file is closed, by whoever has it then.
"""

from __future__ import annotations

import errno
import os
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from cuzkd.attachment import Attachment
from cuzkd.errors import BadRequest, Busy, ResourceExhausted, TooLarge

_NO_UNNAMED_FILES = {errno.EOPNOTSUPP, errno.EISDIR, errno.ENOENT}


class Uploads:
    """Everybody's uploads; the limits are asked for when a file begins."""

    def __init__(self, spool: Path, limit_bytes: Callable[[], int], per_uid_bytes: Callable[[], int]) -> None:
        self._spool = spool
        self._limit_bytes = limit_bytes
        self._per_uid_bytes = per_uid_bytes
        self._held: Counter[int] = Counter()

    @property
    def held_bytes(self) -> int:
        """What all uploads take, those that jobs have not copied yet included."""
        return self._held.total()

    def begin(self, uid: int, name: str, size_bytes: int) -> Upload:
        """Set room aside for a file. `TooLarge`, `Busy` or `ResourceExhausted` when there is none."""
        if size_bytes < 0:
            raise BadRequest(f"a file of {size_bytes} bytes")
        limit, most = self._limit_bytes(), self._per_uid_bytes()
        if size_bytes > limit:
            raise TooLarge(f"{name} has {size_bytes} bytes; limits.payload is {limit}")
        if self._held[uid] + size_bytes > most:
            told = f"uid {uid} has {self._held[uid]} bytes uploaded, {size_bytes} more are too many"
            if size_bytes > most:
                raise TooLarge(f"{told}; limits.upload_per_uid is {most}")
            raise Busy(f"{told}; limits.upload_per_uid is {most}", retry_after_s=1.0)
        try:
            room = os.statvfs(self._spool)
            if size_bytes > room.f_bavail * room.f_frsize:
                raise _no_room(name)
            fd = _unnamed_file(self._spool)
        except OSError as error:
            raise ResourceExhausted(f"{name} cannot be written: {error.strerror}") from error
        self._held[uid] += size_bytes

        def closed() -> None:
            self._held[uid] -= size_bytes
            if not self._held[uid]:
                del self._held[uid]

        return Upload(fd, name, size_bytes, closed)


class Upload:
    """One file in the making; its room is given back when it is abandoned, or when the finished file is closed."""

    def __init__(self, fd: int, name: str, size_bytes: int, closed: Callable[[], None]) -> None:
        self.written_at = time.monotonic()
        self._file = Attachment(fd, name, closed)
        self._size_bytes = size_bytes
        self._written = 0

    def write(self, data: bytes) -> None:
        """Append a piece. `BadRequest` beyond the size that was said; `ResourceExhausted` when the disk is full."""
        if self._written + len(data) > self._size_bytes:
            raise BadRequest(f"{self._file.name} has more than the {self._size_bytes} bytes that were said")
        left = memoryview(data)
        try:
            while left:
                left = left[os.write(self._file.fd, left) :]
        except OSError as error:
            if error.errno == errno.ENOSPC:
                raise _no_room(self._file.name) from error
            raise ResourceExhausted(f"{self._file.name} cannot be written: {error.strerror}") from error
        self._written += len(data)
        self.written_at = time.monotonic()

    def finish(self) -> Attachment:
        """The file, open for reading only and from its beginning. `BadRequest` when it is not whole."""
        if self._written != self._size_bytes:
            raise BadRequest(f"{self._file.name} ends at {self._written} of {self._size_bytes} bytes")
        try:
            reading = os.open(f"/proc/self/fd/{self._file.fd}", os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise ResourceExhausted(f"{self._file.name} cannot be read: {error.strerror}") from error
        finished = Attachment(reading, self._file.name, self._file.closed)
        self._file.closed = None
        self._file.close()
        return finished

    def abandon(self) -> None:
        """Give everything back; nothing after `finish`."""
        self._file.close()


def _unnamed_file(folder: Path) -> int:
    flags = os.O_RDWR | os.O_CLOEXEC
    try:
        return os.open(folder, flags | os.O_TMPFILE, 0o600)
    except OSError as error:
        if error.errno not in _NO_UNNAMED_FILES:
            raise
    fd, path = tempfile.mkstemp(dir=folder)
    os.unlink(path)
    return fd


def _no_room(name: str) -> ResourceExhausted:
    return ResourceExhausted(
        f"no room for {name} in the spool", advice="free space in the state directory, or pass a descriptor"
    )
