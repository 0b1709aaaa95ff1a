"""Job numbers that never repeat, over all lives of a daemon: reserved on disk in blocks, before any is used."""

from __future__ import annotations

import asyncio
import logging
import os
from pathlib import Path

from cuzkd.atomic import write_file
from cuzkd.errors import BadConfig, ResourceExhausted
from cuzkd.supervisor.namefile import NameFile

BLOCK = 100
_DIGITS = 18

_log = logging.getLogger(__name__)


class JobNumbers:
    """Hands out numbers from `first` on; the file holds one that no life of the daemon has used, nor will this one.

    A block is kept in reserve, so that nobody waits for the disk. A clean end gives back what was not used.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, path: Path) -> None:
        """`BadConfig` when the file is damaged or cannot be written."""
        self._path = path
        self.first = self._next = _read(path)
        self._reserved = self.first + 2 * BLOCK
        self._reserving = False
        try:
            write_file(path, _text(self._reserved))
        except OSError as error:
            raise BadConfig(f"{path} cannot be written: {error.strerror}") from error
        self._file = NameFile(loop, path)

    def take(self) -> int:
        """A number that no job ever had. `ResourceExhausted` while none can be reserved."""
        if self._reserved - self._next <= BLOCK and not self._reserving:
            self._reserving = True
            self._file.save(_text(self._reserved + BLOCK), self._saved)
        if self._next == self._reserved:
            told = f"no job numbers can be reserved in {self._path}"
            raise ResourceExhausted(told, advice="see whether the disk is full", retry_after_s=1.0)
        number, self._next = self._next, self._next + 1
        return number

    def close(self) -> None:
        """Give back what was not used; without that, the next life would begin with a gap."""
        self._file.close()
        try:
            write_file(self._path, _text(self._next))
        except OSError as error:
            _log.warning("%s: %s; the next job has a higher number", self._path, error.strerror)

    def _saved(self, error: ResourceExhausted | None) -> None:
        self._reserving = False
        if error is None:
            self._reserved += BLOCK
        else:
            _log.error("job numbers: %s", error)


def _text(number: int) -> bytes:
    return b"%d\n" % number


def _read(path: Path) -> int:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return 1
    except OSError as error:
        raise BadConfig(f"{path} cannot be read: {error.strerror}") from error
    with open(handle, "rb") as file:
        text = file.read(_DIGITS + 2).strip()
    if not text.isdigit() or len(text) > _DIGITS or int(text) < 1:
        raise BadConfig(
            f"{path} holds {text[:40]!r}, not the number of the next job",
            advice="write a number above those of all jobs so far into it, or move it away",
        )
    return int(text)
