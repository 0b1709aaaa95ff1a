"""What both programs share at the shell: exit codes, how errors are printed, and files read and written whole."""

from __future__ import annotations

import argparse
import enum
import errno
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from cuzkd import streams
from cuzkd.client import PointChecks, open_input
from cuzkd.errors import (
    BadConfig,
    BadRequest,
    Busy,
    CuzkdError,
    DaemonUnreachable,
    Draining,
    NotDone,
    Refused,
    ResourceExhausted,
    Unavailable,
    VersionMismatch,
    WaitTimeout,
)
from cuzkd.tables import duration

PATH_ADVICE = "check the path and who may use it"
OUTPUT_ADVICE = "make room for the output; what was asked for may be done already (`cuzkctl jobs`)"


class ExitCode(enum.IntEnum):
    """What a program tells the shell."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    UNREACHABLE = 3
    REFUSED = 4
    TRY_AGAIN = 75
    INTERRUPTED = 130


_REFUSALS = (Refused, BadConfig, BadRequest, VersionMismatch)
_NOT_YET = (Busy, Draining, Unavailable, ResourceExhausted, NotDone, WaitTimeout)
"""What the same command may succeed after; a job that was lost is not among it: it has to be submitted again."""


class UsageError(Exception):
    """A path on the command line that cannot be used."""


Command = Callable[[argparse.Namespace], int]
"""A subcommand: does its work, prints, and returns the exit code."""


def exit_code(error: CuzkdError) -> int:
    """The exit code that an error of the daemon's calls for."""
    if isinstance(error, DaemonUnreachable):
        return ExitCode.UNREACHABLE
    if isinstance(error, _NOT_YET):
        return ExitCode.TRY_AGAIN
    return ExitCode.REFUSED if isinstance(error, _REFUSALS) else ExitCode.FAILED


def run(arguments: argparse.Namespace, program: str, code_of: Callable[[CuzkdError], int] = exit_code) -> int:
    """Run the subcommand that was parsed, print what goes wrong, and return the exit code."""
    try:
        code = _attempt(arguments, program, code_of)
        streams.flush()
        return code
    except streams.OutputError as error:
        streams.discard_output()
        if not error.unread:
            streams.complain(f"{program}: error: {error}\n{OUTPUT_ADVICE}")
        return ExitCode.FAILED
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED


def _attempt(arguments: argparse.Namespace, program: str, code_of: Callable[[CuzkdError], int]) -> int:
    command: Command = arguments.run
    try:
        return command(arguments)
    except CuzkdError as error:
        if arguments.json:
            job = getattr(arguments, "job", None)
            print_json({"error": error_document(error)} | ({} if job is None else {"job": job}))
        else:
            complain(program, error)
        return code_of(error)
    except UsageError as error:
        if arguments.json:
            print_json(usage_document(str(error), PATH_ADVICE))
        else:
            streams.complain(f"{program}: error: {error}\n{PATH_ADVICE}")
        return ExitCode.USAGE


def complain(program: str, error: CuzkdError) -> None:
    """Print an error of the daemon's: two lines on standard error, what is wrong and what to do."""
    when = "" if error.retry_after_s is None else f" (in {duration(error.retry_after_s)})"
    streams.complain(f"{program}: error: {error.message}\n{error.advice}{when}")


def error_document(error: CuzkdError) -> dict[str, object]:
    """An error of the daemon's as a JSON object."""
    return {
        "code": error.code,
        "message": error.message,
        "advice": error.advice,
        "retryable": error.retryable,
        "retry_after_s": error.retry_after_s,
    }


def usage_document(message: str, advice: str) -> dict[str, object]:
    """Wrong usage as a JSON object."""
    facts = {"code": "usage", "message": message, "advice": advice}
    return {"error": {**facts, "retryable": False, "retry_after_s": None}}


def print_json(document: object, indent: int | None = None) -> None:
    """Print one JSON document on standard output, at once."""
    import json  # most runs of cuzkctl print none

    streams.say(json.dumps(document, indent=indent), flush=True)


def add_asking(command: argparse.ArgumentParser) -> None:
    """The options of every subcommand that asks the daemon."""
    add_json(command)
    # A default here would overwrite what stood before the subcommand, so only the top parser has one.
    command.add_argument(
        "--socket", metavar="PATH", default=argparse.SUPPRESS, help="the daemon's job socket"
    )


def add_job(command: argparse.ArgumentParser) -> None:
    """The number of a job."""
    command.add_argument("job", type=job_number, metavar="JOB", help="the job's number")


def job_number(text: str) -> int:
    """A job's number on the command line."""
    if text.isascii() and text.isdecimal() and 0 < int(text[:20]) < 1 << 63:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is no number of a job")


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
def writing(path: str) -> Iterator[None]:
    """Say that a file of the command line cannot be written."""
    try:
        yield
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error


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
    except FileExistsError as error:
        raise UsageError(f"cannot write into {path}: {os.strerror(errno.ENOTDIR)}") from error
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
        for path, content in contents.items():
            with writing(path):
                if os.path.isdir(path):
                    raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
                with open(staged[path], "xb") as file:
                    file.write(content if isinstance(content, bytes) else content.encode())
        for path, complete in staged.items():
            with writing(path):
                os.replace(complete, path)
    finally:
        for leftover in staged.values():
            if os.path.lexists(leftover):
                os.unlink(leftover)


def _beside(path: str) -> str:
    folder, name = os.path.split(path)
    return os.path.join(folder, f".{name}.{os.getpid()}")
