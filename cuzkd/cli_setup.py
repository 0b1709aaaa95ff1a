"""`cuzkd setup`: a proving key of one's own from a constraint system, for development only."""

from __future__ import annotations

import argparse
import contextlib
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from cuzkd import parsing, progress, shell, streams
from cuzkd.client import open_input
from cuzkd.errors import ResourceExhausted
from cuzkd.model import Flavour

if TYPE_CHECKING:
    from cuzkd.formats.system import ConstraintSystem
    from cuzkd.setup.files import Made

NOTE = "cuzkd development set-up: NOT FOR PRODUCTION"
"""What a key's contribution is called."""

WARNING = (
    "for development only: whoever runs this could have kept the secrets, and with them can forge proofs"
)

_DESCRIPTION = f"""\
Make a proving key from a constraint system, {WARNING}.
Keys for production come from a ceremony of many.

--flavour snarkjs     writes OUT, a .zkey
--flavour bellperson  writes OUT.params and OUT.vk (BLS12-381 only)
"""


def add(commands: argparse._SubParsersAction[parsing.Parser]) -> None:
    """Add the subcommand."""
    setup = commands.add_parser(
        "setup",
        help="make a proving key, for development only",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    source = setup.add_mutually_exclusive_group(required=True)
    source.add_argument("--r1cs", metavar="F", help="constraint system, as circom writes it")
    source.add_argument("--matrices", metavar="F", help="recorded matrices of a bellperson circuit")
    setup.add_argument(
        "--flavour", required=True, choices=[str(f) for f in Flavour], help="whose kind of key"
    )
    setup.add_argument("-o", "--output", required=True, metavar="OUT", help="where to write")
    add_threads(setup)
    setup.add_argument(
        "--insecure-secrets",
        metavar="F",
        help="take the secrets from this JSON file instead of drawing them: for tests, the key is worth nothing",
    )
    progress.add_argument(setup)
    setup.set_defaults(run=_setup)


def add_threads(command: argparse.ArgumentParser) -> None:
    """`--threads`."""
    command.add_argument(
        "--threads", metavar="N", type=int, default=len(os.sched_getaffinity(0)), help="default: all cores"
    )


def _setup(arguments: argparse.Namespace) -> int:
    from cuzkd.setup.files import make_key
    from cuzkd.setup.secrets import Generators, ToxicWaste, load_secrets

    flavour = Flavour(arguments.flavour)
    streams.complain(f"cuzkd setup: {WARNING}")
    system = _system(arguments)
    if arguments.insecure_secrets is None:
        waste, generators = ToxicWaste.draw(system.curve, flavour), Generators.standard(system.curve)
    else:
        streams.complain("cuzkd setup: THE SECRETS COME FROM A FILE: this key proves nothing")
        with opened(arguments.insecure_secrets) as file:
            waste, generators = load_secrets(file.read(1 << 20), arguments.insecure_secrets, system.curve)
    targets = outputs(arguments.output, flavour)
    with shown(arguments) as report, new_files(targets) as files:
        made = make_key(system, flavour, waste, generators, files, NOTE, arguments.threads, report)
    streams.say(_told(system, made))
    for target in targets:
        streams.say(target)
    return shell.ExitCode.DONE


def outputs(output: str, flavour: Flavour) -> list[Path]:
    """The files that a key of this flavour is written to."""
    if flavour is Flavour.SNARKJS:
        return [Path(output)]
    stem = output.removesuffix(".params")
    return [Path(f"{stem}.params"), Path(f"{stem}.vk")]


@contextlib.contextmanager
def shown(arguments: argparse.Namespace) -> Iterator[progress.Told]:
    """Progress of local work, on standard error."""
    with progress.shown(arguments.progress) as reporter:
        yield progress.told(reporter)


def _system(arguments: argparse.Namespace) -> ConstraintSystem:
    from cuzkd.formats.r1cs import read_r1cs
    from cuzkd.formats.recorded import read_recorded
    from cuzkd.formats.system import constraint_system

    name = arguments.r1cs or arguments.matrices
    with opened(name) as file:
        if arguments.matrices is not None:
            return read_recorded(file.fileno(), name, threads=arguments.threads)
        return constraint_system(read_r1cs(file.fileno(), name), threads=arguments.threads)


def opened(name: str) -> BinaryIO:
    """A file of the command line, to read."""
    with shell.reading():
        return open(open_input(name), "rb")


@contextlib.contextmanager
def new_files(targets: Sequence[Path]) -> Iterator[list[BinaryIO]]:
    """Files to write that appear under their names once the block has ended well, and never otherwise."""
    with contextlib.ExitStack() as undo:
        files, names = list[BinaryIO](), list[Path]()
        for target in targets:
            try:
                descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
            except OSError as error:
                raise shell.UsageError(f"{target}: {error.strerror}") from error
            names.append(Path(name))
            undo.callback(names[-1].unlink, missing_ok=True)
            files.append(undo.enter_context(open(descriptor, "wb")))
        try:
            yield files
            for file in files:
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise ResourceExhausted(f"{targets[0]} could not be written: {error.strerror}") from error
        mask = os.umask(0)
        os.umask(mask)
        for written, target in zip(names, targets, strict=True):
            written.chmod(0o666 & ~mask)
            written.replace(target)


def _told(system: ConstraintSystem, made: Made) -> str:
    return (
        f"{system.constraints} constraints, {system.num_vars} wires, {system.num_public} public, "
        f"domain 2^{system.log_domain}: {made.points} points in {made.seconds:.1f} s, for development only"
    )
