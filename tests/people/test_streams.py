"""Standard streams that take nothing: the program says so once, in good order, or goes on without them."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest
from fixtures import bundled
from people.commands import BIN, LIMIT_S
from people.peer import Serve, answering, request, welcome

from cuzkd.ipc.channel import BlockingChannel, ChannelClosed
from cuzkd.ipc.requests import Drain, JobAccepted, JobList, JobListing, Progress

CASE = bundled("multiplier_bn128")
VERIFY = (
    "verify",
    "--vkey",
    CASE.path / "verification_key.json",
    "--proof",
    CASE.proof,
    "--public",
    CASE.public,
)
FULL = "error: cannot write standard output: No space left on device"


def shell(words: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run a program with redirections; `$@` are the arguments."""
    command = ["sh", "-c", f"exec {BIN}/{words}", "sh", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)


@pytest.mark.parametrize("program", ["cuzkctl", "cuzkd"])
@pytest.mark.parametrize(
    "arguments", [("--version",), VERIFY, (*VERIFY, "--json")], ids=["version", "verify", "json"]
)
def test_a_full_disk_under_standard_output_is_told(program: str, arguments: tuple[object, ...]) -> None:
    done = shell(f'{program} "$@" >/dev/full', *arguments)
    assert done.returncode == 1
    assert FULL in done.stderr.splitlines()[0]
    assert len(done.stderr.splitlines()) <= 2


def test_a_full_disk_is_told_by_what_asks_the_daemon(serve: Serve) -> None:
    socket = serve(answering(JobList(False), JobListing((), False)))
    done = shell('cuzkctl "$@" >/dev/full', "--socket", socket, "jobs")
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 2)
    assert done.stderr.startswith(f"cuzkctl: {FULL}\n")


@pytest.mark.parametrize("program", ["cuzkctl", "cuzkd"])
def test_who_closes_standard_output_wants_none(program: str) -> None:
    done = shell(f'{program} "$@" >&-', *VERIFY)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("to", [">&-", ">/dev/full"])
def test_errors_that_cannot_be_told_leave_the_exit_code(to: str, tmp_path: Path) -> None:
    done = shell(f'cuzkctl "$@" 2{to}', "--socket", tmp_path / "none", "jobs")
    assert (done.returncode, done.stdout) == (3, "")


def test_progress_that_cannot_be_shown_harms_nothing(serve: Serve, tmp_path: Path) -> None:
    def peer(channel: BlockingChannel) -> None:
        welcome(channel)
        _, request_id, _ = request(channel)
        for done in range(3):
            channel.send(Progress(f"stage {done}", done, 3), request_id)
        channel.send(JobAccepted(7, 1), request_id)

    (tmp_path / "w").touch()
    words = ("--socket", serve(peer), "submit", "--progress", "--circuit", "c", "--wtns", tmp_path / "w")
    done = shell('cuzkctl "$@" 2>/dev/full', *words)
    assert (done.returncode, done.stdout) == (0, "7\n")


def test_an_interrupted_drain_says_that_jobs_stay_refused(serve: Serve) -> None:
    asked, hang = os.pipe()

    def peer(channel: BlockingChannel) -> None:
        welcome(channel)
        assert isinstance(request(channel)[0], Drain)
        os.close(hang)
        with pytest.raises(ChannelClosed):
            channel.receive(LIMIT_S)

    with subprocess.Popen(
        [str(BIN / "cuzkctl"), "--socket", str(serve(peer)), "drain"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as drain:
        assert os.read(asked, 1) == b""
        os.close(asked)
        drain.send_signal(signal.SIGINT)
        out, error = drain.communicate(timeout=LIMIT_S)
    assert (drain.returncode, out) == (130, "")
    assert error.strip() == "cuzkctl: new jobs are refused until `cuzkctl drain --resume`"
