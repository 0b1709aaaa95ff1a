"""Schemas: what a record's annotations allow on the wire, derived once per class.

A schema turns a value into what msgpack packs, and reads it back from a `Source` strictly: every value is
judged by its first byte before it is unpacked, so a hostile container is refused, never built, and nesting
is as deep as the annotations and no deeper.

Choices: a bool is not an int; an int is signed or unsigned 64-bit; a float travels as a 64-bit float only
(the sender may hold an int, as Python's typing allows) and is finite; an enum travels as its string; fields
may come in any order, each exactly once.
"""

from __future__ import annotations

import enum
import math
import sys
import types

from cuzkd.records import field_names, is_record, record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Protocol

    Packable = None | bool | int | float | str | bytes | list[Any] | dict[str, Any]
else:
    Protocol = object

INT_MIN = -(1 << 63)
INT_MAX = (1 << 64) - 1


class Kind(enum.StrEnum):
    """What a msgpack value is, by its first byte."""

    NIL = "nil"
    BOOL = "bool"
    INT = "int"
    FLOAT = "float"
    SHORT_FLOAT = "32-bit float"
    STR = "str"
    BYTES = "bytes"
    ARRAY = "array"
    MAP = "map"
    OTHER = "a type that is not allowed"


class Mismatch(Exception):
    """A value that its schema does not allow; `path` grows from the inside out while it is raised."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.path: list[str] = []

    def within(self, name: str | int) -> Mismatch:
        """The same, one field or index further out."""
        self.path.append(f"[{name}]" if isinstance(name, int) else f".{name}")
        return self

    def __str__(self) -> str:
        return f"{''.join(reversed(self.path)).lstrip('.') or 'the message'}: {self.reason}"


class Source(Protocol):
    """A payload that is read value by value; each method raises `Mismatch` when the bytes don't allow it."""

    def kind(self) -> Kind:
        """What the next value is."""

    def scalar(self) -> Any:
        """Take the next value, which `kind` said is no container."""

    def count(self, kind: Kind) -> int:
        """Take the head of an array or map that the rest of the payload could hold."""


class Schema(Protocol):
    """How values of one annotation are written and read; both raise `Mismatch`."""

    def pack(self, value: object) -> Packable:
        """`value` in msgpack's terms."""

    def read(self, source: Source) -> object:
        """Take a value from the source."""


def _expect(source: Source, wanted: Kind) -> None:
    got = source.kind()
    if got is not wanted:
        raise Mismatch(f"expected {wanted}, got {got}")


def _expect_type(value: object, wanted: type) -> None:
    if type(value) is not wanted:
        raise Mismatch(f"expected {wanted.__name__}, got {type(value).__name__}")


@record
class _Scalar:
    """bool, str or bytes: whatever msgpack has of its own."""

    python: type
    kind: Kind

    def pack(self, value: Any) -> Packable:
        _expect_type(value, self.python)
        if isinstance(value, str) and not value.isascii():
            try:
                value.encode()
            except UnicodeEncodeError:
                raise Mismatch("a string that UTF-8 cannot hold") from None
        packed: Packable = value
        return packed

    def read(self, source: Source) -> object:
        _expect(source, self.kind)
        return source.scalar()


@record
class _Int:
    def pack(self, value: object) -> Packable:
        _expect_type(value, int)
        assert isinstance(value, int)
        if not INT_MIN <= value <= INT_MAX:
            raise Mismatch("an integer beyond 64 bits")
        return value

    def read(self, source: Source) -> object:
        _expect(source, Kind.INT)
        return source.scalar()


@record
class _Float:
    def pack(self, value: object) -> Packable:
        if type(value) is int:
            try:
                value = float(value)
            except OverflowError:
                raise Mismatch("a number beyond 64 bits") from None
        _expect_type(value, float)
        assert isinstance(value, float)
        return self._finite(value)

    def read(self, source: Source) -> object:
        _expect(source, Kind.FLOAT)
        return self._finite(source.scalar())

    @staticmethod
    def _finite(value: float) -> float:
        if not math.isfinite(value):
            raise Mismatch(f"{value} is not a finite number")
        return value


@record
class _Enum:
    python: type[enum.StrEnum]

    def pack(self, value: object) -> Packable:
        _expect_type(value, self.python)
        assert isinstance(value, enum.StrEnum)
        return value.value

    def read(self, source: Source) -> object:
        _expect(source, Kind.STR)
        text = source.scalar()
        try:
            return self.python(text)
        except ValueError:
            raise Mismatch(f"not one of {', '.join(self.python)}") from None


