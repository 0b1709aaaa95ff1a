"""A wait for a job goes on over a lost connection, by the job's number, and ends in time when nobody answers."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from people.jobs import RESULT
from people.peer import Peer, Serve, answering, fail, request, welcome

from cuzkd import Client, Progress
from cuzkd.errors import Busy, DaemonUnreachable, InternalError, Restarted, WaitTimeout
from cuzkd.ipc.channel import BlockingChannel
from cuzkd.ipc.requests import JobWait, StatusRequest

WAIT = JobWait(7, None, progress=False)


def failing(code: str, retry_after_s: float | None = None) -> Peer:
    def peer(channel: BlockingChannel) -> None:
        welcome(channel)
        _, request_id, _ = request(channel)
        fail(channel, request_id, code, retry_after_s)

    return peer


def test_a_wait_connects_again_and_asks_for_the_same_job(serve: Serve) -> None:
    with Client(serve(answering(WAIT), answering(WAIT), answering(WAIT, *RESULT))) as client:
        assert client.wait(7).publics == ((33,),)


def test_a_daemon_that_dies_between_the_frames_of_a_result_or_in_one_is_asked_again(serve: Serve) -> None:
    def cut(channel: BlockingChannel) -> None:
        answering(WAIT, RESULT[0])(channel)
        os.write(channel.fileno(), b"\xc5\x5a\x01")

    with Client(serve(answering(WAIT, RESULT[0]), cut, answering(WAIT, *RESULT))) as client:
        assert client.wait(7).publics == ((33,),)


def test_a_job_that_the_daemon_lost_is_raised_as_restarted(serve: Serve) -> None:
    with Client(serve(answering(WAIT), failing("restarted"))) as client, pytest.raises(Restarted):
        client.wait(7)


def test_a_connection_that_is_lost_before_the_wait_is_made_again_too(serve: Serve) -> None:
    def accepted(channel: BlockingChannel) -> None:
        welcome(channel)
        _, request_id, _ = request(channel)
        fail(channel, request_id, "internal")

    with Client(serve(accepted, answering(WAIT, *RESULT))) as client:
        with pytest.raises(InternalError):
            client.status()
        assert client.wait(7).job == 7


def test_without_reconnection_a_lost_connection_is_an_error_at_once(serve: Serve) -> None:
    with (
        Client(serve(answering(WAIT)), reconnect_s=0) as client,
        pytest.raises(DaemonUnreachable, match="closed the connection"),
    ):
        client.wait(7)


def test_a_daemon_that_never_answered_is_not_waited_for(tmp_path: Path) -> None:
    with (
        Client(tmp_path / "none.sock") as client,
        pytest.raises(DaemonUnreachable, match="no daemon answers at"),
    ):
        client.wait(7, timeout_s=60)


def test_when_nobody_comes_back_the_wait_ends_with_its_time(serve: Serve) -> None:
    start = time.monotonic()
    with (
        Client(serve(answering(JobWait(7, 0.3, progress=False)))) as client,
        pytest.raises(WaitTimeout, match=r"lost; job 7 was not done in 0\.3 s"),
    ):
        client.wait(7, timeout_s=0.3)
    assert 0.3 <= time.monotonic() - start < 5


def test_when_nobody_comes_back_an_endless_wait_ends_with_the_time_for_reconnection(serve: Serve) -> None:
    with (
        Client(serve(answering(WAIT)), reconnect_s=0.2) as client,
        pytest.raises(DaemonUnreachable, match="Connection refused"),
    ):
        client.wait(7)


def test_only_what_is_left_of_the_time_is_asked_for_again(serve: Serve) -> None:
    asked: list[float] = []

    def peer(channel: BlockingChannel) -> None:
        welcome(channel)
        message, request_id, _ = request(channel)
        assert isinstance(message, JobWait)
        assert message.timeout_s is not None
        asked.append(message.timeout_s)
        if len(asked) == 2:
            fail(channel, request_id, "timeout")

    with Client(serve(peer, peer)) as client, pytest.raises(WaitTimeout):
        client.wait(7, timeout_s=30)
    assert asked[0] == 30
    assert 25 < asked[1] < 30


def test_a_daemon_that_is_busy_when_everybody_comes_back_is_tried_again_when_it_says(serve: Serve) -> None:
    with Client(serve(answering(WAIT), failing("busy", 0.2), answering(WAIT, *RESULT))) as client:
        start = time.monotonic()
        assert client.wait(7).job == 7
    assert time.monotonic() - start >= 0.2


def test_busy_before_any_connection_was_lost_is_the_callers_to_know(serve: Serve) -> None:
    with Client(serve(failing("busy", 2.5))) as client, pytest.raises(Busy) as caught:
        client.wait(7)
    assert caught.value.retry_after_s == 2.5


def test_something_else_at_the_socket_is_not_asked_again(serve: Serve) -> None:
    def stranger(channel: BlockingChannel) -> None:
        channel.receive()
        os.write(channel.fileno(), b"HTTP/1.1 400 Bad Request\r\n\r\n")

    with (
        Client(serve(answering(WAIT), stranger)) as client,
        pytest.raises(DaemonUnreachable, match="no cuzkd of this version"),
    ):
        client.wait(7)


def test_who_wants_progress_is_told_of_the_loss(serve: Serve) -> None:
    wait = JobWait(7, None, progress=True)
    told: list[Progress] = []
    with Client(serve(answering(wait), answering(wait, *RESULT))) as client:
        client.wait(7, progress=told.append)
    assert [step.stage for step in told] == ["connection lost: connecting again"]


def test_other_requests_are_not_made_again(serve: Serve) -> None:
    """A submission may have been accepted before the connection was lost: only the caller knows what to do then."""
    with (
        Client(serve(answering(StatusRequest()))) as client,
        pytest.raises(DaemonUnreachable, match="closed the connection"),
    ):
        client.status()
