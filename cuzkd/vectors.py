"""The vectors a, b, c, z of a partition as arrays over a shared segment, checked against its real size.

Both sides of a handle use this: synthesis to write, the gpu process to read. Nothing in a handle is
believed before it agrees with the circuit's shape and with the memory that is really mapped.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cuzkd.errors import InternalError
from cuzkd.ipc.handle import Handle
from cuzkd.model import SCALAR_BYTES, CircuitShape, SegmentLayout

Scalars = npt.NDArray[np.uint64]
"""Shape (n, 4): 256-bit values as little-endian limbs."""

LIMBS = SCALAR_BYTES // 8


@dataclass(frozen=True, slots=True)
class Vectors:
    """a, b, c: (rows, 4) in Montgomery form; z: (num_vars, 4) canonical. Views, not copies."""

    a: Scalars
    b: Scalars
    c: Scalars
    z: Scalars

    def public_bytes(self, shape: CircuitShape) -> bytes:
        """The public inputs, wires 1 to `num_public`: a copy, 32 bytes each, little-endian."""
        return self.z[1 : 1 + shape.num_public].tobytes()


def vectors_in(memory: memoryview, handle: Handle, shape: CircuitShape) -> Vectors:
    """The handle's vectors in a mapped segment.

    `InternalError` when the handle is not the layout of this shape or reaches past the mapped memory.
    """
    layout = SegmentLayout.of(shape)
    if handle.offsets != (layout.a, layout.b, layout.c, layout.z) or handle.size_bytes != layout.size_bytes:
        raise InternalError(f"a handle on {handle.segment} does not have its circuit's layout")
    if handle.size_bytes > memory.nbytes:
        raise InternalError(
            f"a handle on {handle.segment} wants {handle.size_bytes} bytes, the segment has {memory.nbytes}"
        )
    return Vectors(
        a=_scalars_at(memory, layout.a, shape.rows),
        b=_scalars_at(memory, layout.b, shape.rows),
        c=_scalars_at(memory, layout.c, shape.rows),
        z=_scalars_at(memory, layout.z, shape.num_vars),
    )


def _scalars_at(memory: memoryview, offset: int, count: int) -> Scalars:
    values = np.frombuffer(memory, dtype=np.uint64, count=count * LIMBS, offset=offset)
    return values.reshape(count, LIMBS)
