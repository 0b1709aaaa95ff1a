"""What is wrong with inputs reaches the shell: five errors told apart, each with where it lies."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from daemon import Daemon, running
from fixtures import all_cases, bundled
from people.commands import run

from cuzkd.errors import AssertionFailed, MissingSignal, NotANumber, UnknownSignal, WrongValueCount

CASE = bundled("nopublic_bn128")
ARRAYS = bundled("publics_bn128")
GOOD_ARRAYS = json.loads(ARRAYS.input.read_text())


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running(tmp_path_factory.mktemp("inputs") / "run") as daemon:
        with daemon.client() as client:
            client.add_circuit("product", CASE.zkey, wasm=CASE.wasm)
            client.add_circuit("arrays", ARRAYS.zkey, wasm=ARRAYS.wasm)
        yield daemon


@pytest.mark.parametrize(
    ("circuit", "inputs", "error", "where"),
    [
        ("product", {"a": 2, "b": 3, "c": 6, "d": 1}, UnknownSignal, "d"),
        ("product", {"a": 2, "b": 3}, MissingSignal, ""),
        ("arrays", GOOD_ARRAYS | {"weight": [1, 2, 3]}, WrongValueCount, "weight"),
        ("arrays", GOOD_ARRAYS | {"weight": [1, 2, 3, 4, 5]}, WrongValueCount, "weight"),
        ("arrays", GOOD_ARRAYS | {"weight": [1, 2, "three", 4]}, NotANumber, "weight[2]"),
        ("product", {"a": 2, "b": 3, "c": 1.5}, NotANumber, "c"),
        ("product", {"a": 2, "b": 3, "c": 7}, AssertionFailed, "template NoPublic_0 line: 9"),
    ],
    ids=["unknown", "missing", "too few", "too many", "text", "fraction", "assertion"],
)
def test_each_way_to_be_wrong_has_its_own_code_and_says_where(
    daemon: Daemon,
    circuit: str,
    inputs: dict[str, object],
    error: type[Exception],
    where: str,
    tmp_path: Path,
) -> None:
    (tmp_path / "input.json").write_text(json.dumps(inputs))
    prove = ("cuzkctl", "--socket", daemon.socket, "prove", "--circuit", circuit)
    command = (*prove, "--input", tmp_path / "input.json", "-o", tmp_path / "out")
    done = run(*command)
    assert done.returncode == 4
    assert done.stdout == ""
    said, advice = done.stderr.splitlines()
    assert where in said
    assert advice == error.default_advice
    failure = json.loads(run(*command, "--json").stdout)["error"]
    assert failure["code"] == error.code
    assert where in failure["message"]
    assert list((tmp_path / "out").iterdir()) == []


def test_of_several_inputs_the_wrong_one_fails_the_job(daemon: Daemon, tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text('{"a": 2, "b": 3, "c": 7}')
    with daemon.client() as client, pytest.raises(AssertionFailed):
        client.prove(circuit="product", inputs=[CASE.input, tmp_path / "bad.json", CASE.input])


def test_values_of_inputs_are_in_no_message(daemon: Daemon, tmp_path: Path) -> None:
    secret = 123456789123456789
    (tmp_path / "input.json").write_text(json.dumps({"a": secret, "b": 3, "c": 7}))
    prove = ("cuzkctl", "--socket", daemon.socket, "prove", "--circuit", "product")
    done = run(*prove, "--input", tmp_path / "input.json", "-o", tmp_path)
    assert done.returncode == 4
    assert str(secret) not in done.stderr
    assert str(secret) not in daemon.log()


BAD = [case for case in all_cases() if (case.path / "input.bad.json").exists()]


@pytest.mark.skipif(not BAD, reason="the larger set is not here")
def test_a_failed_assertion_deep_in_a_circuit_names_its_template_and_line(
    daemon: Daemon, tmp_path: Path
) -> None:
    case = BAD[0]
    files = ("--zkey", case.zkey, "--wasm", case.wasm, "--input", case.path / "input.bad.json")
    done = run("cuzkctl", "--socket", daemon.socket, "prove", *files, "-o", tmp_path)
    assert done.returncode == 4
    assert "MerkleProof" in done.stderr
    assert "line: 26" in done.stderr
