"""A synthesis process: writes a, b, c, z of one partition after another into the segments leased for them."""

from __future__ import annotations

import logging
import sys
import time
from pathlib import Path

from cuzkd.circom.wasm_limits import WasmLimits
from cuzkd.errors import BadWitness
from cuzkd.ipc.descriptors import Descriptors
from cuzkd.ipc.messages import Failure, Message
from cuzkd.ipc.orders import (
    Cache,
    CacheUsed,
    Forget,
    ForgetSegment,
    StageFailed,
    SynthesisDone,
    SynthesizeOrder,
)
from cuzkd.logs import Event, PartitionLog
from cuzkd.mappings import Mappings
from cuzkd.model import Phase, Role
from cuzkd.pulse import PULSE
from cuzkd.synthesis.circuits import OpenCircuits
from cuzkd.synthesis.evaluate import evaluate_constraints
from cuzkd.synthesis.witness import compute_witness, read_partition
from cuzkd.vectors import Vectors, vectors_in
from cuzkd.worker import Broken, Runtime, Stopwatch, serve

_log = logging.getLogger(__name__)


class SynthesisHandler:
    """One order, one filled segment."""

    device = ("", "")

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        args = runtime.args
        limits = WasmLimits(memory_bytes=args.witness_bytes, seconds=args.witness_seconds)
        self._open = OpenCircuits(args.state_dir, limits)
        self._mappings = Mappings(runtime.args.threads)

    def handle(self, message: Message, descriptors: Descriptors) -> None:
        """Synthesize into a segment, or forget one, or what is being deleted."""
        del descriptors
        match message:
            case SynthesizeOrder():
                self._synthesize(message)
            case ForgetSegment(segment=segment):
                self._mappings.drop(segment)
            case Forget(circuit=circuit, program=program, constraints=constraints):
                self._open.forget(circuit, program, constraints)
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
                cost = self._fill(memory, order)
        log = PartitionLog(_log, order.partition)
        log.info("synthesized in %s: %s", stopwatch, cost, event=Event.SYNTHESIZED, times=stopwatch.seconds)
        self._runtime.send(SynthesisDone(self._runtime.args.incarnation, order.partition, order.handle))

    def _fill(self, memory: memoryview, order: SynthesizeOrder) -> str:
        """Write all four vectors and say what it cost; the arrays over the segment end with this call."""
        begin = time.monotonic()
        ref = order.circuit
        circuit = self._open.circuit(ref)
        constraints = None if order.constraints is None else self._open.constraints(order.constraints, ref)
        vectors = vectors_in(memory, order.handle, ref.shape)
        if self._fill_witness(vectors, order):
            return f"read with its evaluations in {time.monotonic() - begin:.3f} s"
        PULSE.step()
        witness_s = time.monotonic() - begin
        broken = evaluate_constraints(circuit, vectors, self._runtime.args.threads, constraints)
        if broken is not None:
            raise BadWitness(f"{order.name}: constraint {broken} is not satisfied")
        of_c = circuit.matrix_c if constraints is None else constraints.c
        entries = sum(m.entries for m in (circuit.matrix_a, circuit.matrix_b, of_c) if m is not None)
        evaluated_s = time.monotonic() - begin - witness_s
        return (
            f"witness {witness_s:.3f} s, {entries} non-zeros at {1e9 * evaluated_s / max(1, entries):.1f} ns"
        )

    def _fill_witness(self, vectors: Vectors, order: SynthesizeOrder) -> bool:
        """Fill z; True when a, b and c came with it."""
        payload = Path(order.payload)
        if order.program is None:
            shape, threads = order.circuit.shape, self._runtime.args.threads
            return read_partition(payload, order.name, shape, vectors, threads)
        program, found = self._open.program(order.program, order.circuit)
        self._runtime.send(CacheUsed(self._runtime.args.incarnation, Cache.PROGRAM, found))
        compute_witness(payload, order.name, program, vectors.z)
        return False


if __name__ == "__main__":
    sys.exit(serve(Role.SYNTHESIS, SynthesisHandler))
