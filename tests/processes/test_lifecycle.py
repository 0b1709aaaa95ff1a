"""Start, stop and sudden death of the whole daemon: one at a time, and nothing of it stays behind."""

from __future__ import annotations

import fcntl
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from daemon import Daemon, alive, running, wait_until
from fixtures import bundled

from cuzkd.client import Client
from cuzkd.errors import CuzkdError, Draining, Restarted, Unavailable
from cuzkd.model import Role

CASE = bundled("squarings_bn128")


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    with running(tmp_path / "run") as daemon:
        yield daemon


def assert_nothing_left(daemon: Daemon, children: list[int]) -> None:
    wait_until(lambda: not any(map(alive, children)), "no child lives", 2.0)
    assert daemon.segments() == []
    assert not daemon.socket.exists()
    assert not (daemon.spool).exists()


def test_sigterm_leaves_nothing(daemon: Daemon) -> None:
    with daemon.client() as client:
        client.prove(CASE.zkey, [CASE.witness])
    children = daemon.children()
    assert len(children) == 4
    assert daemon.segments()
    assert daemon.stop() == 0
    assert_nothing_left(daemon, children)


def test_fault_26_sigterm_finishes_accepted_jobs_and_refuses_new_ones(daemon: Daemon) -> None:
    with daemon.client() as client, daemon.client() as late:
        late.status()
        job = client.submit(CASE.zkey, [CASE.witness] * 100)
        daemon.process.send_signal(signal.SIGTERM)
        wait_until(lambda: late.status().state == "draining", "the daemon drains")
        with pytest.raises(Draining):
            late.submit(CASE.zkey, [CASE.witness])
        assert len(client.wait(job).proofs) == 100
    assert daemon.stop() == 0


def test_fault_26_a_second_sigterm_does_not_wait_for_jobs(daemon: Daemon) -> None:
    with daemon.client() as client, ThreadPoolExecutor(1) as pool:
        job = client.submit(CASE.zkey, [CASE.witness] * 800)
        waiting = pool.submit(client.wait, job)
        children = daemon.children()
        daemon.process.send_signal(signal.SIGTERM)
        wait_until(lambda: daemon.status().state == "draining", "the daemon drains")
        assert daemon.stop() == 0
        assert isinstance(waiting.exception(), CuzkdError)
    assert_nothing_left(daemon, children)


def test_signals_until_the_very_end_leave_nothing(daemon: Daemon) -> None:
    """SIGTERM again and again while the daemon stops: it ends by itself, with 0, after its clean-up."""
    with daemon.client() as client:
        client.prove(CASE.zkey, [CASE.witness])
    children = daemon.children()
    while daemon.process.poll() is None:
        daemon.process.send_signal(signal.SIGTERM)
        time.sleep(0.001)
    assert daemon.process.returncode == 0
    assert_nothing_left(daemon, children)


def test_fault_26_jobs_that_outlast_the_drain_time_fail_as_unavailable(tmp_path: Path) -> None:
    config = 'drain_timeout = "50ms"\n[synthesis]\nworkers = 1\nthreads = 1\n'
    with running(tmp_path / "run", config) as daemon, daemon.client() as client:
        job = client.submit(CASE.zkey, [CASE.witness] * 800)
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(client.wait, job)
            assert daemon.stop() == 0
            assert isinstance(waiting.exception(), Unavailable)


def test_fault_11_killing_the_supervisor_kills_its_children_and_the_next_one_starts_clean(
    daemon: Daemon,
) -> None:
    with daemon.client() as client:
        job = client.submit(CASE.zkey, [CASE.witness] * 200)
        wait_until(lambda: daemon.worker(Role.GPU).partition is not None, "the gpu process works")
        children = daemon.children()
        daemon.stop(signal.SIGKILL)
    wait_until(lambda: not any(map(alive, children)), "no child lives", 2.0)
    assert daemon.segments()
    daemon.start()
    daemon.wait_ready()
    assert daemon.segments() == []
    assert list(daemon.spool.iterdir()) == []
    with daemon.client() as client:
        with pytest.raises(Restarted, match=f"job {job} was lost"):
            client.wait(job)
        assert len(client.prove(CASE.zkey, [CASE.witness]).proofs) == 1


def test_fault_29_a_second_daemon_says_who_runs_and_touches_nothing(daemon: Daemon, tmp_path: Path) -> None:
    with daemon.client() as client:
        client.prove(CASE.zkey, [CASE.witness])
    before = (daemon.segments(), daemon.children(), daemon.socket.stat().st_ino)
    second = Daemon(tmp_path / "run")
    assert second.process.wait(30) == 1
    assert f"already running (pid {daemon.process.pid})" in second.log()
    assert (daemon.segments(), daemon.children(), daemon.socket.stat().st_ino) == before
    with daemon.client() as client:
        assert len(client.prove(CASE.zkey, [CASE.witness]).proofs) == 1


def test_fault_29_a_second_daemon_on_the_same_state_directory_is_refused(
    daemon: Daemon, tmp_path: Path
) -> None:
    second = Daemon(tmp_path / "other", f'state_dir = "{daemon.runtime_dir / "state"}"\n')
    assert second.process.wait(30) == 1
    assert f"already running (pid {daemon.process.pid})" in second.log()


def test_nothing_is_swept_while_a_process_of_an_earlier_daemon_lives(daemon: Daemon) -> None:
    with daemon.client() as client:
        client.prove(CASE.zkey, [CASE.witness])
    with (daemon.runtime_dir / "children.lock").open("r+b") as survivor:
        daemon.stop(signal.SIGKILL)
        wait_until(lambda: locked(survivor.fileno()), "the children are gone and the lock is ours")
        daemon.start()
        wait_until(lambda: "of an earlier daemon" in daemon.log(), "the next daemon waits")
        assert daemon.segments()
    daemon.wait_ready()
    assert daemon.segments() == []


def locked(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def test_ctrl_c_in_a_terminal_does_not_reach_the_children(daemon: Daemon) -> None:
    own_group = os.getpgid(daemon.process.pid)
    assert all(os.getpgid(child) != own_group for child in daemon.children())
    assert daemon.stop(signal.SIGINT) == 0


def test_the_cuda_backend_is_refused_with_the_reason(tmp_path: Path) -> None:
    daemon = Daemon(tmp_path / "run", backend="cuda")
    assert daemon.process.wait(30) == 78
    assert "host backend only" in daemon.log()


ACTIVATE = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="1", LISTEN_FDNAMES="job")
os.execv(sys.executable, [sys.executable, "-m", "cuzkd", "serve", "--backend=host", *sys.argv[2:]])
"""


def test_a_socket_of_the_service_manager_is_adopted_and_outlives_the_daemon(tmp_path: Path) -> None:
    path = tmp_path / "inherited.sock"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        process = subprocess.Popen(
            [
                sys.executable,
                "-c",
                ACTIVATE,
                str(listener.fileno()),
                f"--runtime-dir={tmp_path / 'run'}",
                f"--state-dir={tmp_path / 'state'}",
            ],
            pass_fds=(listener.fileno(),),
        )
    try:
        with Client(path) as client:
            assert len(client.prove(CASE.zkey, [CASE.witness]).proofs) == 1
        assert not (tmp_path / "run" / "cuzkd.sock").exists()
    finally:
        process.send_signal(signal.SIGTERM)
    assert process.wait(30) == 0
    assert path.exists()
