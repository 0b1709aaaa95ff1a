"""Known files are found by identity without being read, and never after they could have changed."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest
from fixtures import bundled

from cuzkd.errors import BadFile
from cuzkd.ingest.store import Store

HOUR_NS = 3_600_000_000_000
KEY = bundled("multiplier_bn128").zkey


class Shown:
    """A key file as users show it: its descriptor counts how often its bytes were read."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def compile(self, known: Store, uid: int = 1000) -> tuple[str, bool, int]:
        """The digest, whether it was found, and the bytes that were read."""
        fd = os.open(self.path, os.O_RDONLY)
        try:
            before = bytes_read()
            kept = known.compile(fd, "key", uid)
            return kept.ref.digest, kept.found, bytes_read() - before
        finally:
            os.close(fd)


def bytes_read() -> int:
    """Bytes that this process has read by system calls so far, those of the counter itself included."""
    counters = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return int(counters["rchar"])


@pytest.fixture
def shown(tmp_path: Path) -> Shown:
    """A large key: the small one with a long tail, which is hashed but not looked at."""
    path = tmp_path / "key"
    path.write_bytes(KEY.read_bytes() + bytes(1 << 20))
    return Shown(path)


@pytest.fixture
def known(tmp_path: Path) -> Store:
    return Store(tmp_path, threads=1, now_ns=lambda: time.time_ns() + HOUR_NS)


def test_a_known_file_is_not_read_again(shown: Shown, known: Store):
    digest, found, read = shown.compile(known)
    assert not found
    assert read > 1 << 20
    again, found, read = shown.compile(known)
    assert (again, found) == (digest, True)
    assert read < 1 << 16


def test_one_users_file_says_nothing_about_anothers(shown: Shown, known: Store):
    digest, _, _ = shown.compile(known, uid=1000)
    other, found, read = shown.compile(known, uid=1001)
    assert (other, found) == (digest, True)
    assert read > 1 << 20


def test_a_file_that_was_written_to_is_read_again(shown: Shown, known: Store):
    first, _, _ = shown.compile(known)
    before = os.stat(shown.path)
    with shown.path.open("r+b") as file:
        file.seek(-1, os.SEEK_END)
        file.write(b"!")
    os.utime(shown.path, ns=(before.st_atime_ns, before.st_mtime_ns))
    second, found, _ = shown.compile(known)
    assert second != first
    assert not found


def test_a_file_that_could_still_change_unnoticed_is_not_remembered(shown: Shown, tmp_path: Path):
    known = Store(tmp_path, threads=1)
    shown.compile(known)
    assert shown.compile(known)[2] > 1 << 20


def test_a_circuit_that_was_removed_is_compiled_again(shown: Shown, known: Store, tmp_path: Path):
    shown.compile(known)
    shutil.rmtree(tmp_path / "circuits")
    assert shown.compile(known)[1] is False
    assert shown.compile(known)[1] is True


def test_only_so_many_files_are_remembered(shown: Shown, tmp_path: Path):
    known = Store(tmp_path, threads=1, capacity=1, now_ns=lambda: time.time_ns() + HOUR_NS)
    other = Shown(tmp_path / "other")
    other.path.write_bytes(shown.path.read_bytes() + b"?")
    shown.compile(known)
    other.compile(known)
    assert other.compile(known)[2] < 1 << 16
    assert shown.compile(known)[2] > 1 << 20


def test_a_file_that_is_refused_is_not_remembered(tmp_path: Path, known: Store):
    bad = Shown(tmp_path / "bad")
    bad.path.write_bytes(b"zkey")
    for _ in range(2):
        with pytest.raises(BadFile):
            bad.compile(known)
