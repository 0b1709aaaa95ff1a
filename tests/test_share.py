"""A socket's share of the loop: whatever its members want, others wait for one round at most, and all get turns."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable

from cuzkd.share import Share

ROUND_S = 0.01
TURN_S = 0.002
MEMBERS = 200


class Member:
    """Always has something to do, and does it for `TURN_S` when the share lets it."""

    def __init__(self, loop: asyncio.AbstractEventLoop, share: Share, served: Callable[[], None]) -> None:
        self._loop = loop
        self._share = share
        self._served = served
        self.ready()

    def ready(self) -> None:
        self._loop.call_soon(self._run)

    def _run(self) -> None:
        if self._share.left:
            self._work()
            self._share.spend(TURN_S)
        else:
            self._share.stand_in_line(self._work)

    def _work(self) -> None:
        until = time.monotonic() + TURN_S
        while time.monotonic() < until:
            pass
        self._served()
        self.ready()


def test_others_wait_for_a_round_at_most_and_members_take_turns() -> None:
    served: Counter[int] = Counter()
    gaps: list[float] = []

    async def scenario() -> None:
        loop = asyncio.get_running_loop()
        share = Share(loop, ROUND_S)
        for number in range(MEMBERS):
            Member(loop, share, lambda number=number: served.update([number]))  # type: ignore[misc]
        last = time.monotonic()
        while served.total() < 4 * MEMBERS:
            await asyncio.sleep(0)
            now = time.monotonic()
            gaps.append(now - last)
            last = now

    asyncio.run(scenario())
    # the median, for on a busy machine the whole process may stand still now and then
    assert sorted(gaps)[len(gaps) // 2] < 2 * ROUND_S + TURN_S
    assert max(served.values()) - min(served.get(number, 0) for number in range(MEMBERS)) <= 2


def test_an_idle_share_costs_the_loop_nothing() -> None:
    async def scenario() -> int:
        loop = asyncio.get_running_loop()
        share = Share(loop, ROUND_S)
        share.spend(1.0)
        assert not share.left
        for _ in range(3):
            await asyncio.sleep(0)
        assert share.left
        return len(loop._ready)  # type: ignore[attr-defined]

    assert asyncio.run(scenario()) == 0
