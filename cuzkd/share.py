"""How much of the event loop's time the connections of one socket may take together before others have theirs.

A round is one pass of the loop over all that is ready. In a round the share's members are served at once until
its time is used up; who comes after that stands in line, and the line goes first in the next round. So a socket
with hundreds of busy connections delays the others of its own kind, but nobody else by more than `round_s`.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable

ROUND_S = 0.02


class Share:
    """One socket's share of the loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, round_s: float = ROUND_S) -> None:
        self._loop = loop
        self._round_s = round_s
        self._spent_s = 0.0
        self._in_round = False
        self._line: deque[Callable[[], object]] = deque()

    @property
    def left(self) -> bool:
        """Whether anything may be done now: time is left in this round, and nobody stands in line."""
        return self._spent_s < self._round_s and not self._line

    def spend(self, seconds: float) -> None:
        """Note that a member was served for so long."""
        self._spent_s += seconds
        self._begin_round()

    def stand_in_line(self, turn: Callable[[], object]) -> None:
        """Call `turn` when it is its turn."""
        self._line.append(turn)
        self._begin_round()

    def _begin_round(self) -> None:
        if not self._in_round:
            self._in_round = True
            self._loop.call_soon(self._next_round)

    def _next_round(self) -> None:
        self._in_round = False
        self._spent_s = 0.0
        for _ in range(len(self._line)):
            if self._spent_s >= self._round_s:
                break
            begin = time.monotonic()
            self._line.popleft()()
            self._spent_s += time.monotonic() - begin
        if self._line or self._spent_s:
            self._begin_round()
