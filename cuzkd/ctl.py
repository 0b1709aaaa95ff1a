"""`cuzkctl`: ask the daemon for proofs and for its state. Parses arguments, prints, chooses the exit code.

Nothing here proves or verifies: `verify` becomes the program `cuzkd verify`, so that this one starts fast.
"""

from __future__ import annotations

import argparse
import dataclasses
import enum
import errno
import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from cuzkd import render
from cuzkd.client import Client, Result, open_input
from cuzkd.errors import (
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
from cuzkd.formats.proof import dump_proof, dump_public

EXIT_CODES = """\
exit codes:
  0    done
  1    the job failed, the proof is wrong, or the time was up
  2    wrong usage, or a path on the command line that cannot be read or written
  3    no daemon answers
  4    refused: the input cannot be proved, or the daemon takes no work now
  130  interrupted; a job that was accepted goes on

With --json, standard output is one JSON document, also when the command fails: {"error": …}.
"""


PATH_ADVICE = "check the path and who may use it"


class ExitCode(enum.IntEnum):
    """What `cuzkctl` tells the shell."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    UNREACHABLE = 3
    REFUSED = 4
    INTERRUPTED = 130


_REFUSALS = (Refused, Busy, Draining, Unavailable, ResourceExhausted, BadRequest, VersionMismatch)


class UsageError(Exception):
    """A path on the command line that cannot be used."""


class Command(Protocol):
    """A subcommand: does its work, prints, and returns the exit code."""

    def __call__(self, arguments: argparse.Namespace, /) -> ExitCode: ...  # noqa: D102  # described above


def main(argv: Sequence[str] | None = None) -> int:
    """Run `cuzkctl` with these arguments (by default the process's own); returns the exit code."""
    arguments = parser().parse_args(argv)
    run: Command = arguments.run
    try:
        return run(arguments)
    except CuzkdError as error:
        complain("cuzkctl", error.code, error.message, error.advice, arguments.json)
        return exit_code(error)
    except UsageError as error:
        complain("cuzkctl", "usage", str(error), PATH_ADVICE, arguments.json)
        return ExitCode.USAGE
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED


def exit_code(error: CuzkdError) -> ExitCode:
    """The exit code that an error calls for."""
    if isinstance(error, DaemonUnreachable):
        return ExitCode.UNREACHABLE
    return ExitCode.REFUSED if isinstance(error, _REFUSALS) else ExitCode.FAILED


def complain(program: str, code: str, message: str, advice: str, as_json: bool) -> None:
    """Print an error: two lines on standard error or, `as_json`, one document on standard output."""
    if as_json:
        print(json.dumps({"error": {"code": code, "message": message, "advice": advice}}))
    else:
        print(f"{program}: error: {message}\n{advice}", file=sys.stderr)


def parser() -> argparse.ArgumentParser:
    """The whole command line, from which the help is printed."""
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument("--json", action="store_true", help="print one JSON document")
    # A subcommand's default would overwrite what stood before it, so only the top parser has one.
    asking = argparse.ArgumentParser(add_help=False)
    asking.add_argument("--socket", metavar="PATH", default=argparse.SUPPRESS, help="the daemon's job socket")

    top = argparse.ArgumentParser(
        prog="cuzkctl",
        description="Ask the cuzkd daemon for Groth16 proofs and for its state.",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action=Version)
    top.add_argument(
        "--socket",
        metavar="PATH",
        default=None,
        help="the daemon's job socket (default: $CUZKD_SOCKET, then the usual places)",
    )
    commands = top.add_subparsers(metavar="COMMAND", required=True)
    _add_prove(commands.add_parser("prove", parents=[shared, asking], help="prove witnesses of a circuit"))
    _add_wait(commands.add_parser("wait", parents=[shared, asking], help="fetch the proofs of a job"))
    status = commands.add_parser("status", parents=[shared, asking], help="show what the daemon does")
    status.set_defaults(run=_status)
    verify = commands.add_parser("verify", parents=[shared], help="verify a proof; needs no daemon")
    add_verify_arguments(verify)
    verify.set_defaults(run=_verify)
    return top


class Version(argparse.Action):
    """`--version`: looks the version up only when it is asked for."""

    def __init__(self, option_strings: Sequence[str], dest: str) -> None:
        super().__init__(option_strings, dest, nargs=0, help="show the version and exit")

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        """Print the program's name and version, and exit."""
        from cuzkd import __version__

        print(f"{parser.prog} {__version__}")
        parser.exit()


def add_verify_arguments(command: argparse.ArgumentParser) -> None:
    """The files of `verify`, the same in `cuzkctl` and `cuzkd`."""
    command.add_argument("--vkey", required=True, metavar="F", help="verification_key.json")
    command.add_argument("--proof", required=True, metavar="F", help="proof.json")
    command.add_argument("--public", required=True, metavar="F", help="public.json")


def _add_prove(command: argparse.ArgumentParser) -> None:
    command.description = (
        "Send a proving key and one or more witnesses to the daemon, wait, and write what comes back: "
        "proof.json and public.json, or with several witnesses proof-0.json, public-0.json and so on."
    )
    command.add_argument("--zkey", required=True, metavar="F", help="proving key, as snarkjs writes it")
    command.add_argument(
        "--wtns", required=True, metavar="F", nargs="+", help="witness files, as circom's programs write them"
    )
    _add_delivery(command)
    command.set_defaults(run=_prove)


def _add_wait(command: argparse.ArgumentParser) -> None:
    command.description = "Wait for a job that was submitted before, and write what comes back as prove does."
    command.add_argument("job", type=int, metavar="JOB", help="the job's number")
    _add_delivery(command)
    command.set_defaults(run=_wait)


def _add_delivery(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "-o", "--output", default=".", metavar="DIR", help="where to write; made if missing (default: here)"
    )
    command.add_argument(
        "--timeout", type=_seconds, metavar="S", help="stop waiting after S seconds; the job goes on"
    )


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if 0 < value < float("inf"):
        return value
    raise argparse.ArgumentTypeError(f"{text!r} is not a positive number of seconds")


# ---- subcommands


def _prove(arguments: argparse.Namespace) -> ExitCode:
    for path in (arguments.zkey, *arguments.wtns):
        _check_readable(path)
    directory = _output_directory(arguments.output)
    with Client(arguments.socket) as client:
        try:
            job = client.submit(arguments.zkey, arguments.wtns)
        except OSError as error:
            raise UsageError(f"cannot read {error.filename}: {error.strerror}") from error
        return _deliver(client, job, directory, arguments)


def _wait(arguments: argparse.Namespace) -> ExitCode:
    directory = _output_directory(arguments.output)
    with Client(arguments.socket) as client:
        return _deliver(client, arguments.job, directory, arguments)


def _status(arguments: argparse.Namespace) -> ExitCode:
    with Client(arguments.socket) as client:
        report = client.status()
    print(json.dumps(dataclasses.asdict(report), indent=1) if arguments.json else render.status(report))
    return ExitCode.DONE


def _verify(arguments: argparse.Namespace) -> ExitCode:
    files = ("--vkey", arguments.vkey, "--proof", arguments.proof, "--public", arguments.public)
    program = (
        sys.executable,
        "-P",
        "-m",
        "cuzkd",
        "verify",
        *files,
        *(("--json",) if arguments.json else ()),
    )
    os.execv(sys.executable, program)  # noqa: S606  # the same interpreter, without a shell


# ---- what a job brings back


def _deliver(client: Client, job: int, directory: Path, arguments: argparse.Namespace) -> ExitCode:
    try:
        result = client.wait(job, arguments.timeout)
    except KeyboardInterrupt:
        print(f"\ncuzkctl: job {job} goes on; `cuzkctl wait {job}` fetches its proofs", file=sys.stderr)
        raise
    names = _names(len(result.proofs), directory)
    _write(names, result)
    if arguments.json:
        print(json.dumps(_delivery_report(result, names)))
        return ExitCode.DONE
    count = "1 proof" if len(names) == 1 else f"{len(names)} proofs"
    print(f"job {job}: {count} over {result.curve} in {render.duration(result.seconds)}")
    for pair in names:
        print(*pair)
    return ExitCode.DONE


def _delivery_report(result: Result, names: Sequence[tuple[Path, Path]]) -> dict[str, object]:
    return {
        "job": result.job,
        "curve": result.curve,
        "seconds": result.seconds,
        "proofs": [{"proof": str(proof), "public": str(public)} for proof, public in names],
    }


def _names(count: int, directory: Path) -> list[tuple[Path, Path]]:
    suffixes = [""] if count == 1 else [f"-{index}" for index in range(count)]
    return [(directory / f"proof{suffix}.json", directory / f"public{suffix}.json") for suffix in suffixes]


def _write(names: Sequence[tuple[Path, Path]], result: Result) -> None:
    texts: dict[Path, str] = {}
    for (proof_path, public_path), proof, public in zip(names, result.proofs, result.publics, strict=True):
        texts[proof_path] = dump_proof(proof)
        texts[public_path] = dump_public(public)
    try:
        write_all(texts)
    except OSError as error:
        raise UsageError(f"cannot write {error.filename}: {error.strerror}") from error


def write_all(texts: Mapping[Path, str]) -> None:
    """Write every file whole or none at all: each is complete beside its name before the first is renamed.

    Raises OSError, with the file's name, when one cannot be written.
    """
    staged = {path: path.with_name(f".{path.name}.{os.getpid()}") for path in texts}
    try:
        for path, text in texts.items():
            if path.is_dir():
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
            with staged[path].open("x", encoding="utf-8") as file:
                file.write(text)
        for path, complete in staged.items():
            complete.replace(path)
    finally:
        for leftover in staged.values():
            leftover.unlink(missing_ok=True)


def _check_readable(path: str) -> None:
    try:
        os.close(open_input(path))
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error


def _output_directory(path: str) -> Path:
    directory = Path(path)
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot make the directory {path}: {error.strerror}") from error
    if not os.access(directory, os.W_OK | os.X_OK):
        raise UsageError(f"cannot write into {path}")
    return directory
