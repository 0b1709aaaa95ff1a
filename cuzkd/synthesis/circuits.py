"""The compiled circuits that a synthesis process keeps open, so that a run of partitions maps each once."""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path

from cuzkd.circuits import open_circuit
from cuzkd.formats.compiled import CompiledCircuit
from cuzkd.model import CircuitRef


class OpenCircuits:
    """At most `capacity` mapped circuits; the least recently used one is closed first."""

    def __init__(self, state_dir: Path, capacity: int = 8) -> None:
        self._state_dir = state_dir
        self._capacity = capacity
        self._open: OrderedDict[str, CompiledCircuit] = OrderedDict()

    def get(self, ref: CircuitRef) -> CompiledCircuit:
        """The circuit, mapped now if it was not."""
        circuit = self._open.get(ref.digest)
        if circuit is None:
            if len(self._open) >= self._capacity:
                self._open.popitem(last=False)[1].close()
            circuit = open_circuit(self._state_dir, ref)
            self._open[ref.digest] = circuit
        self._open.move_to_end(ref.digest)
        return circuit
