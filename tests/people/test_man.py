"""The man pages have every command, option and key that there is."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from people.commands import run

from cuzkd.configkeys import KEYS
from cuzkd.ctl_parser import COMMANDS
from cuzkd.shell import ExitCode

ROOT = Path(__file__).resolve().parents[2]
MAN = ROOT / "systemd" / "man"
PAGES = sorted(MAN.glob("*.[1-9]"))
CUZKCTL = (MAN / "cuzkctl.1").read_text(encoding="utf-8")
CUZKD = (MAN / "cuzkd.1").read_text(encoding="utf-8")
CONFIGURATION = (MAN / "cuzkd.toml.5").read_text(encoding="utf-8")


def synopsis_of(command: str, page: str) -> str:
    """The part of the synopsis that shows this command."""
    return next(
        part
        for part in page[: page.index(".Sh DESCRIPTION")].split("\n.Nm\n")
        if re.search(rf"^\.Cm {command}\b", part, re.MULTILINE)
    )


def check_options(program: str, command: str, page: str) -> None:
    usage, _, _ = run(program, *command.split(), "--help").stdout.partition("\n\n")
    wanted = set(re.findall(r"(?<!\w)--?[a-z][a-z0-9-]*", usage)) - {"-h"}
    assert wanted <= {f"-{flag}" for flag in re.findall(r"Fl ([\w-]+)", synopsis_of(command, page))}


@pytest.mark.parametrize("command", [name for name, _ in COMMANDS])
def test_every_command_of_cuzkctl_is_there_with_its_options(command: str) -> None:
    check_options("cuzkctl", command, CUZKCTL)


@pytest.mark.parametrize(
    "command", ["serve", "check-config", "verify", "export-vkey", "setup", "bench make", "bench synthesis"]
)
def test_every_command_of_cuzkd_is_there_with_its_options(command: str) -> None:
    check_options("cuzkd", command, CUZKD)


def test_every_exit_code_of_cuzkctl_is_there() -> None:
    status = CUZKCTL[CUZKCTL.index(".Sh EXIT STATUS") : CUZKCTL.index(".Sh EXAMPLES")]
    assert re.findall(r"^\.It (\d+)$", status, re.MULTILINE) == [str(int(code)) for code in ExitCode]


def test_every_key_of_the_configuration_is_there_in_order_and_live_ones_are_marked() -> None:
    entries = re.findall(r"^\.It Ic (\S+) (.*)$", CONFIGURATION, re.MULTILINE)
    assert [(key, rest.endswith("Em live")) for key, rest in entries] == [
        (key, spec.live) for key, spec in KEYS.items()
    ]


@pytest.mark.skipif(shutil.which("groff") is None, reason="groff formats man pages")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_is_formatted_without_a_warning(page: Path) -> None:
    done = subprocess.run(
        ["groff", "-mdoc", "-Tutf8", "-ww", str(page)], capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    assert done.stdout
