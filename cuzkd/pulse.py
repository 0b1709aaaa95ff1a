"""How far this process has come: long work counts its steps here, and its heartbeats pass the count on.

A process that works has one pulse, whichever of its threads counts. Whoever waits for somebody else's file says
so meanwhile: a file system that does not answer is another matter than work that takes long.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Pulse:
    """A count that only rises, and whether the process waits for a file."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._steps = 0
        self._readers = 0

    @property
    def steps(self) -> int:
        """How many steps were counted."""
        return self._steps

    @property
    def waits_for_file(self) -> bool:
        """Whether a thread is within `reading`."""
        return self._readers > 0

    def step(self) -> None:
        """Count a step."""
        with self._lock:
            self._steps += 1

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Wait for a client's file while the block runs; its end is a step."""
        with self._lock:
            self._readers += 1
        try:
            yield
        finally:
            with self._lock:
                self._readers -= 1
                self._steps += 1


PULSE = Pulse()
"""This process's."""
