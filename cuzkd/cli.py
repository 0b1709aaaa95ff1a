"""`cuzkd`: the daemon's own program, and what it can do offline: verify, export a key, check a configuration.

Each subcommand imports what it needs when it runs, so that `verify` starts without the daemon's code.
"""

from __future__ import annotations

import argparse
import enum
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cuzkd import cli_bench, cli_setup, shell
from cuzkd.client import open_input
from cuzkd.errors import BadConfig, BadFile, BootFailed, CuzkdError

if TYPE_CHECKING:
    from cuzkd.model import VerifyingKey

EXIT_CODES = """\
exit codes:
  0    done; for serve: stopped as asked
  1    failed while running, another daemon runs, or the proof is wrong
  2    wrong usage, or a path on the command line that cannot be read or written
  4    refused: a file that is damaged or not supported
  70   serve: a process of the daemon does not start
  78   serve, check-config: the configuration cannot be used
"""


class ExitCode(enum.IntEnum):
    """What `cuzkd` tells the service manager, beyond what `cuzkctl` knows; values as in sysexits.h."""

    BOOT_FAILED = 70
    BAD_CONFIG = 78


def main(argv: Sequence[str] | None = None) -> int:
    """Run `cuzkd` with these arguments (by default the process's own); returns the exit code."""
    return shell.run(parser().parse_args(argv), "cuzkd", exit_code)


def exit_code(error: CuzkdError) -> int:
    """The exit code that an error calls for."""
    if isinstance(error, BadConfig):
        return ExitCode.BAD_CONFIG
    return ExitCode.BOOT_FAILED if isinstance(error, BootFailed) else shell.exit_code(error)


def parser() -> argparse.ArgumentParser:
    """The whole command line, from which the help is printed."""
    top = argparse.ArgumentParser(
        prog="cuzkd",
        description="A Groth16 proving daemon. Ask it for proofs with cuzkctl.",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action=shell.Version)
    top.set_defaults(json=False)
    commands = top.add_subparsers(metavar="COMMAND", required=True)

    serve = commands.add_parser("serve", help="run the daemon in the foreground until SIGTERM")
    serve.add_argument("--config", metavar="FILE", type=Path, help="configuration file (TOML)")
    serve.add_argument("--runtime-dir", metavar="DIR", type=Path, help="where the socket and the spool are")
    serve.add_argument(
        "--backend",
        choices=("auto", "cuda", "host"),
        help="what proves: a CUDA device, this machine's cores, or whichever there is",
    )
    serve.set_defaults(run=_serve)

    check = commands.add_parser("check-config", help="say whether a configuration can be used")
    check.add_argument("config", metavar="FILE", type=Path, nargs="?", help="configuration file (TOML)")
    check.set_defaults(run=_check_config)

    verify = commands.add_parser("verify", help="verify a proof")
    shell.add_verify_arguments(verify)
    verify.set_defaults(run=_verify)

    export = commands.add_parser("export-vkey", help="write the verification key that is in a proving key")
    export.add_argument("--zkey", required=True, metavar="F", type=Path, help="proving key")
    export.add_argument(
        "-o",
        "--output",
        metavar="F",
        default="verification_key.json",
        help="where to write (default: verification_key.json)",
    )
    export.set_defaults(run=_export_vkey)
    cli_setup.add(commands)
    cli_bench.add(commands)
    return top


# ---- subcommands


def _serve(arguments: argparse.Namespace) -> int:
    from cuzkd import supervisor
    from cuzkd.config import Config

    given = {"runtime_dir": arguments.runtime_dir, "backend": arguments.backend}
    if arguments.runtime_dir is not None:
        given["runtime_dir"] = arguments.runtime_dir.absolute()
    overrides = {key: value for key, value in given.items() if value is not None}
    return supervisor.run(Config.load(arguments.config, overrides))


def _check_config(arguments: argparse.Namespace) -> int:
    from cuzkd.config import Config

    config = Config.load(arguments.config)
    print(f"usable; the job socket will be {config.socket_path}")
    return shell.ExitCode.DONE


def _verify(arguments: argparse.Namespace) -> int:
    from cuzkd.formats.proof import load_proof, load_public
    from cuzkd.formats.vkey import load_vkey
    from cuzkd.kernels.verify import verify

    vkey = load_vkey(_read(arguments.vkey), arguments.vkey)
    proof = load_proof(_read(arguments.proof), arguments.proof, default_curve=vkey.curve)
    public = load_public(_read(arguments.public), arguments.public)
    valid = verify(vkey, public, proof)
    if arguments.json:
        shell.print_json({"valid": valid})
    else:
        print("valid: the proof is right" if valid else "INVALID: the proof is wrong for these public inputs")
    return shell.ExitCode.DONE if valid else shell.ExitCode.FAILED


def _read(path: str) -> bytes:
    with shell.reading(), open(open_input(path), "rb") as file:
        return file.read()


def _export_vkey(arguments: argparse.Namespace) -> int:
    from cuzkd.formats.vkey import dump_vkey

    with shell.reading():
        descriptor = open_input(arguments.zkey)
    try:
        text = dump_vkey(_vkey_of(descriptor, str(arguments.zkey)))
    finally:
        os.close(descriptor)
    shell.write_all({arguments.output: text})
    print(arguments.output)
    return shell.ExitCode.DONE


def _vkey_of(descriptor: int, name: str) -> VerifyingKey:
    """The verifying key inside an open zkey file; `BadFile` when a point of it is not on the curve."""
    import numpy as np

    from cuzkd.formats.zkey import SECTION_IC, open_zkey
    from cuzkd.kernels.curve import Group, decode, first_off_curve
    from cuzkd.model import VerifyingKey

    key = open_zkey(descriptor, name)
    header = key.header
    section = key.file.require(SECTION_IC)

    def points(group: Group, data: bytes, what: str) -> list[Any]:
        width = header.g1_bytes if group is Group.G1 else header.g2_bytes
        array = np.frombuffer(data, "<u8").reshape(-1, width // 8)
        bad = first_off_curve(header.curve, group, array, threads=1)
        if bad is not None:
            raise BadFile(f"{name}: {what}: point {bad} is not on the curve")
        return decode(header.curve, group, array)

    def point(group: Group, which: str) -> Any:
        return points(group, header.points[which], which)[0]

    return VerifyingKey(
        header.curve,
        alpha_g1=point(Group.G1, "alpha1"),
        beta_g2=point(Group.G2, "beta2"),
        gamma_g2=point(Group.G2, "gamma2"),
        delta_g2=point(Group.G2, "delta2"),
        ic=tuple(points(Group.G1, key.file.read(section, section.size), "section 3 (IC)")),
    )
