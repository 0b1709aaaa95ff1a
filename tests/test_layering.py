"""The tree keeps its own rules: layers, what may be imported where, and words that have no place in it."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

# A name that may be imported by one module only: the module that hides it from the others.
ONE_HOME = {"msgpack": "ipc/codec.py", "posix_ipc": "ipc/segment.py", "sdnotify": "cuzkd/sd.py"}

# What a program that only talks to the daemon has no use for.
HEAVY = (
    "asyncio",
    "numpy",
    "posix_ipc",
    "cuzkd.kernels._native",
    "cuzkd.kernels.native",
    "cuzkd.supervisor",
    "cuzkd.ipc.orders",
    "dataclasses",
    "inspect",
    "json",
    "logging",
    "shutil",
    "threading",
    "typing",
)

# Put together here, so that this file does not match itself.
WORDS = [
    re.compile(r"\b(" + "|".join(("TO" + "DO", "FIX" + "ME", "X" + "XX")) + r")\b"),
    re.compile("/work" + r"/\w|work" + "place", re.IGNORECASE),
]
TEXT_SUFFIXES = {
    ".py",
    ".md",
    ".toml",
    ".txt",
    ".cpp",
    ".hpp",
    ".h",
    ".cuh",
    ".cu",
    ".mjs",
    ".1",
    ".5",
    ".service",
    ".socket",
    ".conf",
}


def python_files(*folders: str) -> Iterator[Path]:
    for folder in folders or ("cuzkd", "ipc", "kernels", "tests", "scripts"):
        # The links from cuzkd/ to the other packages would show their files twice.
        yield from (path for path in sorted((ROOT / folder).rglob("*.py")) if path.resolve() == path)


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module


def test_dependencies_point_one_way() -> None:
    """import-linter accepts every contract of pyproject.toml."""
    done = subprocess.run(
        [Path(sys.executable).parent / "lint-imports", "--no-cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_picture_of_the_layers_is_true() -> None:
    """CONTRIBUTING shows every module of the checked layers, from top to bottom."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    picture = text.split("from top to bottom:\n```\n")[1].split("```")[0]
    rows = [row.split("  ")[0].split(", ") for row in picture.splitlines()]
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    above = 0
    for layer in contracts["contracts"][0]["layers"]:
        places = []
        for name in re.findall(r"\w+", layer):
            found = [at for at, row in enumerate(rows) if any(fnmatch(name, shown) for shown in row)]
            assert found, f"{name} is not shown"
            places.append(found[0])
        assert above <= min(places), f"{layer} is shown above what is above it"
        above = max(places)


@pytest.mark.parametrize("name", ONE_HOME)
def test_a_library_with_one_home_is_imported_nowhere_else(name: str) -> None:
    users = {
        str(path.relative_to(ROOT))
        for path in python_files("cuzkd", "ipc", "kernels")
        if any(found.split(".")[0] == name for found in imports(path))
    }
    assert users == {ONE_HOME[name]}


def test_python_code_imports_the_packages_by_their_full_names() -> None:
    """`import ipc` would make a second copy of cuzkd.ipc, with classes that are not the first one's."""
    offenders = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in python_files()
        for name in imports(path)
        if name.split(".")[0] in ("ipc", "kernels")
    ]
    assert not offenders


@pytest.mark.parametrize(
    "module",
    [
        "cuzkd",
        "cuzkd.client",
        *(f"cuzkd.{path.stem}" for path in sorted((ROOT / "cuzkd").glob("ctl*.py"))),
        "cuzkd.progress",
        "cuzkd.render",
    ],
)
def test_what_people_start_often_loads_nothing_heavy(module: str) -> None:
    program = f"import sys, {module}; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout.split()
    assert module in loaded
    assert not [name for name in loaded if name in HEAVY]


def test_a_subcommand_of_cuzkctl_loads_what_it_needs_and_nothing_heavy() -> None:
    """The whole way of `cuzkctl wait`, up to the socket where nobody answers: a hundred modules, most of them small."""
    program = (
        "import sys; from cuzkd import ctl; ctl.main(['--socket', '/nowhere', 'wait', '1', '-o', '/']);"
        "print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    assert "no daemon answers at /nowhere" in done.stderr
    assert "cuzkd.ctl_prove" in loaded
    assert len(loaded) < 125
    assert not {*HEAVY, "cuzkd.ctl_jobs", "cuzkd.ctl_daemon", "cuzkd.ctl_circuit", "cuzkd.render"} & {*loaded}


def tracked_texts() -> Iterator[Path]:
    """Every text file that version control knows, or every text file where there is no version control."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False
    )  # fails in an unpacked sdist
    names = listed.stdout.split("\0") if listed.returncode == 0 else [str(path) for path in ROOT.rglob("*")]
    for name in filter(None, names):
        path = ROOT / name
        if path.is_file() and not path.is_symlink() and path.suffix in TEXT_SUFFIXES | {""}:
            yield path


@pytest.mark.parametrize("pattern", WORDS, ids=["unfinished work", "places outside the project"])
def test_the_tree_does_not_speak_of(pattern: re.Pattern[str]) -> None:
    offenders = [
        f"{path.relative_to(ROOT)}: {match.group()}"
        for path in tracked_texts()
        if (match := pattern.search(path.read_text(encoding="utf-8", errors="replace")))
    ]
    assert not offenders
