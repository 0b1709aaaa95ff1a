"""The host backend: every stage on the processor, reading the vectors where they lie in shared memory."""

from __future__ import annotations

import platform
from collections.abc import Callable
from pathlib import Path

import numpy as np

from cuzkd.formats.compiled import CompiledCircuit
from cuzkd.gpu.device import Point, Query
from cuzkd.kernels.curve import Group
from cuzkd.kernels.msm import msm
from cuzkd.kernels.quotient import odd_coset_quotient
from cuzkd.vectors import LIMBS, Scalars, Vectors


class HostDevice:
    """The processor as a proving device."""

    backend = "host"

    def __init__(self, threads: int) -> None:
        self.name = f"{_processor_name()}, {threads} threads"
        self._threads = threads

    def register(self, segment: str, memory: memoryview) -> bool:
        """Nothing to lock: the processor reads pageable memory at full speed."""
        del segment, memory
        return False

    def unregister(self, segment: str) -> None:
        """Nothing was registered."""
        del segment

    def load(self, circuit: CompiledCircuit) -> HostKey:
        """The mapped key itself, and the quotient's buffer, so that proving allocates nothing large."""
        return HostKey(circuit, self._threads)


class HostKey:
    """A mapped proving key."""

    def __init__(self, circuit: CompiledCircuit, threads: int) -> None:
        self.circuit = circuit
        self.threads = threads
        self.quotient = np.empty((circuit.ref.shape.domain_size, LIMBS), dtype=np.uint64)

    def upload(self, vectors: Vectors, segment_read: Callable[[], None]) -> HostUpload:
        """Nothing moves: the vectors are read in place."""
        return HostUpload(self, vectors, segment_read)

    def close(self) -> None:
        """Unmap the key."""
        self.circuit.close()


class HostUpload:
    """The vectors in place; the segment is read once the quotient and the four sums over z are made."""

    def __init__(self, key: HostKey, vectors: Vectors, segment_read: Callable[[], None]) -> None:
        self._key = key
        self._vectors: Vectors | None = vectors
        self._segment_read = segment_read
        self._unread: set[Query] = {Query.A, Query.B1, Query.B2, Query.C}
        self._quotient_made = False

    def quotient(self) -> None:
        """FORMATS of snarkjs keys: p_i = a_i b_i - c_i at the odd points of the doubled domain."""
        vectors, circuit = self._held(), self._key.circuit
        odd_coset_quotient(
            circuit.ref.shape.curve,
            vectors.a,
            vectors.b,
            vectors.c,
            circuit.ref.shape.log_domain,
            self._key.quotient,
            threads=self._key.threads,
        )
        self._quotient_made = True
        self._release_if_read()

    def msm(self, query: Query) -> Point:
        """One Pippenger sum over the mapped bases."""
        circuit = self._key.circuit
        shape = circuit.ref.shape
        scalars: Scalars
        if query is Query.H:
            scalars = self._key.quotient
        elif query is Query.C:
            scalars = self._held().z[shape.num_public + 1 :]
        else:
            scalars = self._held().z
        bases = {
            Query.A: circuit.a,
            Query.B1: circuit.b1,
            Query.B2: circuit.b2,
            Query.C: circuit.c,
            Query.H: circuit.h,
        }[query]
        group = Group.G2 if query is Query.B2 else Group.G1
        result: Point = msm(shape.curve, group, bases, scalars, threads=self._key.threads)
        self._unread.discard(query)
        self._release_if_read()
        return result

    def close(self) -> None:
        """Give the segment back if a failure came before it was read."""
        self._release()

    def _held(self) -> Vectors:
        if self._vectors is None:
            raise RuntimeError("the segment was given back before this stage")
        return self._vectors

    def _release_if_read(self) -> None:
        if self._quotient_made and not self._unread:
            self._release()

    def _release(self) -> None:
        if self._vectors is not None:
            self._vectors = None
            self._segment_read()


def _processor_name() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()
