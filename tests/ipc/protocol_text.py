"""What PROTOCOL.md has to say of messages, made from their classes: tables of fields in the wire's own terms."""

from __future__ import annotations

import enum
import types
import typing
from collections.abc import Iterator

from cuzkd.ipc.messages import MESSAGES, Failure, Message
from cuzkd.ipc.requests import Hello
from cuzkd.records import field_names, is_record

_SCALARS: dict[object, str] = {bool: "bool", int: "int", float: "float", str: "str", bytes: "bin"}


def client_messages() -> list[type[Message]]:
    """The messages between a client and the daemon, by number."""
    ours = (Failure.__module__, Hello.__module__)
    return [cls for _, cls in sorted(MESSAGES.items()) if cls.__module__ in ours]


def table_of_types() -> str:
    """One line a message: its number and limits."""
    lines = ["| type | message | payload | items | descriptors |", "|---|---|---|---|---|"]
    lines += [
        f"| {cls.TYPE} | `{cls.__name__}` | {cls.MAX_BYTES} | {cls.MAX_ITEMS} | {cls.DESCRIPTORS} |"
        for cls in client_messages()
    ]
    return "\n".join(lines)


def fields_of(cls: type) -> str:
    """A message's or record's fields, in their order."""
    hints = typing.get_type_hints(cls)
    told = [f"`{name}`: {wire_type(hints[name])}" for name in field_names(cls)]
    return "\n".join(f"- {each}" for each in told) or "- no fields"


def records_of(cls: type) -> Iterator[type]:
    """The records that a message carries, and those in them."""
    for hint in typing.get_type_hints(cls).values():
        for inner in _inner(hint):
            if isinstance(inner, type) and is_record(inner) and not issubclass(inner, Message):
                yield inner
                yield from records_of(inner)


def kinds_of(cls: type) -> Iterator[str]:
    """What kinds of values a message has: `array`, `nil`, `enum`, `record` and the scalars'."""
    for name, hint in typing.get_type_hints(cls).items():
        if name in field_names(cls):
            yield from _kinds(hint)


def wire_type(hint: object) -> str:
    """An annotation in the wire's terms."""
    if hint in _SCALARS:
        return _SCALARS[hint]
    args = typing.get_args(hint)
    if typing.get_origin(hint) in (types.UnionType, typing.Union):
        [inner] = [arg for arg in args if arg is not type(None)]
        return f"{wire_type(inner)}, or nil"
    if typing.get_origin(hint) is tuple:
        return f"array of {wire_type(args[0])}"
    assert isinstance(hint, type)
    if issubclass(hint, enum.StrEnum):
        return "one of " + ", ".join(f'"{value}"' for value in hint)
    return f"`{hint.__name__}`"


def _inner(hint: object) -> Iterator[object]:
    yield hint
    for arg in typing.get_args(hint):
        yield from _inner(arg)


def _kinds(hint: object) -> Iterator[str]:
    if hint in _SCALARS:
        yield _SCALARS[hint]
    elif typing.get_origin(hint) in (types.UnionType, typing.Union):
        yield "nil"
        for arg in typing.get_args(hint):
            if arg is not type(None):
                yield from _kinds(arg)
    elif typing.get_origin(hint) is tuple:
        yield "array"
        yield from _kinds(typing.get_args(hint)[0])
    elif isinstance(hint, type) and issubclass(hint, enum.StrEnum):
        yield "enum"
    elif isinstance(hint, type):
        yield "record"
        yield from kinds_of(hint)