@record
class _Optional:
    inner: Schema

    def pack(self, value: object) -> Packable:
        return None if value is None else self.inner.pack(value)

    def read(self, source: Source) -> object:
        return source.scalar() if source.kind() is Kind.NIL else self.inner.read(source)


@record
class _Sequence:
    """`tuple[X, ...]`."""

    item: Schema

    def pack(self, value: object) -> Packable:
        _expect_type(value, tuple)
        assert isinstance(value, tuple)
        return [_pack_at(self.item, index, item) for index, item in enumerate(value)]

    def read(self, source: Source) -> object:
        _expect(source, Kind.ARRAY)
        count = source.count(Kind.ARRAY)
        return tuple(_read_at(self.item, index, source) for index in range(count))


@record
class _Fixed:
    """`tuple[X, Y, Z]`."""

    items: tuple[Schema, ...]

    def pack(self, value: object) -> Packable:
        _expect_type(value, tuple)
        assert isinstance(value, tuple)
        self._check_count(len(value))
        return [_pack_at(schema, index, value[index]) for index, schema in enumerate(self.items)]

    def read(self, source: Source) -> object:
        _expect(source, Kind.ARRAY)
        self._check_count(source.count(Kind.ARRAY))
        return tuple(_read_at(schema, index, source) for index, schema in enumerate(self.items))

    def _check_count(self, count: int) -> None:
        if count != len(self.items):
            raise Mismatch(f"expected {len(self.items)} items, got {count}")


@record
class _Record:
    """A record, as a map from its fields' names."""

    python: type
    fields: dict[str, Schema]

    def pack(self, value: object) -> Packable:
        _expect_type(value, self.python)
        return {name: _pack_at(schema, name, getattr(value, name)) for name, schema in self.fields.items()}

    def read(self, source: Source) -> object:
        _expect(source, Kind.MAP)
        values: dict[str, object] = {}
        for _ in range(source.count(Kind.MAP)):
            _expect(source, Kind.STR)
            name = source.scalar()
            if name not in self.fields:
                raise Mismatch(f"unknown field {name[:64]!r}")
            if name in values:
                raise Mismatch(f"field {name!r} comes twice")
            values[name] = _read_at(self.fields[name], name, source)
        missing = self.fields.keys() - values.keys()
        if missing:
            raise Mismatch(f"missing {', '.join(sorted(missing))}")
        return self.python(**values)


def _pack_at(schema: Schema, name: str | int, value: object) -> Packable:
    try:
        return schema.pack(value)
    except Mismatch as error:
        raise error.within(name) from None


def _read_at(schema: Schema, name: str | int, source: Source) -> object:
    try:
        return schema.read(source)
    except Mismatch as error:
        raise error.within(name) from None


_SCALARS: dict[object, Schema] = {
    bool: _Scalar(bool, Kind.BOOL),
    str: _Scalar(str, Kind.STR),
    bytes: _Scalar(bytes, Kind.BYTES),
    int: _Int(),
    float: _Float(),
}


_records: dict[type, Schema] = {}


def record_schema(cls: type) -> Schema:
    """The schema of a record; `TypeError` for an annotation that messages may not have."""
    schema = _records.get(cls)
    if schema is None:
        fields = {name: _schema_of(_annotation(cls, name)) for name in field_names(cls)}
        schema = _records.setdefault(cls, _Record(cls, fields))
    return schema


def _annotation(cls: type, name: str) -> object:
    """What a field's annotation says in the module that has it: `typing.get_type_hints` of our own plain ones."""
    text: str = cls.__annotations__[name]
    return eval(text, vars(sys.modules[cls.__module__]))  # noqa: S307  # written in our own code


def _schema_of(annotation: object) -> Schema:
    if annotation in _SCALARS:
        return _SCALARS[annotation]
    args: tuple[object, ...] = getattr(annotation, "__args__", ())
    if isinstance(annotation, types.UnionType):
        inner = [arg for arg in args if arg is not type(None)]
        if len(inner) == 1 and len(args) == 2:
            return _Optional(_schema_of(inner[0]))
    elif isinstance(annotation, types.GenericAlias) and annotation.__origin__ is tuple:
        if len(args) == 2 and args[1] is Ellipsis:
            return _Sequence(_schema_of(args[0]))
        return _Fixed(tuple(_schema_of(arg) for arg in args))
    elif isinstance(annotation, type):
        if issubclass(annotation, enum.StrEnum):
            return _Enum(annotation)
        if is_record(annotation):
            return record_schema(annotation)
    raise TypeError(f"messages cannot carry {annotation!r}")
