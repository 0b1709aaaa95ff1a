"""Jobs and operation through `cuzkctl` and `cuzkd.Client` beside a real daemon, from submission to the last command.

The gpu process is stopped (SIGSTOP) where a job has to stay unfinished.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from daemon import Daemon, running, wait_until
from fixtures import bundled
from people.commands import BIN, LIMIT_S, has_socket, run

from cuzkd import Client
from cuzkd.errors import Busy, Cancelled, Draining, NotDone, NotFound, Restarted
from cuzkd.model import JobState, Role

CASE = bundled("multiplier_bn128")
FILES = ("--zkey", CASE.zkey, "--wtns", CASE.witness)
UNFINISHED = (JobState.QUEUED, JobState.RUNNING)


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running(tmp_path_factory.mktemp("operation") / "run") as daemon:
        yield daemon


@contextlib.contextmanager
def stopped(daemon: Daemon) -> Iterator[None]:
    """No job ends in this block."""
    with daemon.client() as client:
        client.prove(CASE.zkey, [CASE.witness])
    pid = daemon.worker(Role.GPU).pid
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


def ctl(daemon: Daemon, *arguments: object) -> subprocess.CompletedProcess[str]:
    return run("cuzkctl", "--socket", daemon.socket, *arguments)


def said(daemon: Daemon, *arguments: object) -> str:
    done = ctl(daemon, *arguments)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def started(daemon: Daemon, *arguments: object) -> subprocess.Popen[str]:
    command = [str(BIN / "cuzkctl"), "--socket", str(daemon.socket), *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def submit(daemon: Daemon) -> int:
    with daemon.client() as client:
        return client.submit(CASE.zkey, [CASE.witness])


def state(daemon: Daemon, job: int) -> JobState:
    with daemon.client() as client:
        return client.show_job(job).status.state


def test_a_job_from_its_submission_to_its_files(daemon: Daemon, tmp_path: Path) -> None:
    """submit, jobs, show, watch and fetch tell one story."""
    job = int(said(daemon, "submit", *FILES))
    watched = said(daemon, "watch", job, "--json")
    states = [json.loads(line)["state"] for line in watched.splitlines()]
    assert states[-1] == "done"
    shown = json.loads(said(daemon, "show", job, "--json"))
    assert (shown["job"], shown["state"], shown["done"], shown["failure"]) == (job, "done", 1, None)
    assert shown["seconds"] > 0
    listed = json.loads(said(daemon, "jobs", "--json"))["jobs"]
    assert [entry["state"] for entry in listed if entry["job"] == job] == ["done"]
    said(daemon, "fetch", job, "-o", tmp_path)
    assert (tmp_path / "public.json").read_bytes() == CASE.public.read_bytes()


def test_a_cancelled_job_ends_for_everybody_who_waits(daemon: Daemon) -> None:
    with stopped(daemon):
        job = submit(daemon)
        waiting = started(daemon, "wait", job)
        watching = started(daemon, "watch", job)
        assert watching.stdout is not None
        assert watching.stdout.readline().startswith("JOB")
        assert watching.stdout.readline().split()[2] in UNFINISHED
        early = ctl(daemon, "fetch", job, "--json")
        assert (early.returncode, json.loads(early.stdout)["error"]["code"]) == (75, NotDone.code)

        assert said(daemon, "cancel", job) == f"job {job} is cancelled; 1 proof of 1 not made\n"
        _, error = waiting.communicate(timeout=LIMIT_S)
        assert (waiting.returncode, len(error.splitlines())) == (1, 2)
        out, _ = watching.communicate(timeout=LIMIT_S)
        assert (watching.returncode, out.splitlines()[-1].split()[2]) == (1, "cancelled")
    assert said(daemon, "cancel", job) == f"job {job} is cancelled; 1 proof of 1 not made\n"
    assert "error     cancelled: " in said(daemon, "show", job)
    with daemon.client() as client, pytest.raises(Cancelled):
        client.fetch(job)


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_job_that_is_bound_to_its_command_ends_with_it(
    daemon: Daemon, end: signal.Signals, tmp_path: Path
) -> None:
    with stopped(daemon):
        before = newest(daemon)
        proving = started(daemon, "prove", *FILES, "--cancel-on-disconnect", "-o", tmp_path)
        wait_until(lambda: newest(daemon) > before, "the job is accepted")
        job = newest(daemon)
        proving.send_signal(end)
        proving.communicate(timeout=LIMIT_S)
        wait_until(lambda: state(daemon, job) is JobState.CANCELLED, "the job is cancelled")


def test_a_job_that_is_not_bound_goes_on_when_its_command_ends(daemon: Daemon, tmp_path: Path) -> None:
    with stopped(daemon):
        before = newest(daemon)
        proving = started(daemon, "prove", *FILES, "-o", tmp_path)
        wait_until(lambda: newest(daemon) > before, "the job is accepted")
        proving.kill()
        proving.communicate(timeout=LIMIT_S)
        assert state(daemon, newest(daemon)) in UNFINISHED
    wait_until(lambda: state(daemon, newest(daemon)) is JobState.DONE, "the job is done")


def newest(daemon: Daemon) -> int:
    """The highest job number that is known."""
    with daemon.client() as client:
        return max(status.job for status in client.jobs().jobs)


def test_one_watch_tells_of_every_job(daemon: Daemon) -> None:
    with daemon.client() as client:
        changes = client.watch()
        with stopped(daemon):
            jobs = {submit(daemon)}
            assert next(changes).job in jobs
            jobs |= {submit(daemon), submit(daemon)}
        ended: set[int] = set()
        while not jobs <= ended:
            status = next(changes)
            ended |= {status.job} if status.state is JobState.DONE else set()
        changes.close()


def test_a_drained_daemon_takes_no_job_until_it_resumes(daemon: Daemon, tmp_path: Path) -> None:
    with stopped(daemon):
        job = submit(daemon)
        waited = ctl(daemon, "drain", "--timeout", "0.2")
        assert waited.returncode == 75
        assert waited.stdout == "1 job not ended yet; new ones are refused until `cuzkctl drain --resume`\n"
        refused = ctl(daemon, "prove", *FILES, "-o", tmp_path, "--json")
        assert (refused.returncode, json.loads(refused.stdout)["error"]["code"]) == (75, Draining.code)
    assert said(daemon, "drain").startswith("drained: no job is left")
    assert state(daemon, job) is JobState.DONE
    assert said(daemon, "drain", "--resume") == "jobs are taken again\n"
    said(daemon, "prove", *FILES, "-o", tmp_path)


def test_metrics_are_lines_that_prometheus_takes(daemon: Daemon) -> None:
    lines = said(daemon, "metrics").splitlines()
    assert lines
    for line in lines:
        assert line.startswith("# ") or float(line.rpartition(" ")[2]) >= 0


def test_the_operator_sees_a_daemon_whose_job_socket_is_flooded(daemon: Daemon) -> None:
    with contextlib.ExitStack() as flood:
        for _ in range(200):
            connection = flood.enter_context(socket.socket(socket.AF_UNIX))
            connection.connect(str(daemon.socket))
        with daemon.client() as client:
            wait_until(lambda: is_busy(client), "the job socket takes no more connections")
        assert f"pid {daemon.process.pid}" in said(daemon, "status")
        said(daemon, "jobs", "--all")


def is_busy(client: Client) -> bool:
    try:
        client.status()
    except Busy:
        return True
    return False


def test_a_configuration_that_cannot_be_used_is_refused_and_the_old_one_stays(tmp_path: Path) -> None:
    with running(tmp_path / "run") as daemon:
        config = daemon.runtime_dir.with_suffix(".toml")
        good = config.read_text()
        config.write_text(f"{good}[colours]\nred = 1\n")
        refused = ctl(daemon, "reload", "--json")
        assert (refused.returncode, json.loads(refused.stdout)["error"]["code"]) == (4, "bad_config")
        config.write_text(f"{good}[jobs]\nmax_queued = 7\n")
        assert "jobs.max_queued" in said(daemon, "reload")
        said(daemon, "prove", *FILES, "-o", tmp_path)


def test_a_queue_that_is_full_says_when_to_come_back(tmp_path: Path) -> None:
    config = '[jobs]\nmax_queued = 1\n[pool]\nlimit = "64MiB"\n'
    with running(tmp_path / "run", config) as daemon, stopped(daemon):
        submit(daemon)
        with daemon.client() as client, pytest.raises(Busy) as caught:
            client.submit(CASE.zkey, [CASE.witness])
        assert caught.value.retry_after_s is not None


def test_fault_11_a_waiting_client_learns_that_a_restarted_daemon_lost_its_job(tmp_path: Path) -> None:
    """It connects again by itself, to the daemon that has taken the place of the one that was killed."""
    with running(tmp_path / "run") as daemon:
        with stopped(daemon):
            job = submit(daemon)
            waiting = started(daemon, "wait", job, "--json", "-o", tmp_path)
            wait_until(lambda: has_socket(waiting.pid), "cuzkctl is connected, and so waits")
            daemon.stop(signal.SIGKILL)
        assert waiting.poll() is None
        daemon.start()
        out, _ = waiting.communicate(timeout=LIMIT_S)
        assert (waiting.returncode, json.loads(out)["error"]["code"]) == (1, Restarted.code)
        assert ctl(daemon, "show", job, "--json").stdout.startswith('{"error": {"code": "restarted"')
        with daemon.client() as client, pytest.raises(NotFound):
            client.show_job(job + 1_000_000)


def test_a_wait_goes_on_with_the_daemon_that_it_finds_in_the_old_ones_place(tmp_path: Path) -> None:
    """The library, told to wait for a number that only the new daemon gives."""
    with running(tmp_path / "run") as daemon, daemon.client() as client:
        client.status()
        daemon.stop(signal.SIGKILL)
        daemon.start()
        daemon.wait_ready()
        job = submit(daemon)
        assert client.wait(job, timeout_s=LIMIT_S).publics == ((33,),)
