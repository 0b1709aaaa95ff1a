"""What a proving device must offer, in the order in which a partition needs it.

The upload is apart from the compute stages, so that a device with copy engines uploads the next partition
while it proves this one; the segment is given back as soon as the device has what it needs of it.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Protocol

import numpy as np
import numpy.typing as npt

from cuzkd.formats.compiled import CompiledCircuit
from cuzkd.vectors import Vectors

Point = npt.NDArray[np.uint64]
"""Shape (1, limbs): one affine point in Montgomery form, all zero for infinity."""


class Query(enum.Enum):
    """The five multi-scalar sums of a proof, by the bases that they run over."""

    A = "a"
    B1 = "b1"
    B2 = "b2"
    C = "c"
    H = "h"


class Upload(Protocol):
    """One partition's vectors on the device. Stages run in the order of the methods here."""

    def quotient(self) -> None:
        """Compute what the key's flavour wants of the quotient and keep it as the scalars of `Query.H`."""

    def msm(self, query: Query) -> Point:
        """The sum of this query's bases times their scalars."""

    def close(self) -> None:
        """Give back what the upload holds; the segment too, if it had not been."""


class LoadedKey(Protocol):
    """A circuit's proving key, resident on the device."""

    @property
    def circuit(self) -> CompiledCircuit:
        """The compiled circuit that the key was loaded from."""

    def upload(self, vectors: Vectors, segment_read: Callable[[], None]) -> Upload:
        """Begin with a partition; `segment_read` is called once, when the vectors are not needed any more."""

    def close(self) -> None:
        """Drop the key from the device."""


class Device(Protocol):
    """A device that proves."""

    @property
    def backend(self) -> str:
        """`host` or `cuda`."""

    @property
    def name(self) -> str:
        """The device as people know it."""

    def register(self, segment: str, memory: memoryview) -> bool:
        """Page-lock a segment that is mapped and touched; False when it stays pageable."""

    def unregister(self, segment: str) -> None:
        """Undo `register`, before the mapping goes away."""

    def load(self, circuit: CompiledCircuit) -> LoadedKey:
        """Bring a circuit's key to the device."""
