"""An error keeps its class across a socket; a kind without a code of its own arrives as what it is a kind of."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cuzkd.errors import CuzkdError, InternalError, from_wire
from cuzkd.ipc import segment  # noqa: F401 - defines errors of its own
from cuzkd.ipc.messages import Failure


def classes(cls: type[CuzkdError] = CuzkdError) -> Iterator[type[CuzkdError]]:
    for child in cls.__subclasses__():
        yield child
        yield from classes(child)


@pytest.mark.parametrize("cls", list(classes()), ids=lambda cls: cls.__name__)
def test_an_error_arrives_as_its_class(cls: type[CuzkdError]) -> None:
    sent = Failure.of(cls("what happened", advice="what to do"))
    found = from_wire(sent.code, sent.message, sent.advice)
    assert issubclass(cls, type(found))
    assert type(found) is cls or "code" not in vars(cls)
    assert (found.message, found.advice, found.retryable) == ("what happened", "what to do", sent.retryable)


def test_no_code_is_used_twice() -> None:
    codes = [cls.code for cls in classes() if "code" in vars(cls)]
    assert len(codes) == len(set(codes))


def test_an_unknown_code_keeps_its_text() -> None:
    error = from_wire("from_the_future", "what happened", "what to do")
    assert type(error) is InternalError
    assert error.message == "from_the_future: what happened"
