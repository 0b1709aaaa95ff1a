"""`cuzkctl`: ask the daemon for proofs and for its state. Parses arguments, prints, chooses the exit code.

Nothing here proves or verifies: `verify` becomes the program `cuzkd verify`, so that this one starts fast.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from functools import partial

from cuzkd import progress, render, shell
from cuzkd.client import Client, PointChecks, Result
from cuzkd.formats.proof import dump_proof, dump_public
from cuzkd.shell import ExitCode

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


def main(argv: Sequence[str] | None = None) -> int:
    """Run `cuzkctl` with these arguments (by default the process's own); returns the exit code."""
    words = sys.argv[1:] if argv is None else argv
    return shell.run(parser(words).parse_args(words), "cuzkctl")


def parser(words: Sequence[str]) -> argparse.ArgumentParser:
    """What understands these words of a command line; only the subcommands among them get their options.

    Making all options takes longer than some proofs.
    """
    top = argparse.ArgumentParser(
        prog="cuzkctl",
        description="Ask the cuzkd daemon for Groth16 proofs and for its state.",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action=shell.Version)
    top.add_argument(
        "--socket",
        metavar="PATH",
        default=None,
        help="the daemon's job socket (default: $CUZKD_SOCKET, then the usual places)",
    )
    shell.add_commands(
        top,
        words,
        (
            ("prove", "prove witnesses or inputs of a circuit", _add_prove),
            ("wait", "fetch the proofs of a job", _add_wait),
            ("circuit", "give circuits names, and move their keys", partial(_add_circuit, words)),
            ("status", "show what the daemon does", _add_status),
            ("verify", "verify a proof; needs no daemon", _add_verify),
        ),
    )
    return top


def _add_prove(command: argparse.ArgumentParser) -> None:
    shell.add_asking(command)
    command.description = (
        "Send one or more witnesses, or inputs, of a circuit to the daemon, wait, and write what comes back: "
        "proof.json and public.json, or with several of them proof-0.json, public-0.json and so on."
    )
    circuit = command.add_mutually_exclusive_group(required=True)
    circuit.add_argument("--zkey", metavar="F", help="proving key, as snarkjs writes it")
    circuit.add_argument("--circuit", metavar="NAME", help="a circuit that was added before")
    partitions = command.add_mutually_exclusive_group(required=True)
    partitions.add_argument(
        "--wtns", metavar="F", nargs="+", default=(), help="witness files, as circom's programs write them"
    )
    partitions.add_argument(
        "--input", metavar="F", nargs="+", default=(), help="input files (JSON); the circuit's wasm is run"
    )
    shell.add_circuit_files(command)
    _add_delivery(command)
    command.set_defaults(run=_prove, misused=command.error)


def _add_wait(command: argparse.ArgumentParser) -> None:
    shell.add_asking(command)
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
    progress.add_argument(command)


def _add_status(command: argparse.ArgumentParser) -> None:
    shell.add_asking(command)
    command.set_defaults(run=_status)


def _add_verify(command: argparse.ArgumentParser) -> None:
    shell.add_verify_arguments(command)
    command.set_defaults(run=_verify)


def _add_circuit(words: Sequence[str], command: argparse.ArgumentParser) -> None:
    from cuzkd import ctl_circuit

    ctl_circuit.add_commands(command, words)


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
    _check_combination(arguments)
    shell.check_readable(arguments.zkey, arguments.wasm, arguments.r1cs, *arguments.wtns, *arguments.input)
    directory = shell.output_directory(arguments.output)
    with Client(arguments.socket) as client:
        with progress.shown(arguments.progress) as report, shell.reading():
            job = client.submit(
                arguments.zkey,
                arguments.wtns,
                circuit=arguments.circuit,
                inputs=arguments.input,
                wasm=arguments.wasm,
                r1cs=arguments.r1cs,
                points=arguments.points or PointChecks.FULL,
                progress=report,
            )
        return _deliver(client, job, directory, arguments)


def _check_combination(arguments: argparse.Namespace) -> None:
    """End with the usage and exit code 2 when a circuit is named and its files are given too."""
    if arguments.circuit is not None:
        for option in ("wasm", "r1cs", "points"):
            if getattr(arguments, option) is not None:
                arguments.misused(f"argument --{option}: not allowed with argument --circuit")
    elif arguments.input and arguments.wasm is None:
        arguments.misused("argument --input: needs --wasm, or --circuit with a circuit that has one")


def _wait(arguments: argparse.Namespace) -> ExitCode:
    directory = shell.output_directory(arguments.output)
    with Client(arguments.socket) as client:
        return _deliver(client, arguments.job, directory, arguments)


def _status(arguments: argparse.Namespace) -> ExitCode:
    with Client(arguments.socket) as client:
        report, circuits = client.status(), client.circuits()
    if arguments.json:
        shell.print_json(render.document(report) | render.circuits_document(circuits), indent=1)
    else:
        print(render.status(report, circuits))
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


def _deliver(client: Client, job: int, directory: str, arguments: argparse.Namespace) -> ExitCode:
    try:
        with progress.shown(arguments.progress) as report:
            result = client.wait(job, arguments.timeout, report)
    except KeyboardInterrupt:
        print(f"\ncuzkctl: job {job} goes on; `cuzkctl wait {job}` fetches its proofs", file=sys.stderr)
        raise
    names = _names(len(result.proofs), directory)
    _write(names, result)
    if arguments.json:
        shell.print_json(_delivery_report(result, names))
        return ExitCode.DONE
    count = "1 proof" if len(names) == 1 else f"{len(names)} proofs"
    print(f"job {job}: {count} over {result.curve} in {render.duration(result.seconds)}")
    for pair in names:
        print(*pair)
    return ExitCode.DONE


def _delivery_report(result: Result, names: Sequence[tuple[str, str]]) -> dict[str, object]:
    return {
        "job": result.job,
        "curve": result.curve,
        "seconds": result.seconds,
        "proofs": [{"proof": proof, "public": public} for proof, public in names],
    }


def _names(count: int, directory: str) -> list[tuple[str, str]]:
    suffixes = [""] if count == 1 else [f"-{index}" for index in range(count)]
    return [
        (os.path.join(directory, f"proof{suffix}.json"), os.path.join(directory, f"public{suffix}.json"))
        for suffix in suffixes
    ]


def _write(names: Sequence[tuple[str, str]], result: Result) -> None:
    texts: dict[str, str] = {}
    for (proof_path, public_path), proof, public in zip(names, result.proofs, result.publics, strict=True):
        texts[proof_path] = dump_proof(proof)
        texts[public_path] = dump_public(public)
    shell.write_all(texts)
