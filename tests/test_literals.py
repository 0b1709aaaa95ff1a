"""Sizes and durations: exactly what is understood is taken, and what is written is read again as the same."""

from __future__ import annotations

import pytest

from cuzkd.literals import duration_text, parse_duration_s, parse_size, size_text


@pytest.mark.parametrize(
    ("literal", "size_bytes"),
    [("4GiB", 4 << 30), ("512MiB", 512 << 20), ("8KiB", 8192), ("4096B", 4096), ("2TiB", 2 << 40)],
)
def test_a_size_parses_exactly(literal: str, size_bytes: int) -> None:
    assert parse_size(literal) == size_bytes


@pytest.mark.parametrize(
    "literal",
    ["4GB", "4G", "4gib", "4 GiB", " 4GiB", "4GiB\n", "4.5GiB", "-4GiB", "+4GiB", "4", "GiB", "", "0GiB",
     "0x4GiB", "4GiB4MiB", "1_000MiB", "٤GiB", "9" * 40 + "GiB", 4096, None, True, ["4GiB"]],
)  # fmt: skip
def test_any_other_size_is_refused(literal: object) -> None:
    with pytest.raises(ValueError, match="size"):
        parse_size(literal)


@pytest.mark.parametrize(
    ("literal", "seconds"), [("90s", 90.0), ("5min", 300.0), ("250ms", 0.25), ("2h", 7200.0)]
)
def test_a_duration_parses_exactly(literal: str, seconds: float) -> None:
    assert parse_duration_s(literal) == seconds


@pytest.mark.parametrize("size_bytes", [4096, 4097, 1 << 20, 3 << 30, (1 << 40) + 4096])
def test_a_size_is_written_as_it_is_read(size_bytes: int) -> None:
    assert parse_size(size_text(size_bytes)) == size_bytes
    assert size_text(1536 << 20) == "1536MiB"


@pytest.mark.parametrize("seconds", [0.001, 0.25, 60.0, 90.0, 7200.0])
def test_a_duration_is_written_as_it_is_read(seconds: float) -> None:
    assert parse_duration_s(duration_text(seconds)) == seconds
    assert duration_text(90.0) == "90s"


@pytest.mark.parametrize("literal", ["90", "90 s", "5m", "1.5s", "0s", "-1s", "1h30min", "s", "inf", 90, 1.5])
def test_any_other_duration_is_refused(literal: object) -> None:
    with pytest.raises(ValueError, match="duration"):
        parse_duration_s(literal)
