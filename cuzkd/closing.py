"""Closing files of clients, where waiting harms nobody: close(2) asks some file systems, and theirs may never answer.

That wait is the kernel's: not even SIGKILL ends it. So the loop never closes such a file itself. Each mount has its
files closed one after the other on a thread of its own, and those of one that does not answer wait for each other.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections import deque
from collections.abc import Callable
from pathlib import Path

_MOST_THREADS = 64


class Closing:
    """Takes descriptors from the loop and has them closed soon by `close`, on threads that end when all is done."""

    def __init__(self, close: Callable[[int], None]) -> None:
        self._close = close
        self._lock = threading.Lock()
        self._of_mount: dict[str, deque[int]] = {}
        self._unserved: deque[str] = deque()
        self._threads = 0

    def take(self, fd: int) -> None:
        """Close the descriptor soon; it is not the caller's any more."""
        mount = _mount_of(fd)
        with self._lock:
            if mount in self._of_mount:
                self._of_mount[mount].append(fd)
                return
            self._of_mount[mount] = deque((fd,))
            self._unserved.append(mount)
            if self._threads >= _MOST_THREADS:
                return
            self._threads += 1
        try:
            threading.Thread(target=self._serve, name="closing", daemon=True).start()
        except RuntimeError:  # no more threads for this user: the next one that there is closes these too
            with self._lock:
                self._threads -= 1

    def _serve(self) -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())  # they are the main thread's
        while (mount := self._next_mount()) is not None:
            while (fd := self._next_of(mount)) is not None:
                self._close(fd)

    def _next_mount(self) -> str | None:
        with self._lock:
            if self._unserved:
                return self._unserved.popleft()
            self._threads -= 1
            return None

    def _next_of(self, mount: str) -> int | None:
        with self._lock:
            if self._of_mount[mount]:
                return self._of_mount[mount].popleft()
            del self._of_mount[mount]
            return None


def _mount_of(fd: int) -> str:
    """The line that names the file's mount in /proc; its file system is not asked. Empty when that is not to be had."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/self/fdinfo/{fd}").read_text().splitlines():
            if line.startswith("mnt_id:"):
                return line
    return ""
