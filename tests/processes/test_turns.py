"""A connection on its own, in an event loop that a test can look at: who may keep it, and for how long."""

from __future__ import annotations

import asyncio
import socket
import time
from contextlib import suppress

from cuzkd.connection import FRAME_DEADLINE_S, Connection
from cuzkd.ipc import codec
from cuzkd.ipc.channel import Received
from cuzkd.ipc.requests import StatusRequest, Welcome


def test_thousands_of_requests_at_once_are_done_in_turns() -> None:
    """Each takes a while; what the loop has to do for others is never later than a few of them."""
    requests, each_s = 300, 0.002

    class Slow:
        """Takes its time for every request, and answers it."""

        def received(self, connection: Connection, received: Received) -> None:
            connection.version = 1
            connection.new_reply(received.request_id).send(Welcome(1, "answer"))
            time.sleep(each_s)

        def closed(self, connection: Connection) -> None:
            """Nothing to forget."""

    async def scenario() -> tuple[int, float, str | None]:
        ours, theirs = socket.socketpair()
        with theirs:
            connection = Connection(asyncio.get_running_loop(), ours, Slow())
            theirs.sendall(codec.encode(StatusRequest(), 1) * requests)
            theirs.setblocking(False)
            late_s, answers, overdue = 0.0, b"", None
            while answers.count(b"answer") < requests:
                begin = time.monotonic()
                await asyncio.sleep(0)
                late_s = max(late_s, time.monotonic() - begin)
                with suppress(BlockingIOError):
                    answers += theirs.recv(1 << 16)
                if answers:
                    overdue = overdue or connection.overdue(time.monotonic() + FRAME_DEADLINE_S + 1)
            connection.close()
        return answers.count(b"answer"), late_s, overdue

    answers, late_s, overdue = asyncio.run(scenario())
    assert answers == requests
    assert late_s < requests * each_s / 4
    assert overdue is None
