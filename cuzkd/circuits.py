"""Where the compiled circuits lie, and opening the one that a message names."""

from __future__ import annotations

from pathlib import Path

from cuzkd.errors import InternalError
from cuzkd.formats.compiled import CompiledCircuit
from cuzkd.model import CircuitRef


def circuits_dir(state_dir: Path) -> Path:
    """The folder that has a directory for each compiled circuit, by its key's digest."""
    return state_dir / "circuits"


def open_circuit(state_dir: Path, ref: CircuitRef) -> CompiledCircuit:
    """Map the circuit; `InternalError` when the directory holds another shape than `ref` says."""
    circuit = CompiledCircuit.open(circuits_dir(state_dir) / ref.digest)
    if circuit.ref != ref:
        circuit.close()
        raise InternalError(f"the compiled circuit {ref.digest[:12]} is not the one that was announced")
    return circuit
