"""Segments on the real /dev/shm: allocated before use, never smaller than they say, never leaked."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import posix_ipc
import pytest

from cuzkd.errors import InternalError, Unavailable
from cuzkd.ipc.segment import (
    Segment,
    SegmentInUse,
    create_segment,
    leftover_segments,
    sweep_segments,
    unlink_segment,
)
from tests.ipc.helpers import no_fd_growth

SHM = Path("/dev/shm")
SIZE = 1 << 18


@pytest.fixture
def prefix() -> Iterator[str]:
    """A prefix of this process alone; whatever has it afterwards is a leak."""
    prefix = f"/cuzkd-{os.getpid():08x}-"
    assert sweep_segments(prefix) == []
    with no_fd_growth():
        yield prefix
    assert sweep_segments(prefix) == []


@pytest.fixture
def name(prefix: str) -> Iterator[str]:
    name = f"{prefix}7"
    create_segment(name, SIZE)
    yield name
    assert unlink_segment(name)


def test_a_segment_is_private_sparse_and_of_whole_pages(prefix: str) -> None:
    name = f"{prefix}1"
    create_segment(name, 5000)
    try:
        status = os.stat(SHM / name[1:])
        assert status.st_mode & 0o777 == 0o600
        assert (status.st_size, status.st_blocks) == (8192, 0)
    finally:
        assert unlink_segment(name)
    assert not unlink_segment(name)


def test_a_name_that_is_taken_is_neither_opened_nor_changed(name: str) -> None:
    with pytest.raises(Unavailable, match="exists already"):
        create_segment(name, 2 * SIZE)
    assert os.stat(SHM / name[1:]).st_size == SIZE


def test_what_one_mapping_writes_another_reads(name: str) -> None:
    with Segment(name, SIZE) as writer, Segment(name, SIZE) as reader:
        with writer.view() as memory:
            memory[:5] = b"hello"
            memory[-1] = 9
        with reader.view() as memory:
            assert bytes(memory[:5]) == b"hello"
            assert memory[SIZE - 1] == 9
            assert memory.nbytes == reader.size_bytes == SIZE


def test_allocate_takes_every_page_and_keeps_what_is_written(name: str) -> None:
    with Segment(name, SIZE) as segment:
        with segment.view() as memory:
            memory[100] = 1
        segment.allocate()
        assert os.stat(SHM / name[1:]).st_blocks * 512 == SIZE
        with segment.view() as memory:
            assert memory[100] == 1


@pytest.mark.parametrize("threads", [1, 3, 1000])
def test_touch_maps_every_page_and_changes_none(name: str, threads: int) -> None:
    with Segment(name, SIZE) as segment:
        segment.allocate()
        with segment.view() as memory:
            memory[:] = bytes(range(256)) * (SIZE // 256)
    with Segment(name, SIZE) as segment:
        segment.touch(threads)
        assert resident_kib(name) == SIZE // 1024
        with segment.view() as memory:
            assert memory == bytes(range(256)) * (SIZE // 256)


def test_touch_without_populate_maps_every_page_too(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel before 5.14 answers EINVAL, as this one does to an advice that it doesn't know."""
    monkeypatch.setattr("cuzkd.ipc.segment._MADV_POPULATE_WRITE", 9999)
    with Segment(name, SIZE) as segment:
        segment.allocate()
        segment.touch(2)
        assert resident_kib(name) == SIZE // 1024


def resident_kib(name: str) -> int:
    """How much of the segment's mapping has pages in this process."""
    entries = Path("/proc/self/smaps").read_text().split(" /dev/shm/" + name[1:])
    assert len(entries) == 2
    return int(next(line for line in entries[1].splitlines() if line.startswith("Rss:")).split()[1])


@pytest.mark.parametrize("wanted", [SIZE + 1, 1 << 40])
def test_a_segment_that_is_smaller_than_expected_is_not_mapped(name: str, wanted: int) -> None:
    with pytest.raises(InternalError, match=f"has {SIZE} bytes, expected {wanted}"):
        Segment(name, wanted)


def test_an_empty_segment_is_not_mapped(prefix: str) -> None:
    name = f"{prefix}3"
    posix_ipc.SharedMemory(name, posix_ipc.O_CREX, mode=0o600).close_fd()
    try:
        with pytest.raises(InternalError, match="has 0 bytes"):
            Segment(name, 0)
        with pytest.raises(InternalError, match="a segment of 0 bytes"):
            create_segment(f"{prefix}4", 0)
    finally:
        assert unlink_segment(name)


