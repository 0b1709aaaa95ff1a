"""`cuzkctl` as a shell sees it, without a daemon: what it prints, where, and its exit code."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path

import pytest
from fixtures import bundled
from people.commands import run

CASE = bundled("multiplier_bn128")
FILES = ("--zkey", CASE.zkey, "--wtns", CASE.witness)


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("juggle",),
        ("prove",),
        ("prove", "--zkey", "key"),
        ("prove", "--zkey", "key", "--circuit", "name", "--wtns", "w"),
        ("prove", *FILES, "--input", "i"),
        ("prove", "--zkey", "key", "--input", "i"),
        ("prove", "--circuit", "name", "--input", "i", "--wasm", "w"),
        ("prove", "--circuit", "name", "--wtns", "w", "--r1cs", "r"),
        ("prove", "--circuit", "name", "--wtns", "w", "--points", "curve"),
        ("prove", *FILES, "--points", "some"),
        ("circuit",),
        ("circuit", "juggle"),
        ("circuit", "add", "name"),
        ("circuit", "add", "--zkey", "key"),
        ("circuit", "show"),
        ("circuit", "list", "name"),
        ("prove", *FILES, "--timeout", "soon"),
        ("prove", *FILES, "--timeout", "-1"),
        ("prove", *FILES, "--timeout", "inf"),
        ("wait",),
        ("wait", "first"),
        ("wait", "0"),
        ("wait", str(1 << 63)),
        ("wait", "1", "--time", "3"),
        ("submit",),
        ("submit", *FILES, "-o", "out"),
        ("submit", *FILES, "--timeout", "1"),
        ("submit", *FILES, "--cancel-on-disconnect"),
        ("fetch",),
        ("fetch", "1", "--timeout", "1"),
        ("jobs", "1"),
        ("show",),
        ("show", "1", "2"),
        ("cancel",),
        ("cancel", "1", "last"),
        ("watch", "all"),
        ("drain", "now"),
        ("drain", "--timeout", "0"),
        ("reload", "file"),
        ("metrics", "jobs"),
        ("verify", "--vkey", "key"),
        ("status", "--colour"),
    ],
    ids=lambda arguments: " ".join(map(str, arguments[-2:])) or "nothing",
)
def test_wrong_usage_exits_2_and_shows_the_usage(arguments: tuple[object, ...]) -> None:
    done = run("cuzkctl", *arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("usage: cuzkctl")
    assert "error:" in done.stderr


@pytest.mark.parametrize(
    "arguments", [("prove",), ("wait", "first"), ("circuit", "add", "name"), ("jobs", "1")]
)
def test_wrong_usage_with_json_is_one_document(arguments: tuple[str, ...]) -> None:
    done = run("cuzkctl", *arguments, "--json")
    assert (done.returncode, done.stderr) == (2, "")
    error = json.loads(done.stdout)["error"]
    assert (error["code"], error["retryable"]) == ("usage", False)
    assert "--help" in error["advice"]


def test_help_explains_the_exit_codes() -> None:
    done = run("cuzkctl", "--help")
    assert done.returncode == 0
    assert "3    no daemon answers" in done.stdout


@pytest.mark.parametrize("program", ["cuzkctl", "cuzkd"])
def test_version_is_one_line(program: str) -> None:
    done = run(program, "--version")
    assert done.returncode == 0
    name, version = done.stdout.split()
    assert name == program
    assert version[0].isdigit()


@pytest.mark.parametrize(
    "command",
    [
        ("status",),
        ("wait", "1"),
        ("fetch", "1"),
        *((what,) for what in ("jobs", "watch", "metrics", "drain", "reload")),
        *((what, "1") for what in ("show", "watch", "cancel")),
        ("prove", *FILES),
        ("submit", *FILES),
        ("prove", "--circuit", "name", "--wtns", CASE.witness),
        ("circuit", "add", "name", "--zkey", CASE.zkey),
        *(("circuit", what, "name") for what in ("show", "remove", "preload", "evict")),
        ("circuit", "list"),
    ],
    ids=lambda command: " ".join(map(str, command[:2])),
)
def test_without_a_daemon_the_exit_code_is_3_and_the_advice_names_the_socket(
    command: tuple[object, ...], tmp_path: Path
) -> None:
    socket = tmp_path / "none.sock"
    done = run("cuzkctl", "--socket", socket, *command, cwd=tmp_path)
    assert done.returncode == 3
    error, advice = done.stderr.splitlines()
    assert error == f"cuzkctl: error: no daemon answers at {socket}: No such file or directory"
    assert "--socket" in advice
    assert list(tmp_path.iterdir()) == []


def test_the_socket_may_be_named_after_the_subcommand_too(tmp_path: Path) -> None:
    done = run("cuzkctl", "status", "--socket", tmp_path / "later.sock")
    assert done.returncode == 3
    assert "later.sock" in done.stderr


def test_a_socket_that_nobody_listens_at_is_unreachable(tmp_path: Path) -> None:
    path = tmp_path / "dead.sock"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
    done = run("cuzkctl", "--socket", path, "status")
    assert done.returncode == 3
    assert "Connection refused" in done.stderr


def test_with_json_an_error_is_one_document_on_standard_output(tmp_path: Path) -> None:
    done = run("cuzkctl", "--socket", tmp_path / "none.sock", "status", "--json")
    assert done.returncode == 3
    assert done.stderr == ""
    error = json.loads(done.stdout)["error"]
    assert error["code"] == "unreachable"
    assert error["message"]
    assert error["advice"]


@pytest.mark.parametrize("command", ["prove", "submit"])
@pytest.mark.parametrize("missing", ["--zkey", "--wtns", "--wasm", "--r1cs"])
def test_a_file_that_is_not_there_exits_2_and_is_named(command: str, missing: str, tmp_path: Path) -> None:
    files = {"--zkey": CASE.zkey, "--wtns": CASE.witness, "--r1cs": CASE.r1cs} | {missing: tmp_path / "gone"}
    done = run("cuzkctl", command, *[word for pair in files.items() for word in pair])
    assert done.returncode == 2
    assert done.stderr.splitlines()[0] == (
        f"cuzkctl: error: cannot read {tmp_path / 'gone'}: No such file or directory"
    )


@pytest.mark.parametrize("missing", ["--zkey", "--wasm", "--r1cs"])
def test_a_circuits_file_that_is_not_there_exits_2_and_is_named(missing: str, tmp_path: Path) -> None:
    files = {"--zkey": CASE.zkey} | {missing: tmp_path / "gone"}
    done = run("cuzkctl", "circuit", "add", "name", *[word for pair in files.items() for word in pair])
    assert done.returncode == 2
    assert f"cannot read {tmp_path / 'gone'}" in done.stderr


def test_a_pipe_in_place_of_a_file_is_refused_without_waiting_for_a_writer(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    done = run("cuzkctl", "prove", "--zkey", pipe, "--wtns", CASE.witness)
    assert done.returncode == 2
    assert "not a regular file" in done.stderr


def test_an_output_directory_that_cannot_be_made_is_known_before_anything_is_sent(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    socket = tmp_path / "none.sock"
    done = run("cuzkctl", "--socket", socket, "prove", *FILES, "-o", tmp_path / "file" / "out")
    assert done.returncode == 2
    assert "cannot make the directory" in done.stderr
