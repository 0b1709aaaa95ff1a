"""A circuit's inputs: JSON text in, signals with exact integer values out; strict and bounded.

Values are what circom's users write: integers of any size as JSON numbers or as strings (decimal with an
optional minus, or 0x, 0b, 0o without one). Arrays are flattened row by row. A bus, that is a JSON object
below the top level, becomes signals named by their path (`p[0].x`). Messages name paths, never values:
inputs are secret.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NoReturn

from cuzkd.errors import BadFile, NotANumber, TooLarge

_INTEGER = re.compile(r"(?P<decimal>-?[0-9]+)|0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO][0-7]+", re.ASCII)
_SPACES = " \t\r\n"
_SPLIT_DIGITS = 4000  # below what int() refuses, and where its quadratic time starts to show
_SHOWN_NAME = 120
_MAX_NAME = 1024  # paths are built for every member of a bus: a long name must not be multiplied by them
_FNV_OFFSET = 0xCBF29CE484222325
_FNV_PRIME = 0x100000001B3


@dataclass(frozen=True, slots=True)
class InputLimits:
    """What an input file may hold; every bracket counts as a value, `digits` are those of one number."""

    size_bytes: int = 64 << 20
    values: int = 4 << 20
    digits: int = 1 << 16
    depth: int = 64


@dataclass(frozen=True, slots=True)
class InputSignal:
    """One signal's name and its values, row by row; not reduced by any modulus."""

    name: str
    values: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Refused:
    """What stands in a parsed document for a token that is no integer, until the walk knows its path."""

    what: str


def parse_inputs(data: bytes, limits: InputLimits | None = None) -> tuple[InputSignal, ...]:
    """The signals of an input file, in its order.

    Raises BadFile (no JSON object in UTF-8, a repeated name), NotANumber (names the path) or TooLarge.
    """
    limits = limits or InputLimits()
    document = _parse(data, limits)
    if not isinstance(document, dict):
        raise BadFile("the inputs are no JSON object of signals by name")
    signals: dict[str, InputSignal] = {}
    for name, value in document.items():
        for signal in _expand(name, value, limits, limits.depth):
            if signal.name in signals:
                raise BadFile(f"the inputs give {shown(signal.name)} twice")
            signals[signal.name] = signal
    return tuple(signals.values())


def name_hash(name: str) -> int:
    """FNV-1a, 64 bits, over the UTF-16 code units of `name`: how a circom program finds a signal."""
    units = name.encode("utf-16-le", "surrogatepass")
    value = _FNV_OFFSET
    for low, high in zip(units[::2], units[1::2], strict=True):
        value = (value ^ (low | high << 8)) * _FNV_PRIME & 0xFFFFFFFFFFFFFFFF
    return value


def shown(name: str) -> str:
    """A name as a message shows it: printable, of bounded length."""
    text = name if len(name) <= _SHOWN_NAME else name[:_SHOWN_NAME] + "…"
    return text if text.isprintable() and text.isascii() else ascii(text)


def _parse(data: bytes, limits: InputLimits) -> object:
    if len(data) > limits.size_bytes:
        raise TooLarge(f"the inputs have {len(data)} bytes; the limit is {limits.size_bytes}")
    # Every value but the first of all follows a comma or a bracket, so this bounds what parsing allocates.
    if data.count(b",") + data.count(b"[") + data.count(b"{") > limits.values:
        raise TooLarge(f"the inputs have more than {limits.values} values")
    try:
        return json.loads(
            data.decode("utf-8"),
            object_pairs_hook=_unique,
            parse_int=lambda text: _decimal(text, limits.digits),
            parse_float=lambda _: _Refused("a fraction"),
            parse_constant=_Refused,
        )
    except UnicodeDecodeError as error:
        raise BadFile(f"the inputs are not UTF-8 at byte {error.start}") from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise BadFile(f"the inputs are no JSON: {error.msg} at {where}") from None
    except RecursionError:
        _too_deep(limits)


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise BadFile(f"the inputs give {shown(name)} twice")
            seen.add(name)
    return found


def _expand(path: str, value: object, limits: InputLimits, depth: int) -> Iterator[InputSignal]:
    """The signals below one name; an array with a bus anywhere in it is taken apart by index."""
    if depth == 0:
        _too_deep(limits)
    if len(path) > _MAX_NAME:
        raise TooLarge(f"the signal {shown(path)} has a name of more than {_MAX_NAME} characters")
    if isinstance(value, dict):
        for name, member in value.items():
            yield from _expand(f"{path}.{name}", member, limits, depth - 1)
    elif isinstance(value, list) and _holds_bus(value, limits, depth):
        for index, member in enumerate(value):
            if not isinstance(member, dict | list):
                raise NotANumber(f"{shown(f'{path}[{index}]')} must be an object as its neighbours are")
            yield from _expand(f"{path}[{index}]", member, limits, depth - 1)
    else:
        values: list[int] = []
        _flatten(path, value, values, limits)
        yield InputSignal(path, tuple(values))


def _holds_bus(values: list[object], limits: InputLimits, depth: int) -> bool:
    if depth == 0:
        _too_deep(limits)
    return any(
        isinstance(value, dict) or (isinstance(value, list) and _holds_bus(value, limits, depth - 1))
        for value in values
    )


def _flatten(path: str, value: object, out: list[int], limits: InputLimits) -> None:
    plain = min(limits.digits, _SPLIT_DIGITS)
    if isinstance(value, list):
        for index, member in enumerate(value):
            # The plain cases need no path, and there may be millions.
            if type(member) is int:
                out.append(member)
            elif type(member) is str and len(member) <= plain and member.isascii() and member.isdigit():
                out.append(int(member))
            else:
                _flatten(f"{path}[{index}]", member, out, limits)
    else:
        out.append(_integer(path, value, limits))


def _integer(path: str, value: object, limits: InputLimits) -> int:
    if isinstance(value, bool):
        raise NotANumber(f"{shown(path)} is {'true' if value else 'false'}, not an integer")
    if isinstance(value, int):
        return value
    if isinstance(value, str):
        return _integer_of_text(path, value.strip(_SPACES), limits)
    what = "null" if value is None else value.what if isinstance(value, _Refused) else "no number"
    raise NotANumber(f"{shown(path)} is {what}, not an integer")


def _integer_of_text(path: str, text: str, limits: InputLimits) -> int:
    match = _INTEGER.fullmatch(text)
    if match is None:
        raise NotANumber(f"{shown(path)} is {'text without an integer' if text else 'empty text'}")
    if match["decimal"] is not None:
        return _decimal(text, limits.digits)
    if len(text) > limits.digits:
        _too_long(limits.digits)
    return int(text, 0)


def _decimal(text: str, max_digits: int) -> int:
    if len(text) > max_digits:
        _too_long(max_digits)
    if len(text) <= _SPLIT_DIGITS:
        return int(text)
    if text[0] == "-":
        return -_decimal(text[1:], max_digits)
    low = len(text) // 2
    shift: int = 10**low
    return _decimal(text[:-low], max_digits) * shift + _decimal(text[-low:], max_digits)


def _too_long(max_digits: int) -> NoReturn:
    raise TooLarge(f"the inputs have a number of more than {max_digits} digits")


def _too_deep(limits: InputLimits) -> NoReturn:
    raise TooLarge(f"the inputs are nested more than {limits.depth} deep")
