"""The host backend: every stage on the processor, reading the vectors where they lie in shared memory."""

from __future__ import annotations

import platform
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt

from cuzkd.formats.compiled import CompiledCircuit
from cuzkd.gpu.device import Point, Query
from cuzkd.kernels.curve import Group
from cuzkd.kernels.msm import give_back_memory, msm
from cuzkd.kernels.quotient import SCRATCH_VECTORS, monomial_quotient, odd_coset_quotient
from cuzkd.model import PAGE_BYTES, Flavour
from cuzkd.pulse import PULSE
from cuzkd.vectors import LIMBS, Scalars, Vectors

LARGE_LOG_DOMAIN = 15
"""From here on a proof works in tens of megabytes, and takes far longer than the system needs to give them anew."""


class HostDevice:
    """The processor as a proving device."""

    backend = "host"

    def __init__(self, threads: int) -> None:
        self.name = f"{_processor_name()}, {threads} threads"
        self.threads = threads
        self._work = np.empty((0, LIMBS), dtype=np.uint64)
        self._gathered = np.empty((0, LIMBS), dtype=np.uint64)

    def register(self, segment: str, memory: memoryview) -> bool:
        """Nothing to lock: the processor reads pageable memory at full speed."""
        del segment, memory
        return False

    def unregister(self, segment: str) -> None:
        """Nothing was registered."""
        del segment

    def load(self, circuit: CompiledCircuit) -> HostKey:
        """The mapped key, read in; the work space grows to what it needs, so that proving allocates no vector."""
        rows = circuit.ref.shape.domain_size * (1 + SCRATCH_VECTORS)
        if len(self._work) < rows:
            self._work = np.empty((rows, LIMBS), dtype=np.uint64)
        if circuit.flavour is Flavour.BELLPERSON and len(self._gathered) < len(circuit.a):
            self._gathered = np.empty((len(circuit.a), LIMBS), dtype=np.uint64)
        for points in (circuit.a, circuit.b1, circuit.b2, circuit.c, circuit.h):
            points.reshape(-1)[:: PAGE_BYTES // points.itemsize].sum()
            PULSE.step()
        return HostKey(circuit, self)

    def quotient_space(self, domain_size: int) -> tuple[Scalars, Scalars]:
        """Where the quotient is made, and its scratch; one partition at a time."""
        return self._work[:domain_size], self._work[domain_size : (1 + SCRATCH_VECTORS) * domain_size]

    def gathered(self, z: Scalars, wires: npt.NDArray[np.uint32]) -> Scalars:
        """The values of these wires, where the next call puts its own; for a query that has bases for some only."""
        if len(self._gathered) < len(wires):
            self._gathered = np.empty((len(wires), LIMBS), dtype=np.uint64)
        out = self._gathered[: len(wires)]
        # With any other mode take makes a copy first; the wires were checked when the circuit was mapped.
        return np.take(z, wires, axis=0, out=out, mode="clip")


class HostKey:
    """A mapped proving key."""

    def __init__(self, circuit: CompiledCircuit, device: HostDevice) -> None:
        self.circuit = circuit
        self.device = device

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
        self._quotient: Scalars | None = None

    def quotient(self) -> None:
        """What the H bases take: a_i b_i - c_i at the odd points of the doubled domain, or h's coefficients."""
        vectors, circuit = self._held(), self._key.circuit
        shape, device = circuit.ref.shape, self._key.device
        out, scratch = device.quotient_space(shape.domain_size)
        make = odd_coset_quotient if circuit.flavour is Flavour.SNARKJS else monomial_quotient
        make(
            shape.curve,
            vectors.a,
            vectors.b,
            vectors.c,
            shape.log_domain,
            out,
            scratch,
            threads=device.threads,
        )
        self._quotient = out
        self._release_if_read()

    def msm(self, query: Query) -> Point:
        """One Pippenger sum over the mapped bases."""
        circuit = self._key.circuit
        shape = circuit.ref.shape
        scalars = self._scalars_of(query)
        bases = {
            Query.A: circuit.a,
            Query.B1: circuit.b1,
            Query.B2: circuit.b2,
            Query.C: circuit.c,
            Query.H: circuit.h,
        }[query]
        group = Group.G2 if query is Query.B2 else Group.G1
        result: Point = msm(shape.curve, group, bases, scalars, threads=self._key.device.threads)
        self._unread.discard(query)
        self._release_if_read()
        return result

    def _scalars_of(self, query: Query) -> Scalars:
        if query is Query.H:
            if self._quotient is None:
                raise RuntimeError("the quotient comes before the sum over it")
            return self._quotient[: len(self._key.circuit.h)]
        z, circuit = self._held().z, self._key.circuit
        if query is Query.C:
            return z[circuit.ref.shape.num_public + 1 :]
        wires = circuit.a_wires if query is Query.A else circuit.b_wires
        return z if wires is None else self._key.device.gathered(z, wires)

    def close(self) -> None:
        """Give back the memory that large sums were made in, and the segment if a failure came before it was read."""
        if self._key.circuit.ref.shape.log_domain >= LARGE_LOG_DOMAIN:
            give_back_memory()
        self._release()

    def _held(self) -> Vectors:
        if self._vectors is None:
            raise RuntimeError("the segment was given back before this stage")
        return self._vectors

    def _release_if_read(self) -> None:
        if self._quotient is not None and not self._unread:
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
