"""Constraint systems as circom writes them (`.r1cs`): A·z ∘ B·z = C·z by rows, coefficients dictionary-coded.

Values are plain integers below the field's prime. Terms of one combination come in any order; the same wire
may repeat and adds up. Custom gates are refused: Groth16 proves nothing about them.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from cuzkd.errors import Unsupported
from cuzkd.formats.binfile import BinFile, Format, open_container, read_exactly
from cuzkd.kernels.evaluate import Csr, coefficient_form
from cuzkd.kernels.params import PARAMS
from cuzkd.kernels.sparse import dictionary_code, walk_r1cs
from cuzkd.model import SCALAR_BYTES, Curve

SECTION_HEADER = 1
SECTION_CONSTRAINTS = 2
SECTION_GATES = 4

FORMAT = Format(
    kind="r1cs",
    magic=b"r1cs",
    version=1,
    names=MappingProxyType(
        {1: "header", 2: "constraints", 3: "wire labels", 4: "custom gates", 5: "custom gate uses"}
    ),
)

_COUNTS = struct.Struct("<IIIIQI")
_HEADER_BYTES = 4 + SCALAR_BYTES + _COUNTS.size


@dataclass(frozen=True, slots=True)
class Terms:
    """One matrix by rows: row i has entries row_ptr[i] … row_ptr[i + 1]; `codes` index the plain `values`."""

    row_ptr: npt.NDArray[np.uint64]
    cols: npt.NDArray[np.uint32]
    codes: npt.NDArray[np.uint32]
    values: npt.NDArray[np.uint64]

    def matrix(self, curve: Curve, *, threads: int) -> Csr:
        """The same matrix, its coefficients in the form in which matrices hold them."""
        return Csr(self.row_ptr, self.cols, self.codes, coefficient_form(curve, self.values, threads=threads))


@dataclass(frozen=True, slots=True)
class R1csHeader:
    """What a file says of itself; wires are one, public outputs, public inputs, then the private ones."""

    curve: Curve
    num_vars: int
    num_public: int
    constraints: int


@dataclass(frozen=True, slots=True)
class R1cs:
    """A constraint system; its wires are in the order of `R1csHeader`."""

    curve: Curve
    num_vars: int
    num_public: int
    constraints: int
    a: Terms
    b: Terms
    c: Terms


def read_header(fd: int, name: str) -> R1csHeader:
    """Read no more than a file's header; BadFile or Unsupported, for custom gates too."""
    file = open_container(fd, name, FORMAT)
    header = _read_header(file)
    _refuse_gates(file)
    return header


def read_r1cs(fd: int, name: str) -> R1cs:
    """Read and check a whole file; BadFile or Unsupported naming section and constraint."""
    file = open_container(fd, name, FORMAT)
    header = _read_header(file)
    _refuse_gates(file)
    curve, wires, constraints = header.curve, header.num_vars, header.constraints
    section = file.require(SECTION_CONSTRAINTS)
    if constraints * 12 > section.size:
        raise file.error(f"section 2 (constraints) is too short for {constraints} constraints")
    data = np.empty(section.size, dtype=np.uint8)
    read_exactly(fd, name, data.data, section.offset)
    modulus = PARAMS[curve].r
    walked = walk_r1cs(data, constraints, wires, modulus)
    if isinstance(walked, str):
        raise file.error(f"section 2 (constraints): {walked}")
    terms = []
    for row_ptr, cols, values in walked:
        codes, table = dictionary_code(values)
        terms.append(Terms(row_ptr, cols, codes, table))
    return R1cs(curve, wires, header.num_public, constraints, *terms)


def _read_header(file: BinFile) -> R1csHeader:
    section = file.require(SECTION_HEADER)
    if section.size != _HEADER_BYTES:
        raise file.error(f"section 1 (header) has {section.size} bytes, not {_HEADER_BYTES}")
    data = file.read(section, _HEADER_BYTES)
    (n8,) = struct.unpack_from("<I", data)
    if n8 != SCALAR_BYTES:
        raise Unsupported(f"{file.name}: section 1 (header): field elements of {n8} bytes")
    prime = int.from_bytes(data[4 : 4 + n8], "little")
    curve = next((c for c, p in PARAMS.items() if p.r == prime), None)
    if curve is None:
        raise Unsupported(f"{file.name}: section 1 (header): the prime {prime} is no supported curve's")
    wires, outputs, inputs, _private, _labels, constraints = _COUNTS.unpack_from(data, 4 + n8)
    public = outputs + inputs
    if public >= wires:
        raise file.error(f"section 1 (header): {public} public wires, but only {wires} wires")
    return R1csHeader(curve, wires, public, constraints)


def _refuse_gates(file: BinFile) -> None:
    gates = file.find(SECTION_GATES)
    if gates is None or gates.size < 4:
        return
    (count,) = struct.unpack("<I", file.read(gates, 4))
    if count:
        raise Unsupported(
            f"{file.name}: section 4 (custom gates) uses {count} custom gates, which Groth16 cannot prove",
            advice="compile the circuit without custom gates",
        )
