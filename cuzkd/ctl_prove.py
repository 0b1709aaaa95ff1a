"""`cuzkctl prove`, `submit`, `wait` and `fetch`: files go to the daemon, proofs come back and are written."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence

from cuzkd import progress, shell, streams
from cuzkd.client import Client, PointChecks, ProgressCallback, Result
from cuzkd.errors import DaemonUnreachable, WaitTimeout
from cuzkd.formats.proof import dump_proof, dump_public
from cuzkd.model import Flavour
from cuzkd.shell import ExitCode
from cuzkd.tables import count, duration

_UNHEARD = "interrupted before a job was known to be accepted; `cuzkctl jobs` shows whether one was"
_BOUND = "it is cancelled with this command's end, as --cancel-on-disconnect asks"


def add_prove(command: argparse.ArgumentParser) -> None:
    """The options of `prove`."""
    command.description = (
        "Send one or more witnesses, or inputs, of a circuit to the daemon, wait, and write what comes back: "
        "proof.json and public.json, or with several of them proof-0.json, public-0.json and so on. Of a circuit "
        "with a key of bellperson's, all proofs are in proof.bin, 192 bytes each, in order."
    )
    _add_job(command)
    _add_output(command)
    _add_timeout(command)
    command.add_argument(
        "--cancel-on-disconnect",
        action="store_true",
        help="have the job cancelled when this command ends before it does",
    )
    command.set_defaults(run=_prove, misused=command.error)


def add_submit(command: argparse.ArgumentParser) -> None:
    """The options of `submit`."""
    command.description = (
        "Send witnesses or inputs of a circuit to the daemon as prove does, and print the job's number "
        "when it is accepted. `cuzkctl wait JOB` fetches the proofs."
    )
    _add_job(command)
    command.set_defaults(run=_submit, misused=command.error)


def add_wait(command: argparse.ArgumentParser) -> None:
    """The options of `wait`."""
    command.description = "Wait for a job that was submitted before, and write what comes back as prove does."
    shell.add_job(command)
    _add_output(command)
    _add_timeout(command)
    progress.add_argument(command)
    command.set_defaults(run=_wait)


def add_fetch(command: argparse.ArgumentParser) -> None:
    """The options of `fetch`."""
    command.description = "Write the proofs of a job that is done, as prove does; fails at once if it is not."
    shell.add_job(command)
    _add_output(command)
    command.set_defaults(run=_fetch)


def _add_job(command: argparse.ArgumentParser) -> None:
    circuit = command.add_mutually_exclusive_group(required=True)
    circuit.add_argument("--zkey", metavar="F", help="proving key, as snarkjs writes it")
    circuit.add_argument("--circuit", metavar="NAME", help="a circuit that was added before")
    partitions = command.add_mutually_exclusive_group(required=True)
    partitions.add_argument(
        "--wtns",
        metavar="F",
        nargs="+",
        default=(),
        help="witnesses: as circom's programs write them, bare values (inputs, then aux), or synthesized (.abcz)",
    )
    partitions.add_argument(
        "--input", metavar="F", nargs="+", default=(), help="input files (JSON); the circuit's wasm is run"
    )
    shell.add_circuit_files(command)
    progress.add_argument(command)


def _add_output(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "-o", "--output", default=".", metavar="DIR", help="where to write; made if missing (default: here)"
    )


def _add_timeout(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--timeout", type=shell.seconds, metavar="S", help="stop waiting after S seconds; the job goes on"
    )


# ---- subcommands


def _prove(arguments: argparse.Namespace) -> ExitCode:
    _check(arguments)
    directory = shell.output_directory(arguments.output)
    with Client(arguments.socket) as client:
        with progress.shown(arguments.progress) as report:
            arguments.job = _send(client, arguments, report, bound=arguments.cancel_on_disconnect)
        try:
            return _await(client, directory, arguments, bound=arguments.cancel_on_disconnect)
        except DaemonUnreachable as error:
            error.advice += f"; `cuzkctl show {arguments.job}` tells of the job that was accepted"
            raise


def _submit(arguments: argparse.Namespace) -> ExitCode:
    _check(arguments)
    with Client(arguments.socket) as client, progress.shown(arguments.progress) as report:
        job = _send(client, arguments, report, bound=False)
    if arguments.json:
        shell.print_json({"job": job})
    else:
        streams.say(job)
    return ExitCode.DONE


def _wait(arguments: argparse.Namespace) -> ExitCode:
    directory = shell.output_directory(arguments.output)
    with Client(arguments.socket) as client:
        return _await(client, directory, arguments, bound=False)


def _fetch(arguments: argparse.Namespace) -> ExitCode:
    directory = shell.output_directory(arguments.output)
    with Client(arguments.socket) as client:
        result = client.fetch(arguments.job)
    return _deliver(result, directory, arguments)


# ---- on the way in


def _check(arguments: argparse.Namespace) -> None:
    """End with exit code 2 for arguments that do not fit together and files that cannot be read."""
    misused: Callable[[str], None] = arguments.misused
    if arguments.circuit is not None:
        for option in ("wasm", "r1cs", "points"):
            if getattr(arguments, option) is not None:
                misused(f"argument --{option}: not allowed with argument --circuit")
    elif arguments.input and arguments.wasm is None:
        misused("argument --input: needs --wasm, or --circuit with a circuit that has one")
    shell.check_readable(arguments.zkey, arguments.wasm, arguments.r1cs, *arguments.wtns, *arguments.input)


def _send(
    client: Client, arguments: argparse.Namespace, report: ProgressCallback | None, *, bound: bool
) -> int:
    try:
        with shell.reading():
            return client.submit(
                arguments.zkey,
                arguments.wtns,
                circuit=arguments.circuit,
                inputs=arguments.input,
                wasm=arguments.wasm,
                r1cs=arguments.r1cs,
                points=arguments.points or PointChecks.FULL,
                cancel_on_disconnect=bound,
                progress=report,
            )
    except KeyboardInterrupt:
        streams.complain(f"\ncuzkctl: {_UNHEARD}")
        raise


# ---- on the way back


def _await(client: Client, directory: str, arguments: argparse.Namespace, *, bound: bool) -> ExitCode:
    job: int = arguments.job
    try:
        with progress.shown(arguments.progress) as report:
            result = client.wait(job, arguments.timeout, report)
    except KeyboardInterrupt:
        what = "is cancelled" if bound else f"goes on; `cuzkctl wait {job}` fetches its proofs"
        streams.complain(f"\ncuzkctl: job {job} {what}")
        raise
    except WaitTimeout as error:
        error.advice = _BOUND if bound else f"the job goes on: `cuzkctl wait {job}` fetches its proofs"
        raise
    return _deliver(result, directory, arguments)


def _deliver(result: Result, directory: str, arguments: argparse.Namespace) -> ExitCode:
    names = _names(result, directory)
    shell.write_all(_contents(names, result))
    if arguments.json:
        shell.print_json(_delivery_report(result, names))
        return ExitCode.DONE
    streams.say(
        f"job {result.job}: {count(len(names), 'proof')} over {result.curve} in {duration(result.seconds)}"
    )
    for pair in names:
        streams.say(*pair)
    return ExitCode.DONE


def _delivery_report(result: Result, names: Sequence[tuple[str, str]]) -> dict[str, object]:
    return {
        "job": result.job,
        "curve": result.curve,
        "flavour": result.flavour,
        "seconds": result.seconds,
        "proofs": [{"proof": proof, "public": public} for proof, public in names],
    }


def _names(result: Result, directory: str) -> list[tuple[str, str]]:
    """Where each proof and its public inputs go; bellperson's proofs all go into one file."""
    number = len(result.proofs)
    one_file = result.flavour is Flavour.BELLPERSON
    names = []
    for suffix in [""] if number == 1 else [f"-{index}" for index in range(number)]:
        proof = "proof.bin" if one_file else f"proof{suffix}.json"
        names.append((os.path.join(directory, proof), os.path.join(directory, f"public{suffix}.json")))
    return names


def _contents(names: Sequence[tuple[str, str]], result: Result) -> dict[str, str | bytes]:
    contents: dict[str, str | bytes] = {}
    if result.flavour is Flavour.BELLPERSON:
        contents[names[0][0]] = result.to_bellperson()
    for (proof_path, public_path), proof, public in zip(names, result.proofs, result.publics, strict=True):
        if proof_path not in contents:
            contents[proof_path] = dump_proof(proof)
        contents[public_path] = dump_public(public)
    return contents
