"""Where compiled circuits, witness programs and constraints lie, and opening the circuit that a message names."""

from __future__ import annotations

from pathlib import Path

from cuzkd.errors import InternalError
from cuzkd.formats.compiled import CompiledCircuit
from cuzkd.model import CircuitRef


def circuits_dir(state_dir: Path) -> Path:
    """The folder that has a directory for each compiled circuit, by its key's digest."""
    return state_dir / "circuits"


def programs_dir(state_dir: Path) -> Path:
    """The folder that has a directory for each witness program, by the digest of its `.wasm`."""
    return state_dir / "programs"


def constraints_dir(state_dir: Path) -> Path:
    """The folder that has a directory for the matrix C of each `.r1cs`, by that file's digest."""
    return state_dir / "constraints"


def open_circuit(state_dir: Path, ref: CircuitRef) -> CompiledCircuit:
    """Map the circuit; `InternalError` when the directory holds another shape than `ref` says."""
    circuit = CompiledCircuit.open(circuits_dir(state_dir) / ref.digest)
    if circuit.ref != ref:
        circuit.close()
        raise InternalError(f"the compiled circuit {ref.digest[:12]} is not the one that was announced")
    return circuit
