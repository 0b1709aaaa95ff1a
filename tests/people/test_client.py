"""The client library at the edge of its connection: where it looks, what it trusts, and peers that misbehave.

The peer here is a real socket in a thread that says what a broken daemon might say; what a whole daemon says
is in test_service.
"""

from __future__ import annotations

import os
import socket
import threading
from pathlib import Path

import pytest
from people.peer import LIMIT_S, Serve, answering, fail, welcome

import cuzkd
from cuzkd import delivery
from cuzkd.errors import (
    Busy,
    DaemonUnreachable,
    Forbidden,
    InternalError,
    VersionMismatch,
    WaitTimeout,
)
from cuzkd.ipc.channel import BlockingChannel
from cuzkd.ipc.requests import (
    Attach,
    Attached,
    JobResult,
    JobSubmit,
    JobWait,
    Metrics,
    MetricsRequest,
    PartitionResult,
    StatusRequest,
    Welcome,
)
from cuzkd.model import Curve


def test_a_failure_is_raised_as_its_class_with_its_advice(serve: Serve) -> None:
    def peer(channel: BlockingChannel) -> None:
        welcome(channel)
        message, request_id, _ = channel.receive(LIMIT_S)
        assert isinstance(message, StatusRequest)
        fail(channel, request_id, "busy")

    with cuzkd.Client(serve(peer)) as caller, pytest.raises(Busy) as caught:
        caller.status()
    assert (caught.value.message, caught.value.advice) == ("because of busy", "do something else")


def test_a_failure_before_the_welcome_is_heard_although_the_daemon_hangs_up(serve: Serve) -> None:
    def peer(channel: BlockingChannel) -> None:
        fail(channel, 0, "forbidden")

    with cuzkd.Client(serve(peer)) as caller, pytest.raises(Forbidden):
        caller.status()


def test_after_a_failure_before_the_welcome_the_next_request_connects_again(serve: Serve) -> None:
    def refusing(channel: BlockingChannel) -> None:
        _, request_id, _ = channel.receive(LIMIT_S)
        fail(channel, request_id, "busy")

    with cuzkd.Client(serve(refusing, answering(MetricsRequest(), Metrics("a 1\n")))) as caller:
        with pytest.raises(Busy):
            caller.metrics()
        assert caller.metrics() == "a 1\n"


def test_a_daemon_of_another_version_is_named_as_such(serve: Serve) -> None:
    def peer(channel: BlockingChannel) -> None:
        _, request_id, _ = channel.receive(LIMIT_S)
        fail(channel, request_id, "version_mismatch")

    with cuzkd.Client(serve(peer)) as caller, pytest.raises(VersionMismatch):
        caller.status()


def test_a_daemon_that_hangs_up_is_unreachable_and_the_next_request_connects_again(serve: Serve) -> None:
    with cuzkd.Client(serve(welcome)) as caller:
        with pytest.raises(DaemonUnreachable, match="closed the connection"):
            caller.status()
        with pytest.raises(DaemonUnreachable, match="Connection refused"):
            caller.status()


