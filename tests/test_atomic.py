"""A directory or file is there whole or not at all, whoever dies when."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cuzkd.atomic import NewDirectory, remove_directory, remove_leftovers, write_file


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name != ".lock")


def test_a_directory_appears_when_it_is_published(tmp_path: Path) -> None:
    with NewDirectory(tmp_path / "folder") as new:
        (new.path / "file").write_text("whole")
        assert not (tmp_path / "folder" / "name").exists()
        new.publish("name")
    assert names(tmp_path / "folder") == ["name"]
    assert (tmp_path / "folder" / "name" / "file").read_text() == "whole"


def test_a_directory_replaces_the_one_that_was_there(tmp_path: Path) -> None:
    for text in ("old", "new"):
        with NewDirectory(tmp_path) as new:
            (new.path / text).write_text(text)
            new.publish("name")
    assert names(tmp_path) == ["name"]
    assert names(tmp_path / "name") == ["new"]


def test_what_is_not_published_leaves_nothing(tmp_path: Path) -> None:
    with NewDirectory(tmp_path) as new:
        (new.path / "file").write_text("half")
    assert names(tmp_path) == []


WRITE_AND_WAIT = """
import sys, pathlib
from cuzkd.atomic import NewDirectory
new = NewDirectory(pathlib.Path(sys.argv[1]))
print(new.path, flush=True)
sys.stdin.read()
"""


def test_leftovers_are_removed_when_no_writer_lives(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", WRITE_AND_WAIT, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as writer:
        assert writer.stdout is not None
        left = Path(writer.stdout.readline().decode().strip())
        remove_leftovers(tmp_path)
        assert left.is_dir(), "its writer lives"
        os.kill(writer.pid, signal.SIGKILL)
    remove_leftovers(tmp_path)
    assert names(tmp_path) == []


def test_removing_takes_the_whole_directory_and_a_missing_one_is_nothing(tmp_path: Path) -> None:
    (tmp_path / "name").mkdir()
    (tmp_path / "name" / "file").write_text("x")
    for _ in range(2):
        remove_directory(tmp_path, "name")
        assert names(tmp_path) == []
    remove_leftovers(tmp_path / "missing")


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "file"
    (tmp_path / ".writing-file").write_text("left by one that died")
    for data in (b"old", b"new"):
        write_file(path, data)
        assert path.read_bytes() == data
    assert names(tmp_path) == ["file"]


def test_a_file_that_cannot_be_replaced_leaves_no_copy(tmp_path: Path) -> None:
    (tmp_path / "file").mkdir()
    with pytest.raises(OSError, match="directory"):
        write_file(tmp_path / "file", b"data")
    assert names(tmp_path) == ["file"]
