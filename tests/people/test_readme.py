"""What the README and CONTRIBUTING claim about the tree is true of the tree."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from people.commands import run

from cuzkd.ctl_parser import COMMANDS
from cuzkd.errors import BadWitness

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
FILE = re.compile(r"\[`([\w/]+\.py)`\]\(\1\)")
NAME = re.compile(r"`([A-Za-z_][\w.]*)`")


def places() -> list[tuple[str, str]]:
    """Every (file, name) of the table that follows a proof through the code."""
    table = README[README.index("### The path of a proof") : README.index("## Measured")]
    found = []
    for line in table.splitlines():
        if not line.startswith("| ") or "](" not in line:
            continue
        parts = FILE.split(line.rpartition(" | ")[2])
        found += [
            (path, name)
            for path, rest in zip(parts[1::2], parts[2::2], strict=True)
            for name in NAME.findall(rest)
        ]
    return found


def defined(path: Path) -> set[str]:
    names = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            names.add(node.name)
        if isinstance(node, ast.ClassDef):
            names.update(
                f"{node.name}.{inner.name}" for inner in node.body if isinstance(inner, ast.FunctionDef)
            )
    return names


def test_the_table_follows_a_proof_through_every_process() -> None:
    files = {path for path, _ in places()}
    assert len(places()) > 20
    assert all(
        any(path.startswith(folder) for path in files)
        for folder in (
            "ipc/",
            "kernels/",
            "cuzkd/supervisor/",
            "cuzkd/ingest/",
            "cuzkd/synthesis/",
            "cuzkd/gpu/",
        )
    )


@pytest.mark.parametrize(("path", "name"), places())
def test_a_place_named_in_the_table_exists(path: str, name: str) -> None:
    assert name in defined(ROOT / path)


@pytest.mark.parametrize("text", [README, CONTRIBUTING], ids=["README", "CONTRIBUTING"])
def test_scripts_and_links_exist(text: str) -> None:
    named = set(re.findall(r"scripts/[\w-]+(?:\.sh)?", text)) | set(
        re.findall(r"\]\((?!https?:)([^)#]+)\)", text)
    )
    assert named
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []


@pytest.mark.parametrize(
    "command", [*(name for name, _ in COMMANDS if name != "circuit"), "circuit add", "circuit list"]
)
def test_the_synopses_of_cuzkctl_have_every_option(command: str) -> None:
    usage = " ".join(run("cuzkctl", *command.split(), "--help").stdout.split())
    synopses = " ".join(line for line in README.splitlines() if re.match(rf"cuzkctl {command}( |$)", line))
    assert options(usage[: usage.index("options:")]) - {"-h", "--socket"} == options(synopses) - {"--socket"}


def options(text: str) -> set[str]:
    return set(re.findall(r"(?<!\w)--?[a-z][a-z0-9-]*", text))


def test_the_errors_of_inputs_in_the_readme_are_all_that_there_are() -> None:
    section = README[README.index("## Circuits by name") : README.index("## How it is built")]
    named = re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)
    assert named == [error.code for error in BadWitness.__subclasses__()]


def test_the_version_is_the_same_everywhere() -> None:
    pyproject = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    version = re.search(r'^version = "(.+)"$', pyproject, re.MULTILINE)
    assert version is not None
    assert run("cuzkctl", "--version").stdout == f"cuzkctl {version[1]}\n"
