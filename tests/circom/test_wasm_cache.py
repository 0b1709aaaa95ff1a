from __future__ import annotations

import hashlib
import logging
import os
import stat
from pathlib import Path

import pytest

from cuzkd.circom.wasm import WitnessProgram
from tests.circom.programs import version_2, witness

WASM = version_2()


def load(directory: Path) -> WitnessProgram:
    program = WitnessProgram.load(WASM, directory)
    assert witness(program, {"x": 9}) == [1, 9]
    return program


def entry_of(directory: Path) -> Path:
    (entry,) = directory.iterdir()
    return entry


def test_a_program_is_compiled_once_and_found_again(tmp_path: Path) -> None:
    directory = tmp_path / "cache"
    assert not load(directory).from_cache
    assert load(directory).from_cache
    entry = entry_of(directory)
    assert entry.name.startswith(hashlib.sha256(WASM).hexdigest())
    assert stat.S_IMODE(entry.stat().st_mode) == 0o600
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700


def test_the_source_may_be_a_file(tmp_path: Path) -> None:
    path = tmp_path / "circuit.wasm"
    path.write_bytes(WASM)
    assert not WitnessProgram.load(path, tmp_path / "cache").from_cache
    assert WitnessProgram.load(WASM, tmp_path / "cache").from_cache


@pytest.mark.parametrize("damage", ["empty", "cut", "flipped", "extended", "foreign"])
def test_a_damaged_entry_is_compiled_again_and_replaced(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, damage: str
) -> None:
    load(tmp_path)
    entry = entry_of(tmp_path)
    data = entry.read_bytes()
    middle = len(data) // 2
    foreign = b"\x7fELF" + bytes(1000)
    entry.write_bytes(
        {
            "empty": b"",
            "cut": data[:middle],
            "flipped": data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :],
            "extended": data + b"\0",
            "foreign": hashlib.sha256(foreign).digest() + foreign,
        }[damage]
    )
    with caplog.at_level(logging.WARNING):
        assert not load(tmp_path).from_cache
    assert entry.name in caplog.text
    assert load(tmp_path).from_cache


def test_an_entry_that_others_could_have_written_is_not_used(tmp_path: Path) -> None:
    load(tmp_path)
    entry_of(tmp_path).chmod(0o620)
    assert not load(tmp_path).from_cache
    assert load(tmp_path).from_cache


def test_an_entry_that_is_a_link_or_no_file_is_not_used(tmp_path: Path) -> None:
    directory = tmp_path / "cache"
    load(directory)
    entry = entry_of(directory)
    entry.rename(tmp_path / "moved")
    entry.symlink_to(tmp_path / "moved")
    assert not load(directory).from_cache
    assert not entry.is_symlink()
    entry.unlink()
    os.mkfifo(entry, 0o600)
    assert not load(directory).from_cache


def test_a_directory_that_others_can_write_is_neither_read_nor_written(tmp_path: Path) -> None:
    load(tmp_path)
    tmp_path.chmod(0o777)
    assert not load(tmp_path).from_cache
    other = tmp_path / "other"
    other.mkdir()
    other.chmod(0o777)
    assert not load(other).from_cache
    assert list(other.iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="giving files away needs root")
def test_an_entry_of_another_user_is_not_used(tmp_path: Path) -> None:
    load(tmp_path)
    os.chown(entry_of(tmp_path), 12345, 12345)
    assert not load(tmp_path).from_cache


def test_without_a_usable_directory_programs_run_all_the_same(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_bytes(b"")
    with caplog.at_level(logging.WARNING):
        assert not load(tmp_path / "file").from_cache
    assert "is not kept" in caplog.text
