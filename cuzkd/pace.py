"""Word of progress at a pace that nobody is kept from work by: what comes too soon waits, and only the last of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Generic, TypeVar

EVERY_S = 0.1

_T = TypeVar("_T")


class Pace(Generic[_T]):
    """Passes what it is told to `send`, at most once in `every_s`; the newest word always gets there in the end."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, send: Callable[[_T], object], every_s: float = EVERY_S
    ) -> None:
        self._loop = loop
        self._send = send
        self._every_s = every_s
        self._due = 0.0
        self._waiting: _T | None = None
        self._timer: asyncio.TimerHandle | None = None

    def tell(self, word: _T) -> None:
        """Send the word now, or when it is time, unless a newer one comes before."""
        self._waiting = word
        if self._timer is not None:
            return
        if self._loop.time() >= self._due:
            self._flush()
        else:
            self._timer = self._loop.call_at(self._due, self._flush)

    def stop(self) -> None:
        """Send nothing more."""
        self._waiting = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _flush(self) -> None:
        self._timer = None
        self._due = self._loop.time() + self._every_s
        word, self._waiting = self._waiting, None
        if word is not None:
            self._send(word)
