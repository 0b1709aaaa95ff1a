"""Witness files (`.wtns`): the header, and the values read into the caller's memory."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from cuzkd.errors import BadWitness, Unsupported
from cuzkd.formats.binfile import BinFile, Format, Section, open_container, read_exactly
from cuzkd.kernels.params import PARAMS
from cuzkd.model import SCALAR_BYTES, CircuitShape, Curve

SECTION_HEADER = 1
SECTION_VALUES = 2

FORMAT = Format(
    kind="wtns",
    magic=b"wtns",
    version=2,
    names=MappingProxyType({SECTION_HEADER: "witness header", SECTION_VALUES: "values"}),
)


@dataclass(frozen=True, slots=True)
class Wtns:
    """A witness file whose sizes agree: `count` values of 32 bytes from byte `offset`. They are secrets."""

    file: BinFile
    curve: Curve
    count: int
    offset: int

    def check_belongs_to(self, shape: CircuitShape) -> None:
        """BadWitness when curve or number of values differ from the circuit's."""
        if self.curve is not shape.curve:
            raise BadWitness(f"{self.file.name}: a witness over {self.curve}; the key is over {shape.curve}")
        if self.count != shape.num_vars:
            raise BadWitness(
                f"{self.file.name}: {self.count} values, but the circuit has {shape.num_vars} wires"
            )

    def read_into(self, out: npt.NDArray[np.uint64]) -> None:
        """Fill `out` ((count, 4) uint64, C-contiguous) with the values, little-endian, as the file has them.

        BadFile when the file cannot be read, BadWitness when wire 0 is not one. That values are below r is
        for the caller to check, with `cuzkd.kernels.field.first_noncanonical`.
        """
        if out.shape != (self.count, 4) or out.dtype != np.uint64 or not out.flags.c_contiguous:
            raise ValueError(f"the values need a contiguous uint64 array of shape ({self.count}, 4)")
        read_exactly(self.file.fd, self.file.name, out.data, self.offset)
        if out[0].tolist() != [1, 0, 0, 0]:
            raise BadWitness(f"{self.file.name}: {FORMAT.section_name(SECTION_VALUES)}: wire 0 is not one")


def open_wtns(fd: int, name: str) -> Wtns:
    """Read a witness file's structure; BadFile when it is damaged, Unsupported for another curve's prime."""
    file = open_container(fd, name, FORMAT)
    curve, count = _read_header(file)
    section = file.require(SECTION_VALUES)
    size = count * SCALAR_BYTES
    if section.size != size and not _has_miswritten_length(file, section, size):
        raise file.error(
            f"{FORMAT.section_name(SECTION_VALUES)} has {section.size} bytes, but "
            f"{FORMAT.section_name(SECTION_HEADER)} says {count} values of {SCALAR_BYTES}"
        )
    return Wtns(file, curve, count, section.offset)


def _read_header(file: BinFile) -> tuple[Curve, int]:
    section = file.require(SECTION_HEADER)
    where = FORMAT.section_name(SECTION_HEADER)
    expected = 4 + SCALAR_BYTES + 4
    data = file.read(section, expected)
    if section.size != expected:
        raise file.error(f"{where} has {section.size} bytes, not {expected}")
    value_bytes = int.from_bytes(data[:4], "little")
    if value_bytes != SCALAR_BYTES:
        raise file.error(f"{where} says {value_bytes} bytes a value, not {SCALAR_BYTES}")
    prime = int.from_bytes(data[4:36], "little")
    curve = next((curve for curve in Curve if PARAMS[curve].r == prime), None)
    if curve is None:
        raise Unsupported(f"{file.name}: {where}: the prime is that of neither bn128 nor bls12381")
    count = int.from_bytes(data[36:], "little")
    if count == 0:
        raise file.error(f"{where} says there are no values: wire 0 is always there")
    return curve, count


def _has_miswritten_length(file: BinFile, section: Section, size: int) -> bool:
    """Whether this is a file of 4 GiB and more whose writer split the length's hex digits after the eighth.

    circom_runtime does: the low word gets the first eight digits, the high word the others. The values
    themselves are whole, so the header's count is taken if they fill the rest of the file.
    """
    digits = f"{size:x}"
    low, high = int(digits[:8], 16), int(digits[8:] or "0", 16)
    miswritten = len(digits) > 8 and section.size == low | high << 32
    return miswritten and section is file.sections[-1] and section.offset + size == file.size
