"""Progress of one order: stages in people's words, told at most so often that nobody is kept from work by it."""

from __future__ import annotations

import time
from collections.abc import Callable

Report = Callable[[str, int, int], None]
"""Takes a stage, how much of it is done and how much there is (0: not known)."""

EVERY_S = 0.1


def unreported(stage: str, done: int, total: int) -> None:
    """The report that nobody reads."""
    del stage, done, total


class Meter:
    """A report that passes on the begin of each stage, and within a stage one call in `every_s`."""

    def __init__(
        self, tell: Report, every_s: float = EVERY_S, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._tell = tell
        self._every_s = every_s
        self._clock = clock
        self._stage: str | None = None
        self._told_at = 0.0

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Take one report."""
        now = self._clock()
        if stage == self._stage and now - self._told_at < self._every_s:
            return
        self._stage, self._told_at = stage, now
        self._tell(stage, done, total)
