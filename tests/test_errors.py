"""Errors cross a socket as text and come back as the same class, each with a code of its own."""

from __future__ import annotations

import pytest

from cuzkd import errors
from cuzkd.errors import CuzkdError, InternalError, from_wire
from cuzkd.ipc.messages import Failure
from cuzkd.ipc.segment import SegmentInUse

# every class of the module but the base, whose code is `InternalError`'s
CLASSES = [
    value
    for value in vars(errors).values()
    if isinstance(value, type) and issubclass(value, CuzkdError) and value is not CuzkdError
]


def test_every_error_has_a_code_and_advice() -> None:
    codes = [cls.code for cls in CLASSES]
    assert len(set(codes)) == len(codes) > 20
    assert all("code" in vars(cls) and cls.default_advice for cls in CLASSES)


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.code)
def test_an_error_comes_back_as_its_class_with_its_text(cls: type[CuzkdError]) -> None:
    sent = cls("what happened", advice="what to do", retry_after_s=2.5)
    came = Failure.of(sent).error()
    assert type(came) is cls
    assert (came.message, came.advice) == ("what happened", "what to do")
    assert (came.retryable, came.retry_after_s) == (sent.retryable, 2.5)


def test_a_class_without_a_code_comes_back_as_the_one_whose_code_it_has() -> None:
    assert type(from_wire(SegmentInUse("a view is alive").code, "a view is alive", "")) is InternalError


def test_an_unknown_code_is_kept_in_the_text() -> None:
    came = from_wire("of_tomorrow", "what happened", "what to do")
    assert type(came) is InternalError
    assert (came.message, came.advice) == ("of_tomorrow: what happened", "what to do")
