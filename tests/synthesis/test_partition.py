"""A partition comes as a .wtns, as bare values or already synthesized; wrong ones are refused, naming what is wrong."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
from bellperson import all_cases, bundled, compiled, synthesized
from containers import Container
from proving import empty_vectors

from cuzkd.errors import BadFile, BadWitness, CuzkdError, Unsupported
from cuzkd.formats.assignment import write_assignment
from cuzkd.gpu.host import HostDevice
from cuzkd.gpu.prover import prove
from cuzkd.kernels.params import PARAMS
from cuzkd.model import CircuitShape, Curve
from cuzkd.synthesis.witness import read_partition
from cuzkd.vectors import Vectors

CASE = bundled("cubic")
R = PARAMS[Curve.BLS12_381].r


def read(path: Path, shape: CircuitShape, threads: int = 2) -> tuple[bool, Vectors]:
    vectors = empty_vectors(shape)
    return read_partition(path, "mine", shape, vectors, threads), vectors


@pytest.fixture
def circuit(tmp_path: Path):
    return compiled(CASE, "pce", tmp_path)


@pytest.fixture
def assigned(circuit, tmp_path: Path) -> Path:
    """The case's partition, synthesized, in a file."""
    vectors = synthesized(circuit, CASE.witness(tmp_path))
    path = tmp_path / "assigned"
    with path.open("wb") as out:
        write_assignment(out, circuit.ref.shape, vectors.z, vectors.a, vectors.b, vectors.c)
    return path


@pytest.mark.parametrize("case", all_cases(), ids=lambda case: case.name)
def test_bare_values_are_the_witness(case, tmp_path: Path):
    witness = case.witness(tmp_path)
    shape = CircuitShape(Curve.BLS12_381, 1, len(witness), 0, 1)
    kinds = [case.file("raw", tmp_path)]
    kinds += [path for path in [case.path.with_name(f"{case.name}.wtns")] if path.exists()]
    for path in kinds:
        whole, vectors = read(path, shape)
        assert not whole
        assert np.array_equal(vectors.z, witness)


def test_a_synthesized_partition_gives_the_same_proof(circuit, assigned: Path, tmp_path: Path):
    whole, vectors = read(assigned, circuit.ref.shape)
    assert whole
    expected = synthesized(circuit, CASE.witness(tmp_path))
    for name in ("a", "b", "c", "z"):
        assert np.array_equal(getattr(vectors, name), getattr(expected, name))
    key = HostDevice(1).load(circuit)
    mine, theirs = (prove(key, v, CASE.blinding) for v in (vectors, expected))
    assert mine == theirs


def test_every_row_that_is_wrong_in_a_synthesized_partition_is_named(circuit, assigned: Path):
    shape = circuit.ref.shape
    parts = Container.parse(assigned.read_bytes())
    for section, letter in ((3, "a"), (4, "b"), (5, "c")):
        for row in range(shape.rows - shape.num_public - 1):
            payload = bytearray(parts.section(section))
            payload[32 * row] ^= 1
            assigned.write_bytes(parts.with_section(section, bytes(payload)).build())
            with pytest.raises(BadWitness, match=f"^mine: constraint {row} is not satisfied"):
                read(assigned, shape)
            payload[32 * row : 32 * row + 32] = R.to_bytes(32, "little")
            assigned.write_bytes(parts.with_section(section, bytes(payload)).build())
            with pytest.raises(BadWitness, match=f"^mine: {letter}: row {row} is not below the order"):
                read(assigned, shape)


def test_a_synthesized_partition_of_another_circuit_is_refused(circuit, assigned: Path):
    shape = circuit.ref.shape
    for change, says in (
        ({"num_vars": shape.num_vars + 1}, "7 variables, but the circuit has 8"),
        ({"num_public": shape.num_public - 1}, "4 inputs, but the circuit has 3"),
        ({"rows": shape.rows - 1}, "8 rows, but the circuit has 7"),
        ({"curve": Curve.BN254}, "over bls12381; the key is over bn128"),
    ):
        facts = {name: getattr(shape, name) for name in shape.__annotations__} | change
        with pytest.raises(BadWitness, match=says):
            read(assigned, CircuitShape(**facts))


def test_a_damaged_one_names_its_section(circuit, assigned: Path):
    shape, data = circuit.ref.shape, assigned.read_bytes()
    parts = Container.parse(data)
    for section, name in ((2, "variables"), (3, "a"), (4, "b"), (5, "c")):
        assigned.write_bytes(parts.with_section(section, parts.section(section)[:-1]).build())
        with pytest.raises(BadFile, match=rf"section {section} \({name}\) has "):
            read(assigned, shape)
        assigned.write_bytes(parts.without(section).build())
        with pytest.raises(BadFile, match=rf"section {section} \({name}\) is missing"):
            read(assigned, shape)
    header = parts.section(1)
    assigned.write_bytes(parts.with_section(1, header[:4] + struct.pack("<I", 7) + header[8:]).build())
    with pytest.raises(Unsupported, match="prime"):
        read(assigned, shape)
    for cut in range(0, len(data), 7):
        assigned.write_bytes(data[:cut])
        with pytest.raises(CuzkdError, match=r"^mine: "):
            read(assigned, shape)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda d: d + bytes(32), "8 values, but the circuit has 7"),
        (lambda d: d[:-32], "6 values, but the circuit has 7"),
        (lambda d: d[:-1], "6 values of 32 bytes, and 31 bytes more"),
        (lambda d: d[:64] + R.to_bytes(32, "little") + d[96:], "wire 2 is not below the order"),
    ],
)
def test_bare_values_that_do_not_fit_are_refused(change, says: str, circuit, tmp_path: Path):
    path = tmp_path / "bare"
    path.write_bytes(change(CASE.file("raw", tmp_path).read_bytes()))
    with pytest.raises(BadWitness, match=f"^mine: {says}"):
        read(path, circuit.ref.shape)


def test_the_first_bad_value_is_named_whichever_thread_finds_it(tmp_path: Path):
    count = 200_000
    values = np.zeros((count, 4), dtype="<u8")
    values[0, 0] = 1
    values[70_000:, 3] = 1 << 63
    path = tmp_path / "bare"
    path.write_bytes(values.tobytes())
    with pytest.raises(BadWitness, match="wire 70000 is not below"):
        read(path, CircuitShape(Curve.BN254, 1, count, 0, 1), threads=3)
