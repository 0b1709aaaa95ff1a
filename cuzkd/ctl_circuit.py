"""`cuzkctl circuit`: circuits that are checked and compiled once, kept under a name, and moved to the device."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from functools import partial

from cuzkd import parsing, progress, render, shell, streams
from cuzkd.client import CircuitInfo, Client, PointChecks
from cuzkd.shell import ExitCode
from cuzkd.tables import document

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


def add_commands(command: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """The subcommands of `circuit`; those among the words of the command line get their options."""
    command.description = (
        "A circuit that was added is proved by its name (prove --circuit NAME): nothing is read or checked "
        "again. Names are each user's own."
    )
    parsing.add_commands(
        command,
        words,
        (
            ("add", "check and compile a circuit and give it a name", _add_add),
            ("list", "list the circuits that have names", _add_list),
            *((name, what, partial(_add_one, request, text)) for name, what, request, text in ONE_CIRCUIT),
        ),
    )


def _add_add(command: argparse.ArgumentParser) -> None:
    shell.add_asking(command)
    command.add_argument("name", metavar="NAME")
    key = command.add_mutually_exclusive_group(required=True)
    key.add_argument("--zkey", metavar="F", help="proving key, as snarkjs writes it")
    key.add_argument(
        "--params",
        metavar="F",
        help="proving key, as bellperson writes it; with --vk and the circuit's matrices",
    )
    command.add_argument("--vk", metavar="F", help="the verifying key of --params")
    command.add_argument(
        "--matrices", metavar="F", help="the matrices of --params, recorded; or --r1cs has them"
    )
    shell.add_circuit_files(command)
    progress.add_argument(command)
    command.set_defaults(run=_add, misused=command.error)


def _add_list(command: argparse.ArgumentParser) -> None:
    shell.add_asking(command)
    command.set_defaults(run=_list)


def _add_one(request: Request, text: Text, command: argparse.ArgumentParser) -> None:
    shell.add_asking(command)
    command.add_argument("name", metavar="NAME")
    command.set_defaults(run=_ask_about_one, request=request, text=text)


def _add(arguments: argparse.Namespace) -> ExitCode:
    _check(arguments)
    with Client(arguments.socket) as client, progress.shown(arguments.progress) as report, shell.reading():
        circuit = client.add_circuit(
            arguments.name,
            arguments.zkey,
            params=arguments.params,
            vk=arguments.vk,
            matrices=arguments.matrices,
            wasm=arguments.wasm,
            r1cs=arguments.r1cs,
            points=arguments.points or PointChecks.FULL,
            progress=report,
        )
    return _print(arguments, circuit, f"circuit {circuit.name} added: {render.circuit_line(circuit)}")


def _check(arguments: argparse.Namespace) -> None:
    """End with exit code 2 for files that do not go together or cannot be read."""
    misused: Callable[[str], None] = arguments.misused
    of_bellperson = (arguments.params, arguments.vk, arguments.matrices)
    if arguments.zkey is not None:
        for option in ("vk", "matrices"):
            if getattr(arguments, option) is not None:
                misused(f"argument --{option}: not allowed with argument --zkey")
    elif arguments.vk is None:
        misused("argument --params: needs --vk")
    elif (arguments.r1cs is None) == (arguments.matrices is None):
        misused("argument --params: needs the circuit's matrices, by either --r1cs or --matrices")
    shell.check_readable(arguments.zkey, *of_bellperson, arguments.wasm, arguments.r1cs)


def _list(arguments: argparse.Namespace) -> ExitCode:
    with Client(arguments.socket) as client:
        circuits = client.circuits()
    if arguments.json:
        shell.print_json(render.circuits_document(circuits), indent=1)
    else:
        streams.say(
            render.circuits(circuits, os.geteuid())
            if circuits
            else "no circuits; `cuzkctl circuit add` adds one"
        )
    return ExitCode.DONE


def _ask_about_one(arguments: argparse.Namespace) -> ExitCode:
    request: Request = arguments.request
    text: Text = arguments.text
    with Client(arguments.socket, control=request is Client.evict) as client:
        circuit = request(client, arguments.name)
    return _print(arguments, circuit, text(circuit))


def _print(arguments: argparse.Namespace, circuit: CircuitInfo, text: str) -> ExitCode:
    if arguments.json:
        shell.print_json(document(circuit), indent=1)
    else:
        streams.say(text)
    return ExitCode.DONE
