"""Standard streams, whatever they are: closed, on a full disk, or read by nobody any more."""

from __future__ import annotations

import os
import sys


class OutputError(Exception):
    """Standard output takes nothing more."""

    def __init__(self, error: OSError) -> None:
        super().__init__(f"cannot write standard output: {error.strerror}")
        self.unread = isinstance(error, BrokenPipeError)
        """Whether its reader has left, as in `cuzkctl watch | head`: that is nothing to complain of."""


def open_closed() -> None:
    """Have each standard stream that is closed be `/dev/null`: a file opened later would take its number."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            descriptor = os.open(os.devnull, os.O_RDWR)
            if descriptor != number:
                os.dup2(descriptor, number)
                os.close(descriptor)
            setattr(
                sys, name, os.fdopen(number, "r" if number == 0 else "w", encoding="utf-8", closefd=False)
            )


def say(*words: object, end: str = "\n", flush: bool = False) -> None:
    """Print on standard output; `OutputError` when it takes nothing."""
    try:
        print(*words, end=end, flush=flush)
    except OSError as error:
        raise OutputError(error) from error


def flush() -> None:
    """Write what standard output still holds; `OutputError` when it takes nothing."""
    try:
        sys.stdout.flush()
    except OSError as error:
        raise OutputError(error) from error


def complain(text: str) -> None:
    """Print on standard error; if that takes nothing, the exit code has to do."""
    try:
        print(text, file=sys.stderr, flush=True)
    except OSError:
        _drop(sys.stderr.fileno())


def discard_output() -> None:
    """Have what standard output still holds go nowhere: at its end Python would fail at it once more."""
    _drop(sys.stdout.fileno())


def _drop(number: int) -> None:
    descriptor = os.open(os.devnull, os.O_WRONLY)
    os.dup2(descriptor, number)
    os.close(descriptor)
