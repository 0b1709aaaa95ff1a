"""Peers that break the protocol, dawdle, or take too much: each is told or closed, and nobody else notices."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress

import pytest
from daemon import Daemon, running, wait_until
from fixtures import bundled

from cuzkd.connection import MAX_OUTSTANDING
from cuzkd.ipc import codec
from cuzkd.ipc.channel import BlockingChannel, ChannelClosed
from cuzkd.ipc.frames import Header
from cuzkd.ipc.messages import Failure, Message
from cuzkd.ipc.orders import ForgetSegment
from cuzkd.ipc.requests import (
    Attach,
    Attached,
    Hello,
    JobSubmit,
    JobWait,
    PointChecks,
    Status,
    StatusRequest,
)

CASE = bundled("multiplier_bn128")
HELLO = Hello(1, 1, "test")


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running(tmp_path_factory.mktemp("hostile") / "run") as daemon:
        yield daemon


def job(
    *,
    circuit: str | None = None,
    zkey: int | None = None,
    wasm: int | None = None,
    witnesses: tuple[int, ...] = (),
    inputs: tuple[int, ...] = (),
) -> JobSubmit:
    return JobSubmit(circuit, zkey, wasm, None, witnesses, inputs, PointChecks.FULL, False)


@contextmanager
def connected(daemon: Daemon, *first: Message) -> Iterator[BlockingChannel]:
    sock = socket.socket(socket.AF_UNIX)
    sock.connect(str(daemon.socket))
    with closing(BlockingChannel(sock)) as channel:
        for message in first:
            channel.send(message, 7)
            assert not isinstance(channel.receive(10).message, Failure)
        yield channel


def raw(daemon: Daemon, data: bytes) -> Failure:
    """What the daemon answers to these bytes before it closes."""
    sock = socket.socket(socket.AF_UNIX)
    sock.connect(str(daemon.socket))
    sock.sendall(data)
    with closing(BlockingChannel(sock)) as channel:
        [answer] = answers_until_closed(channel)
    assert isinstance(answer, Failure)
    return answer


def answers_until_closed(channel: BlockingChannel) -> list[Message]:
    answers = []
    with suppress(ChannelClosed):
        while True:
            answers.append(channel.receive(10).message)
    return answers


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        Header(9999, 0).encode(),
        Header(Hello.TYPE, 0xFFFFFFFF).encode(),
        Header(Hello.TYPE, 5).encode() + b"\xc1" * 5,
        codec.encode(HELLO)[:-1] + b"\xff",
        codec.encode(StatusRequest()),
        codec.encode(HELLO) + codec.encode(ForgetSegment("/cuzkd-00000000-1")),
    ],
    ids=["http", "unknown type", "4 GiB", "no msgpack", "no UTF-8", "no hello", "a message for children"],
)
def test_fault_18_a_breach_is_answered_and_closed(daemon: Daemon, data: bytes) -> None:
    sock = socket.socket(socket.AF_UNIX)
    sock.connect(str(daemon.socket))
    with closing(BlockingChannel(sock)) as channel:
        sock.sendall(data)
        answers = answers_until_closed(channel)
    assert isinstance(answers[-1], Failure)
    assert answers[-1].code == "bad_request"
    assert daemon.process.poll() is None


def test_a_client_of_another_version_is_told_both_numbers(daemon: Daemon) -> None:
    answer = raw(daemon, codec.encode(Hello(7, 9, "tomorrow")))
    assert answer.code == "version_mismatch"
    assert "7 to 9" in answer.message
    assert "daemon 1" in answer.message


@pytest.mark.parametrize(
    "submit",
    [
        job(zkey=0, witnesses=(1, 1)),
        job(zkey=0, witnesses=(2,)),
        job(zkey=-1, witnesses=(0,)),
        job(zkey=0),
        job(zkey=0, witnesses=(1,), inputs=(2,)),
        job(witnesses=(1,)),
        job(circuit="c", zkey=0, witnesses=(1,)),
        job(circuit="c", wasm=0, inputs=(1,)),
    ],
)
def test_a_job_that_makes_no_sense_or_has_no_such_files_is_a_breach(
    daemon: Daemon, submit: JobSubmit
) -> None:
    with (
        connected(daemon, HELLO) as channel,
        CASE.zkey.open("rb") as zkey,
        CASE.witness.open("rb") as witness,
    ):
        channel.send(Attach(("zkey", "wtns")), 8, (zkey.fileno(), witness.fileno()))
        assert channel.receive(10).message == Attached(2)
        channel.send(submit, 9)
        answer = channel.receive(10)
        assert isinstance(answer.message, Failure)
        assert (answer.message.code, answer.request_id) == ("bad_request", 9)


def test_fault_19_fifty_clients_that_trickle_hold_up_nobody(daemon: Daemon) -> None:
    trickling = []
    for _ in range(50):
        sock = socket.socket(socket.AF_UNIX)
        sock.connect(str(daemon.socket))
        sock.send(b"\xc5")
        trickling.append(sock)
    begin = time.monotonic()
    with daemon.client() as client:
        client.status()
        assert time.monotonic() - begin < 0.2
        assert len(client.prove(CASE.zkey, [CASE.witness]).proofs) == 1
    for sock in trickling:
        sock.close()


def test_attached_files_are_closed_when_the_client_leaves(daemon: Daemon) -> None:
    def open_files() -> int:
        return len(os.listdir(f"/proc/{daemon.process.pid}/fd"))

    with daemon.client() as client:
        client.prove(CASE.zkey, [CASE.witness])
    wait_until(lambda: daemon.status() and True, "idle")
    before = open_files()
    with connected(daemon, HELLO) as channel, CASE.zkey.open("rb") as zkey:
        for _ in range(5):
            channel.send(Attach(("k",) * 64), 8, [zkey.fileno()] * 64)
            assert isinstance(channel.receive(10).message, Attached)
        assert open_files() > before + 300
    wait_until(lambda: open_files() <= before, "the files are closed")


def test_fault_20_a_client_that_never_reads_is_not_served_for_ever(daemon: Daemon) -> None:
    """Its unread answers and the memory for them stay bounded: the daemon stops reading its requests."""

    def resident_kib() -> int:
        with open(f"/proc/{daemon.process.pid}/statm") as statm:
            return int(statm.read().split()[1]) * 4

    before = resident_kib()
    request = codec.encode(StatusRequest(), 1)
    with connected(daemon, HELLO) as channel:
        channel._sock.settimeout(0.5)
        with pytest.raises(TimeoutError):
            channel._sock.sendall(request * 1_000_000)
        begin = time.monotonic()
        daemon.status()
        assert time.monotonic() - begin < 0.5
        assert resident_kib() - before < 64 << 10


def test_too_many_unanswered_waits_are_refused(daemon: Daemon) -> None:
    with daemon.client() as client, connected(daemon, HELLO) as channel:
        job = client.submit(CASE.zkey, [CASE.witness] * 500)
        for request in range(MAX_OUTSTANDING + 1):
            channel.send(JobWait(job, None, False), request)
        answer = channel.receive(10)
        assert isinstance(answer.message, Failure)
        assert (answer.message.code, answer.request_id) == ("busy", MAX_OUTSTANDING)
        client.wait(job)


def test_a_hundred_connections_are_served_at_once(daemon: Daemon) -> None:
    with ThreadPoolExecutor(20) as pool:
        channels = [connected(daemon, HELLO) for _ in range(100)]
        opened = list(pool.map(lambda c: c.__enter__(), channels))
        for channel in opened:
            channel.send(StatusRequest(), 3)
        assert all(isinstance(channel.receive(10).message, Status) for channel in opened)
        for context in channels:
            context.__exit__(None, None, None)
