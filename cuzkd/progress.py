"""Progress as people see it: one line that changes on a terminal, plain lines anywhere else."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from cuzkd.ipc.requests import Progress
from cuzkd.tables import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO

QUIET_S = 0.5
"""How long work may take on a terminal before its progress appears unasked."""

PLAIN_EVERY_S = 5.0
"""How often a stage that lasts gets another plain line."""

_ERASE = "\r\x1b[K"


class Reporter:
    """Shows `Progress` on a stream; `close` it before anything else is printed there.

    On a terminal the line is erased at the end. `quiet_s` holds it back at first, so that short work
    leaves no flicker.
    """

    def __init__(
        self,
        stream: TextIO,
        *,
        terminal: bool,
        quiet_s: float = 0.0,
        columns: int = 80,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._stream = stream
        self._terminal = terminal
        self._columns = columns
        self._clock = clock
        self._quiet_until = clock() + quiet_s
        self._stage: str | None = None
        self._line_at = 0.0
        self._drawn = False

    def __call__(self, progress: Progress) -> None:
        """Show how far the work is."""
        now = self._clock()
        if now < self._quiet_until:
            return
        text = line(progress)
        if self._terminal:
            self._write(_ERASE + text[: self._columns - 1])
            self._drawn = True
        elif progress.stage != self._stage or now - self._line_at >= PLAIN_EVERY_S:
            self._write(text + "\n")
            self._stage, self._line_at = progress.stage, now

    def close(self) -> None:
        """Erase the changing line; closing twice is nothing."""
        if self._drawn:
            self._write(_ERASE)
            self._drawn = False

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except OSError:  # a full disk under it is no reason to give up the work
            self._quiet_until = float("inf")


@contextmanager
def shown(wanted: bool | None) -> Iterator[Reporter | None]:
    """Show progress on standard error as `wanted`; if that is None, for long work on a terminal.

    Yields what to tell of progress, None when none is to be shown.
    """
    stream = sys.stderr
    terminal = stream.isatty() and os.environ.get("TERM") != "dumb"
    if wanted is False or (wanted is None and not terminal):
        yield None
        return
    columns = os.get_terminal_size(stream.fileno()).columns if terminal else 0
    reporter = Reporter(stream, terminal=terminal, quiet_s=0.0 if wanted else QUIET_S, columns=columns or 80)
    try:
        yield reporter
    finally:
        reporter.close()


Told = Callable[[str, int, int], None]
"""Takes a stage of local work, how much of it is done and how much there is (0: not known)."""


def told(reporter: Reporter | None) -> Told:
    """What shows local work as the daemon's is shown."""

    def tell(stage: str, done: int, total: int) -> None:
        if reporter is not None:
            reporter(Progress(stage, done, total))

    return tell


def add_argument(command: argparse.ArgumentParser) -> None:
    """`--progress` and `--no-progress`, for `shown`."""
    command.add_argument(
        "--progress",
        action=argparse.BooleanOptionalAction,
        help="show how far the daemon is on standard error (default: on a terminal, when it takes long)",
    )


def line(progress: Progress) -> str:
    """`stage  43%`, or the stage alone while nobody knows how much there is to do."""
    stage = printable(progress.stage)
    if progress.total <= 0:
        return stage
    return f"{stage}  {min(100, 100 * max(0, progress.done) // progress.total)}%"
