"""Messages to bytes and back: the only user of msgpack. Whatever does not match the schema is refused."""

from __future__ import annotations

import functools

import msgpack

from cuzkd.errors import BadRequest, InternalError, TooLarge
from cuzkd.ipc.frames import MAX_REQUEST_ID, Header
from cuzkd.ipc.messages import MESSAGES, Message
from cuzkd.ipc.schema import Kind, Mismatch, record_schema

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def encode(message: Message, request_id: int = 0, descriptors: int = 0) -> bytes:
    """The whole frame of a message that travels with this many file descriptors.

    `TooLarge` when the payload or an array is over the type's limit; `InternalError` naming the field when a value is
    not what its annotation says.
    """
    cls = type(message)
    name = cls.__name__
    if MESSAGES.get(getattr(cls, "TYPE", -1)) is not cls:
        raise InternalError(f"{name} is no message")
    if not 0 <= request_id <= MAX_REQUEST_ID:
        raise InternalError(f"{name}: request id {request_id} is not 32-bit")
    if descriptors > cls.DESCRIPTORS:
        raise InternalError(f"{name}: {descriptors} descriptors, the limit is {cls.DESCRIPTORS}")
    try:
        fields = record_schema(cls).pack(message)
    except Mismatch as error:
        raise InternalError(f"{name}: {error}") from None
    assert isinstance(fields, dict)
    for field, value in fields.items():
        if isinstance(value, list) and len(value) > cls.MAX_ITEMS:
            raise TooLarge(
                f"{name}: {field} has {len(value)} items, the limit is {cls.MAX_ITEMS}",
                advice="split the request: the items of a frame are limited",
            )
    payload: bytes = msgpack.packb(fields, strict_types=True)
    if len(payload) > cls.MAX_BYTES:
        raise TooLarge(
            f"{name}: a payload of {len(payload)} bytes, the limit is {cls.MAX_BYTES}",
            advice="split the request: a frame's size is limited",
        )
    return Header(cls.TYPE, len(payload), request_id, descriptors).encode() + payload


def decode(header: Header, payload: bytes) -> Message:
    """The message of a frame; `BadRequest` naming the field for every payload that is not exactly one."""
    cls = MESSAGES[header.type]
    source = _Payload(payload, cls.MAX_ITEMS)
    try:
        message = record_schema(cls).read(source)
        source.finish()
    except Mismatch as error:
        raise BadRequest(f"{cls.__name__}: {error}") from None
    assert isinstance(message, Message)
    return message


class _Payload:
    """A payload as a source of values; reads with msgpack only what the first byte shows to be harmless."""

    def __init__(self, payload: bytes, max_items: int) -> None:
        self._bytes = payload
        self._max_items = max_items
        size = max(1, len(payload))
        self._unpacker: Any = msgpack.Unpacker(
            raw=False, read_size=size, max_buffer_size=size, max_array_len=0, max_map_len=0, max_ext_len=0
        )
        self._unpacker.feed(payload)

    def kind(self) -> Kind:
        position: int = self._unpacker.tell()
        if position >= len(self._bytes):
            raise Mismatch("the payload ends early")
        return _kinds()[self._bytes[position]]

    def scalar(self) -> Any:
        try:
            return self._unpacker.unpack()
        except UnicodeDecodeError:
            raise Mismatch("a string that is not UTF-8") from None
        except (msgpack.OutOfData, ValueError):
            raise Mismatch("the payload ends early") from None

    def count(self, kind: Kind) -> int:
        """Refuses a count that the bytes left cannot hold (each item takes one byte at least) or over the limit."""
        take = self._unpacker.read_map_header if kind is Kind.MAP else self._unpacker.read_array_header
        try:
            count: int = take()
        except msgpack.OutOfData:
            raise Mismatch("the payload ends early") from None
        if count * (2 if kind is Kind.MAP else 1) > len(self._bytes) - self._unpacker.tell():
            raise Mismatch(f"{kind} of {count} items is larger than the payload")
        if count > self._max_items:
            raise Mismatch(f"{kind} of {count} items, the limit is {self._max_items}")
        return count

    def finish(self) -> None:
        left = len(self._bytes) - self._unpacker.tell()
        if left:
            raise Mismatch(f"{left} bytes follow the message")


@functools.cache
def _kinds() -> tuple[Kind, ...]:
    """What a value is, by its first byte (the table of formats in the msgpack specification)."""
    table = [Kind.OTHER] * 256
    ranges = {
        Kind.INT: (range(0x80), range(0xCC, 0xD4), range(0xE0, 0x100)),
        Kind.MAP: (range(0x80, 0x90), range(0xDE, 0xE0)),
        Kind.ARRAY: (range(0x90, 0xA0), range(0xDC, 0xDE)),
        Kind.STR: (range(0xA0, 0xC0), range(0xD9, 0xDC)),
        Kind.NIL: (range(0xC0, 0xC1),),
        Kind.BOOL: (range(0xC2, 0xC4),),
        Kind.BYTES: (range(0xC4, 0xC7),),
        Kind.SHORT_FLOAT: (range(0xCA, 0xCB),),
        Kind.FLOAT: (range(0xCB, 0xCC),),
    }
    for kind, spans in ranges.items():
        for span in spans:
            for first in span:
                table[first] = kind
    return tuple(table)
