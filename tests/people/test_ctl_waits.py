"""`cuzkctl watch`, `wait` and `prove` while they last: changes as they come, lost connections, users who leave."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest
from people.commands import BIN, LIMIT_S, ctl
from people.jobs import (
    CANCELLED,
    DONE,
    FAILED,
    QUEUED,
    RESULT,
    RUNNING,
)
from people.peer import Serve, answering, request, welcome

from cuzkd.ipc.channel import BlockingChannel, ChannelClosed
from cuzkd.ipc.messages import Message
from cuzkd.ipc.requests import (
    JobAccepted,
    JobChanged,
    JobStatus,
    JobSubmit,
    JobWait,
    PointChecks,
    Watch,
)


def changes(*statuses: object) -> tuple[Message, ...]:
    return tuple(map(JobChanged, statuses))


WATCHED = """\
JOB     UID    STATE      PROOFS     CIRCUIT       AGE         TOOK       NOW
7       1000   running    1/2        merkle        1.25 s                 proving: quotient
7       1000   done       2/2        merkle        1.25 s      1.50 s
"""


def test_a_watch_prints_a_line_a_change_and_ends_with_the_job(serve: Serve) -> None:
    done = ctl(serve(answering(Watch(7, False), *changes(RUNNING, DONE))), "watch", "7")
    assert (done.returncode, done.stdout) == (0, WATCHED)


@pytest.mark.parametrize(("last", "code"), [(DONE, 0), (CANCELLED, 1), (FAILED, 1)])
def test_a_watch_of_a_job_returns_how_it_ended(serve: Serve, last: JobStatus, code: int) -> None:
    done = ctl(serve(answering(Watch(7, False), *changes(RUNNING, last))), "watch", "7", "--json")
    assert done.returncode == code
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line["job"] for line in lines] == [7, last.job]


def test_a_watch_of_all_jobs_ends_with_the_daemon(serve: Serve) -> None:
    done = ctl(serve(answering(Watch(None, True), *changes(DONE, QUEUED))), "watch", "--all")
    assert done.returncode == 3
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["JOB", "7", "9"]


def test_a_watch_whose_reader_has_enough_ends_without_a_complaint(serve: Serve) -> None:
    def peer(channel: BlockingChannel) -> None:
        welcome(channel)
        _, request_id, _ = request(channel)

        def tell_for_ever() -> None:
            while True:
                channel.send(JobChanged(RUNNING), request_id)

        with pytest.raises(ChannelClosed):
            tell_for_ever()

    socket = serve(peer)
    line = f"{BIN}/cuzkctl --socket {socket} watch | head -n 2"
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, timeout=LIMIT_S, check=True)
    assert len(done.stdout.splitlines()) == 2
    assert done.stderr == ""


def test_wait_goes_on_over_a_daemon_that_starts_anew(serve: Serve, tmp_path: Path) -> None:
    wait = JobWait(7, 30.0, progress=False)

    def again(channel: BlockingChannel) -> None:
        welcome(channel)
        _, request_id, _ = request(channel)
        for answer in RESULT:
            channel.send(answer, request_id)

    done = ctl(serve(answering(wait), again), "wait", "7", "--timeout", "30")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "public.json").exists()


def test_a_job_whose_daemon_is_gone_for_good_is_named(serve: Serve, tmp_path: Path) -> None:
    (tmp_path / "w").touch()
    submit = JobSubmit("merkle", None, None, None, (0,), (), PointChecks.FULL, progress=False)

    def stranger(channel: BlockingChannel) -> None:
        channel.receive(LIMIT_S)
        os.write(channel.fileno(), b"HTTP/1.1 400 Bad Request\r\n\r\n")

    socket = serve(answering(submit, JobAccepted(7, 1)), stranger)
    done = ctl(socket, "prove", "--circuit", "merkle", "--wtns", "w")
    assert done.returncode == 3
    assert "no cuzkd of this version" in done.stderr
    assert "`cuzkctl show 7` tells of the job" in done.stderr


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ((), "cuzkctl: job 7 goes on; `cuzkctl wait 7` fetches its proofs"),
        (("--cancel-on-disconnect",), "cuzkctl: job 7 is cancelled"),
    ],
)
def test_who_interrupts_prove_is_told_what_becomes_of_the_job(
    serve: Serve, tmp_path: Path, options: tuple[str, ...], says: str
) -> None:
    (tmp_path / "w").touch()
    proving: list[subprocess.Popen[str]] = []

    def peer(channel: BlockingChannel) -> None:
        welcome(channel)
        message, request_id, _ = request(channel)
        assert isinstance(message, JobSubmit)
        assert message.cancel_on_disconnect is bool(options)
        channel.send(JobAccepted(7, 1), request_id)
        message, _, _ = request(channel)
        assert isinstance(message, JobWait)
        proving[0].send_signal(signal.SIGINT)

    socket = serve(peer)
    command = ("cuzkctl", "--socket", socket, "prove", "--circuit", "c", "--wtns", "w", *options)
    proving.append(
        subprocess.Popen(
            [str(BIN / command[0]), *map(str, command[1:])],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
    )
    out, said = proving[0].communicate(timeout=LIMIT_S)
    assert (proving[0].returncode, out, said.strip()) == (130, "", says)


@pytest.mark.parametrize("command", ["prove", "submit"])
def test_who_interrupts_before_the_job_was_accepted_is_told_so(
    serve: Serve, tmp_path: Path, command: str
) -> None:
    (tmp_path / "w").touch()
    sending: list[subprocess.Popen[str]] = []

    def peer(channel: BlockingChannel) -> None:
        welcome(channel)
        assert isinstance(request(channel)[0], JobSubmit)
        sending[0].send_signal(signal.SIGINT)
        with pytest.raises(ChannelClosed):
            channel.receive(LIMIT_S)

    words = [str(BIN / "cuzkctl"), "--socket", str(serve(peer)), command, "--circuit", "c", "--wtns", "w"]
    sending.append(
        subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    )
    out, said = sending[0].communicate(timeout=LIMIT_S)
    assert (sending[0].returncode, out) == (130, "")
    assert "`cuzkctl jobs` shows" in said
