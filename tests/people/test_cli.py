"""`cuzkd` as a shell sees it, without serving: verification, keys, configuration, exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from containers import Container, patch
from fixtures import Case, bundled, each
from people.commands import run
from points import outside_subgroup

from cuzkd import cli
from cuzkd.config import Config
from cuzkd.kernels.curve import Group, encode
from cuzkd.model import Curve

CASE = bundled("multiplier_bn128")
PROGRAMS = ("cuzkd", "cuzkctl")


def files(case: Case, **other: Path) -> list[object]:
    paths = {"vkey": case.verification_key, "proof": case.proof, "public": case.public} | other
    return [word for name, path in paths.items() for word in (f"--{name}", path)]


@each()
def test_a_proof_of_snarkjs_is_valid(case: Case, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["verify", *map(str, files(case))]) == 0
    assert capsys.readouterr() == ("valid: the proof is right\n", "")


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_proof_beside_another_public_input_is_wrong_and_exits_1(program: str, tmp_path: Path) -> None:
    (tmp_path / "public.json").write_text('["34"]')
    done = run(program, "verify", *files(CASE, public=tmp_path / "public.json"))
    assert done.returncode == 1
    assert done.stdout == "INVALID: the proof is wrong for these public inputs\n"


@pytest.mark.parametrize("program", PROGRAMS)
def test_with_json_the_verdict_is_one_document(program: str, tmp_path: Path) -> None:
    assert json.loads(run(program, "verify", *files(CASE), "--json").stdout) == {"valid": True}
    (tmp_path / "public.json").write_text('["34"]')
    wrong = run(program, "verify", *files(CASE, public=tmp_path / "public.json"), "--json")
    assert (json.loads(wrong.stdout), wrong.returncode) == ({"valid": False}, 1)


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_file_that_is_no_proof_is_refused_by_name_and_exits_4(program: str) -> None:
    done = run(program, "verify", *files(CASE, proof=CASE.public))
    assert done.returncode == 4
    assert str(CASE.public) in done.stderr


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_missing_file_exits_2(program: str, tmp_path: Path) -> None:
    done = run(program, "verify", *files(CASE, vkey=tmp_path / "gone"))
    assert done.returncode == 2
    assert f"cannot read {tmp_path / 'gone'}" in done.stderr


def test_cuzkctl_verify_takes_no_code_from_the_current_directory(tmp_path: Path) -> None:
    (tmp_path / "cuzkd").mkdir()
    (tmp_path / "cuzkd" / "__main__.py").write_text("raise SystemExit('taken from the wrong place')")
    done = run("cuzkctl", "verify", *files(CASE), cwd=tmp_path)
    assert done.returncode == 0


@each()
def test_the_exported_key_is_the_one_that_snarkjs_exports(case: Case, tmp_path: Path) -> None:
    out = tmp_path / "key.json"
    assert cli.main(["export-vkey", "--zkey", str(case.zkey), "-o", str(out)]) == 0
    assert out.read_bytes() == case.verification_key.read_bytes()


def test_a_key_with_a_point_off_the_curve_is_not_exported(tmp_path: Path) -> None:
    key = bytearray(CASE.zkey.read_bytes())
    alpha = CASE.zkey.read_bytes().index(b"\2\0\0\0", 12) + 12 + 2 * (4 + 32) + 12
    key[alpha] ^= 1
    (tmp_path / "bad.zkey").write_bytes(key)
    done = run("cuzkd", "export-vkey", "--zkey", tmp_path / "bad.zkey", "-o", tmp_path / "key.json")
    assert done.returncode == 4
    assert "alpha1: the point is not on the curve" in done.stderr
    assert not (tmp_path / "key.json").exists()


def test_a_key_with_a_point_outside_the_subgroup_is_not_exported(tmp_path: Path) -> None:
    curve = Curve.BLS12_381
    parts = Container.parse(bundled("multiplier_bls12381").zkey.read_bytes())
    point = encode(curve, Group.G1, [outside_subgroup(curve, Group.G1, seed=1)]).tobytes()
    (tmp_path / "bad.zkey").write_bytes(parts.with_section(3, patch(parts.section(3), 2 * 48, point)).build())
    done = run("cuzkd", "export-vkey", "--zkey", tmp_path / "bad.zkey", "-o", tmp_path / "key.json")
    assert done.returncode == 4
    assert "section 3 (IC): point 1 is not in the subgroup of order r" in done.stderr
    assert not (tmp_path / "key.json").exists()


def test_defaults_are_a_usable_configuration(tmp_path: Path) -> None:
    config = tmp_path / "cuzkd.toml"
    config.write_text(f'runtime_dir = "{tmp_path}"\n')
    done = run("cuzkd", "check-config", config)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f'runtime_dir = "{tmp_path}"\n')
    as_json = run("cuzkd", "check-config", "--json", config)
    assert json.loads(as_json.stdout) == Config.load(config).shown()


@pytest.mark.parametrize("command", [("check-config",), ("serve", "--config")], ids=["check", "serve"])
def test_a_configuration_with_a_key_that_does_not_exist_exits_78(
    command: tuple[str, ...], tmp_path: Path
) -> None:
    config = tmp_path / "cuzkd.toml"
    config.write_text("colour = 1\n")
    done = run("cuzkd", *command, config)
    assert done.returncode == 78
    assert "colour" in done.stderr


def test_wrong_usage_exits_2(tmp_path: Path) -> None:
    done = run("cuzkd", "serve", "--backend", "abacus", "--runtime-dir", tmp_path)
    assert done.returncode == 2
    assert "abacus" in done.stderr
