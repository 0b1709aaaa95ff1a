"""How numbers, times, tables and lists of facts look to people, and records to scripts."""

from __future__ import annotations

from collections.abc import Sequence

from cuzkd.records import field_names, is_record

_SIZE_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
_TIME_UNITS = ((86400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s"))


def size(size_bytes: int) -> str:
    """A number of bytes in the largest binary unit that leaves at least one: `1.5 GiB`."""
    value = float(size_bytes)
    for unit in _SIZE_UNITS:
        if value < 1024 or unit == _SIZE_UNITS[-1]:
            break
        value /= 1024
    return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"


def duration(seconds: float) -> str:
    """A length of time in the one or two units that matter: `0.25 s`, `41 s`, `3 min 5 s`, `2 d 4 h`."""
    if seconds < 10:
        return f"{max(seconds, 0.0):.2f} s"
    total = round(seconds)
    for unit_s, unit, smaller_s, smaller in _TIME_UNITS:
        if total >= unit_s:
            return f"{total // unit_s} {unit} {total % unit_s // smaller_s} {smaller}"
    return f"{total} s"


def count(number: int, noun: str) -> str:
    """A number of things: `1 job`, `1,024 jobs`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def printable(text: str) -> str:
    """Text of others, made safe for a terminal."""
    return "".join(char if char.isprintable() else "?" for char in text)


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Left-aligned columns two spaces apart, without trailing blanks."""
    lines = [header, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    return "\n".join(row(line, widths) for line in lines)


def row(cells: Sequence[str], widths: Sequence[int]) -> str:
    """One line of a table whose columns have these widths."""
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()


def facts(pairs: Sequence[tuple[str, str]]) -> str:
    """Named facts, one a line."""
    return "\n".join(f"{name:<10}{fact}" for name, fact in pairs)


def document(value: object) -> object:
    """A record as a JSON object of its fields, and so whatever is in it; anything else as it is."""
    if is_record(type(value)):
        return {name: document(getattr(value, name)) for name in field_names(type(value))}
    return [document(item) for item in value] if isinstance(value, tuple) else value
