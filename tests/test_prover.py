"""From key and witness files to the proof, stage by stage on the host: the oracle's proof or none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from containers import Container, patch
from fixtures import Case, all_cases, bundled, each
from oracle import prove as oracle_prove
from oracle import public_inputs

from cuzkd.errors import WrongProof
from cuzkd.formats.compiled import CompiledCircuit
from cuzkd.gpu.host import HostDevice
from cuzkd.gpu.prover import Blinding, prove
from cuzkd.ingest.compile import compile_zkey
from cuzkd.kernels.params import PARAMS
from cuzkd.model import CircuitShape, Curve, Proof
from cuzkd.synthesis.evaluate import evaluate_constraints
from cuzkd.synthesis.witness import read_witness
from cuzkd.vectors import Vectors

SMALL = [case for case in all_cases() if case.zkey.stat().st_size < 50_000]


def empty_vectors(shape: CircuitShape) -> Vectors:
    a, b, c = (np.empty((shape.rows, 4), dtype=np.uint64) for _ in range(3))
    return Vectors(a, b, c, np.empty((shape.num_vars, 4), dtype=np.uint64))


def prove_files(zkey: Path, witness: Path, circuits: Path, blinding: Blinding) -> tuple[Proof, list[int]]:
    """Compile, read the witness, evaluate, prove on the host; the proof and its public inputs."""
    with zkey.open("rb") as key:
        ref, _ = compile_zkey(key.fileno(), "key", circuits, threads=1)
    circuit = CompiledCircuit.open(circuits / ref.digest)
    vectors = empty_vectors(ref.shape)
    read_witness(witness, "witness", ref.shape, vectors.z, 1)
    evaluate_constraints(circuit, vectors, 1)
    proof, public = prove(HostDevice(1).load(circuit), vectors, blinding)
    return proof, [int.from_bytes(public[at : at + 32], "little") for at in range(0, len(public), 32)]


@each(SMALL)
def test_the_host_gives_the_oracles_proof_for_the_same_blinding(case: Case, tmp_path: Path):
    r, s = PARAMS[case.curve].r - 5, 0x1234567890ABCDEF << 180
    proof, public = prove_files(case.zkey, case.witness, tmp_path, Blinding(r, s))
    zkey, wtns = case.zkey.read_bytes(), case.witness.read_bytes()
    assert public == list(public_inputs(zkey, wtns))
    assert proof == oracle_prove(zkey, wtns, r, s)


@each([case for case in all_cases() if case not in SMALL])
def test_larger_circuits_prove_and_verify(case: Case, tmp_path: Path):
    proof, public = prove_files(case.zkey, case.witness, tmp_path, Blinding.draw(case.curve))
    assert proof.curve is case.curve
    assert public == list(public_inputs(case.zkey.read_bytes(), case.witness.read_bytes()))


@pytest.mark.parametrize("wire", [1, 2, 3])
@pytest.mark.parametrize("curve", Curve)
def test_a_witness_with_one_wire_wrong_gives_no_proof(curve: Curve, wire: int, tmp_path: Path):
    case, path = bundled(f"multiplier_{curve}"), tmp_path / "wrong"
    parts = Container.parse(case.witness.read_bytes())
    path.write_bytes(parts.with_section(2, patch(parts.section(2), 32 * wire + 5, b"\x01")).build())
    with pytest.raises(WrongProof):
        prove_files(case.zkey, path, tmp_path, Blinding.draw(curve))
