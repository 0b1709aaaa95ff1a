"""Payloads reach the spool whole, private and digested, or not at all."""

from __future__ import annotations

import hashlib
import os
import threading
from pathlib import Path

import pytest

from cuzkd.errors import BadFile, Refused, ResourceExhausted, TooLarge
from cuzkd.ingest.spool import copy_payload

DATA = os.urandom(3_000_001)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "payload"
    path.write_bytes(DATA)
    return path


def copied(source: Path, target: Path, limit: int = 1 << 30) -> str:
    with source.open("rb") as file:
        file.seek(1000)  # the client's offset is the client's own affair
        done = copy_payload(file.fileno(), "payload", target, limit)
        assert file.tell() == 1000
    assert done.size_bytes == target.stat().st_size
    return done.digest


def test_a_payload_is_copied_from_its_start_whatever_the_offset(source: Path, tmp_path: Path) -> None:
    target = tmp_path / "copy"
    assert copied(source, target) == hashlib.sha256(DATA).hexdigest()
    assert target.read_bytes() == DATA
    assert target.stat().st_mode & 0o777 == 0o600


def test_an_empty_payload_is_copied(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    with (tmp_path / "empty").open("rb") as file:
        assert copy_payload(file.fileno(), "empty", tmp_path / "copy", 10).size_bytes == 0


def test_a_payload_over_the_limit_is_refused_before_it_is_read(source: Path, tmp_path: Path) -> None:
    with pytest.raises(TooLarge, match="3000001 bytes"):
        copied(source, tmp_path / "copy", 3_000_000)
    assert not (tmp_path / "copy").exists()


def test_what_is_in_the_targets_place_is_never_written(source: Path, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / "copy").symlink_to(victim)
    with pytest.raises(FileExistsError):
        copied(source, tmp_path / "copy")
    assert victim.read_text() == "precious"


def test_a_directory_is_refused(tmp_path: Path) -> None:
    fd = os.open(tmp_path, os.O_RDONLY)
    with pytest.raises(Refused, match="not a regular file"):
        copy_payload(fd, "folder", tmp_path / "copy", 10)
    os.close(fd)


def test_a_file_that_cannot_be_read_is_the_clients_affair(tmp_path: Path) -> None:
    """A namespace's descriptor is that of a regular file; reading it fails."""
    fd = os.open("/proc/self/ns/mnt", os.O_RDONLY)
    with pytest.raises(BadFile, match="namespace cannot be read"):
        copy_payload(fd, "namespace", tmp_path / "copy", 10)
    os.close(fd)
    assert not (tmp_path / "copy").exists()


def test_a_spool_that_takes_no_file_is_named(source: Path, tmp_path: Path) -> None:
    with pytest.raises(ResourceExhausted, match=f"{tmp_path}/gone/copy cannot be made"):
        copied(source, tmp_path / "gone" / "copy")


def test_a_file_that_changes_its_size_while_it_is_read_leaves_no_copy(source: Path, tmp_path: Path) -> None:
    """Whatever the moment of the change: the copy is whole, or the payload is refused as having changed."""
    stop = threading.Event()

    def change_for_ever() -> None:
        while not stop.is_set():
            os.truncate(source, 1000)
            os.truncate(source, len(DATA) + 5_000_000)

    changing = threading.Thread(target=change_for_ever)
    changing.start()
    refused = 0
    try:
        for turn in range(200):
            target = tmp_path / f"copy{turn}"
            try:
                copied(source, target)
            except BadFile:
                refused += 1
                assert not target.exists()
            target.unlink(missing_ok=True)
    finally:
        stop.set()
        changing.join()
    assert refused > 0
