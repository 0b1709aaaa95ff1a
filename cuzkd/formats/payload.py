"""What a partition may be handed in as: a `.wtns`, the bare values of the variables, or a synthesized partition.

They tell themselves apart: `.wtns` and `.abcz` begin with their names, bare values with the constant one. Bare values
are inputs, one first, then aux, 32 bytes each, little-endian: the order of a `.wtns` without its headers.
"""

from __future__ import annotations

from dataclasses import dataclass

from cuzkd.errors import BadWitness
from cuzkd.formats import assignment
from cuzkd.formats.assignment import Assignment, open_assignment
from cuzkd.formats.binfile import file_size, read_exactly
from cuzkd.formats.wtns import Wtns, open_wtns
from cuzkd.model import SCALAR_BYTES, CircuitShape

_ONE = (1).to_bytes(SCALAR_BYTES, "little")


@dataclass(frozen=True, slots=True)
class BareValues:
    """The values of a circuit's variables from the start of a file to its end. They are secrets."""

    fd: int
    name: str
    count: int


Payload = Wtns | BareValues | Assignment


def open_payload(fd: int, name: str, shape: CircuitShape) -> Payload:
    """Read the structure of a partition of a circuit of this shape.

    BadFile for a damaged file, BadWitness for another circuit's, Unsupported for another curve's prime.
    """
    start = _first_bytes(fd, name)
    if start == _ONE:
        return _bare(fd, name, shape)
    if start.startswith(assignment.FORMAT.magic):
        synthesized = open_assignment(fd, name)
        synthesized.check_belongs_to(shape)
        return synthesized
    witness = open_wtns(fd, name)
    witness.check_belongs_to(shape)
    return witness


def _first_bytes(fd: int, name: str) -> bytes:
    data = bytearray(min(SCALAR_BYTES, file_size(fd, name)))
    read_exactly(fd, name, memoryview(data), 0)
    return bytes(data)


def _bare(fd: int, name: str, shape: CircuitShape) -> BareValues:
    count, rest = divmod(file_size(fd, name), SCALAR_BYTES)
    if rest:
        raise BadWitness(f"{name}: {count} values of {SCALAR_BYTES} bytes, and {rest} bytes more")
    if count != shape.num_vars:
        raise BadWitness(f"{name}: {count} values, but the circuit has {shape.num_vars} variables")
    return BareValues(fd, name, count)
