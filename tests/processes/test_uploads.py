"""Files in pieces, from clients that cannot pass descriptors: as good as others, bounded, and gone when not used."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from daemon import Daemon, connected, running, wait_until
from fixtures import bundled

from cuzkd.formats.vkey import load_vkey
from cuzkd.ipc.channel import BlockingChannel, ChannelClosed
from cuzkd.ipc.messages import Failure, Message
from cuzkd.ipc.requests import (
    Attach,
    Attached,
    BlobBegin,
    BlobChunk,
    BlobEnd,
    JobAccepted,
    JobResult,
    JobSubmit,
    JobWait,
    PartitionResult,
    PointChecks,
    StatusRequest,
)
from cuzkd.kernels.verify import verify
from cuzkd.model import Proof

CASE = bundled("squarings_bn128")
CONFIG = '[synthesis]\nworkers = 1\nthreads = 1\n[limits]\npayload = "8MiB"\nupload_per_uid = "12MiB"\n'
MIB = 1 << 20


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    with running(tmp_path / "run", CONFIG) as daemon:
        yield daemon


def open_files(daemon: Daemon) -> int:
    return len(os.listdir(f"/proc/{daemon.process.pid}/fd"))


def uploaded_bytes(daemon: Daemon) -> int:
    with daemon.client() as client:
        [line] = [line for line in client.metrics().splitlines() if line.startswith("cuzkd_uploaded_bytes ")]
    return int(float(line.split()[1]))


def upload(channel: BlockingChannel, name: str, data: bytes, piece: int = 100_000) -> None:
    channel.send(BlobBegin(name, len(data)), 50)
    for start in range(0, len(data), piece):
        channel.send(BlobChunk(data[start : start + piece]), 51)
    channel.send(BlobEnd(), 52)


def refusal(channel: BlockingChannel) -> Failure:
    """The failure that comes, after which the connection is closed."""
    answer = channel.receive(10).message
    with pytest.raises(ChannelClosed):
        channel.receive(10)
    assert isinstance(answer, Failure)
    return answer


def submit(zkey: int, *witnesses: int) -> JobSubmit:
    return JobSubmit(None, zkey, None, None, witnesses, (), PointChecks.FULL, False)


def test_a_job_of_uploaded_and_passed_files_is_proved(daemon: Daemon) -> None:
    vkey = load_vkey(CASE.verification_key.read_text(), CASE.name)
    with connected(daemon) as channel, CASE.witness.open("rb") as witness:
        upload(channel, "circuit.zkey", CASE.zkey.read_bytes(), piece=777)
        assert channel.receive(10).message == Attached(1)
        channel.send(Attach(("passed.wtns",)), 2, (witness.fileno(),))
        assert channel.receive(10).message == Attached(2)
        upload(channel, "uploaded.wtns", CASE.witness.read_bytes())
        assert channel.receive(10).message == Attached(3)
        channel.send(submit(0, 1, 2), 3)
        accepted = channel.receive(30).message
        assert isinstance(accepted, JobAccepted)
        channel.send(JobWait(accepted.job, None, False), 4)
        head = channel.receive(30).message
        assert isinstance(head, JobResult)
        for _ in range(2):
            part = channel.receive(10).message
            assert isinstance(part, PartitionResult)
            public = [
                int.from_bytes(part.public[i : i + 32], "little") for i in range(0, len(part.public), 32)
            ]
            assert verify(vkey, public, Proof.from_bytes(head.curve, part.proof))
        assert uploaded_bytes(daemon) == 0


@pytest.mark.parametrize(
    ("messages", "code"),
    [
        ((BlobBegin("f", 10), BlobChunk(bytes(11))), "bad_request"),
        ((BlobBegin("f", 10), BlobChunk(bytes(9)), BlobEnd()), "bad_request"),
        ((BlobBegin("f", 10), BlobBegin("g", 10)), "bad_request"),
        ((BlobBegin("f", -1),), "bad_request"),
        ((BlobChunk(b"x"),), "bad_request"),
        ((BlobEnd(),), "bad_request"),
        ((BlobBegin("f", 8 * MIB + 1),), "too_large"),
    ],
    ids=[
        "too much",
        "too little",
        "two at once",
        "negative",
        "no begin",
        "no begin, no piece",
        "over the limit",
    ],
)
def test_a_breach_of_an_upload_ends_the_connection(
    daemon: Daemon, messages: tuple[Message, ...], code: str
) -> None:
    with connected(daemon) as channel:
        for message in messages:
            channel.send(message, 9)
        assert refusal(channel).code == code
    wait_until(lambda: uploaded_bytes(daemon) == 0, "the upload is discarded")


def test_what_a_user_uploads_and_does_not_use_is_limited(daemon: Daemon) -> None:
    with connected(daemon) as one, connected(daemon) as two:
        upload(one, "first", bytes(8 * MIB), piece=MIB - 100)
        assert one.receive(10).message == Attached(1)
        two.send(BlobBegin("second", 8 * MIB), 3)
        refused = refusal(two)
        assert (refused.code, refused.retryable) == ("busy", True)
        assert refused.retry_after_s is not None
    wait_until(lambda: uploaded_bytes(daemon) == 0, "the first one is given back")
    with connected(daemon) as two:
        upload(two, "second", bytes(8 * MIB), piece=MIB - 100)
        assert two.receive(10).message == Attached(1)


def test_fault_16_a_client_that_leaves_in_an_upload_leaves_nothing(daemon: Daemon) -> None:
    with daemon.client() as client:
        client.prove(CASE.zkey, [CASE.witness])
    before = open_files(daemon)
    with connected(daemon) as channel:
        upload(channel, "whole", bytes(MIB))
        assert channel.receive(10).message == Attached(1)
        channel.send(BlobBegin("half", 2 * MIB), 5)
        channel.send(BlobChunk(bytes(MIB // 2)), 5)
        channel.send(StatusRequest(), 6)
        channel.receive(10)
        assert uploaded_bytes(daemon) == 3 * MIB
    wait_until(lambda: open_files(daemon) <= before, "the files are closed")
    assert uploaded_bytes(daemon) == 0
    assert list(daemon.spool.iterdir()) == []
