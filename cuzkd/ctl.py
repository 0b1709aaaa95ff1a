"""`cuzkctl`: ask the daemon for proofs, about jobs, and for its state. Starts and ends the process, both quickly.

Many a proof is made in less time than Python takes to load modules and to tidy up after them. So only those that a
subcommand needs are loaded, without the garbage collector, which finds nothing in them; and at the end the process
leaves with its output written, without being taken apart.
"""

from __future__ import annotations

import contextlib
import gc
import os
import sys
from collections.abc import Sequence

TYPE_CHECKING = False  # `typing` is among what takes long to load
if TYPE_CHECKING:
    from typing import NoReturn


def main(argv: Sequence[str] | None = None) -> int:
    """Run `cuzkctl` with these arguments; returns the exit code or, without any, ends the process with it."""
    try:
        code = _run(sys.argv[1:] if argv is None else argv)
    except KeyboardInterrupt:  # while modules are loaded
        code = 130
    return _leave(code) if argv is None else code


def _run(words: Sequence[str]) -> int:
    gc.disable()
    from cuzkd import ctl_parser, shell, streams

    streams.open_closed()
    arguments = ctl_parser.parser(words).parse_args(words)
    gc.freeze()
    gc.enable()
    return shell.run(arguments, "cuzkctl")


def _leave(code: int) -> NoReturn:
    """End the process. Nothing is left to do: connections are closed, and files are written."""
    sys.stdout.flush()
    with contextlib.suppress(OSError):
        sys.stderr.flush()
    os._exit(code)
