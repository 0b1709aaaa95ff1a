"""Named circuits beside a real daemon: the whole life of one through `cuzkctl`, and what is refused on the way."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from daemon import Daemon, running
from fixtures import Case, bundled, each
from people.commands import run

from cuzkd.errors import BadWitness, NotFound, Refused
from cuzkd.ipc.requests import PointChecks, Residency

CASE = bundled("multiplier_bn128")
PLAIN = bundled("squarings_bn128")


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running(tmp_path_factory.mktemp("circuits") / "run") as daemon:
        yield daemon


def ctl(daemon: Daemon, *arguments: object) -> subprocess.CompletedProcess[str]:
    return run("cuzkctl", "--socket", daemon.socket, *arguments)


def said(daemon: Daemon, *arguments: object) -> str:
    done = ctl(daemon, *arguments)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def test_the_life_of_a_named_circuit(daemon: Daemon, tmp_path: Path) -> None:
    """Added, listed, shown, preloaded, proved from inputs and witnesses, evicted and removed."""
    added = said(
        daemon, "circuit", "add", "life", "--zkey", CASE.zkey, "--wasm", CASE.wasm, "--r1cs", CASE.r1cs
    )
    assert added.startswith("circuit life added: ")
    assert "over bn128, 1 public input, " in added
    assert said(daemon, "circuit", "list").splitlines()[1].split()[0] == "life"

    assert said(daemon, "circuit", "preload", "life") == "circuit life is hot\n"
    assert said(daemon, "circuit", "evict", "life") == "circuit life is cold\n"
    for how in (("--input", CASE.input), ("--wtns", CASE.witness)):
        said(daemon, "prove", "--circuit", "life", *how, "-o", tmp_path)
        assert (tmp_path / "public.json").read_bytes() == CASE.public.read_bytes()
        files = ("--proof", tmp_path / "proof.json", "--public", tmp_path / "public.json")
        assert run("cuzkctl", "verify", "--vkey", CASE.verification_key, *files).returncode == 0

    shown = json.loads(said(daemon, "circuit", "show", "life", "--json"))
    assert (shown["hits"], shown["residency"]) == (2, "hot")
    assert (shown["wasm"], shown["r1cs"], shown["points"]) == (True, True, "full")
    assert f"circuit   {shown['circuit']['digest']}\n" in said(daemon, "circuit", "show", "life")
    assert any(
        line.split()[0] == "life" and line.split()[-2:] == ["hot", "2"]
        for line in said(daemon, "status").splitlines()
        if line.strip()
    )

    assert said(daemon, "circuit", "remove", "life") == "circuit life removed\n"
    gone = ctl(daemon, "prove", "--circuit", "life", "--input", CASE.input, "-o", tmp_path)
    assert gone.returncode == 4
    assert "life" in gone.stderr


@each([bundled("multiplier_bls12381"), bundled("publics_bn128"), bundled("publics_bls12381")])
def test_inputs_prove_without_a_name_too(daemon: Daemon, case: Case, tmp_path: Path) -> None:
    files = ("--zkey", case.zkey, "--wasm", case.wasm, "--input", case.input, case.input)
    report = json.loads(said(daemon, "prove", *files, "-o", tmp_path, "--json"))
    assert len(report["proofs"]) == 2
    for index in range(2):
        assert (tmp_path / f"public-{index}.json").read_bytes() == case.public.read_bytes()


def test_names_that_are_not_there_are_not_found(daemon: Daemon) -> None:
    for command in ("show", "remove", "preload", "evict"):
        done = ctl(daemon, "circuit", command, "nobody", "--json")
        assert done.returncode == 4
        assert json.loads(done.stdout)["error"]["code"] == NotFound.code


@pytest.mark.parametrize("name", ["", "a b", "../a", "a/b/c", "a\nb", "x" * 5000])
def test_a_name_that_cannot_be_one_is_refused(daemon: Daemon, name: str) -> None:
    done = ctl(daemon, "circuit", "add", name, "--zkey", CASE.zkey)
    assert done.returncode == 4
    assert len(done.stderr.splitlines()) == 2


def test_a_circuit_added_again_is_found_compiled(daemon: Daemon) -> None:
    said(daemon, "circuit", "add", "twice", "--zkey", CASE.zkey)
    again = said(daemon, "circuit", "add", "twice", "--zkey", CASE.zkey)
    assert "found compiled" in again
    with daemon.client() as client:
        assert [circuit.name for circuit in client.circuits()].count("twice") == 1
        client.remove_circuit("twice")


def test_checking_points_less_is_shown(daemon: Daemon) -> None:
    with daemon.client() as client:
        added = client.add_circuit("curve-only", PLAIN.zkey, points="curve")
        assert added.points is PointChecks.CURVE
        assert added.residency is Residency.COLD
        client.remove_circuit("curve-only")


def test_inputs_for_a_circuit_without_its_wasm_are_refused_with_advice(daemon: Daemon) -> None:
    said(daemon, "circuit", "add", "bare", "--zkey", PLAIN.zkey)
    done = ctl(daemon, "prove", "--circuit", "bare", "--input", PLAIN.input)
    assert done.returncode == 4
    assert "wasm" in done.stderr
    said(daemon, "circuit", "remove", "bare")


@pytest.mark.parametrize(
    "files",
    [
        {"wasm": bundled("multiplier_bls12381").wasm},
        {"wasm": bundled("publics_bn128").wasm},
        {"r1cs": bundled("multiplier_bls12381").r1cs},
        {"r1cs": PLAIN.r1cs},
        {"wasm": CASE.public},
        {"r1cs": CASE.public},
    ],
    ids=["wasm of the other curve", "wasm", "r1cs of the other curve", "r1cs", "no wasm", "no r1cs"],
)
def test_files_that_do_not_belong_to_the_key_are_refused_by_name(
    daemon: Daemon, files: dict[str, Path]
) -> None:
    [path] = files.values()
    with daemon.client() as client:
        with pytest.raises(Refused, match=re.escape(str(path))):
            client.add_circuit("mixed", CASE.zkey, **files)
        with pytest.raises(NotFound):
            client.show_circuit("mixed")


def test_a_witness_that_breaks_a_constraint_is_refused_by_its_number(daemon: Daemon, tmp_path: Path) -> None:
    """The chain of squarings has 30 constraints; the wire that is changed is the product of one of them."""
    witness = bytearray(PLAIN.witness.read_bytes())
    witness[-32] ^= 1
    (tmp_path / "bad.wtns").write_bytes(witness)
    with daemon.client() as client, pytest.raises(BadWitness, match=r"constraint \d+ is not satisfied"):
        client.prove(PLAIN.zkey, [tmp_path / "bad.wtns"], r1cs=PLAIN.r1cs)
    done = ctl(daemon, "prove", "--zkey", PLAIN.zkey, "--wtns", tmp_path / "bad.wtns", "-o", tmp_path)
    assert done.returncode == 1
    assert "witness" in done.stderr


def test_progress_is_plain_lines_where_there_is_no_terminal(daemon: Daemon, tmp_path: Path) -> None:
    key = PLAIN.zkey.read_bytes() + b"another key"  # bytes that follow a key are no part of it
    (tmp_path / "other.zkey").write_bytes(key)
    files = ("--zkey", tmp_path / "other.zkey", "--wtns", PLAIN.witness, "-o", tmp_path)
    done = ctl(daemon, "prove", *files, "--progress", "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["job"] > 0
    assert done.stderr
    assert "\r" not in done.stderr
    assert "\x1b" not in done.stderr
    assert ctl(daemon, "prove", *files, "--no-progress").stderr == ""
