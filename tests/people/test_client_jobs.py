"""Jobs and operation in the client library: what goes over the wire, and what comes back of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from people.jobs import CANCELLED, CANCELLED_INFO, DONE, FAILED_INFO, QUEUED, RESULT, RUNNING, RUNNING_INFO
from people.peer import LIMIT_S, Serve, answering, fail, request, welcome

from cuzkd import Client
from cuzkd.errors import BadConfig, Busy, DaemonUnreachable, Forbidden, NotDone, NotFound, WrongProof
from cuzkd.ipc.channel import BlockingChannel, ChannelClosed
from cuzkd.ipc.requests import (
    Drain,
    Drained,
    JobAccepted,
    JobCancel,
    JobChanged,
    JobFetch,
    JobList,
    JobListing,
    JobShow,
    JobSubmit,
    Metrics,
    MetricsRequest,
    Reload,
    Reloaded,
    Watch,
)


def test_each_question_about_jobs_and_the_daemon_is_its_own_message(serve: Serve) -> None:
    listing = JobListing((RUNNING, DONE), more=True)
    dialogue = (
        (JobShow(7), RUNNING_INFO),
        (JobCancel(7), CANCELLED_INFO),
        (JobList(False), listing),
        (JobList(True), listing),
        (MetricsRequest(), Metrics("cuzkd_jobs 1\n")),
        (Drain(False, 5.0), Drained(2, True)),
        (Drain(True, None), Drained(0, False)),
        (Reload(), Reloaded(("jobs.max_queued",), ())),
    )

    def peer(channel: BlockingChannel) -> None:
        welcome(channel)
        for due, answer in dialogue:
            message, request_id, _ = request(channel)
            assert message == due
            channel.send(answer, request_id)

    with Client(serve(peer)) as client:
        answers = (
            client.show_job(7),
            client.cancel(7),
            client.jobs(),
            client.jobs(everybody=True),
            client.metrics(),
            client.drain(timeout_s=5.0),
            client.drain(resume=True),
            client.reload(),
        )
    assert answers == (
        RUNNING_INFO,
        CANCELLED_INFO,
        listing,
        listing,
        "cuzkd_jobs 1\n",
        Drained(2, True),
        Drained(0, False),
        Reloaded(("jobs.max_queued",), ()),
    )


@pytest.mark.parametrize("wanted", [True, False])
def test_a_job_may_be_bound_to_its_connection(serve: Serve, wanted: bool, tmp_path: Path) -> None:
    def peer(channel: BlockingChannel) -> None:
        welcome(channel)
        message, request_id, _ = request(channel)
        assert isinstance(message, JobSubmit)
        assert message.cancel_on_disconnect is wanted
        channel.send(JobAccepted(7, 1), request_id)

    (tmp_path / "witness").touch()
    with Client(serve(peer)) as client:
        assert client.submit(None, [tmp_path / "witness"], circuit="c", cancel_on_disconnect=wanted) == 7


def test_a_result_can_be_fetched_without_waiting(serve: Serve) -> None:
    with Client(serve(answering(JobFetch(7), *RESULT))) as client:
        assert client.fetch(7).publics == ((33,),)


@pytest.mark.parametrize(
    ("code", "error"), [("not_done", NotDone), ("not_found", NotFound), ("wrong_proof", WrongProof)]
)
def test_a_fetch_raises_why_there_is_no_result(serve: Serve, code: str, error: type[Exception]) -> None:
    def peer(channel: BlockingChannel) -> None:
        welcome(channel)
        _, request_id, _ = request(channel)
        fail(channel, request_id, code)

    with Client(serve(peer)) as client, pytest.raises(error):
        client.fetch(7)


@pytest.mark.parametrize(("code", "error"), [("forbidden", Forbidden), ("bad_config", BadConfig)])
def test_what_operators_ask_for_may_be_refused(serve: Serve, code: str, error: type[Exception]) -> None:
    def peer(channel: BlockingChannel) -> None:
        welcome(channel)
        for _ in range(2):
            _, request_id, _ = request(channel)
            fail(channel, request_id, code)

    with Client(serve(peer)) as client:
        with pytest.raises(error):
            client.reload()
        with pytest.raises(error):
            client.drain()


def test_a_failed_job_is_shown_with_the_error_that_a_wait_raises(serve: Serve) -> None:
    with Client(serve(answering(JobShow(8), FAILED_INFO))) as client:
        info = client.show_job(8)
    assert info.failure is not None
    error = info.failure.error()
    assert isinstance(error, WrongProof)
    assert (error.message, error.advice) == ("the proof of partition 0 is wrong", "look at the witness")


def test_an_error_says_when_a_retry_has_a_chance(serve: Serve) -> None:
    def peer(channel: BlockingChannel) -> None:
        welcome(channel)
        for retry_after_s in (1.5, None):
            _, request_id, _ = request(channel)
            fail(channel, request_id, "busy", retry_after_s)

    with Client(serve(peer)) as client:
        for retry_after_s in (1.5, None):
            with pytest.raises(Busy) as caught:
                client.jobs()
            assert caught.value.retry_after_s == retry_after_s


def test_a_watch_of_one_job_ends_with_the_job(serve: Serve) -> None:
    changes = (QUEUED, RUNNING, DONE)
    with Client(serve(answering(Watch(7, False), *map(JobChanged, (*changes, RUNNING))))) as client:
        assert tuple(client.watch(7)) == changes


def test_a_watch_of_all_jobs_goes_on_until_the_connection_ends(serve: Serve) -> None:
    due = (DONE, QUEUED, RUNNING, CANCELLED)
    with Client(serve(answering(Watch(None, True), *map(JobChanged, due)))) as client:
        changes = client.watch(everybody=True)
        assert tuple(next(changes) for _ in due) == due
        with pytest.raises(DaemonUnreachable):
            next(changes)


def test_a_client_may_ask_other_things_while_it_watches(serve: Serve) -> None:
    """A watch has a connection of its own, which ends when nobody watches any more."""

    def watched(channel: BlockingChannel) -> None:
        answering(Watch(7, False), JobChanged(RUNNING))(channel)
        with pytest.raises(ChannelClosed):
            channel.receive(LIMIT_S)

    # The first connection taken is the watch's; the question's waits in the backlog of a socket of its own.
    with Client(serve(watched)) as client:
        changes = client.watch(7)
        assert next(changes) == RUNNING
        (path := Path(str(client._socket_path))).unlink()
        serve(answering(JobShow(7), RUNNING_INFO), name=path.name)
        assert client.show_job(7) == RUNNING_INFO
        changes.close()


def test_a_job_that_nobody_may_watch_is_refused_at_the_first_step(serve: Serve) -> None:
    def peer(channel: BlockingChannel) -> None:
        welcome(channel)
        _, request_id, _ = request(channel)
        fail(channel, request_id, "not_found")

    with Client(serve(peer)) as client:
        changes = client.watch(1)
        with pytest.raises(NotFound):
            next(changes)


def test_who_may_connect_to_the_operators_socket_and_is_none_takes_the_other(serve: Serve) -> None:
    """Its mode may have been loosened; the daemon looks at who has come, and says so before anything is asked."""
    serve(lambda channel: fail(channel, 0, "forbidden"), name="cuzkd-ctl.sock")
    with Client(serve(answering(JobShow(7), RUNNING_INFO), name="cuzkd.sock"), control=True) as client:
        assert client.show_job(7) == RUNNING_INFO
