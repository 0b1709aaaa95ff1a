"""A synthesis process: writes a, b, c, z of one partition after another into the segments leased for them."""

from __future__ import annotations

import logging
import sys
from pathlib import Path

from cuzkd.ipc.descriptors import Descriptors
from cuzkd.ipc.messages import Failure, ForgetSegment, Message, StageFailed, SynthesisDone, SynthesizeOrder
from cuzkd.logs import PartitionLog
from cuzkd.mappings import Mappings
from cuzkd.model import Phase, Role
from cuzkd.synthesis.circuits import OpenCircuits
from cuzkd.synthesis.evaluate import evaluate_constraints
from cuzkd.synthesis.witness import read_witness
from cuzkd.vectors import vectors_in
from cuzkd.worker import Broken, Runtime, Stopwatch, serve

_log = logging.getLogger(__name__)


class SynthesisHandler:
    """One order, one filled segment."""

    device = ("", "")

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._circuits = OpenCircuits(runtime.args.state_dir)
        self._mappings = Mappings(runtime.args.threads)

    def handle(self, message: Message, descriptors: Descriptors) -> None:
        """Synthesize into a segment, or forget one."""
        del descriptors
        match message:
            case SynthesizeOrder():
                self._synthesize(message)
            case ForgetSegment(segment=segment):
                self._mappings.drop(segment)
            case _:
                raise Broken(f"{type(message).__name__} is no order for synthesis")

    def refusal(self, message: Message, failure: Failure) -> Message:
        """The failure of the order's partition."""
        if not isinstance(message, SynthesizeOrder):
            raise Broken(f"{type(message).__name__} failed: {failure.message}")
        return StageFailed(self._runtime.args.incarnation, message.partition, failure)

    def _synthesize(self, order: SynthesizeOrder) -> None:
        stopwatch = Stopwatch(self._runtime, order.partition)
        with stopwatch(Phase.SYNTHESIS):
            segment = self._mappings.map(order.handle.segment, order.handle.size_bytes)
            with segment.view() as memory:
                self._fill(memory, order)
        PartitionLog(_log, order.partition).info("synthesized in %s", stopwatch)
        self._runtime.send(SynthesisDone(self._runtime.args.incarnation, order.partition, order.handle))

    def _fill(self, memory: memoryview, order: SynthesizeOrder) -> None:
        """Write all four vectors; the arrays over the segment end with this call."""
        threads = self._runtime.args.threads
        circuit = self._circuits.get(order.circuit)
        vectors = vectors_in(memory, order.handle, order.circuit.shape)
        name = f"witness {order.partition.index}"
        read_witness(Path(order.witness), name, order.circuit.shape, vectors.z, threads)
        evaluate_constraints(circuit, vectors, threads)


if __name__ == "__main__":
    sys.exit(serve(Role.SYNTHESIS, SynthesisHandler))
