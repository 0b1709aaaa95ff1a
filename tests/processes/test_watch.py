"""Watching jobs: every change in the end, the latest first to those who read slowly, and never without bound."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from daemon import Daemon, connected, running, wait_until
from fixtures import bundled

from cuzkd.errors import NotFound
from cuzkd.ipc.messages import Failure
from cuzkd.ipc.requests import JobChanged, JobStatus, StatusRequest, Watch
from cuzkd.model import JobState
from cuzkd.supervisor.watches import MAX_WATCHES_PER_UID

CASE = bundled("squarings_bn128")
LONG = 900


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    with running(tmp_path / "run") as daemon:
        yield daemon


def test_a_watch_of_one_job_ends_with_its_end(daemon: Daemon) -> None:
    with daemon.client() as client:
        job = client.submit(CASE.zkey, [CASE.witness] * 200)
        told = list(client.watch(job))
    assert [status.done for status in told] == sorted(status.done for status in told)
    assert told[-1].state is JobState.DONE
    assert all(not status.state.final for status in told[:-1])
    assert len(told) > 2


def test_a_watch_of_a_job_that_has_ended_tells_that_and_ends(daemon: Daemon) -> None:
    with daemon.client() as client:
        job = client.prove(CASE.zkey, [CASE.witness]).job
        assert [status.state for status in client.watch(job)] == [JobState.DONE]
        with pytest.raises(NotFound):
            list(client.watch(job + 1))


def test_a_watch_of_all_jobs_tells_of_those_to_come(daemon: Daemon) -> None:
    with daemon.client() as client, connected(daemon) as channel:
        first = client.submit(CASE.zkey, [CASE.witness] * LONG)
        channel.send(Watch(None, True), 5)
        status = changed(channel.receive(10).message)
        assert (status.job, status.state.final) == (first, False)
        second = client.submit(CASE.zkey, [CASE.witness])
        client.cancel(first)
        ends: dict[int, JobState] = {}
        while len(ends) < 2:
            status = changed(channel.receive(10).message)
            assert status.job not in ends
            if status.state.final:
                ends[status.job] = status.state
        assert ends == {first: JobState.CANCELLED, second: JobState.DONE}


def test_other_answers_come_while_a_watch_goes_on(daemon: Daemon) -> None:
    with daemon.client() as client, connected(daemon) as channel:
        job = client.submit(CASE.zkey, [CASE.witness] * LONG)
        channel.send(Watch(job, False), 5)
        channel.send(StatusRequest(), 6)
        ids = {channel.receive(10).request_id for _ in range(5)}
        assert ids == {5, 6}
        client.cancel(job)


def test_a_slow_reader_is_told_the_latest_and_holds_no_memory(daemon: Daemon) -> None:
    """A client that reads nothing while a job makes thousands of changes is told a handful of them afterwards."""
    with daemon.client() as client, connected(daemon) as channel:
        job = client.submit(CASE.zkey, [CASE.witness] * LONG)
        channel.send(Watch(job, False), 5)
        wait_until(lambda: client.show_job(job).status.state.final, "the job is done", 60)
        seconds = client.show_job(job).status.seconds
        assert seconds is not None
        told = []
        while not told or not told[-1].state.final:
            told.append(changed(channel.receive(10).message))
        assert told[-1].done == LONG
        assert len(told) <= 10 * seconds + 3


def test_watches_of_one_user_are_limited(daemon: Daemon) -> None:
    with daemon.client() as client, connected(daemon) as one, connected(daemon) as two:
        job = client.submit(CASE.zkey, [CASE.witness] * LONG)
        for number in range(MAX_WATCHES_PER_UID // 2):
            one.send(Watch(job, False), number)
            two.send(Watch(job, False), number)
        for channel in (one, two):
            seen = set()
            while len(seen) < MAX_WATCHES_PER_UID // 2:
                received = channel.receive(10)
                changed(received.message)
                seen.add(received.request_id)
        one.send(Watch(job, False), 1000)
        answers = (channel_message for channel_message in iter(one.receive, None))
        refused = next(answer.message for answer in answers if answer.request_id == 1000)
        assert isinstance(refused, Failure)
        assert refused.code == "busy"
        client.cancel(job)


def changed(message: object) -> JobStatus:
    assert isinstance(message, JobChanged), message
    return message.status
