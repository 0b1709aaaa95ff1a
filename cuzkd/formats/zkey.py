"""Groth16 proving keys as snarkjs writes them (`.zkey`): header, sizes, and what entries must satisfy.

Everything that can be known without arithmetic is checked here: after `open_zkey` every section has exactly
the size that the header asks for. Points and coefficients are read by whoever compiles the key.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from cuzkd.errors import BadFile, TooLarge, Unsupported
from cuzkd.formats.binfile import BinFile, Format, Section, open_container
from cuzkd.kernels.params import PARAMS
from cuzkd.model import SCALAR_BYTES, Curve

SECTION_PROTOCOL = 1
SECTION_HEADER = 2
SECTION_IC = 3
SECTION_COEFFICIENTS = 4
SECTION_A = 5
SECTION_B1 = 6
SECTION_B2 = 7
SECTION_C = 8
SECTION_H = 9
SECTION_CONTRIBUTIONS = 10

FORMAT = Format(
    kind="zkey",
    magic=b"zkey",
    version=1,
    names=MappingProxyType(
        {
            SECTION_PROTOCOL: "protocol",
            SECTION_HEADER: "Groth16 header",
            SECTION_IC: "IC",
            SECTION_COEFFICIENTS: "coefficients",
            SECTION_A: "A",
            SECTION_B1: "B1",
            SECTION_B2: "B2",
            SECTION_C: "C",
            SECTION_H: "H",
            SECTION_CONTRIBUTIONS: "contributions",
        }
    ),
)

COEFFICIENT = np.dtype([("matrix", "<u4"), ("row", "<u4"), ("signal", "<u4"), ("value", "<u8", (4,))])
"""One entry of section 4, 44 bytes: matrix 0 is A, 1 is B; value·2^-512 mod r is the coefficient."""

MAX_PUBLIC = 32_000
"""What a proof's public inputs may be for one frame of the protocol to carry them."""

GROTH16 = 1
_PROTOCOLS = {GROTH16: "Groth16", 2: "PLONK", 10: "FFLONK"}
_HEADER_LAYOUT = (("alpha1", 1), ("beta1", 1), ("beta2", 2), ("gamma2", 2), ("delta1", 1), ("delta2", 2))


@dataclass(frozen=True, slots=True)
class ZkeyHeader:
    """Section 2. `points` maps alpha1, beta1, beta2, gamma2, delta1, delta2 to their bytes in the file."""

    curve: Curve
    num_vars: int
    num_public: int
    log_domain: int
    points: dict[str, bytes]

    @property
    def domain_size(self) -> int:
        """Size of the evaluation domain."""
        return 1 << self.log_domain

    @property
    def g1_bytes(self) -> int:
        """Bytes of one G1 point: x, y."""
        return 2 * self.curve.coordinate_bytes

    @property
    def g2_bytes(self) -> int:
        """Bytes of one G2 point: x.c0, x.c1, y.c0, y.c1."""
        return 4 * self.curve.coordinate_bytes


@dataclass(frozen=True, slots=True)
class Zkey:
    """A key file whose structure is sound. `coefficients` counts the entries of section 4."""

    file: BinFile
    header: ZkeyHeader
    coefficients: int
    protocol_bytes: bytes
    header_bytes: bytes


def point_sections(header: ZkeyHeader) -> dict[int, tuple[int, int]]:
    """For each section of points: how many it must hold, and the bytes of one."""
    g1, g2 = header.g1_bytes, header.g2_bytes
    return {
        SECTION_IC: (header.num_public + 1, g1),
        SECTION_A: (header.num_vars, g1),
        SECTION_B1: (header.num_vars, g1),
        SECTION_B2: (header.num_vars, g2),
        SECTION_C: (header.num_vars - header.num_public - 1, g1),
        SECTION_H: (header.domain_size, g1),
    }


def open_zkey(fd: int, name: str) -> Zkey:
    """Read a key's structure from `fd`, which stays open: a few hundred bytes, whatever the file's size.

    Raises BadFile for a damaged file, Unsupported for another proof system, curve or an impossible domain,
    TooLarge for more public inputs than a reply can carry.
    """
    file = open_container(fd, name, FORMAT)
    protocol_bytes = _check_protocol(file)
    header, header_bytes = _read_header(file)
    _check_point_sections(file, header)
    coefficients = _check_coefficient_section(file)
    _check_limits(file, header)
    return Zkey(file, header, coefficients, protocol_bytes, header_bytes)


def _check_protocol(file: BinFile) -> bytes:
    section = file.require(SECTION_PROTOCOL)
    if section.size != 4:
        raise file.error(f"{FORMAT.section_name(SECTION_PROTOCOL)} has {section.size} bytes, not 4")
    data = file.read(section, 4)
    protocol = int.from_bytes(data, "little")
    if protocol != GROTH16:
        known = _PROTOCOLS.get(protocol)
        what = f"a {known} key" if known else f"a key of the unknown proof system {protocol}"
        raise Unsupported(
            f"{file.name}: {what} ({FORMAT.section_name(SECTION_PROTOCOL)}); cuzkd proves Groth16"
        )
    return data


