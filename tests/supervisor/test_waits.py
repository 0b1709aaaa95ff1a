"""What waits for a job keeps nothing of it alive once it is answered, and takes nothing down when it leaves."""

from __future__ import annotations

import asyncio
import gc
import socket
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path

import pytest

from cuzkd.connection import Connection
from cuzkd.errors import CuzkdError
from cuzkd.ipc.channel import BlockingChannel, Received
from cuzkd.ipc.messages import Failure, Message
from cuzkd.ipc.requests import Drain, Drained, JobResult, JobWait, PartitionResult
from cuzkd.model import CircuitRef, CircuitShape, Curve, JobState
from cuzkd.registry import Artefacts
from cuzkd.supervisor.answers import JobAnswers
from cuzkd.supervisor.job import Job, Payload
from cuzkd.supervisor.jobs import Jobs
from cuzkd.supervisor.taking import Taking
from cuzkd.supervisor.watches import Watches

CIRCUIT = CircuitRef("0" * 64, CircuitShape(Curve.BN254, 8, 4, 1, 3))


class World:
    """The table of jobs behind one connection; `peer` is its other end."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        ours, theirs = socket.socketpair()
        self.peer = BlockingChannel(theirs)
        self.watches = Watches(loop)
        self.jobs = Jobs(1, self.watches.changed)
        self.taking = Taking(lambda: self.jobs.active)
        self.connection = Connection(loop, ours, self)
        self.connection.version = 1
        self._answers = JobAnswers(self.jobs, self.watches, lambda _: None)

    def received(self, connection: Connection, received: Received) -> None:
        reply, message = connection.new_reply(received.request_id), received.message
        if isinstance(message, Drain):
            self.taking.drain(message, reply)
        else:
            assert isinstance(message, JobWait)
            self._answers.answer(message, reply)

    def failed(self, error: CuzkdError) -> None:
        """Nothing to count."""

    def closed(self, connection: Connection) -> None:
        """Nothing to forget."""

    def job(self) -> Job:
        uid = self.connection.peer.uid
        payloads = (Payload("w", Path("/nonexistent")),)
        job = Job(1, uid, CIRCUIT, "", Artefacts("0" * 64, None, None), False, payloads, accepted_at=0.0)
        self.jobs.add(job)
        return job

    async def ask(self, message: Message, request_id: int) -> None:
        self.peer.send(message, request_id)
        for _ in range(5):
            await asyncio.sleep(0.001)

    async def answer(self) -> Message:
        return (await asyncio.to_thread(self.peer.receive, 10)).message


def scenario(play: Callable[[World], Awaitable[None]]) -> None:
    async def main() -> None:
        world = World()
        with closing(world.peer):
            await play(world)
            world.connection.close()

    asyncio.run(main())


def test_an_answered_wait_keeps_no_job_alive_until_its_time_would_be_up() -> None:
    async def play(world: World) -> None:
        world.job()
        await world.ask(JobWait(1, 3600.0, True), 7)
        proof = bytes(range(256)) * 3
        world.jobs.complete(1, (proof,), (b"",))
        assert isinstance(await world.answer(), JobResult)
        assert isinstance(await world.answer(), PartitionResult)
        world.jobs.forget_old(float("inf"))
        gc.collect()
        assert [each for each in gc.get_objects() if isinstance(each, Job)] == []

    scenario(play)


def test_a_wait_that_times_out_leaves_the_job_as_it_was() -> None:
    async def play(world: World) -> None:
        job = world.job()
        await world.ask(JobWait(1, 0.01, True), 7)
        answer = await world.answer()
        assert isinstance(answer, Failure)
        assert answer.code == "timeout"
        assert (job.waiters, job.watchers, job.state) == ([], [], JobState.QUEUED)

    scenario(play)


def test_a_connection_that_ends_leaves_all_its_waits_and_the_job_goes_on() -> None:
    async def play(world: World) -> None:
        job = world.job()
        for request in range(3):
            await world.ask(JobWait(1, None, True), request)
        assert len(job.waiters) == 3
        world.connection.close()
        assert (job.waiters, job.watchers) == ([], [])
        world.jobs.complete(1, (b"p",), (b"",))
        assert job.state is JobState.DONE

    scenario(play)


@pytest.mark.parametrize("how", ["resumed", "ended", "timed out"])
def test_whoever_drains_is_answered_once(how: str) -> None:
    async def play(world: World) -> None:
        world.job()
        await world.ask(Drain(False, 0.05 if how == "timed out" else None), 1)
        if how == "resumed":
            await world.ask(Drain(True, None), 2)
            assert await world.answer() == Drained(1, False)
            assert await world.answer() == Drained(1, False)
        elif how == "ended":
            world.jobs.complete(1, (b"p",), (b"",))
            world.taking.job_ended()
            assert await world.answer() == Drained(0, True)
        else:
            assert await world.answer() == Drained(1, True)
        assert world.taking._waiting == []

    scenario(play)
