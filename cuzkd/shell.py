"""What both programs share at the shell: exit codes, how errors are printed, and files read and written whole."""

from __future__ import annotations

import argparse
import enum
import errno
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from cuzkd.client import PointChecks, open_input
from cuzkd.errors import (
    BadConfig,
    BadRequest,
    Busy,
    CuzkdError,
    DaemonUnreachable,
    Draining,
    Refused,
    ResourceExhausted,
    Unavailable,
    VersionMismatch,
)
from cuzkd.tables import duration

PATH_ADVICE = "check the path and who may use it"


class ExitCode(enum.IntEnum):
    """What a program tells the shell."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    UNREACHABLE = 3
    REFUSED = 4
    INTERRUPTED = 130


_REFUSALS = (
    Refused,
    Busy,
    Draining,
    Unavailable,
    ResourceExhausted,
    BadConfig,
    BadRequest,
    VersionMismatch,
)


class UsageError(Exception):
    """A path on the command line that cannot be used."""


Adder = Callable[[argparse.ArgumentParser], None]
"""Adds a subcommand's options to its parser."""


Command = Callable[[argparse.Namespace], int]
"""A subcommand: does its work, prints, and returns the exit code."""


def exit_code(error: CuzkdError) -> int:
    """The exit code that an error of the daemon's calls for."""
    if isinstance(error, DaemonUnreachable):
        return ExitCode.UNREACHABLE
    return ExitCode.REFUSED if isinstance(error, _REFUSALS) else ExitCode.FAILED


def run(arguments: argparse.Namespace, program: str, code_of: Callable[[CuzkdError], int] = exit_code) -> int:
    """Run the subcommand that was parsed, print what goes wrong, and return the exit code."""
    command: Command = arguments.run
    try:
        code = command(arguments)
        sys.stdout.flush()
        return code
    except CuzkdError as error:
        if arguments.json:
            job = getattr(arguments, "job", None)
            print_json({"error": error_document(error)} | ({} if job is None else {"job": job}))
        else:
            complain(program, error)
        return code_of(error)
    except UsageError as error:
        if arguments.json:
            facts = {"code": "usage", "message": str(error), "advice": PATH_ADVICE}
            print_json({"error": {**facts, "retryable": False, "retry_after_s": None}})
        else:
            print(f"{program}: error: {error}\n{PATH_ADVICE}", file=sys.stderr)
        return ExitCode.USAGE
    except BrokenPipeError:
        # Whoever read standard output has enough (`cuzkctl watch | head`); at exit Python would complain once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.FAILED
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED


def complain(program: str, error: CuzkdError) -> None:
    """Print an error of the daemon's: two lines on standard error, what is wrong and what to do."""
    when = "" if error.retry_after_s is None else f" (in {duration(error.retry_after_s)})"
    print(f"{program}: error: {error.message}\n{error.advice}{when}", file=sys.stderr)


def error_document(error: CuzkdError) -> dict[str, object]:
    """An error of the daemon's as a JSON object."""
    return {
        "code": error.code,
        "message": error.message,
        "advice": error.advice,
        "retryable": error.retryable,
        "retry_after_s": error.retry_after_s,
    }


def print_json(document: object, indent: int | None = None) -> None:
    """Print one JSON document on standard output, at once."""
    import json  # most runs of cuzkctl print none

    print(json.dumps(document, indent=indent), flush=True)


class Version(argparse.Action):
    """`--version`: looks the version up only when it is asked for."""

    def __init__(self, option_strings: Sequence[str], dest: str) -> None:
        super().__init__(option_strings, dest, nargs=0, help="show the version and exit")

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        """Print the program's name and version, and exit."""
        from cuzkd import __version__

        print(f"{parser.prog} {__version__}")
        parser.exit()


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


def add_asking(command: argparse.ArgumentParser) -> None:
    """The options of every subcommand that asks the daemon."""
    add_json(command)
    # A default here would overwrite what stood before the subcommand, so only the top parser has one.
    command.add_argument(
        "--socket", metavar="PATH", default=argparse.SUPPRESS, help="the daemon's job socket"
    )


def add_job(command: argparse.ArgumentParser) -> None:
    """The number of a job."""
    command.add_argument("job", type=int, metavar="JOB", help="the job's number")


def seconds(text: str) -> float:
    """A length of time on the command line."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if 0 < value < float("inf"):
        return value
    raise argparse.ArgumentTypeError(f"{text!r} is not a positive number of seconds")


def add_json(command: argparse.ArgumentParser) -> None:
    """`--json`."""
    command.add_argument("--json", action="store_true", help="print one JSON document")


def add_verify_arguments(command: argparse.ArgumentParser) -> None:
    """The files of `verify`, the same in `cuzkctl` and `cuzkd`."""
    key = command.add_mutually_exclusive_group(required=True)
    key.add_argument("--vkey", metavar="F", help="verification_key.json")
    key.add_argument("--vk", metavar="F", help="bellperson's verifying key; the proof is proof.bin then")
    command.add_argument("--proof", required=True, metavar="F", help="proof.json, or proof.bin with --vk")
    command.add_argument(
        "--public", required=True, metavar="F", nargs="+", help="public.json; with --vk, one for each proof"
    )
    add_json(command)


def add_circuit_files(command: argparse.ArgumentParser) -> None:
    """What may come beside a key file."""
    command.add_argument("--wasm", metavar="F", help="the circuit's program, to prove from inputs")
    command.add_argument(
        "--r1cs", metavar="F", help="the circuit's constraints; with a zkey, to name those that fail"
    )
    command.add_argument(
        "--points",
        choices=[str(choice) for choice in PointChecks],
        help="what is checked of the key's points: curve and subgroup (full, the default), or the curve alone",
    )


# ---- files


@contextmanager
def reading() -> Iterator[None]:
    """Say which file of the command line cannot be read."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            raise
        raise UsageError(f"cannot read {error.filename}: {error.strerror}") from error


@contextmanager
def writing() -> Iterator[None]:
    """Say which file or directory cannot be written."""
    try:
        yield
    except OSError as error:
        raise UsageError(f"cannot write {error.filename}: {error.strerror}") from error


def check_readable(*paths: str | None) -> None:
    """`UsageError` unless each of the paths, as far as it is given, is a regular file that can be read."""
    with reading():
        for path in paths:
            if path is not None:
                os.close(open_input(path))


def output_directory(path: str) -> str:
    """The directory, made if it is missing; `UsageError` when files cannot be put there."""
    try:
        os.makedirs(path, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot make the directory {path}: {error.strerror}") from error
    if not os.access(path, os.W_OK | os.X_OK):
        raise UsageError(f"cannot write into {path}")
    return path


def write_all(contents: Mapping[str, str | bytes]) -> None:
    """Write every file whole or none at all: each is complete beside its name before the first is renamed.

    `UsageError`, with the file's name, when one cannot be written.
    """
    staged = {path: _beside(path) for path in contents}
    try:
        with writing():
            for path, content in contents.items():
                if os.path.isdir(path):
                    raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
                with open(staged[path], "xb") as file:
                    file.write(content if isinstance(content, bytes) else content.encode())
            for path, complete in staged.items():
                os.replace(complete, path)
    finally:
        for leftover in staged.values():
            if os.path.lexists(leftover):
                os.unlink(leftover)


def _beside(path: str) -> str:
    folder, name = os.path.split(path)
    return os.path.join(folder, f".{name}.{os.getpid()}")