def _read_header(file: BinFile) -> tuple[ZkeyHeader, bytes]:
    section = file.require(SECTION_HEADER)
    where = FORMAT.section_name(SECTION_HEADER)
    data = file.read(section, 1024)
    curve = _read_curve(file, where, data)
    size_q = curve.coordinate_bytes
    start = 8 + size_q + SCALAR_BYTES
    expected = start + 12 + (3 * 2 + 3 * 4) * size_q
    if section.size != expected:
        raise file.error(f"{where} has {section.size} bytes; a header for {curve} has {expected}")
    num_vars, num_public, domain_size = struct.unpack_from("<III", data, start)
    if domain_size < 2 or domain_size & (domain_size - 1):
        raise file.error(f"{where} says the domain has {domain_size} points: not a power of two from 2 up")
    if num_public >= num_vars:
        raise file.error(
            f"{where} says {num_public} of {num_vars} wires are public: there must be fewer, as wire 0 is one"
        )
    points = {}
    position = start + 12
    for point, group in _HEADER_LAYOUT:
        size = 2 * group * size_q
        points[point] = data[position : position + size]
        if not any(points[point]):
            raise file.error(f"{where}: {point} is the point at infinity, which no setup yields")
        position += size
    return ZkeyHeader(curve, num_vars, num_public, domain_size.bit_length() - 1, points), data


def _read_curve(file: BinFile, where: str, data: bytes) -> Curve:
    """The curve whose q and r the header spells exactly; no other prime gets through."""
    primes = []
    position = 0
    for prime in ("q", "r"):
        length = int.from_bytes(data[position : position + 4], "little")
        if len(data) < position + 4 or length > len(data) - position - 4:
            raise file.error(f"{where} ends within the prime {prime}")
        primes.append((length, int.from_bytes(data[position + 4 : position + 4 + length], "little")))
        position += 4 + length
    for curve in Curve:
        params = PARAMS[curve]
        if primes[0] == (curve.coordinate_bytes, params.q):
            if primes[1] != (SCALAR_BYTES, params.r):
                raise file.error(f"{where}: q is that of {curve}, but r is not")
            return curve
    raise Unsupported(f"{file.name}: {where}: the prime q is of neither bn128 nor bls12381")


def _check_point_sections(file: BinFile, header: ZkeyHeader) -> None:
    wrong = []
    for type_, (count, point_bytes) in point_sections(header).items():
        section = file.require(type_)
        if section.size != count * point_bytes:
            wrong.append(f"{FORMAT.section_name(type_)} has {_describe(section, point_bytes)}, not {count}")
    if wrong:
        raise file.error(
            f"sections disagree with {FORMAT.section_name(SECTION_HEADER)}, which says "
            f"{header.num_vars} wires, {header.num_public} public and a domain of {header.domain_size}: "
            + "; ".join(wrong)
        )


def _describe(section: Section, point_bytes: int) -> str:
    count, rest = divmod(section.size, point_bytes)
    return f"{count} points and {rest} bytes" if rest else f"{count} points"


def _check_coefficient_section(file: BinFile) -> int:
    section = file.require(SECTION_COEFFICIENTS)
    where = FORMAT.section_name(SECTION_COEFFICIENTS)
    if section.size < 4:
        raise file.error(f"{where} has {section.size} bytes: too few for its count")
    stated = int.from_bytes(file.read(section, 4), "little")
    count, rest = divmod(section.size - 4, COEFFICIENT.itemsize)
    if rest:
        raise file.error(f"{where} has {section.size} bytes: not a whole number of entries")
    if stated != count:
        raise file.error(f"{where} says it has {stated} entries, but its size is that of {count}")
    return count


def _check_limits(file: BinFile, header: ZkeyHeader) -> None:
    where = FORMAT.section_name(SECTION_HEADER)
    if header.log_domain >= PARAMS[header.curve].two_adicity:
        raise Unsupported(
            f"{file.name}: {where}: a domain of 2^{header.log_domain} on {header.curve} "
            "has no odd coset of roots of unity, which the proof needs",
            advice="use a circuit with a smaller domain",
        )
    if header.num_public > MAX_PUBLIC:
        raise TooLarge(
            f"{file.name}: {where}: {header.num_public} public signals; cuzkd takes at most {MAX_PUBLIC}",
            advice="publish a hash of the public signals instead",
        )


def check_coefficients(name: str, header: ZkeyHeader, entries: npt.NDArray[np.void], first: int) -> None:
    """Check consecutive entries (dtype `COEFFICIENT`) of section 4; `first` is the number of the first one.

    BadFile naming the entry when its matrix, row or signal is out of range. Values are not looked at.
    """
    fields = (("matrix", 2), ("row", header.domain_size), ("signal", header.num_vars))
    for field, bound in fields:
        column = entries[field]
        bad = column >= bound
        if bad.any():
            index = int(bad.argmax())
            where = f"{FORMAT.section_name(SECTION_COEFFICIENTS)}, entry {first + index}"
            raise BadFile(f"{name}: {where}: {field} {column[index]} is not below {bound}")
