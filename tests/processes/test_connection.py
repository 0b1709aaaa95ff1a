"""One connection alone, its other end in the test's hands: answers, deadlines, and what is told when it goes."""

from __future__ import annotations

import asyncio
import socket
import time
from contextlib import closing
from pathlib import Path

from cuzkd.connection import (
    FRAME_DEADLINE_S,
    MAX_OUTSTANDING,
    UPLOAD_DEADLINE_S,
    Connection,
)
from cuzkd.errors import CuzkdError, NotFound
from cuzkd.ipc import codec
from cuzkd.ipc.channel import BlockingChannel, Received
from cuzkd.ipc.messages import Failure
from cuzkd.ipc.requests import Hello, StatusRequest, Welcome
from cuzkd.outbox import WRITE_DEADLINE_S
from cuzkd.uploads import Uploads

HELLO = Hello(1, 1, "test")


class Deaf:
    """Takes a connection's messages and answers the first request only."""

    def received(self, connection: Connection, received: Received) -> None:
        connection.version = 1
        connection.new_reply(received.request_id).send(Welcome(1, "test"))

    def failed(self, error: CuzkdError) -> None:
        """Nothing to count."""

    def closed(self, connection: Connection) -> None:
        """Nothing to forget."""


class Refusing(Deaf):
    """Begins with every request and then refuses it."""

    def received(self, connection: Connection, received: Received) -> None:
        connection.version = 1
        connection.new_reply(received.request_id)
        raise NotFound("there is no such thing")


def test_a_refused_request_is_answered_once_and_does_not_count_as_unanswered() -> None:
    requests = range(1, MAX_OUTSTANDING + 10)

    async def answers() -> list[Received]:
        ours, theirs = socket.socketpair()
        connection = Connection(asyncio.get_running_loop(), ours, Refusing())
        with closing(BlockingChannel(theirs)) as channel:
            came = []
            for request in requests:
                channel.send(StatusRequest(), request)
                came.append(await asyncio.to_thread(channel.receive, 10))
            connection.close()
        return came

    came = asyncio.run(answers())
    assert [answer.request_id for answer in came] == list(requests)
    assert {getattr(answer.message, "code", None) for answer in came} == {NotFound.code}


def test_fault_19_a_frame_that_does_not_become_whole_is_overdue() -> None:
    async def overdue_after(data: bytes, seconds: float) -> str | None:
        ours, theirs = socket.socketpair()
        with theirs:
            connection = Connection(asyncio.get_running_loop(), ours, Deaf())
            theirs.sendall(data)
            await asyncio.sleep(0.01)
            reason = connection.overdue(time.monotonic() + seconds)
            connection.close()
        return reason

    hello = codec.encode(HELLO)
    assert asyncio.run(overdue_after(hello, FRAME_DEADLINE_S + 1)) is None
    assert asyncio.run(overdue_after(hello + hello[:3], FRAME_DEADLINE_S - 1)) is None
    assert "whole" in str(asyncio.run(overdue_after(hello + hello[:3], FRAME_DEADLINE_S + 1)))
    assert "whole" in str(asyncio.run(overdue_after(b"", FRAME_DEADLINE_S + 1)))


def test_fault_20_answers_that_are_not_read_are_overdue() -> None:
    async def scenario() -> tuple[str | None, str | None]:
        ours, theirs = socket.socketpair()
        with theirs:
            connection = Connection(asyncio.get_running_loop(), ours, Deaf())
            theirs.sendall(codec.encode(HELLO))
            await asyncio.sleep(0.01)
            connection.new_reply(5).stream(iter([Failure("x", "y" * 8000, "", False)] * 1000))
            await asyncio.sleep(0.01)
            now = time.monotonic()
            result = (
                connection.overdue(now + WRITE_DEADLINE_S - 1),
                connection.overdue(now + WRITE_DEADLINE_S + 1),
            )
            connection.close()
        return result

    early, late = asyncio.run(scenario())
    assert early is None
    assert "does not read" in str(late)


def test_an_upload_that_stands_still_is_overdue_and_given_back(tmp_path: Path) -> None:
    async def scenario() -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            connection = Connection(asyncio.get_running_loop(), ours, Deaf())
            connection.version = 1
            connection._frame_since = None
            uploads = Uploads(tmp_path, lambda: 100, lambda: 100)
            connection.upload = uploads.begin(0, "file", 60)
            now = time.monotonic()
            assert connection.overdue(now + UPLOAD_DEADLINE_S - 1) is None
            assert "stands still" in str(connection.overdue(now + UPLOAD_DEADLINE_S + 1))
            assert uploads.held_bytes == 60
            connection.close()
            assert uploads.held_bytes == 0

    asyncio.run(scenario())


def test_those_who_follow_a_connection_are_told_of_its_end_unless_they_took_it_back() -> None:
    told = []

    async def scenario() -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            connection = Connection(asyncio.get_running_loop(), ours, Deaf())
            reply = connection.new_reply(1)
            reply.when_gone(lambda: told.append("follows"))
            reply.when_gone(lambda: told.append("no longer"))()
            reply.on_close(lambda: told.append("unanswered"))
            reply.send(Welcome(1, "test"))
            connection.close()

    asyncio.run(scenario())
    assert told == ["follows"]


def test_whoever_answers_is_not_told_of_the_clients_end_before_it_has_done() -> None:
    """A client that has gone shows when it is written to; what that brings about waits for the loop's next round."""
    told = []

    async def scenario() -> None:
        ours, theirs = socket.socketpair()
        connection = Connection(asyncio.get_running_loop(), ours, Deaf())
        answered, waiting = connection.new_reply(1), connection.new_reply(2)
        waiting.on_close(lambda: told.append("closed"))
        theirs.close()
        waiting.progress("stage", 1, 2)
        answered.send(Welcome(1, "test"))
        assert told == []
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert connection.closed

    asyncio.run(scenario())
    assert told == ["closed"]
