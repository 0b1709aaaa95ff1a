"""What a synthesis process keeps open, so that a run of partitions maps and compiles each thing once."""

from __future__ import annotations

from pathlib import Path

from cuzkd.circom.kept import open_program
from cuzkd.circom.wasm import WitnessProgram
from cuzkd.circom.wasm_limits import WasmLimits
from cuzkd.circuits import constraints_dir, open_circuit, programs_dir
from cuzkd.errors import InternalError
from cuzkd.formats.compiled import CompiledCircuit
from cuzkd.formats.constraints import KeptConstraints, open_constraints
from cuzkd.kernels.params import PARAMS
from cuzkd.model import CircuitRef
from cuzkd.recent import Recent


class OpenCircuits:
    """Compiled circuits, their constraints and witness programs."""

    def __init__(self, state_dir: Path, limits: WasmLimits | None = None) -> None:
        self._state_dir = state_dir
        self._limits = limits or WasmLimits()
        self._circuits: Recent[CompiledCircuit] = Recent(CompiledCircuit.close)
        self._constraints: Recent[KeptConstraints] = Recent()
        self._programs: Recent[WitnessProgram] = Recent()

    def circuit(self, ref: CircuitRef) -> CompiledCircuit:
        """The circuit, mapped now if it was not."""
        return self._circuits.get(ref.digest, lambda: open_circuit(self._state_dir, ref))

    def constraints(self, digest: str, ref: CircuitRef) -> KeptConstraints:
        """The constraints of the circuit; `InternalError` when they are another's."""
        folder = constraints_dir(self._state_dir)
        kept = self._constraints.get(digest, lambda: open_constraints(folder, digest))
        shape = ref.shape
        if (kept.curve, kept.num_vars) != (shape.curve, shape.num_vars) or kept.c.rows > shape.rows:
            raise InternalError(f"the constraints {digest[:12]} are not those of circuit {ref.digest[:12]}")
        return kept

    def program(self, digest: str, ref: CircuitRef) -> tuple[WitnessProgram, bool]:
        """The circuit's witness program, and whether nothing had to be compiled for it."""
        known = digest in self._programs
        folder = programs_dir(self._state_dir)
        program = self._programs.get(digest, lambda: open_program(folder, digest, self._limits))
        if (program.prime, program.num_vars) != (PARAMS[ref.shape.curve].r, ref.shape.num_vars):
            raise InternalError(f"the program {digest[:12]} is not that of circuit {ref.digest[:12]}")
        return program, known or program.from_cache

    def forget(self, circuit: str | None, program: str | None, constraints: str | None) -> None:
        """Let go of what is open under these digests."""
        self._circuits.forget(circuit)
        self._programs.forget(program)
        self._constraints.forget(constraints)