def test_a_segment_that_is_gone_says_so(prefix: str) -> None:
    with pytest.raises(InternalError, match="does not exist"):
        Segment(f"{prefix}404", SIZE)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_somebody_elses_segment_is_neither_opened_nor_swept(name: str, prefix: str) -> None:
    os.chown(SHM / name[1:], 65534, 65534)
    with pytest.raises(InternalError, match="belongs to somebody else"):
        Segment(name, SIZE)
    assert leftover_segments(prefix) == []


@pytest.mark.parametrize(
    "name",
    [
        "",
        "x",
        "/cuzkd-0000000g-1",
        "/cuzkd-00000000-",
        "/cuzkd-00000000-1\n",
        "/cuzkd-00000000-../etc",
        "/a/b",
    ],
)
@pytest.mark.parametrize("call", [unlink_segment, lambda n: create_segment(n, 1), lambda n: Segment(n, 1)])
def test_only_our_own_kind_of_name_reaches_the_kernel(call: Callable[[str], object], name: str) -> None:
    with pytest.raises(InternalError, match="is no segment's name"):
        call(name)


def test_leftovers_are_found_by_prefix_and_swept(prefix: str) -> None:
    names = [f"{prefix}{number}" for number in (1, 2, 10)]
    stranger = SHM / f"{prefix[1:]}not-a-number"
    stranger.touch()
    try:
        for name in names:
            create_segment(name, SIZE)
        assert leftover_segments(prefix) == sorted(names)
        assert leftover_segments("/cuzkd-ffffffff-") == []
        assert sweep_segments(prefix) == sorted(names)
        assert leftover_segments(prefix) == []
        assert stranger.exists()
        create_segment(names[0], 2 * SIZE)
        assert os.stat(SHM / names[0][1:]).st_size == 2 * SIZE
        assert unlink_segment(names[0])
    finally:
        stranger.unlink()
    with pytest.raises(InternalError, match="begins no segment's name"):
        leftover_segments("/")


def test_a_mapping_outlives_its_name(name: str) -> None:
    with Segment(name, SIZE) as segment:
        assert unlink_segment(name)
        with segment.view() as memory:
            memory[0] = 1
            assert memory[0] == 1
    create_segment(name, SIZE)


def test_closing_with_a_live_view_is_an_error_and_closes_nothing(name: str) -> None:
    segment = Segment(name, SIZE)
    with segment.view() as memory:
        with pytest.raises(SegmentInUse, match=name):
            segment.close()
        memory[0] = 1
    segment.close()
    segment.close()


def test_an_array_that_outlives_its_view_is_an_error(name: str) -> None:
    arrays = []
    with Segment(name, SIZE) as segment:
        with pytest.raises(SegmentInUse, match=name), segment.view() as memory:
            arrays.append(np.frombuffer(memory, dtype=np.uint64))
        with pytest.raises(SegmentInUse, match=name):
            segment.close()
        arrays[0][0] = 1
        arrays.clear()
        del memory


def test_an_error_inside_a_view_is_not_hidden_by_the_array_that_it_holds(name: str) -> None:
    def fail(segment: Segment) -> None:
        with segment.view() as memory:
            array = np.frombuffer(memory, dtype=np.uint8)
            raise ValueError(f"after {array.size} bytes")

    segment = Segment(name, SIZE)
    with pytest.raises(ValueError, match=f"after {SIZE} bytes") as caught:
        fail(segment)
    with pytest.raises(SegmentInUse):
        segment.close()
    caught.value.__traceback__ = None
    del caught
    segment.close()


def test_the_death_of_a_process_that_has_it_mapped_leaves_the_segment(name: str) -> None:
    program = f"""
import os, signal
from cuzkd.ipc.segment import Segment
segment = Segment({name!r}, {SIZE})
with segment.view() as memory:
    memory[:4] = b"left"
    os.kill(os.getpid(), signal.SIGKILL)
"""
    ended = subprocess.run([sys.executable, "-c", program], check=False)
    assert ended.returncode == -signal.SIGKILL
    with Segment(name, SIZE) as segment, segment.view() as memory:
        assert bytes(memory[:4]) == b"left"
