"""What both programs share in how a command line is read: parsers that start fast, and how wrong usage is told."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence

from cuzkd import shell, streams
from cuzkd.shell import ExitCode

TYPE_CHECKING = False  # `typing` is among what takes long to load
if TYPE_CHECKING:
    from typing import Any, NoReturn

Adder = Callable[[argparse.ArgumentParser], None]
"""Adds a subcommand's options to its parser."""


class Version(argparse.Action):
    """`--version`: looks the version up only when it is asked for."""

    def __init__(self, option_strings: Sequence[str], dest: str) -> None:
        super().__init__(option_strings, dest, nargs=0, help="show the version and exit")

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        """Print the program's name and version, and exit."""
        from cuzkd import __version__

        _say_and_exit(parser, f"{parser.prog} {__version__}", ExitCode.DONE)


class Parser(argparse.ArgumentParser):
    """A parser that tells of wrong usage as the command line asks for it: with `--json`, as a document."""

    def __init__(self, *, allow_abbrev: bool = False, **rest: Any) -> None:
        # What an abbreviation stands for today may be ambiguous, or something else, tomorrow.
        super().__init__(allow_abbrev=allow_abbrev, **rest)

    def error(self, message: str) -> NoReturn:
        """Say what is wrong with the command line, and exit."""
        if "--json" not in sys.argv:
            super().error(message)
        import json  # few command lines are wrong and ask for it

        text = json.dumps(shell.usage_document(message, f"see `{self.prog} --help`"))
        _say_and_exit(self, text, ExitCode.USAGE)


def _say_and_exit(parser: argparse.ArgumentParser, text: str, code: int) -> NoReturn:
    try:
        streams.say(text, flush=True)
    except streams.OutputError as error:
        streams.discard_output()
        parser.exit(ExitCode.FAILED, "" if error.unread else f"{parser.prog}: error: {error}\n")
    parser.exit(code)


def add_commands(
    parser: argparse.ArgumentParser, words: Sequence[str], commands: Sequence[tuple[str, str, Adder]]
) -> None:
    """Add subcommands: name, what it does, and what adds its options.

    Those among the words of the command line get their options, and others not even a parser where the first word is
    one of them: making all takes longer than some proofs.
    """
    subparsers = parser.add_subparsers(metavar="COMMAND", required=True)
    plain = bool(words) and words[0] in (name for name, _, _ in commands)
    for name, what, add in commands:
        if name in words or not plain:
            command = subparsers.add_parser(name, help=what, formatter_class=Formatter)
            if name in words:
                add(command)


class Formatter(argparse.HelpFormatter):
    """Help as wide as the terminal, which is asked here: argparse loads file compression to ask it."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=_columns() - 2)


class RawFormatter(Formatter, argparse.RawDescriptionHelpFormatter):
    """The same, with line breaks as they are written."""


def _columns() -> int:
    try:
        return int(os.environ.get("COLUMNS", "")) or 80
    except ValueError:
        return os.get_terminal_size(1).columns if os.isatty(1) else 80
