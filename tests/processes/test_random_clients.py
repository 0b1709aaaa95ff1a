"""Clients that ask for anything in any order and leave at any moment: the daemon goes on, and keeps nothing of them."""

from __future__ import annotations

import os
import random
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path

import pytest
from daemon import Daemon, running, wait_until
from fixtures import bundled

from cuzkd.errors import CuzkdError
from cuzkd.ipc.channel import BlockingChannel
from cuzkd.ipc.messages import Message
from cuzkd.ipc.requests import (
    Attach,
    BlobBegin,
    BlobChunk,
    BlobEnd,
    Drain,
    Hello,
    JobCancel,
    JobFetch,
    JobList,
    JobShow,
    JobSubmit,
    JobWait,
    MetricsRequest,
    PointChecks,
    StatusRequest,
    Watch,
)

CASE = bundled("squarings_bn128")
CLIENTS = 6
SECONDS = 8.0


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    with running(tmp_path / "run") as daemon:
        yield daemon


class RandomClient:
    """One client after another, each with a few random requests, of which some answers are read."""

    def __init__(self, daemon: Daemon, seed: int) -> None:
        self._daemon = daemon
        self._random = random.Random(seed)
        self.sent = 0

    def run(self, until: float) -> None:
        while time.monotonic() < until:
            sock = socket.socket(socket.AF_UNIX)
            sock.connect(str(self._daemon.socket))
            with closing(BlockingChannel(sock)) as channel, suppress(OSError, CuzkdError):
                channel.send(Hello(1, 1, "random"), 1)
                channel.receive(10)
                for request_id in range(self._random.randrange(1, 25)):
                    self._ask(channel, request_id)
                    if self._random.random() < 0.5:
                        with suppress(TimeoutError):
                            channel.receive(0.02)

    def _ask(self, channel: BlockingChannel, request_id: int) -> None:
        self.sent += 1
        if self._random.random() < 0.3:
            self._submit(channel, request_id)
        else:
            channel.send(self._random.choice(self._requests())(), request_id)

    def _submit(self, channel: BlockingChannel, request_id: int) -> None:
        witnesses = self._random.choice([1, 1, 29])
        with ExitStack() as stack:
            files = [stack.enter_context(CASE.zkey.open("rb"))]
            files += [stack.enter_context(CASE.witness.open("rb")) for _ in range(witnesses)]
            channel.send(Attach(("file",) * len(files)), request_id, [file.fileno() for file in files])
        indices = tuple(range(1, witnesses + 1))
        progress, cancel = self._random.random() < 0.5, self._random.random() < 0.5
        job = JobSubmit(None, 0, None, None, indices, (), PointChecks.FULL, progress, cancel)
        channel.send(job, request_id)

    def _requests(self) -> list[Callable[[], Message]]:
        job = self._random.choice([0, 1, 2, 5, 20, 50, -1, 10**6])
        some = self._random.random() < 0.3
        return [
            lambda: JobShow(job),
            lambda: JobWait(job, self._random.choice([None, 0.0, 0.05, -1.0]), some),
            lambda: JobFetch(job),
            lambda: JobCancel(job),
            lambda: Watch(self._random.choice([None, job]), some),
            lambda: JobList(some),
            StatusRequest,
            MetricsRequest,
            lambda: Drain(not some, 0.05),
            lambda: BlobBegin("blob", self._random.choice([0, 5])),
            lambda: BlobChunk(bytes(5)),
            BlobEnd,
        ]


def test_random_clients_leave_nothing_behind(daemon: Daemon) -> None:
    def open_files() -> int:
        return len(os.listdir(f"/proc/{daemon.process.pid}/fd"))

    with daemon.client() as client:
        client.prove(CASE.zkey, [CASE.witness])
    before = open_files()
    clients = [RandomClient(daemon, seed) for seed in range(CLIENTS)]
    until = time.monotonic() + SECONDS
    threads = [threading.Thread(target=client.run, args=(until,)) for client in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(client.sent for client in clients) > 100
    with daemon.client() as client:
        client.drain(resume=True)
        for status in client.jobs(everybody=True).jobs:
            client.cancel(status.job)
        assert len(client.prove(CASE.zkey, [CASE.witness]).proofs) == 1
    wait_until(lambda: daemon.status().pool.leased == 0, "all leases are given back")
    wait_until(lambda: open_files() <= before, "all files are closed")
    assert "unexpected failure" not in daemon.log()
