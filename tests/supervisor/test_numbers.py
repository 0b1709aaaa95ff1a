"""Job numbers never repeat, however a daemon's life ends, and a full disk stops them before they could."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from cuzkd.errors import BadConfig, ResourceExhausted
from cuzkd.supervisor import numbers
from cuzkd.supervisor.numbers import BLOCK, JobNumbers


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "next-job"


def in_a_life(path: Path, live: Callable[[JobNumbers], None], *, clean: bool) -> None:
    """One life of a daemon, at the end of which it stops or (not `clean`) is killed."""

    async def main() -> None:
        made = JobNumbers(asyncio.get_running_loop(), path)
        live(made)
        while made._reserving:
            await asyncio.sleep(0.001)
        if clean:
            made.close()
        else:
            made._file.close()

    asyncio.run(main())


@pytest.mark.parametrize("clean", [True, False])
def test_numbers_of_many_lives_rise(path: Path, clean: bool) -> None:
    taken: list[int] = []
    for _ in range(5):
        in_a_life(path, lambda made: taken.extend(made.take() for _ in range(BLOCK + 30)), clean=clean)
    assert taken[0] == 1
    assert taken == sorted(set(taken))
    assert (taken == list(range(1, len(taken) + 1))) == clean


def test_a_life_knows_where_the_ones_before_it_ended(path: Path) -> None:
    in_a_life(path, lambda made: [made.take() for _ in range(7)], clean=True)  # type: ignore[arg-type, return-value]
    firsts: list[int] = []
    in_a_life(path, lambda made: firsts.append(made.first), clean=True)
    assert firsts == [8]


@pytest.mark.parametrize("text", [b"", b"x", b"-1", b"0", b"1" * 40, b"7 8"])
def test_a_damaged_file_is_named_and_not_guessed_at(path: Path, text: bytes) -> None:
    path.write_bytes(text)
    with pytest.raises(BadConfig, match="next-job"):
        in_a_life(path, lambda _: None, clean=True)
    assert path.read_bytes() == text


def test_fault_30_a_link_in_the_files_place_is_not_followed(path: Path, tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_bytes(b"5")
    path.symlink_to(target)
    with pytest.raises(BadConfig, match="next-job"):
        in_a_life(path, lambda _: None, clean=True)
    assert target.read_bytes() == b"5"


def test_no_number_is_used_that_is_not_reserved_on_disk(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a full disk the reserve is used up, then jobs are refused; when there is room again they are taken."""

    async def main() -> None:
        made = JobNumbers(asyncio.get_running_loop(), path)
        real = numbers.write_file

        def full(*_: object) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("cuzkd.supervisor.namefile.write_file", full)
        taken = [made.take() for _ in range(2 * BLOCK)]
        assert taken == list(range(1, 2 * BLOCK + 1))
        with pytest.raises(ResourceExhausted):
            made.take()
        while made._reserving:
            await asyncio.sleep(0.001)
        monkeypatch.setattr("cuzkd.supervisor.namefile.write_file", real)
        with pytest.raises(ResourceExhausted):
            made.take()
        while made._reserving:
            await asyncio.sleep(0.001)
        assert made.take() == 2 * BLOCK + 1
        made.close()

    asyncio.run(main())