@pytest.mark.parametrize("noise", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\xc5\x5a\x01"], ids=["http", "cut"])
def test_something_else_at_the_socket_is_no_daemon(noise: bytes, tmp_path: Path) -> None:
    path = tmp_path / "other.sock"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        caller = cuzkd.Client(path)

        def answer() -> None:
            connection = listener.accept()[0]
            connection.recv(1 << 16)
            connection.sendall(noise)
            connection.close()

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        with pytest.raises(DaemonUnreachable, match="no cuzkd of this version"):
            caller.status()
        thread.join(LIMIT_S)


def test_an_answer_of_another_kind_is_not_taken(serve: Serve) -> None:
    def peer(channel: BlockingChannel) -> None:
        welcome(channel)
        _, request_id, _ = channel.receive(LIMIT_S)
        channel.send(Attached(1), request_id)

    with cuzkd.Client(serve(peer)) as caller, pytest.raises(DaemonUnreachable, match="Status was due"):
        caller.status()


def test_an_answer_to_another_request_is_not_taken(serve: Serve) -> None:
    def peer(channel: BlockingChannel) -> None:
        welcome(channel)
        _, request_id, _ = channel.receive(LIMIT_S)
        channel.send(Welcome(1, "test"), request_id + 1)

    with cuzkd.Client(serve(peer)) as caller, pytest.raises(DaemonUnreachable, match="was answered as"):
        caller.status()


def test_files_travel_in_frames_of_64_descriptors_in_order(serve: Serve, tmp_path: Path) -> None:
    """A key and 129 witnesses: frames of 64, 64 and 2, and indices that name each file once."""
    held: list[bytes] = []
    frames: list[int] = []

    def peer(channel: BlockingChannel) -> None:
        welcome(channel)
        while True:
            message, request_id, descriptors = channel.receive(LIMIT_S)
            if isinstance(message, JobSubmit):
                assert [held[index] for index in (message.zkey, *message.witnesses)] == contents
                return fail(channel, request_id, "busy")
            assert isinstance(message, Attach)
            with descriptors:
                held.extend(os.pread(descriptor, 16, 0) for descriptor in descriptors)
                assert len(message.names) == len(descriptors)
                frames.append(len(descriptors))
            channel.send(Attached(len(held)), request_id)

    contents = [f"file {index}".encode() for index in range(130)]
    for index, content in enumerate(contents):
        (tmp_path / f"{index}").write_bytes(content)
    paths = [tmp_path / f"{index}" for index in range(130)]
    with cuzkd.Client(serve(peer)) as caller, pytest.raises(Busy):
        caller.submit(paths[0], paths[1:])
    assert frames == [64, 64, 2]


def test_an_open_descriptor_may_stand_for_a_path_and_stays_the_callers(serve: Serve, tmp_path: Path) -> None:
    def peer(channel: BlockingChannel) -> None:
        welcome(channel)
        _, request_id, descriptors = channel.receive(LIMIT_S)
        with descriptors:
            assert [os.pread(descriptor, 16, 0) for descriptor in descriptors] == [b"key", b"witness"]
        fail(channel, request_id, "busy")

    (tmp_path / "witness").write_bytes(b"witness")
    descriptor = os.memfd_create("key")
    try:
        os.write(descriptor, b"key")
        with cuzkd.Client(serve(peer)) as caller, pytest.raises(Busy):
            caller.submit(descriptor, [tmp_path / "witness"])
        assert os.fstat(descriptor).st_size == 3
    finally:
        os.close(descriptor)


def test_a_daemon_that_lost_a_file_is_not_trusted_with_the_job(serve: Serve, tmp_path: Path) -> None:
    def peer(channel: BlockingChannel) -> None:
        welcome(channel)
        _, request_id, descriptors = channel.receive(LIMIT_S)
        descriptors.close()
        channel.send(Attached(1), request_id)

    (tmp_path / "file").touch()
    with cuzkd.Client(serve(peer)) as caller, pytest.raises(InternalError, match="holds 1 files, not 2"):
        caller.submit(tmp_path / "file", [tmp_path / "file"])


def test_proofs_out_of_order_are_not_taken(serve: Serve) -> None:
    def peer(channel: BlockingChannel) -> None:
        welcome(channel)
        message, request_id, _ = channel.receive(LIMIT_S)
        assert isinstance(message, JobWait)
        channel.send(JobResult(message.job, Curve.BN254, 2, 0.1), request_id)
        channel.send(PartitionResult(message.job, 1, bytes(256), b""), request_id)

    with cuzkd.Client(serve(peer)) as caller, pytest.raises(InternalError, match="proof 0 was due, 1 came"):
        caller.wait(3)


def test_a_result_is_decoded_into_proofs_and_numbers(serve: Serve) -> None:
    def peer(channel: BlockingChannel) -> None:
        welcome(channel)
        message, request_id, _ = channel.receive(LIMIT_S)
        assert isinstance(message, JobWait)
        channel.send(JobResult(message.job, Curve.BN254, 1, 0.25), request_id)
        proof = b"".join(value.to_bytes(32, "little") for value in range(1, 9))
        public = b"".join(value.to_bytes(32, "little") for value in (33, 1 << 200))
        channel.send(PartitionResult(message.job, 0, proof, public), request_id)

    with cuzkd.Client(serve(peer)) as caller:
        result = caller.wait(3)
    assert (result.job, result.curve, result.seconds) == (3, Curve.BN254, 0.25)
    assert [(proof.a, proof.b, proof.c) for proof in result.proofs] == [((1, 2), ((3, 4), (5, 6)), (7, 8))]
    assert result.publics == ((33, 1 << 200),)


def test_a_daemon_that_falls_silent_does_not_hold_a_timed_wait(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivery, "GRACE_S", 0.05)

    def peer(channel: BlockingChannel) -> None:
        welcome(channel)
        channel.receive(LIMIT_S)
        with pytest.raises(ConnectionError):
            channel.receive(LIMIT_S)

    with cuzkd.Client(serve(peer)) as caller, pytest.raises(WaitTimeout, match="does not answer"):
        caller.wait(1, timeout_s=0.05)
