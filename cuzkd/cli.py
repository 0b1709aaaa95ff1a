"""`cuzkd`: the daemon's own program, and what it can do offline: verify, export a key, check a configuration.

Each subcommand imports what it needs when it runs, so that `verify` starts without the daemon's code.
"""

from __future__ import annotations

import argparse
import enum
import os
from collections.abc import Container, Mapping, Sequence
from pathlib import Path

from cuzkd import cli_bench, cli_setup, parsing, shell, streams
from cuzkd.client import open_input
from cuzkd.errors import BadConfig, BootFailed, CuzkdError, Refused
from cuzkd.model import Proof, VerifyingKey
from cuzkd.tables import count

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
    streams.open_closed()
    return shell.run(parser().parse_args(argv), "cuzkd", exit_code)


def exit_code(error: CuzkdError) -> int:
    """The exit code that an error calls for."""
    if isinstance(error, BadConfig):
        return ExitCode.BAD_CONFIG
    if isinstance(error, BootFailed):
        return ExitCode.BOOT_FAILED
    code = shell.exit_code(error)
    return shell.ExitCode.FAILED if code == shell.ExitCode.TRY_AGAIN else code


def parser() -> argparse.ArgumentParser:
    """The whole command line, from which the help is printed."""
    top = parsing.Parser(
        prog="cuzkd",
        description="A Groth16 proving daemon. Ask it for proofs with cuzkctl.",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action=parsing.Version)
    top.set_defaults(json=False)
    commands = top.add_subparsers(metavar="COMMAND", required=True)

    serve = commands.add_parser("serve", help="run the daemon in the foreground until SIGTERM")
    serve.add_argument("--config", metavar="FILE", type=Path, help="configuration file (TOML)")
    serve.add_argument("--runtime-dir", metavar="DIR", type=Path, help="where the sockets are")
    serve.add_argument(
        "--state-dir", metavar="DIR", type=Path, help="where payloads of jobs and compiled circuits are"
    )
    serve.add_argument(
        "--backend",
        choices=("auto", "cuda", "host"),
        help="what proves: a CUDA device, this machine's cores, or whichever there is",
    )
    serve.set_defaults(run=_serve)

    check = commands.add_parser(
        "check-config", help="say whether a configuration can be used, and print all of it"
    )
    check.add_argument("config", metavar="FILE", type=Path, nargs="?", help="configuration file (TOML)")
    shell.add_json(check)
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

    file, given = _absolute(arguments.config), {"backend": arguments.backend}
    for name in ("runtime_dir", "state_dir"):
        given[name] = _absolute(getattr(arguments, name))
    overrides = {key: value for key, value in given.items() if value is not None}
    return supervisor.run(lambda: Config.load(file, overrides))


def _absolute(path: Path | None) -> Path | None:
    return None if path is None else path.absolute()


def _check_config(arguments: argparse.Namespace) -> int:
    """Print every key with the value that it has: what was set and, marked, the defaults."""
    from cuzkd.config import Config

    config = Config.load(arguments.config)
    if arguments.json:
        shell.print_json(config.shown(), indent=1)
    else:
        streams.say(render_config(config.shown(), config.given), end="")
    return shell.ExitCode.DONE


def render_config(shown: Mapping[str, object], given: Container[str]) -> str:
    """The configuration as a file that sets every key; defaults are marked as such."""
    import json  # strings, numbers and lists look the same in TOML

    lines, table = [], ""
    for key, value in shown.items():
        head, _, name = key.rpartition(".")
        if head != table:
            lines += ["", f"[{head}]"]
            table = head
        mark = "" if key in given else "  # default"
        lines.append(f"{name} = {json.dumps(value, ensure_ascii=False)}{mark}")
    return "\n".join(lines) + "\n"


def _verify(arguments: argparse.Namespace) -> int:
    from cuzkd.formats.proof import load_public
    from cuzkd.kernels.verify import verify

    vkey, proofs = _of_snarkjs(arguments) if arguments.vk is None else _of_bellperson(arguments)
    names: list[str] = arguments.public
    if len(names) != len(proofs):
        raise Refused(
            f"{arguments.proof} has {count(len(proofs), 'proof')}, and there are public inputs for {len(names)}",
            advice="give as many files with --public as there are proofs, in their order",
        )
    publics = [load_public(_read(name), name) for name in names]
    wrong = [
        index
        for index, (public, proof) in enumerate(zip(publics, proofs, strict=True))
        if not verify(vkey, public, proof)
    ]
    if arguments.json:
        shell.print_json({"valid": not wrong})
    elif len(proofs) == 1:
        streams.say(
            "INVALID: the proof is wrong for these public inputs" if wrong else "valid: the proof is right"
        )
    elif wrong:
        streams.say(f"INVALID: wrong for their public inputs: proof {', '.join(map(str, wrong))}")
    else:
        streams.say(f"valid: all {len(proofs)} proofs are right")
    return shell.ExitCode.FAILED if wrong else shell.ExitCode.DONE


def _of_snarkjs(arguments: argparse.Namespace) -> tuple[VerifyingKey, tuple[Proof, ...]]:
    from cuzkd.formats.proof import load_proof
    from cuzkd.formats.vkey import load_vkey

    vkey = load_vkey(_read(arguments.vkey), arguments.vkey)
    return vkey, (load_proof(_read(arguments.proof), arguments.proof, default_curve=vkey.curve),)


def _of_bellperson(arguments: argparse.Namespace) -> tuple[VerifyingKey, tuple[Proof, ...]]:
    from cuzkd.formats.bellperson import read_vk
    from cuzkd.formats.compressed import load_proofs

    with shell.reading(), open(open_input(arguments.vk), "rb") as file:
        vkey = read_vk(file.fileno(), arguments.vk)
    return vkey, load_proofs(_read(arguments.proof), arguments.proof)


def _read(path: str) -> bytes:
    with shell.reading(), open(open_input(path), "rb") as file:
        return file.read()


def _export_vkey(arguments: argparse.Namespace) -> int:
    from cuzkd.formats.vkey import dump_vkey
    from cuzkd.formats.zkey_vkey import read_vkey

    with shell.reading():
        descriptor = open_input(arguments.zkey)
    try:
        text = dump_vkey(read_vkey(descriptor, str(arguments.zkey)))
    finally:
        os.close(descriptor)
    shell.write_all({arguments.output: text})
    streams.say(arguments.output)
    return shell.ExitCode.DONE
