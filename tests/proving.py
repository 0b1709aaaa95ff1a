"""From key and witness files to a proof without processes, for tests: compile, read, evaluate, prove on the host."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from cuzkd.formats.compiled import CompiledCircuit
from cuzkd.gpu.host import HostDevice
from cuzkd.gpu.prover import Blinding, prove
from cuzkd.ingest.compile import compile_zkey
from cuzkd.model import CircuitShape, Proof, VerifyingKey
from cuzkd.synthesis.evaluate import evaluate_constraints
from cuzkd.synthesis.witness import read_witness
from cuzkd.vectors import Vectors


def compiled(zkey: Path, circuits: Path) -> CompiledCircuit:
    """The compiled circuit of a key file."""
    with zkey.open("rb") as key:
        ref, _ = compile_zkey(key.fileno(), zkey.name, circuits, threads=1)
    return CompiledCircuit.open(circuits / ref.digest)


def empty_vectors(shape: CircuitShape) -> Vectors:
    a, b, c = (np.empty((shape.rows, 4), dtype=np.uint64) for _ in range(3))
    return Vectors(a, b, c, np.empty((shape.num_vars, 4), dtype=np.uint64))


def prove_files(
    zkey: Path, witness: Path, circuits: Path, blinding: Blinding | None = None
) -> tuple[Proof, list[int], VerifyingKey]:
    """The verified proof, its public inputs and the key that it was verified with."""
    circuit = compiled(zkey, circuits)
    shape = circuit.ref.shape
    vectors = empty_vectors(shape)
    read_witness(witness, witness.name, shape, vectors.z, 1)
    evaluate_constraints(circuit, vectors, 1)
    proof, public = prove(HostDevice(1).load(circuit), vectors, blinding or Blinding.draw(shape.curve))
    values = [int.from_bytes(public[at : at + 32], "little") for at in range(0, len(public), 32)]
    return proof, values, circuit.vkey
