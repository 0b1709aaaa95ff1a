"""Two file locks: one says that a supervisor runs here, the other that some process of one does.

Both are flock(2) locks, which belong to an open file and end with its last descriptor, however processes
die. Every child inherits the descriptor of the second, so it is free only when the supervisor and all its
children are gone; until then nothing of theirs (segments, spool) may be swept.
"""

from __future__ import annotations

import errno
import fcntl
import logging
import os
import stat
import time
from pathlib import Path

from cuzkd.errors import AlreadyRunning, BadConfig

_POLL_S = 0.02

_log = logging.getLogger(__name__)


def take_instance_lock(path: Path) -> int:
    """The descriptor that holds the lock for the life of this process.

    `AlreadyRunning` names the pid of the daemon that has it; nothing was changed then.
    """
    fd = _open_lock_file(path)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        pid = os.pread(fd, 32, 0).decode("ascii", "replace").strip() or "unknown"
        os.close(fd)
        raise AlreadyRunning(f"already running (pid {pid}) in {path.parent}") from None
    try:
        os.ftruncate(fd, 0)
        os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)
    except OSError as error:
        os.close(fd)
        raise BadConfig(f"{path} cannot be written: {error.strerror}") from error
    return fd


def take_children_lock(path: Path, timeout_s: float = 5.0) -> int:
    """The descriptor to hand to every child, once no process of an earlier daemon has it any more."""
    fd = _open_lock_file(path)
    deadline = time.monotonic() + timeout_s
    told = False
    while not _try_lock(fd):
        if not told:
            _log.info("waiting for the processes of an earlier daemon to end")
            told = True
        if time.monotonic() > deadline:
            os.close(fd)
            raise AlreadyRunning(
                f"processes of an earlier daemon still run in {path.parent} after {timeout_s:g} s",
                advice=f"find them with `fuser {path}` and end them",
            )
        time.sleep(_POLL_S)
    return fd


def _try_lock(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _open_lock_file(path: Path) -> int:
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise BadConfig(f"{path} is a symbolic link") from error
        raise BadConfig(f"{path} cannot be opened: {error.strerror}") from error
    info = os.fstat(fd)
    if not stat.S_ISREG(info.st_mode) or info.st_uid != os.geteuid():
        os.close(fd)
        raise BadConfig(f"{path} is not a regular file of the daemon's user")
    return fd
