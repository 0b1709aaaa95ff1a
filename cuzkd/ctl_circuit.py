"""`cuzkctl circuit`: circuits that are checked and compiled once, kept under a name, and moved to the device."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from cuzkd import progress, render, shell
from cuzkd.client import CircuitInfo, Client, PointChecks
from cuzkd.shell import ExitCode

Request = Callable[[Client, str], CircuitInfo]
Text = Callable[[CircuitInfo], str]

ONE_CIRCUIT: tuple[tuple[str, str, Request, Text], ...] = (
    ("show", "show what is known of a circuit", Client.show_circuit, render.circuit),
    (
        "remove",
        "forget a name; what no name and no job uses is deleted",
        Client.remove_circuit,
        lambda circuit: f"circuit {circuit.name} removed",
    ),
    (
        "preload",
        "load a circuit's key into the device",
        Client.preload,
        lambda circuit: f"circuit {circuit.name} is {circuit.residency}",
    ),
    (
        "evict",
        "drop a circuit's key from the device",
        Client.evict,
        lambda circuit: f"circuit {circuit.name} is {circuit.residency}",
    ),
)
"""The subcommands that ask for one circuit by name: what they do, how, and what they print."""


def add_commands(command: argparse.ArgumentParser, asking: argparse.ArgumentParser) -> None:
    """The subcommands of `circuit`; `asking` has the options of every command that asks the daemon."""
    command.description = (
        "A circuit that was added is proved by its name (prove --circuit NAME): nothing is read or checked "
        "again. Names are each user's own."
    )
    commands = command.add_subparsers(metavar="COMMAND", required=True)
    add = commands.add_parser("add", parents=[asking], help="check and compile a circuit and give it a name")
    add.add_argument("name", metavar="NAME")
    add.add_argument("--zkey", required=True, metavar="F", help="proving key, as snarkjs writes it")
    add_circuit_files(add)
    progress.add_argument(add)
    add.set_defaults(run=_add)
    listing = commands.add_parser("list", parents=[asking], help="list the circuits that have names")
    listing.set_defaults(run=_list)
    for name, what, request, text in ONE_CIRCUIT:
        one = commands.add_parser(name, parents=[asking], help=what)
        one.add_argument("name", metavar="NAME")
        one.set_defaults(run=_ask_about_one, request=request, text=text)


def add_circuit_files(command: argparse.ArgumentParser) -> None:
    """What may come beside a key file."""
    command.add_argument("--wasm", metavar="F", help="the circuit's program, to prove from inputs")
    command.add_argument("--r1cs", metavar="F", help="the circuit's constraints, to name those that fail")
    command.add_argument(
        "--points",
        choices=[str(choice) for choice in PointChecks],
        help="what is checked of the key's points: curve and subgroup (full, the default), or the curve alone",
    )


def check_combination(arguments: argparse.Namespace) -> None:
    """End with the usage and exit code 2 when a circuit is named and its files are given too."""
    if arguments.circuit is not None:
        for option in ("wasm", "r1cs", "points"):
            if getattr(arguments, option) is not None:
                arguments.misused(f"argument --{option}: not allowed with argument --circuit")
    elif arguments.input and arguments.wasm is None:
        arguments.misused("argument --input: needs --wasm, or --circuit with a circuit that has one")


def _add(arguments: argparse.Namespace) -> ExitCode:
    shell.check_readable(arguments.zkey, arguments.wasm, arguments.r1cs)
    with Client(arguments.socket) as client, progress.shown(arguments.progress) as report, shell.reading():
        circuit = client.add_circuit(
            arguments.name,
            arguments.zkey,
            wasm=arguments.wasm,
            r1cs=arguments.r1cs,
            points=arguments.points or PointChecks.FULL,
            progress=report,
        )
    return _print(arguments, circuit, f"circuit {circuit.name} added: {render.circuit_line(circuit)}")


def _list(arguments: argparse.Namespace) -> ExitCode:
    with Client(arguments.socket) as client:
        circuits = client.circuits()
    if arguments.json:
        shell.print_json(render.circuits_document(circuits), indent=1)
    else:
        print(render.circuits(circuits) if circuits else "no circuits; `cuzkctl circuit add` adds one")
    return ExitCode.DONE


def _ask_about_one(arguments: argparse.Namespace) -> ExitCode:
    request: Request = arguments.request
    text: Text = arguments.text
    with Client(arguments.socket) as client:
        circuit = request(client, arguments.name)
    return _print(arguments, circuit, text(circuit))


def _print(arguments: argparse.Namespace, circuit: CircuitInfo, text: str) -> ExitCode:
    if arguments.json:
        shell.print_json(render.document(circuit), indent=1)
    else:
        print(text)
    return ExitCode.DONE
