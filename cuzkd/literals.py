"""Sizes and durations as people write them in the configuration: parsed exactly or refused, and written back."""

from __future__ import annotations

import re
from collections.abc import Mapping

from cuzkd.model import PAGE_BYTES

_SIZE_UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
_DURATION_UNITS_MS = {"ms": 1, "s": 1000, "min": 60_000, "h": 3_600_000}
_LITERAL = re.compile(r"([0-9]{1,15})([A-Za-z]+)", re.ASCII)


def parse_size(value: object) -> int:
    """Bytes of a literal such as "4GiB" or "512MiB": a whole number and a binary unit, nothing else.

    Raises ValueError that says what is wanted; so do the others here.
    """
    size = _scaled(value, _SIZE_UNITS, 'a size such as "4GiB" or "512MiB"')
    if size < PAGE_BYTES:
        raise ValueError(f"a size of at least one page ({PAGE_BYTES} bytes)")
    return size


def parse_duration_s(value: object) -> float:
    """Seconds of a literal such as "90s", "5min" or "250ms": a whole number and a unit, nothing else."""
    milliseconds = _scaled(value, _DURATION_UNITS_MS, 'a duration such as "90s" or "5min"')
    if milliseconds == 0:
        raise ValueError("a duration above zero")
    return milliseconds / 1000


def size_text(size_bytes: int) -> str:
    """The literal of a size, in the largest unit that is exact; `parse_size` inverts it."""
    return _in_largest_unit(size_bytes, _SIZE_UNITS)


def duration_text(seconds: float) -> str:
    """The literal of a duration of whole milliseconds, in the largest unit that is exact."""
    return _in_largest_unit(round(seconds * 1000), _DURATION_UNITS_MS)


def _scaled(value: object, units: Mapping[str, int], wanted: str) -> int:
    match = _LITERAL.fullmatch(value) if isinstance(value, str) else None
    if match is None or match[2] not in units:
        raise ValueError(f"{wanted} (units: {', '.join(units)})")
    return int(match[1]) * units[match[2]]


def _in_largest_unit(amount: int, units: Mapping[str, int]) -> str:
    unit = max((name for name, factor in units.items() if amount % factor == 0), key=units.__getitem__)
    return f"{amount // units[unit]}{unit}"
