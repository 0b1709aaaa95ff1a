"""Writes witnesses as circom's calculators do (`.wtns` version 2)."""

from __future__ import annotations

import struct
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from cuzkd.kernels.params import PARAMS
from cuzkd.model import SCALAR_BYTES, Curve


def write_wtns(out: BinaryIO, curve: Curve, witness: npt.NDArray[np.uint64]) -> None:
    """Write a witness, (num_vars, 4) canonical."""
    header = struct.pack("<I", SCALAR_BYTES) + PARAMS[curve].r.to_bytes(SCALAR_BYTES, "little")
    header += struct.pack("<I", len(witness))
    out.write(b"wtns" + struct.pack("<II", 2, 2))
    out.write(struct.pack("<IQ", 1, len(header)) + header)
    out.write(struct.pack("<IQ", 2, witness.nbytes))
    out.write(np.ascontiguousarray(witness).data)
