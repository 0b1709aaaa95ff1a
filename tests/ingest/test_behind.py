"""Work behind the caller runs in order, one call at a time, and its errors come back."""

from __future__ import annotations

import threading

import pytest

from cuzkd.errors import BadFile
from cuzkd.ingest.behind import Behind


def test_calls_run_in_order_on_another_thread() -> None:
    ran: list[tuple[int, int]] = []
    with Behind() as behind:
        for number in range(5):
            behind.run(lambda number: ran.append((number, threading.get_ident())), number)
        behind.wait()
        assert [number for number, _ in ran] == list(range(5))
    assert len({thread for _, thread in ran} | {threading.get_ident()}) == 2


def test_the_caller_goes_on_while_a_call_runs_and_only_one_does() -> None:
    go, order = threading.Event(), []
    with Behind() as behind:
        behind.run(go.wait)
        order.append("first given")
        go.set()
        behind.run(order.append, "second ran")
        behind.wait()
    assert order == ["first given", "second ran"]


def refuse() -> None:
    raise BadFile("point 7")


@pytest.mark.parametrize("then", [lambda behind: behind.wait(), lambda behind: behind.run(print)])
def test_an_error_is_raised_at_the_next_step(then) -> None:
    with Behind() as behind:
        behind.run(refuse)
        with pytest.raises(BadFile, match="point 7"):
            then(behind)
        behind.wait()


def test_the_end_of_the_context_waits_for_the_last_call() -> None:
    go, ran = threading.Event(), []

    def slow() -> None:
        go.wait()
        ran.append(1)

    with Behind() as behind:
        behind.run(slow)
        go.set()
    assert ran == [1]
