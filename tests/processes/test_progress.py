"""Those who ask are told how far their request has come, at a human pace, and nobody is held up by it."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from daemon import Daemon, connected, running
from fixtures import bundled

from cuzkd.connection import Connection
from cuzkd.ipc import codec
from cuzkd.ipc.channel import BlockingChannel, Received
from cuzkd.ipc.messages import Message
from cuzkd.ipc.requests import Hello, JobWait, Progress, Welcome
from cuzkd.pace import EVERY_S
from cuzkd.reply import Reply

CASE = bundled("squarings_bn128")
PARTITIONS = 150


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    with running(tmp_path / "run") as daemon:
        yield daemon


def test_a_submission_tells_its_stages_when_asked(daemon: Daemon) -> None:
    told: list[Progress] = []
    with daemon.client() as client:
        begin = time.monotonic()
        job = client.submit(CASE.zkey, [CASE.witness] * PARTITIONS, r1cs=CASE.r1cs, progress=told.append)
        took_s = time.monotonic() - begin
        client.wait(job)
    assert told
    assert all(word.stage and 0 <= word.done <= max(word.done, word.total) for word in told)
    assert len(told) <= took_s / EVERY_S + 2


def test_adding_a_circuit_tells_its_stages_when_asked(daemon: Daemon) -> None:
    told: list[Progress] = []
    case = bundled("multiplier_bn128")
    with daemon.client() as client:
        client.add_circuit("mul", case.zkey, wasm=case.wasm, r1cs=case.r1cs, progress=told.append)
    assert told
    assert all("section" in word.stage or "multiplier" in word.stage for word in told), told


def test_a_wait_tells_what_is_done_and_how_many(daemon: Daemon) -> None:
    with daemon.client() as client:
        job = client.submit(CASE.zkey, [CASE.witness] * PARTITIONS)
        words, answer = waited(daemon, job)
        assert len(client.wait(job).proofs) == PARTITIONS
    assert type(answer).__name__ == "JobResult"
    assert {word.total for word in words} == {PARTITIONS}
    assert [word.done for word in words] == sorted(word.done for word in words)
    assert any(word.stage == "synthesis" or word.stage.startswith("proving") for word in words)


def waited(daemon: Daemon, job: int) -> tuple[list[Progress], Message]:
    words = []
    with connected(daemon) as channel:
        channel.send(JobWait(job, None, True), 2)
        while isinstance(message := channel.receive(30).message, Progress):
            words.append(message)
    return words, message


# ---- the way of a word to a client, on a connection without a daemon


class Held:
    """Keeps the reply to the second request, the one after the greeting, unanswered."""

    reply: Reply

    def received(self, connection: Connection, received: Received) -> None:
        connection.version = 1
        self.reply = connection.new_reply(received.request_id)

    def closed(self, connection: Connection) -> None:
        """Nothing to forget."""


def test_words_are_thinned_and_the_newest_gets_there() -> None:
    async def scenario() -> list[Message]:
        ours, theirs = socket.socketpair()
        with closing(BlockingChannel(theirs)) as channel:
            held = Held()
            connection = Connection(asyncio.get_running_loop(), ours, held)
            theirs.sendall(codec.encode(Hello(1, 1, "test"), 5))
            await asyncio.sleep(0.01)
            for done in range(1000):
                held.reply.progress("work", done, 1000)
            await asyncio.sleep(2 * EVERY_S)
            held.reply.progress("work", 1000, 1000)
            held.reply.send(Welcome(1, "test"))
            held.reply.progress("work", 1, 1)
            await asyncio.sleep(2 * EVERY_S)
            connection.close()
            return [channel.receive(5).message for _ in range(4)]

    assert asyncio.run(scenario()) == [
        Progress("work", 0, 1000),
        Progress("work", 999, 1000),
        Progress("work", 1000, 1000),
        Welcome(1, "test"),
    ]


def test_a_client_that_does_not_read_is_told_nothing_and_costs_nothing() -> None:
    async def scenario() -> int:
        ours, theirs = socket.socketpair()
        with theirs:
            held = Held()
            connection = Connection(asyncio.get_running_loop(), ours, held)
            theirs.sendall(codec.encode(Hello(1, 1, "test"), 5))
            await asyncio.sleep(0.01)
            for _ in range(100_000):
                connection.progress(held.reply, 5, Progress("x" * 2000, 0, 0))
            queued = connection._channel.queued_bytes
            connection.close()
        return queued

    assert asyncio.run(scenario()) < 8192
