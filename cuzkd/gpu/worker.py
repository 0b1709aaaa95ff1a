"""The gpu process: prepares segments for its device, and proves what synthesis has written into them."""

from __future__ import annotations

import logging
import sys

from cuzkd.errors import CuzkdError, Unavailable
from cuzkd.gpu import known_answer
from cuzkd.gpu.device import Device, LoadedKey
from cuzkd.gpu.host import HostDevice
from cuzkd.gpu.keys import KeyCache
from cuzkd.gpu.prover import Blinding, prove
from cuzkd.ipc.descriptors import Descriptors
from cuzkd.ipc.messages import Failure, Message
from cuzkd.ipc.orders import (
    Cache,
    CacheUsed,
    DropKey,
    Forget,
    ForgetSegment,
    KeyMoved,
    KeysHeld,
    LoadKey,
    PrepareOrder,
    ProofDone,
    ProveOrder,
    SegmentRead,
    SegmentReady,
    SegmentUnusable,
    StageFailed,
)
from cuzkd.logs import Event, PartitionLog
from cuzkd.mappings import Mappings
from cuzkd.model import CircuitRef, Phase, Role
from cuzkd.vectors import vectors_in
from cuzkd.worker import Broken, Runtime, Stopwatch, serve

_log = logging.getLogger(__name__)


class GpuHandler:
    """Orders in the order in which they come: segments and keys that come and go, and proofs."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._incarnation = runtime.args.incarnation
        self._device = open_device(runtime.args.backend, runtime.args.threads)
        known_answer.check(self._device, runtime.args.threads)
        self._keys = KeyCache(self._device, runtime.args.state_dir)
        self._mappings = Mappings(runtime.args.threads)

    @property
    def device(self) -> tuple[str, str]:
        """Backend and device, for status."""
        return self._device.backend, self._device.name

    def handle(self, message: Message, descriptors: Descriptors) -> None:
        """Do one order."""
        del descriptors
        match message:
            case PrepareOrder():
                self._prepare(message)
            case ForgetSegment(segment=segment):
                self._forget(segment)
            case ProveOrder():
                self._prove(message)
            case LoadKey(ticket=ticket, circuit=circuit):
                with self._runtime.phase(Phase.LOAD):
                    self._key(circuit)
                self._runtime.send(KeyMoved(self._incarnation, ticket, None))
            case DropKey(ticket=ticket, circuit=circuit):
                self._drop_key(circuit.digest)
                self._runtime.send(KeyMoved(self._incarnation, ticket, None))
            case Forget(circuit=digest):
                if digest is not None:
                    self._drop_key(digest)
            case _:
                raise Broken(f"{type(message).__name__} is no order for gpu")

    def refusal(self, message: Message, failure: Failure) -> Message:
        """The failure of the order's partition, segment or ticket."""
        match message:
            case PrepareOrder(segment=segment):
                return SegmentUnusable(self._incarnation, segment, failure)
            case ProveOrder(partition=partition):
                return StageFailed(self._incarnation, partition, failure)
            case LoadKey(ticket=ticket) | DropKey(ticket=ticket):
                return KeyMoved(self._incarnation, ticket, failure)
            case _:
                raise Broken(f"{type(message).__name__} failed: {failure.message}")

    def _prepare(self, order: PrepareOrder) -> None:
        """Allocate, touch, register: only then may the segment be leased."""
        if order.segment in self._mappings:
            raise Broken(f"segment {order.segment} is to be prepared twice")
        with self._runtime.phase(Phase.PREPARE):
            segment = self._mappings.map(order.segment, order.size_bytes, allocate=True)
            with segment.view() as memory:
                pinned = self._device.register(order.segment, memory)
        self._runtime.send(SegmentReady(self._incarnation, order.segment, pinned))

    def _forget(self, segment: str) -> None:
        if segment in self._mappings:
            self._device.unregister(segment)
            self._mappings.drop(segment)

    def _key(self, circuit: CircuitRef) -> LoadedKey:
        """The circuit's key, and word of how it was come by."""
        found = circuit.digest in self._keys.held
        try:
            return self._keys.get(circuit)
        finally:
            self._runtime.send(CacheUsed(self._incarnation, Cache.KEY, found))
            if not found:
                self._runtime.send(KeysHeld(self._incarnation, self._keys.held))

    def _drop_key(self, digest: str) -> None:
        if digest in self._keys.held:
            self._keys.drop(digest)
            self._runtime.send(KeysHeld(self._incarnation, self._keys.held))

    def _prove(self, order: ProveOrder) -> None:
        log = PartitionLog(_log, order.partition)
        stopwatch = Stopwatch(self._runtime, order.partition)
        try:
            with self._mappings.get(order.handle.segment).view() as memory:
                done = self._prove_in(memory, order, stopwatch)
        except CuzkdError as error:
            log.warning(
                "not proved after %s: %s", stopwatch, error, event=Event.NOT_PROVED, times=stopwatch.seconds
            )
            raise
        log.info("proved in %s", stopwatch, event=Event.PROVED, times=stopwatch.seconds)
        self._runtime.send(done)

    def _prove_in(self, memory: memoryview, order: ProveOrder, stopwatch: Stopwatch) -> ProofDone:
        """Prove from the segment; the arrays over it end with this call."""
        with stopwatch(Phase.LOAD):
            key = self._key(order.circuit)
        shape = order.circuit.shape
        proof, public = prove(
            key,
            vectors_in(memory, order.handle, shape),
            Blinding.draw(shape.curve),
            segment_read=lambda: self._runtime.send(SegmentRead(self._incarnation, order.handle)),
            stage=stopwatch,
        )
        return ProofDone(self._incarnation, order.partition, proof.to_bytes(), public)


def open_device(backend: str, threads: int) -> Device:
    """The device that the supervisor chose. `Unavailable` for one that this build does not have."""
    if backend != "host":
        raise Unavailable(f"this build has no {backend} backend")
    return HostDevice(threads)


if __name__ == "__main__":
    sys.exit(serve(Role.GPU, GpuHandler))
