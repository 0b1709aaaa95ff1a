"""A file system in this process whose files never come: what a client's dead network mount is to the daemon.

Whoever reads one of its files waits. If its request was taken, not even SIGKILL ends the wait: only `close` does.
"""

from __future__ import annotations

import ctypes
import os
import stat
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

_LOOKUP, _FORGET, _GETATTR, _OPEN, _READ, _FLUSH, _INIT, _BATCH_FORGET = 1, 2, 3, 14, 15, 25, 26, 42
_FOPEN_NOFLUSH = 1 << 5
_ABORT_AND_UNMOUNT = 1 | 2  # MNT_FORCE, MNT_DETACH
_HOUR_S = 3600
_ENOSYS = 38
_LIBC = ctypes.CDLL(None, use_errno=True)


class SilentFiles:
    """Every name is a regular file of 1000 bytes. `taking` says whether a read is taken, to be kept unanswered.

    With `flushing`, reads fail, and it is close(2) that is never answered.
    """

    def __init__(self, folder: Path, *, taking: bool, looking_up: bool, flushing: bool) -> None:
        self.folder = folder
        self.asked = threading.Event()
        self._taking = taking
        self._looking_up = looking_up
        self._flushing = flushing
        self._fd = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
        options = f"fd={self._fd},rootmode=40000,user_id={os.getuid()},group_id={os.getgid()}"
        if _LIBC.mount(b"silent", os.fsencode(folder), b"fuse", 0, options.encode()) != 0:
            os.close(self._fd)
            raise OSError(ctypes.get_errno(), "mount")
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def abort(self) -> None:
        """Unmount; whoever waits gets an error. Again, it is nothing."""
        _LIBC.umount2(os.fsencode(self.folder), _ABORT_AND_UNMOUNT)

    def close(self) -> None:
        """Abort, and let go of everything."""
        self.abort()
        self._thread.join()
        os.close(self._fd)

    def _serve(self) -> None:
        while True:
            try:
                request = os.read(self._fd, 1 << 18)
            except OSError:
                return
            opcode, unique, node = struct.unpack_from("<4xIQQ", request)
            silent = _FLUSH if self._flushing else _READ
            if opcode == silent or (opcode == _LOOKUP and not self._looking_up):
                self.asked.set()
                continue
            if opcode in (_FORGET, _BATCH_FORGET):
                continue
            self._answer(unique, self._reply(opcode, node))
            if opcode == _OPEN and not self._taking:
                self.asked.set()
                return

    def _reply(self, opcode: int, node: int) -> bytes | None:
        match opcode:
            case 26:
                return struct.pack("<4I2H2I2H8I", 7, 31, 0, 0, 12, 9, 1 << 17, 1, 32, *[0] * 9)
            case 1:
                return struct.pack("<4Q2I", 2, 1, _HOUR_S, _HOUR_S, 0, 0) + _attributes(2)
            case 3:
                return struct.pack("<Q2I", _HOUR_S, 0, 0) + _attributes(node)
            case 14:
                return struct.pack("<Q2I", 1, 0 if self._flushing else _FOPEN_NOFLUSH, 0)
            case _:
                return None

    def _answer(self, unique: int, reply: bytes | None) -> None:
        error, body = (-_ENOSYS, b"") if reply is None else (0, reply)
        os.write(self._fd, struct.pack("<IiQ", 16 + len(body), error, unique) + body)


def _attributes(node: int) -> bytes:
    folder = node == 1
    mode = stat.S_IFDIR | 0o755 if folder else stat.S_IFREG | 0o644
    size = 4096 if folder else 1000
    return struct.pack(
        "<6Q10I", node, size, 8, 0, 0, 0, 0, 0, 0, mode, 1, os.getuid(), os.getgid(), 0, 4096, 0
    )


@contextmanager
def silent_files(
    folder: Path, *, taking: bool = True, looking_up: bool = True, flushing: bool = False
) -> Iterator[SilentFiles]:
    """Files that never come, in `folder`; skips the test where nothing can be mounted."""
    folder.mkdir(exist_ok=True)
    try:
        files = SilentFiles(folder, taking=taking, looking_up=looking_up, flushing=flushing)
    except OSError as error:
        pytest.skip(f"needs a FUSE mount: {error}")
    try:
        yield files
    finally:
        files.close()
