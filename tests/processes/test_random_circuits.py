"""Random circuits, keys of both flavours, one daemon: what satisfies is proved, whatever breaks a row is refused."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import arkworks
import pytest
from daemon import Daemon, running
from hypothesis import given, settings
from hypothesis import strategies as st
from proving import empty_vectors
from random_circuits import Circuit, circuits, r1cs_bytes

from cuzkd import cli_setup
from cuzkd.circuits import open_circuit
from cuzkd.client import CircuitInfo, Client, Result
from cuzkd.errors import BadWitness
from cuzkd.formats.assignment import write_assignment
from cuzkd.formats.bellperson import read_vk
from cuzkd.formats.compress import PROOF_BYTES
from cuzkd.formats.r1cs import read_r1cs
from cuzkd.formats.system import constraint_system
from cuzkd.formats.zkey_vkey import read_vkey
from cuzkd.kernels.field import scalars_from_ints
from cuzkd.kernels.params import PARAMS
from cuzkd.kernels.verify import verify
from cuzkd.model import Curve, Flavour, VerifyingKey
from cuzkd.setup.files import make_key
from cuzkd.setup.secrets import Generators, ToxicWaste
from cuzkd.synthesis.evaluate import evaluate_constraints
from cuzkd.vectors import Vectors

KEYS = [
    (Curve.BN254, Flavour.SNARKJS),
    (Curve.BLS12_381, Flavour.SNARKJS),
    (Curve.BLS12_381, Flavour.BELLPERSON),
]


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running(tmp_path_factory.mktemp("random") / "run") as daemon:
        yield daemon


def set_up(circuit: Circuit, flavour: Flavour, folder: Path) -> dict[str, Path]:
    """A new key; the files that the circuit is added from."""
    r1cs = folder / "circuit.r1cs"
    r1cs.write_bytes(r1cs_bytes(circuit))
    with r1cs.open("rb") as source:
        system = constraint_system(read_r1cs(source.fileno(), r1cs.name))
    waste, generators = ToxicWaste.draw(circuit.curve, flavour), Generators.standard(circuit.curve)
    targets = cli_setup.outputs(str(folder / "key"), flavour)
    with cli_setup.new_files(targets) as files:
        make_key(system, flavour, waste, generators, files, "for tests only", threads=1)
    options = ["zkey"] if flavour is Flavour.SNARKJS else ["params", "vk"]
    return dict(zip(options, targets, strict=True)) | {"r1cs": r1cs}


def verifying_key(files: dict[str, Path]) -> VerifyingKey:
    path, read = (files["vk"], read_vk) if "vk" in files else (files["zkey"], read_vkey)
    with path.open("rb") as file:
        return read(file.fileno(), path.name)


def evaluated(daemon: Daemon, added: CircuitInfo, witness: tuple[int, ...]) -> Vectors:
    compiled = open_circuit(daemon.runtime_dir / "state", added.circuit)
    vectors = empty_vectors(added.circuit.shape)
    vectors.z[:] = scalars_from_ints(witness)
    assert evaluate_constraints(compiled, vectors, 1) is None
    compiled.close()
    return vectors


def with_each_row_broken(vectors: Vectors, added: CircuitInfo, folder: Path) -> Iterator[Path]:
    """The synthesized partition, with another value of c in one row at a time."""
    for row in range(len(vectors.c)):
        c = vectors.c.copy()
        c[row] = 0 if c[row].any() else [1, 0, 0, 0]
        path = folder / f"row-{row}"
        with path.open("wb") as out:
            write_assignment(out, added.circuit.shape, vectors.z, vectors.a, vectors.b, c)
        yield path


def check(result: Result, circuit: Circuit, vkey: VerifyingKey, witness: tuple[int, ...]) -> None:
    public = witness[1 : circuit.num_public + 1]
    assert set(result.publics) == {public}
    assert all(verify(vkey, public, proof) for proof in result.proofs)
    if circuit.curve is Curve.BLS12_381:
        proofs = result.to_bellperson()
        assert all(
            arkworks.accepts(vkey, public, proofs[at : at + PROOF_BYTES])
            for at in range(0, len(proofs), PROOF_BYTES)
        )


def refused(client: Client, job: int, says: str) -> None:
    with pytest.raises(BadWitness, match=says):
        client.wait(job)


@pytest.mark.parametrize(("curve", "flavour"), KEYS, ids=lambda value: str(value))
@settings(max_examples=50, deadline=None)
@given(data=st.data())
def test_what_satisfies_is_proved_and_what_breaks_a_row_is_refused(
    daemon: Daemon, curve: Curve, flavour: Flavour, data: st.DataObject
) -> None:
    circuit = data.draw(circuits((curve,), every_wire=True), "circuit")
    other = list(circuit.witness)
    wire = data.draw(st.integers(1, len(other) - 1), "the wire that is changed")
    other[wire] = (other[wire] + data.draw(st.integers(1, 3))) % PARAMS[curve].r
    with tempfile.TemporaryDirectory() as name, daemon.client() as client:
        folder = Path(name)
        files = set_up(circuit, flavour, folder)
        added = client.add_circuit("random", **files)
        vectors = evaluated(daemon, added, circuit.witness)
        bare, changed, whole = folder / "bare", folder / "changed", folder / "whole"
        bare.write_bytes(vectors.z.tobytes())
        changed.write_bytes(scalars_from_ints(other).tobytes())
        with whole.open("wb") as out:
            write_assignment(out, added.circuit.shape, vectors.z, vectors.a, vectors.b, vectors.c)

        right = client.submit(circuit="random", witnesses=[bare, whole])
        maybe = client.submit(circuit="random", witnesses=[changed])
        wrong = [
            client.submit(circuit="random", witnesses=[path])
            for path in with_each_row_broken(vectors, added, folder)
        ]
        client.remove_circuit("random")

        vkey = verifying_key(files)
        check(client.wait(right), circuit, vkey, circuit.witness)
        if circuit.satisfied_by(tuple(other)):
            check(client.wait(maybe), circuit, vkey, tuple(other))
        else:
            refused(client, maybe, "changed: constraint [0-9]+ is not satisfied")
        for row, job in enumerate(wrong):
            refused(client, job, f"row-{row}: constraint {row} is not satisfied")
