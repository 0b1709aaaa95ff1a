"""Scalars as arrays: integers to limbs and back, Montgomery form, and the check that they are canonical.

A scalar is a row of four uint64 limbs, least first. "Canonical" is the plain integer below r; Montgomery form is
v·2^256 mod r.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import numpy as np
import numpy.typing as npt

from cuzkd.kernels import native
from cuzkd.kernels.params import SCALAR_LIMBS
from cuzkd.model import Curve

Array = npt.NDArray[np.uint64]

FieldName = Literal["fq", "fr", "fq2"]
Operation = Literal[
    "add", "sub", "mul", "sqr", "neg", "dbl", "inverse", "inverse_fermat", "to_montgomery", "from_montgomery"
]


def scalars_from_ints(values: Iterable[int]) -> Array:
    """The (n, 4) array of integers in 0 … 2^256 - 1; OverflowError for others. Nothing is reduced."""
    data = b"".join(value.to_bytes(8 * SCALAR_LIMBS, "little") for value in values)
    return np.frombuffer(data, dtype="<u8").reshape(-1, SCALAR_LIMBS).astype(np.uint64)


def ints_from_scalars(scalars: Array) -> list[int]:
    """The integers of an (n, 4) array."""
    require_scalars(scalars)
    data = np.ascontiguousarray(scalars).astype("<u8").tobytes()
    size = 8 * SCALAR_LIMBS
    return [int.from_bytes(data[i : i + size], "little") for i in range(0, len(data), size)]


def require_scalars(scalars: Array) -> None:
    """ValueError unless `scalars` is an (n, 4) array of uint64."""
    if scalars.dtype != np.uint64 or scalars.ndim != 2 or scalars.shape[1] != SCALAR_LIMBS:
        raise ValueError(f"scalars are (n, 4) uint64, not {scalars.shape} {scalars.dtype}")


def to_montgomery(curve: Curve, scalars: Array, *, threads: int) -> Array:
    """v·2^256 mod r for each canonical scalar v of an (n, 4) array."""
    return _convert(curve, scalars, True, threads)


def from_montgomery(curve: Curve, scalars: Array, *, threads: int) -> Array:
    """The canonical scalars of an (n, 4) array in Montgomery form."""
    return _convert(curve, scalars, False, threads)


def _convert(curve: Curve, scalars: Array, forward: bool, threads: int) -> Array:
    require_scalars(scalars)
    out = np.empty(scalars.shape, dtype=np.uint64)
    native.convert_scalars(curve.value, np.ascontiguousarray(scalars), out, forward, threads)
    return out


def first_noncanonical(curve: Curve, scalars: Array, *, threads: int) -> int | None:
    """The index of the first scalar of an (n, 4) C-contiguous array that is ≥ r, or None."""
    require_scalars(scalars)
    return native.first_noncanonical(curve.value, scalars, threads)


def elementwise(curve: Curve, field: FieldName, operation: Operation, a: Array, b: Array) -> Array:
    """One operation of the native arithmetic on rows of a (and b): what tests compare with integers.

    Rows are elements of Fq, Fr or Fq2 (c0, c1) in Montgomery form, (n, limbs); ValueError when one is not below its
    modulus. `b` is ignored by operations of one operand.
    """
    out = np.empty(a.shape, dtype=np.uint64)
    native.elementwise(curve.value, field, operation, a, b, out)
    return out
