"""bellperson's circuits through the two programs: from a set-up of one's own to proofs that verify, and wrong usage."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from bellperson import bundled
from daemon import Daemon, running
from people.commands import run

from cuzkd.client import Client
from cuzkd.formats.compress import PROOF_BYTES

CASE = bundled("multiplier")
README = (Path(__file__).resolve().parents[2] / "README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running(tmp_path_factory.mktemp("bellperson") / "run") as daemon:
        yield daemon


def said(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 0, done.stderr
    return done.stdout


def ctl(daemon: Daemon, *arguments: object) -> subprocess.CompletedProcess[str]:
    return run("cuzkctl", "--socket", daemon.socket, *arguments)


def witness(folder: Path, a: int, b: int) -> Path:
    """Bare values: one, the product, the factors."""
    path = folder / f"{a}x{b}.raw"
    path.write_bytes(b"".join(value.to_bytes(32, "little") for value in (1, a * b, a, b)))
    return path


def test_the_way_from_a_set_up_to_proofs_that_verify(daemon: Daemon, tmp_path: Path) -> None:
    r1cs, out = CASE.file("r1cs", tmp_path), tmp_path / "out"
    said(run("cuzkd", "setup", "--r1cs", r1cs, "--flavour", "bellperson", "-o", tmp_path / "own"))
    vk = tmp_path / "own.vk"
    key = ("--params", tmp_path / "own.params", "--vk", vk)
    added = said(ctl(daemon, "circuit", "add", "own", *key, "--r1cs", r1cs))
    assert added.startswith("circuit own added: ")
    assert "rows over bls12381, bellperson's key, 1 public input" in added
    assert said(ctl(daemon, "circuit", "list")).splitlines()[1].split()[:4][3] == "bellperson"
    shown = said(ctl(daemon, "circuit", "show", "own"))
    assert "flavour   bellperson: " in shown
    assert "refuses   a bad witness, by the constraint's number" in shown

    witnesses = [witness(tmp_path, 3, b) for b in (5, 7, 9)]
    told = said(ctl(daemon, "prove", "--circuit", "own", "--wtns", *witnesses, "-o", out)).splitlines()
    publics = [out / f"public-{index}.json" for index in range(3)]
    assert told[1:] == [f"{out / 'proof.bin'} {public}" for public in publics]
    assert sorted(path.name for path in out.iterdir()) == ["proof.bin", *(path.name for path in publics)]
    assert [json.loads(path.read_text()) for path in publics] == [["15"], ["21"], ["27"]]
    assert (out / "proof.bin").stat().st_size == 3 * PROOF_BYTES

    for program in ("cuzkctl", "cuzkd"):
        verify = (program, "verify", "--vk", vk, "--proof", out / "proof.bin", "--public")
        assert said(run(*verify, *publics)) == "valid: all 3 proofs are right\n"
        swapped = run(*verify, publics[0], publics[2], publics[1])
        assert (swapped.returncode, swapped.stdout) == (
            1,
            "INVALID: wrong for their public inputs: proof 1, 2\n",
        )
        few = run(*verify, publics[0])
        assert few.returncode == 4
        assert "proof.bin has 3 proofs, and there are public inputs for 1" in few.stderr


def test_one_proof_has_one_public_json_and_fetch_writes_the_same(daemon: Daemon, tmp_path: Path) -> None:
    files = [word for kind in ("params", "vk") for word in (f"--{kind}", CASE.file(kind, tmp_path))]
    said(ctl(daemon, "circuit", "add", "one", *files, "--matrices", CASE.file("pce", tmp_path)))
    report = json.loads(
        said(
            ctl(
                daemon,
                "prove",
                "--circuit",
                "one",
                "--wtns",
                witness(tmp_path, 2, 3),
                "-o",
                tmp_path,
                "--json",
            )
        )
    )
    proof, public = tmp_path / "proof.bin", tmp_path / "public.json"
    assert (report["flavour"], report["proofs"]) == (
        "bellperson",
        [{"proof": str(proof), "public": str(public)}],
    )
    verify = ("verify", "--vk", CASE.file("vk", tmp_path), "--proof", proof, "--public", public)
    assert said(run("cuzkctl", *verify)) == "valid: the proof is right\n"
    assert json.loads(said(run("cuzkctl", *verify, "--json"))) == {"valid": True}
    proof_before = proof.read_bytes()
    said(ctl(daemon, "fetch", report["job"], "-o", tmp_path / "again"))
    assert (tmp_path / "again" / "proof.bin").read_bytes() == proof_before
    with Client(daemon.socket) as client:
        assert client.fetch(report["job"]).to_bellperson() == proof_before


@pytest.mark.parametrize("part", [0, 1], ids=["snarkjs", "bellperson"])
def test_the_commands_of_the_readme_do_what_they_say(daemon: Daemon, part: int, tmp_path: Path) -> None:
    section = README[README.index("## Keys and proofs in bellperson's form") :]
    commands = section.split("```")[1 + 2 * part].strip().splitlines()
    assert len(commands) == 5
    names = {"r1cs": "circuit.r1cs", "wtns": "first.wtns", "raw": "second.raw"}
    for kind, name in names.items():
        shutil.copy(CASE.file(kind, tmp_path), tmp_path / name)
    for command in commands:
        program, *words = command.split()
        asking = ["--socket", str(daemon.socket)] if program == "cuzkctl" and words[0] != "verify" else []
        done = run(program, *asking, *words, cwd=tmp_path)
        assert done.returncode == 0, (command, done.stderr)
    assert done.stdout.startswith("valid: ")


def test_bellpersons_own_proofs_verify_and_damaged_ones_are_refused_by_number(tmp_path: Path) -> None:
    vk, public = CASE.file("vk", tmp_path), CASE.path.with_name("multiplier.public.json")
    for kind in ("proof", "proof0", "proofr"):
        proof = CASE.path.with_name(f"multiplier.{kind}")
        done = run("cuzkd", "verify", "--vk", vk, "--proof", proof, "--public", public)
        assert said(done) == "valid: the proof is right\n"
    bad = tmp_path / "bad"
    bad.write_bytes(CASE.proof("proof") + b"\xc0" + bytes(47) + CASE.proof("proof")[48:])
    done = run("cuzkd", "verify", "--vk", vk, "--proof", bad, "--public", public, public)
    assert done.returncode == 4
    assert "proof 1: A is the identity" in done.stderr


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ((), "--zkey --params"),
        (("--params", "p"), "needs --vk"),
        (("--params", "p", "--vk", "v"), "by either --r1cs or --matrices"),
        (("--params", "p", "--vk", "v", "--r1cs", "r", "--matrices", "m"), "by either --r1cs or --matrices"),
        (("--zkey", "z", "--params", "p"), "not allowed with argument --zkey"),
        (("--zkey", "z", "--vk", "v"), "argument --vk: not allowed with argument --zkey"),
        (("--zkey", "z", "--matrices", "m"), "argument --matrices: not allowed with argument --zkey"),
        (("--params", "p", "--vk", "v", "--r1cs", "gone"), "cannot read p"),
    ],
)
def test_files_that_make_no_circuit_are_wrong_usage(options: tuple[str, ...], says: str) -> None:
    done = run("cuzkctl", "circuit", "add", "c", *options)
    assert done.returncode == 2
    assert says in done.stderr
