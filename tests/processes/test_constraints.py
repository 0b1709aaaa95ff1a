"""With the circuit's `.r1cs` a witness is held to every constraint; without it the finished proof shows a bad one."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from containers import Container, patch
from daemon import Daemon, running
from fixtures import Case, bundled, bundled_cases, each

from cuzkd.errors import BadFile, BadWitness, Refused, Unsupported, WrongProof

CASE = bundled("squarings_bn128")


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running(tmp_path_factory.mktemp("constraints") / "run") as daemon:
        yield daemon


def with_wire_changed(case: Case, folder: Path, wire: int) -> Path:
    container = Container.parse(case.witness.read_bytes())
    values = container.section(2)
    path = folder / f"wire{wire}.wtns"
    flipped = bytes([values[wire * 32] ^ 1])
    path.write_bytes(container.with_section(2, patch(values, wire * 32, flipped)).build())
    return path


@each()
def test_every_circuit_is_proved_under_its_constraints(daemon: Daemon, case: Case) -> None:
    with daemon.client() as client:
        assert len(client.prove(case.zkey, [case.witness], r1cs=case.r1cs).proofs) == 1


@pytest.mark.parametrize(
    ("wire", "constraint"),
    [(2, 0), (3, 0), (20, 17), (1, 29)],
    ids=["the input", "the first link", "a link", "the output"],
)
def test_fault_22_a_broken_constraint_is_named(
    daemon: Daemon, tmp_path: Path, wire: int, constraint: int
) -> None:
    """Wire 2 is x, wire 3 + i is link i, which constraint i sets; the last one sets the output."""
    bad = with_wire_changed(CASE, tmp_path, wire)
    says = rf"wire{wire}\.wtns: constraint {constraint} is not satisfied"
    with daemon.client() as client:
        with pytest.raises(BadWitness, match=says):
            client.prove(CASE.zkey, [bad], r1cs=CASE.r1cs)
        with pytest.raises(BadWitness, match=f"partition 1: .*{says}"):
            client.prove(CASE.zkey, [CASE.witness, bad, CASE.witness], r1cs=CASE.r1cs)


def test_without_constraints_the_proof_shows_it_and_the_device_is_not_blamed(tmp_path: Path) -> None:
    with running(tmp_path / "run") as daemon, daemon.client() as client:
        with pytest.raises(WrongProof, match="does not satisfy") as caught:
            client.prove(CASE.zkey, [with_wire_changed(CASE, tmp_path, 5)])
        assert "r1cs" in caught.value.advice
        assert client.status().degraded == ()


@each(bundled_cases())
def test_the_constraints_of_another_circuit_are_refused(daemon: Daemon, case: Case) -> None:
    with daemon.client() as client:
        for other in bundled_cases():
            if other != case:
                with pytest.raises(Refused, match=r"circuit\.r1cs is not the constraint system of this key"):
                    client.prove(case.zkey, [case.witness], r1cs=other.r1cs)


def changed_r1cs(folder: Path, section: int, offset: int, new: bytes) -> Path:
    container = Container.parse(CASE.r1cs.read_bytes())
    path = folder / "changed.r1cs"
    path.write_bytes(container.with_section(section, patch(container.section(section), offset, new)).build())
    return path


@pytest.mark.parametrize(("offset", "matrix"), [(8, "A"), (8 + 36 + 4, "B")])
def test_constraints_that_differ_by_one_coefficient_are_refused_by_row(
    daemon: Daemon, tmp_path: Path, offset: int, matrix: str
) -> None:
    """A constraint begins with A: a count, then wires with 32 bytes of coefficient."""
    path = changed_r1cs(tmp_path, 2, offset, (7).to_bytes(32, "little"))
    with daemon.client() as client, pytest.raises(Refused, match=f"row 0 of its matrix {matrix}"):
        client.prove(CASE.zkey, [CASE.witness], r1cs=path)


def test_custom_gates_are_refused(daemon: Daemon, tmp_path: Path) -> None:
    container = Container.parse(CASE.r1cs.read_bytes())
    gates = struct.pack("<I", 1) + b"Gate\0" + struct.pack("<I", 0)
    path = tmp_path / "gates.r1cs"
    path.write_bytes(Container(b"r1cs", 1, (*container.sections, (4, gates), (5, bytes(4)))).build())
    with daemon.client() as client, pytest.raises(Unsupported, match="custom gates"):
        client.prove(CASE.zkey, [CASE.witness], r1cs=path)


def test_a_file_that_is_no_r1cs_is_refused(daemon: Daemon) -> None:
    with daemon.client() as client, pytest.raises(BadFile, match=r"witness\.wtns: .*not a r1cs file"):
        client.prove(CASE.zkey, [CASE.witness], r1cs=CASE.witness)
