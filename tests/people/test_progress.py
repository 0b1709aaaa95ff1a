"""How progress is shown: a line that changes on a terminal, and plain lines anywhere else."""

from __future__ import annotations

import io
import os
import pty
import sys
from collections.abc import Callable

import pytest

from cuzkd.ipc.requests import Progress
from cuzkd.progress import PLAIN_EVERY_S, QUIET_S, Reporter, line, shown

ERASE = "\r\x1b[K"


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


Made = tuple[Reporter, io.StringIO, Clock]


@pytest.fixture
def made() -> Callable[..., Made]:
    def make(*, terminal: bool, quiet_s: float = 0.0, columns: int = 80) -> Made:
        stream, clock = io.StringIO(), Clock()
        return (
            Reporter(stream, terminal=terminal, quiet_s=quiet_s, columns=columns, clock=clock),
            stream,
            clock,
        )

    return make


@pytest.mark.parametrize(
    ("progress", "text"),
    [
        (Progress("copying circuit.zkey", 0, 0), "copying circuit.zkey"),
        (Progress("checking points of section 7 (B2)", 433, 1000), "checking points of section 7 (B2)  43%"),
        (Progress("copying", 0, 10), "copying  0%"),
        (Progress("copying", 999, 1000), "copying  99%"),
        (Progress("copying", 11, 10), "copying  100%"),
        (Progress("copying", -1, 10), "copying  0%"),
        (Progress("copying \x1b[2J\r\n", 0, 0), "copying ?[2J??"),
    ],
)
def test_a_line_is_the_stage_and_a_percentage_when_the_whole_is_known(progress: Progress, text: str) -> None:
    assert line(progress) == text


def test_on_a_terminal_one_line_changes_and_is_gone_at_the_end(made: Callable[..., Made]) -> None:
    report, stream, _ = made(terminal=True)
    report(Progress("copying", 1, 2))
    report(Progress("checking", 0, 0))
    report.close()
    report.close()
    assert stream.getvalue() == f"{ERASE}copying  50%{ERASE}checking{ERASE}"


def test_a_line_never_wraps(made: Callable[..., Made]) -> None:
    report, stream, _ = made(terminal=True, columns=10)
    report(Progress("a stage with a long name", 1, 2))
    assert stream.getvalue() == f"{ERASE}a stage w"


def test_short_work_on_a_terminal_shows_nothing(made: Callable[..., Made]) -> None:
    report, stream, clock = made(terminal=True, quiet_s=QUIET_S)
    clock.now += QUIET_S / 2
    report(Progress("copying", 1, 2))
    report.close()
    assert stream.getvalue() == ""


def test_long_work_on_a_terminal_shows_after_a_moment(made: Callable[..., Made]) -> None:
    report, stream, clock = made(terminal=True, quiet_s=QUIET_S)
    clock.now += QUIET_S
    report(Progress("copying", 1, 2))
    assert stream.getvalue() == f"{ERASE}copying  50%"


def test_elsewhere_each_stage_is_a_line_and_a_long_one_gets_more(made: Callable[..., Made]) -> None:
    report, stream, clock = made(terminal=False)
    report(Progress("copying", 0, 4))
    report(Progress("copying", 1, 4))
    clock.now += PLAIN_EVERY_S
    report(Progress("copying", 2, 4))
    report(Progress("copying", 3, 4))
    report(Progress("checking", 0, 0))
    report.close()
    assert stream.getvalue() == "copying  0%\ncopying  50%\nchecking\n"


@pytest.mark.parametrize(
    ("wanted", "terminal", "is_shown"),
    [
        (None, False, False),
        (None, True, True),
        (True, False, True),
        (True, True, True),
        (False, True, False),
    ],
)
def test_progress_is_shown_on_a_terminal_or_when_it_is_wanted(
    wanted: bool | None, terminal: bool, is_shown: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    leader, follower = pty.openpty() if terminal else os.pipe()
    with open(leader, "rb"), open(follower, "w") as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        with shown(wanted) as report:
            assert (report is not None) == is_shown
