"""The container: lengths are held against the file, and nothing that a file says can hurt the reader."""

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Callable
from pathlib import Path

import pytest
from containers import Container
from fixtures import bundled, bundled_cases
from hypothesis import HealthCheck, given, settings
from key_mutations import damaged

from cuzkd.errors import BadFile, CuzkdError
from cuzkd.formats.binfile import Format, Stream, open_container, read_exactly
from cuzkd.formats.wtns import open_wtns
from cuzkd.formats.zkey import open_zkey

PLAIN = Format("test", b"test", 1, {1: "one", 2: "two"})


def on_memory(data: bytes, read: Callable[[int], object]) -> object:
    """Call `read` with a descriptor of a file that holds `data`."""
    fd = os.memfd_create("test", os.MFD_CLOEXEC)
    try:
        os.write(fd, data)
        return read(fd)
    finally:
        os.close(fd)


def sections_of(data: bytes) -> list[tuple[int, int, int]]:
    found = on_memory(data, lambda fd: open_container(fd, "f", PLAIN).sections)
    return [(section.type, section.offset, section.size) for section in found]


def test_sections_are_found_in_the_files_order():
    parts = Container(b"test", 1, ((2, b"abc"), (9, b""), (1, b"xy")), tail=b"rest")
    assert sections_of(parts.build()) == [(2, 24, 3), (9, 39, 0), (1, 51, 2)]


def test_a_file_without_sections_is_a_container():
    assert sections_of(Container(b"test", 1, ()).build()) == []


def test_a_length_beyond_the_file_is_refused_without_allocating_it():
    data = struct.pack("<4sII", b"test", 1, 1) + struct.pack("<IQ", 2, 1 << 63)
    with pytest.raises(
        BadFile, match=r"f: section 2 \(two\) says it has 9223372036854775808 bytes, but only 0"
    ):
        sections_of(data)


def test_a_section_that_its_kind_knows_occurs_once():
    with pytest.raises(BadFile, match=r"section 1 \(one\) occurs twice"):
        sections_of(Container(b"test", 1, ((1, b"a"), (1, b"b"))).build())


def test_many_empty_sections_are_refused_before_the_walk():
    data = Container(b"test", 1, ((7, b""),) * 1025).build()
    with pytest.raises(BadFile, match="1025 sections"):
        sections_of(data)


def test_what_is_not_a_regular_file_is_refused(tmp_path: Path):
    directory = os.open(tmp_path, os.O_RDONLY)
    reader, writer = os.pipe()
    try:
        for fd in (directory, reader):
            with pytest.raises(BadFile, match="not a regular file"):
                open_container(fd, "f", PLAIN)
    finally:
        for fd in (directory, reader, writer):
            os.close(fd)


def test_a_descriptor_that_cannot_be_read_is_an_error_of_the_file(tmp_path: Path):
    path = tmp_path / "f"
    path.write_bytes(bytes(100))
    fd = os.open(path, os.O_WRONLY)
    try:
        with pytest.raises(BadFile, match="f: cannot be read"):
            open_container(fd, "f", PLAIN)
    finally:
        os.close(fd)


def test_fault_22_a_file_that_shrinks_while_it_is_read_is_refused():
    def shrink(fd: int) -> None:
        file = open_container(fd, "f", PLAIN)
        os.ftruncate(fd, 30)
        read_exactly(fd, "f", memoryview(bytearray(10)), file.sections[0].offset)

    with pytest.raises(BadFile, match="the file ends at byte 30"):
        on_memory(Container(b"test", 1, ((1, bytes(10)),)).build(), shrink)


def test_a_stream_hashes_every_byte_that_it_passes():
    data = bytes(range(256)) * 12_000

    def read(fd: int) -> tuple[bytes, str]:
        stream = Stream(fd, "f", len(data))
        stream.expect(data[:5])
        stream.skip(1_500_000)
        out = bytearray(1_200_000)
        stream.fill(memoryview(out))
        return bytes(out), stream.finish()

    assert on_memory(data, read) == (data[1_500_005:2_700_005], hashlib.sha256(data).hexdigest())


def test_a_stream_notices_that_the_file_changed():
    with pytest.raises(BadFile, match="changed while it was read"):
        on_memory(b"now", lambda fd: Stream(fd, "f", 3).expect(b"old"))


SEEDS = [case.zkey.read_bytes() for case in bundled_cases()]
SEEDS += [bundled(f"publics_{curve}").witness.read_bytes() for curve in ("bn128", "bls12381")]


@settings(deadline=1000, max_examples=400, suppress_health_check=[HealthCheck.too_slow])
@given(damaged(SEEDS))
def test_a_damaged_file_is_read_or_refused_and_nothing_else(data: bytes):
    for read in (open_zkey, open_wtns):
        try:
            result = on_memory(data, lambda fd, read=read: read(fd, "f"))
        except CuzkdError as error:
            assert error.message.startswith("f: ")  # noqa: PT017 - either outcome is right
        else:
            assert result.file.size == len(data)
