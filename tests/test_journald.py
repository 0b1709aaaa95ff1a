"""The journal's protocol, against a socket that stands where the journal's does."""

from __future__ import annotations

import fcntl
import logging
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from cuzkd import logs
from cuzkd.journald import Journal, encode
from cuzkd.model import PartitionId, Phase


@pytest.fixture
def listener(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        sock.bind(str(tmp_path / "journal"))
        sock.settimeout(10)
        yield sock


@pytest.fixture
def journal(tmp_path: Path, listener: socket.socket) -> Iterator[Journal]:
    assert listener.fileno() >= 0
    opened = Journal(tmp_path / "journal")
    yield opened
    opened.close()


def decoded(record: bytes) -> list[tuple[str, str]]:
    """The fields of a record, read as the journal does."""
    fields = []
    while record:
        head, _, rest = record.partition(b"\n")
        name, equals, value = head.partition(b"=")
        if not equals:
            size = int.from_bytes(rest[:8], "little")
            value, rest = rest[8 : 8 + size], rest[8 + size :]
            assert rest.startswith(b"\n")
            rest = rest[1:]
        fields.append((name.decode(), value.decode()))
        record = rest
    return fields


def test_a_record_arrives_with_its_fields(journal: Journal, listener: socket.socket) -> None:
    journal.send([("MESSAGE", "hello"), ("PRIORITY", "6")])
    assert listener.recv(4096) == b"MESSAGE=hello\nPRIORITY=6\n"


def test_no_value_can_begin_another_field() -> None:
    fields = [("MESSAGE", "a\nPRIORITY=0\n"), ("CUZKD_JOB", "1")]
    assert decoded(encode(fields)) == fields
    assert encode([("MESSAGE", "a\nb")]) == b"MESSAGE\n\x03\0\0\0\0\0\0\0a\nb\n"


@pytest.mark.parametrize("name", ["", "message", "_PID", "A=B", "A\nB", "9", "A" * 65])
def test_a_name_that_the_journal_does_not_take_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="name"):
        encode([(name, "x")])


def test_a_value_that_is_no_unicode_is_written_all_the_same() -> None:
    assert encode([("MESSAGE", "\udcff")]) == b"MESSAGE=\\udcff\n"


def test_a_large_record_comes_as_a_file_that_nobody_can_change(
    journal: Journal, listener: socket.socket
) -> None:
    text = "x" * (1 << 20)
    journal.send([("MESSAGE", text)])
    data, fds, _, _ = socket.recv_fds(listener, 16, 1)
    assert data == b""
    with open(fds[0], "rb") as file:
        file.seek(0)
        assert decoded(file.read()) == [("MESSAGE", text)]
        seals = fcntl.fcntl(file.fileno(), fcntl.F_GET_SEALS)
    assert seals & fcntl.F_SEAL_WRITE
    assert seals & fcntl.F_SEAL_SHRINK


def test_a_journal_that_does_not_read_delays_nobody(journal: Journal, listener: socket.socket) -> None:
    for _ in range(10_000):
        journal.send([("MESSAGE", "x" * 1000)])
    assert 0 < journal.lost < 10_000
    assert listener.recv(4096)


def test_without_a_journal_there_is_none(tmp_path: Path) -> None:
    before = os.listdir("/proc/self/fd")
    with pytest.raises(OSError, match="No such file"):
        Journal(tmp_path / "journal")
    assert os.listdir("/proc/self/fd") == before


def test_what_is_logged_has_role_place_and_partition(journal: Journal, listener: socket.socket) -> None:
    logger = logging.getLogger("test.journald")
    logger.addHandler(logs._JournalHandler("gpu", journal))
    logger.propagate = False
    logger.setLevel(logging.INFO)
    try:
        log = logs.PartitionLog(logger, PartitionId(7, 1))
        log.warning("%s", "slow", event=logs.Event.NOT_PROVED, times={Phase.MSM: 1.0, Phase.VERIFY: 0.5})
        record = decoded(listener.recv(4096))
        try:
            raise ValueError("the reason")
        except ValueError:
            logger.exception("broken")
        trace = dict(decoded(listener.recv(4096)))
        journal.lost = 3
        logger.info("next")
        lost = dict(decoded(listener.recv(4096)))
    finally:
        logger.handlers.clear()
    fields = dict(record)
    assert fields["MESSAGE"] == "gpu: [7.1] slow"
    assert (fields["PRIORITY"], fields["SYSLOG_IDENTIFIER"], fields["CUZKD_ROLE"]) == ("4", "cuzkd", "gpu")
    assert (fields["CUZKD_JOB"], fields["CUZKD_PARTITION"], fields["CUZKD_MS"]) == ("7", "1", "1500")
    assert [value for name, value in record if name == "CUZKD_PHASE"] == ["msm", "verify"]
    assert fields["CODE_FUNC"] == "test_what_is_logged_has_role_place_and_partition"
    assert trace["MESSAGE"].startswith("gpu: broken\nTraceback")
    assert "ValueError: the reason" in trace["MESSAGE"]
    assert lost["MESSAGE"] == "gpu: 3 records were lost: the journal did not take them"
