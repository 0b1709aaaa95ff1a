"""What a message is: a record with a number and limits. `requests` and `orders` hold the messages themselves.

A field's annotation is its schema: the codec refuses whatever does not match. Allowed field types: bool, int
(64-bit), float, str, bytes, `X | None`, `tuple[X, ...]`, fixed tuples, enums of strings, and records of these.
"""

from __future__ import annotations

from collections.abc import Callable

from cuzkd.errors import CuzkdError, from_wire
from cuzkd.records import dataclass_transform, record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    _M = TypeVar("_M", bound="type[Message]")

PROTOCOL_VERSION = 1
MAX_FRAME_BYTES = 1 << 20
MAX_DESCRIPTORS = 64


class Message:
    """Base of every message; the decorator `message` gives a class its values."""

    __slots__ = ()
    TYPE: int
    MAX_BYTES: int
    MAX_ITEMS: int
    DESCRIPTORS: int


MESSAGES: dict[int, type[Message]] = {}
"""Every message class that this process knows, by its number on the wire."""


@dataclass_transform(frozen_default=True)
def message(
    number: int, *, max_bytes: int = 4096, max_items: int = 1024, descriptors: int = 0
) -> Callable[[_M], _M]:
    """Class decorator: a record that travels under `number`, which is never used for another one.

    `max_bytes` bounds the payload before a byte of it is read, `max_items` every array in it before an item is (a
    megabyte of empty strings takes a second to read); a frame carries at most `descriptors` file descriptors.
    """

    def made(cls: _M) -> _M:
        if number in MESSAGES or max_bytes > MAX_FRAME_BYTES or descriptors > MAX_DESCRIPTORS:
            raise TypeError(f"{cls.__name__} reuses a type number or breaks the frame's limits")
        own: _M = record(cls)  # type: ignore[assignment]
        own.TYPE, own.MAX_BYTES, own.MAX_ITEMS, own.DESCRIPTORS = number, max_bytes, max_items, descriptors
        MESSAGES[number] = own
        return own

    return made


@message(1, max_bytes=1 << 16)
class Failure(Message):
    """The answer to a request that failed; `retry_after_s` says when a retry has a chance, where that is known."""

    code: str
    message: str
    advice: str
    retryable: bool
    retry_after_s: float | None = None

    @classmethod
    def of(cls, error: CuzkdError) -> Failure:
        """The error as it crosses a socket, its text cut to what fits."""
        text, advice = error.message[:8192], error.advice[:2048]
        return cls(error.code, text, advice, error.retryable, error.retry_after_s)

    def error(self) -> CuzkdError:
        """The error as it is raised again on this side."""
        return from_wire(self.code, self.message, self.advice, self.retry_after_s)
