"""The set-up's keys in bellperson's form: its own bytes from its own secrets, and what has no such key."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from bellperson import BellpersonCase, all_cases, bundled, each
from containers import Container
from fixtures import bundled as circom

from cuzkd import cli
from cuzkd.model import Curve


def setup(*arguments: object) -> int:
    return cli.main(["setup", *map(str, arguments)])


@each([case for case in all_cases() if case.key.with_name(f"{case.key.name}.params").exists()])
@pytest.mark.parametrize("option", ["--r1cs", "--matrices"])
def test_bellpersons_secrets_give_bellpersons_files(case: BellpersonCase, option: str, tmp_path: Path):
    source = case.file("r1cs" if option == "--r1cs" else "pce", tmp_path)
    given = ("--flavour", "bellperson", "-o", tmp_path / "key", "--insecure-secrets", case.secrets)
    assert setup(option, source, *given) == 0
    for kind in ("params", "vk"):
        assert (tmp_path / f"key.{kind}").read_bytes() == case.file(kind, tmp_path).read_bytes()


def test_what_it_makes_is_said_to_be_for_development_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    case = bundled("cubic")
    source, out = case.file("r1cs", tmp_path), tmp_path / "key"
    assert setup("--r1cs", source, "--flavour", "bellperson", "-o", out) == 0
    said = capsys.readouterr()
    assert "for development only" in said.err
    assert "PROVES NOTHING" not in said.err.upper()
    assert (
        setup("--r1cs", source, "--flavour", "bellperson", "-o", out, "--insecure-secrets", case.secrets) == 0
    )
    assert "this key proves nothing" in capsys.readouterr().err
    assert setup("--r1cs", source, "--flavour", "snarkjs", "-o", out) == 0
    assert b"NOT FOR PRODUCTION" in out.read_bytes()
    with pytest.raises(SystemExit):
        setup("--help")
    assert "for development only" in capsys.readouterr().out


@pytest.mark.parametrize("flavour", ["snarkjs", "bellperson"])
def test_two_keys_of_one_circuit_differ(flavour: str, tmp_path: Path):
    source = bundled("cubic").file("r1cs", tmp_path)
    name = "key.zkey" if flavour == "snarkjs" else "key.params"
    made = []
    for _ in range(2):
        assert setup("--r1cs", source, "--flavour", flavour, "-o", tmp_path / name) == 0
        made.append((tmp_path / name).read_bytes())
    assert made[0] != made[1]
    assert len(made[0]) == len(made[1])


def test_a_wire_in_no_constraint_has_no_bellperson_key(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    parts = Container.parse(bundled("cubic").file("r1cs", tmp_path).read_bytes())
    header = bytearray(parts.section(1))
    header[36] += 1
    r1cs = tmp_path / "more.r1cs"
    r1cs.write_bytes(parts.with_section(1, bytes(header)).build())
    assert setup("--r1cs", r1cs, "--flavour", "bellperson", "-o", tmp_path / "key") == 4
    assert "wire 7 is in no constraint" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == [r1cs]


def test_there_is_no_bellperson_key_over_bn254(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    r1cs = circom(f"multiplier_{Curve.BN254}").r1cs
    assert setup("--r1cs", r1cs, "--flavour", "bellperson", "-o", tmp_path / "key") == 4
    assert "bls12381" in capsys.readouterr().err


@pytest.mark.parametrize(
    "change", [{"tau": "0"}, {"beta": "x"}, {"g1": "00"}, {"g2": "ff" * 192}, {"delta": None}]
)
def test_secrets_that_are_none_are_refused(change: dict[str, object], tmp_path: Path):
    case = bundled("cubic")
    document = json.loads(case.secrets.read_text())["secrets"] | change
    (tmp_path / "secrets").write_text(json.dumps(document))
    source = case.file("r1cs", tmp_path)
    given = ("--flavour", "bellperson", "-o", tmp_path / "key", "--insecure-secrets", tmp_path / "secrets")
    assert setup("--r1cs", source, *given) == 4
    assert not (tmp_path / "key.params").exists()
