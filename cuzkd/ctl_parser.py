"""The command line of `cuzkctl`: its subcommands, each of which is loaded when it is called."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from functools import partial
from types import ModuleType

from cuzkd import parsing, shell

EXIT_CODES = """\
exit codes:
  0    done
  1    the job failed, was cancelled or lost; the proof is wrong
  2    wrong usage, or a path on the command line that cannot be read or written
  3    no daemon answers
  4    refused: the input cannot be proved, or there is no such job or circuit
  75   not yet: no work is taken now, the time was up, or the job is not done; try again
  130  interrupted; a job that was accepted goes on

With --json, standard output is one JSON document, also when the command fails: {"error": …}.
"""

COMMANDS = (
    ("prove", "prove witnesses or inputs of a circuit"),
    ("submit", "hand over a job and print its number"),
    ("wait", "wait for the proofs of a job"),
    ("fetch", "write the proofs of a job that is done"),
    ("jobs", "list jobs"),
    ("show", "show one job"),
    ("watch", "print every change of jobs"),
    ("cancel", "end jobs"),
    ("circuit", "give circuits names, and move their keys"),
    ("status", "show what the daemon does"),
    ("metrics", "print the daemon's metrics"),
    ("drain", "finish all jobs and take no new ones"),
    ("reload", "have the configuration read again"),
    ("verify", "verify a proof; needs no daemon"),
)
"""The subcommands, and what they do."""


def parser(words: Sequence[str]) -> argparse.ArgumentParser:
    """What understands these words of a command line; only the subcommands among them get their options.

    Making all options takes longer than some proofs.
    """
    top = parsing.Parser(
        prog="cuzkctl",
        description="Ask the cuzkd daemon for Groth16 proofs, about jobs, and for its state.",
        epilog=EXIT_CODES,
        formatter_class=parsing.RawFormatter,
    )
    top.add_argument("--version", action=parsing.Version)
    top.add_argument(
        "--socket",
        metavar="PATH",
        default=None,
        help="the daemon's job socket (default: $CUZKD_SOCKET, then the usual places)",
    )
    parsing.add_commands(top, words, [(name, what, partial(_add, name, words)) for name, what in COMMANDS])
    return top


def _add(name: str, words: Sequence[str], command: argparse.ArgumentParser) -> None:
    """Load a subcommand and give it its options."""
    if name == "verify":
        shell.add_verify_arguments(command)
        command.set_defaults(run=_verify)
    elif name == "circuit":
        from cuzkd import ctl_circuit

        ctl_circuit.add_commands(command, words[words.index(name) + 1 :])
    else:
        shell.add_asking(command)
        add: parsing.Adder = getattr(_home(name), f"add_{name}")
        add(command)


def _home(name: str) -> ModuleType:
    """The module of a subcommand that asks the daemon."""
    if name in ("prove", "submit", "wait", "fetch"):
        from cuzkd import ctl_prove

        return ctl_prove
    if name in ("jobs", "show", "watch", "cancel"):
        from cuzkd import ctl_jobs

        return ctl_jobs
    from cuzkd import ctl_daemon

    return ctl_daemon


def _verify(arguments: argparse.Namespace) -> int:
    """Become the program that verifies: what it needs takes this one's time to load."""
    key = ("--vkey", arguments.vkey) if arguments.vk is None else ("--vk", arguments.vk)
    files = (*key, "--proof", arguments.proof, "--public", *arguments.public)
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
