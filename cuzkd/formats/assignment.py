"""A partition that was synthesized elsewhere (`.abcz`): the witness with its constraint evaluations beside it.

A container as in `binfile`, magic "abcz", version 1. Section 1: u32 bytes of a value (32), the prime, u32 variables,
u32 inputs (one and the public ones), u32 rows (constraints, then a row for each input). Section 2: the variables,
inputs first, canonical. Sections 3, 4, 5: a, b and c by rows, in Montgomery form, as provers keep them in memory.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from types import MappingProxyType
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from cuzkd.errors import BadWitness, Unsupported
from cuzkd.formats.binfile import BinFile, Format, open_container
from cuzkd.kernels.params import PARAMS
from cuzkd.model import SCALAR_BYTES, CircuitShape, Curve

FORMAT = Format(
    kind="abcz",
    magic=b"abcz",
    version=1,
    names=MappingProxyType({1: "header", 2: "variables", 3: "a", 4: "b", 5: "c"}),
)

Scalars = npt.NDArray[np.uint64]

_COUNTS = struct.Struct("<III")
_HEADER_BYTES = 4 + SCALAR_BYTES + _COUNTS.size


@dataclass(frozen=True, slots=True)
class Assignment:
    """A file whose sizes agree; `offsets` are where z, a, b and c begin. All of it is secret."""

    file: BinFile
    curve: Curve
    num_vars: int
    inputs: int
    rows: int
    offsets: tuple[int, int, int, int]

    def check_belongs_to(self, shape: CircuitShape) -> None:
        """BadWitness when curve or sizes differ from the circuit's."""
        if self.curve is not shape.curve:
            raise BadWitness(f"{self.file.name}: it is over {self.curve}; the key is over {shape.curve}")
        for what, mine, of_circuit in (
            ("variables", self.num_vars, shape.num_vars),
            ("inputs", self.inputs, shape.num_public + 1),
            ("rows", self.rows, shape.rows),
        ):
            if mine != of_circuit:
                raise BadWitness(f"{self.file.name}: {mine} {what}, but the circuit has {of_circuit}")


def open_assignment(fd: int, name: str) -> Assignment:
    """Read such a file's structure; BadFile when it is damaged, Unsupported for another curve's prime."""
    file = open_container(fd, name, FORMAT)
    section = file.require(1)
    data = file.read(section, _HEADER_BYTES)
    if section.size != _HEADER_BYTES:
        raise file.error(f"section 1 (header) has {section.size} bytes, not {_HEADER_BYTES}")
    value_bytes, prime = int.from_bytes(data[:4], "little"), int.from_bytes(data[4:36], "little")
    curve = next((c for c in Curve if PARAMS[c].r == prime), None)
    if curve is None or value_bytes != SCALAR_BYTES:
        raise Unsupported(f"{name}: section 1 (header): the prime is that of neither bn128 nor bls12381")
    num_vars, inputs, rows = _COUNTS.unpack_from(data, 36)
    for type_, count in ((2, num_vars), (3, rows), (4, rows), (5, rows)):
        size = file.require(type_).size
        if size != SCALAR_BYTES * count:
            raise file.error(
                f"{FORMAT.section_name(type_)} has {size} bytes, not {count} values of {SCALAR_BYTES}"
            )
    z, a, b, c = (file.require(type_).offset for type_ in (2, 3, 4, 5))
    return Assignment(file, curve, num_vars, inputs, rows, (z, a, b, c))


def write_assignment(
    out: BinaryIO,
    shape: CircuitShape,
    z: Scalars,
    a: Scalars,
    b: Scalars,
    c: Scalars,
) -> None:
    """Write a partition: z (num_vars, 4) canonical, a, b, c (rows, 4) in Montgomery form."""
    out.write(FORMAT.magic + struct.pack("<II", FORMAT.version, len(FORMAT.names)))
    prime = PARAMS[shape.curve].r.to_bytes(SCALAR_BYTES, "little")
    header = struct.pack("<I", SCALAR_BYTES) + prime
    header += _COUNTS.pack(shape.num_vars, shape.num_public + 1, shape.rows)
    out.write(struct.pack("<IQ", 1, len(header)) + header)
    for type_, values in ((2, z), (3, a), (4, b), (5, c)):
        out.write(struct.pack("<IQ", type_, values.nbytes))
        out.write(np.ascontiguousarray(values).data)
