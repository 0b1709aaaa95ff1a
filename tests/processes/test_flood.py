"""Clients in numbers: more connections, requests and jobs than there is room for, and still everybody is answered."""

from __future__ import annotations

import os
import resource
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path

import pytest
from daemon import Daemon, connected, running, wait_until
from fixtures import bundled

from cuzkd.client import Client
from cuzkd.errors import Busy
from cuzkd.ipc import codec
from cuzkd.ipc.requests import JobListing, StatusRequest
from cuzkd.listener import JOB

CASE = bundled("squarings_bn128")
LONG = 900
ANSWERED_S = 0.1
CONFIG = "[synthesis]\nworkers = 1\nthreads = 1\n[gpu]\nthreads = 1\n[jobs]\nmax_queued = 4\nmax_queued_per_uid = 4\n"


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    with running(tmp_path / "run", CONFIG) as daemon:
        yield daemon


def control(daemon: Daemon) -> Client:
    return Client(daemon.runtime_dir / "cuzkd-ctl.sock")


def median_s(ask: Callable[[], object], times: int = 21) -> float:
    """The median time of an answer: on a busy machine single ones take whatever the others leave."""
    took = []
    for _ in range(times):
        begin = time.monotonic()
        ask()
        took.append(time.monotonic() - begin)
    return sorted(took)[times // 2]


@contextmanager
def flooded(daemon: Daemon, connections: int) -> Iterator[None]:
    """The job socket with so many clients that ask for the status as fast as they can, and read the answers."""
    requests = codec.encode(StatusRequest(), 1) * 16
    done = threading.Event()

    def keep_asking(socks: list[socket.socket]) -> None:
        while not done.is_set():
            for sock in socks:
                with suppress(BlockingIOError):
                    sock.send(requests)
                with suppress(BlockingIOError):
                    while sock.recv(1 << 16):
                        pass

    with ExitStack() as stack:
        socks = [stack.enter_context(connected(daemon))._sock for _ in range(connections)]
        for sock in socks:
            sock.setblocking(False)
        thread = threading.Thread(target=keep_asking, args=(socks,))
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()


def test_fault_21_more_jobs_than_the_queue_takes_are_busy_and_the_others_are_proved(daemon: Daemon) -> None:
    with daemon.client() as client:
        jobs = [client.submit(CASE.zkey, [CASE.witness] * LONG) for _ in range(4)]
        for _ in range(50):
            with pytest.raises(Busy) as refused:
                client.submit(CASE.zkey, [CASE.witness])
            assert refused.value.retryable
            assert refused.value.retry_after_s is not None
        for job in jobs[1:]:
            client.cancel(job)
        assert len(client.wait(jobs[0]).proofs) == LONG
        assert len(client.prove(CASE.zkey, [CASE.witness]).proofs) == 1


def test_fault_21_the_operators_are_answered_while_the_job_socket_is_flooded(daemon: Daemon) -> None:
    with control(daemon) as operator, flooded(daemon, 100):
        operator.status()
        assert median_s(operator.status) < ANSWERED_S
        assert not operator.drain(resume=True).draining


def test_fault_21_a_full_job_socket_keeps_no_operator_out(daemon: Daemon) -> None:
    with ExitStack() as stack:
        for _ in range(JOB.connections_per_uid):
            stack.enter_context(connected(daemon))
        sock = stack.enter_context(closing(socket.socket(socket.AF_UNIX)))
        sock.connect(str(daemon.socket))
        assert b"too many connections" in sock.recv(4096)
        operator = stack.enter_context(control(daemon))
        begin = time.monotonic()
        assert isinstance(operator.jobs(), JobListing)
        assert time.monotonic() - begin < 1
    wait_until(lambda: daemon.status().state == "ready", "there is room again")


def test_fault_33_without_descriptors_connections_wait_and_are_served_when_there_are_some(
    daemon: Daemon,
) -> None:
    pid = daemon.process.pid
    with daemon.client() as client, ExitStack() as stack:
        client.status()
        soft, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        open_files = len(os.listdir(f"/proc/{pid}/fd"))
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (open_files, hard))
        waiting = [stack.enter_context(closing(socket.socket(socket.AF_UNIX))) for _ in range(20)]
        for sock in waiting:
            sock.connect(str(daemon.socket))
            sock.sendall(codec.encode(StatusRequest(), 1))
        wait_until(lambda: "no connections are accepted" in daemon.log(), "the daemon runs out")
        assert client.status().state == "ready"
        first_tick = time.monotonic()
        wait_until(lambda: time.monotonic() > first_tick + 2.5, "it has tried again, in vain")
        assert daemon.log().count("no connections are accepted") == 1
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (soft, hard))
        for sock in waiting:
            sock.settimeout(10)
            assert b"the first message has to be Hello" in sock.recv(4096)
        assert len(client.prove(CASE.zkey, [CASE.witness]).proofs) == 1
