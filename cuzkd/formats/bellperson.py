"""Proving keys as bellperson writes them (`.params`): where every point lies, and what each must be.

    alpha1 beta1 beta2 gamma2 delta1 delta2   then   count ic[count]   and likewise   h  l  a  b1  b2

Counts are u32 and points uncompressed, all big-endian; there is no magic, no version and no padding. A verifying key
file (`.vk`) is the same up to and with ic. Curve: BLS12-381, always.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cuzkd.errors import BadFile, TooLarge
from cuzkd.formats.binfile import Stream, file_size, read_exactly
from cuzkd.formats.compiled import verifying_key
from cuzkd.formats.zkey import MAX_PUBLIC
from cuzkd.kernels.curve import Group, first_off_curve, width
from cuzkd.kernels.subgroup import first_outside
from cuzkd.kernels.uncompressed import point_bytes, read_points
from cuzkd.model import Curve, VerifyingKey

CURVE = Curve.BLS12_381

HEADER = (
    ("alpha1", Group.G1),
    ("beta1", Group.G1),
    ("beta2", Group.G2),
    ("gamma2", Group.G2),
    ("delta1", Group.G1),
    ("delta2", Group.G2),
)
"""The single points, in the order of the file."""

QUERIES = (
    ("ic", Group.G1),
    ("h", Group.G1),
    ("l", Group.G1),
    ("a", Group.G1),
    ("b_g1", Group.G1),
    ("b_g2", Group.G2),
)
"""The counted sections, in the order of the file."""

HEADER_BYTES = sum(point_bytes(CURVE, group) for _, group in HEADER)

Points = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class PointsAt:
    """`count` points of a section that begin at byte `offset`, after the count itself if there is one."""

    section: str
    group: Group
    count: int
    offset: int

    @property
    def size(self) -> int:
        """Bytes of all its points."""
        return self.count * point_bytes(CURVE, self.group)

    @property
    def end(self) -> int:
        """The first byte after them."""
        return self.offset + self.size


@dataclass(frozen=True, slots=True)
class BellpersonKey:
    """A `.params` or `.vk` file whose counts fit its size; `sections` by name, in the order of the file."""

    name: str
    size: int
    sections: Mapping[str, PointsAt]

    def count(self, section: str) -> int:
        """How many points a section has."""
        return self.sections[section].count

    def error(self, text: str) -> BadFile:
        """A BadFile that names this file."""
        return BadFile(f"{self.name}: {text}")


def open_params(fd: int, name: str) -> BellpersonKey:
    """Read a proving key's counts; BadFile naming the section where they and the file's size disagree."""
    key = _walk(fd, name, [section for section, _ in QUERIES])
    if key.count("b_g1") != key.count("b_g2"):
        raise key.error(
            f"section b_g2 has {key.count('b_g2')} points, section b_g1 {key.count('b_g1')}: they go together"
        )
    return key


def open_vk(fd: int, name: str) -> BellpersonKey:
    """Read a verifying key's count; BadFile where it and the file's size disagree."""
    return _walk(fd, name, ["ic"])


def _walk(fd: int, name: str, queries: list[str]) -> BellpersonKey:
    size = file_size(fd, name)
    sections: dict[str, PointsAt] = {}
    position = 0

    def place(section: str, group: Group, count: int) -> None:
        nonlocal position
        at = PointsAt(section, group, count, position)
        if at.end > size:
            left = (size - position) // point_bytes(CURVE, group)
            raise BadFile(
                f"{name}: section {section}: {count} points, but the file ends at byte {size}, "
                f"within point {left} of them"
            )
        sections[section] = at
        position = at.end

    for section, group in HEADER:
        place(section, group, 1)
    for section in queries:
        if size - position < 4:
            raise BadFile(f"{name}: section {section}: the file ends at byte {size}, before its count")
        data = bytearray(4)
        read_exactly(fd, name, memoryview(data), position)
        position += 4
        place(section, dict(QUERIES)[section], int.from_bytes(data, "big"))
    if position != size:
        raise BadFile(f"{name}: {size - position} bytes follow section {queries[-1]}, the last one")
    key = BellpersonKey(name, size, sections)
    if not key.count("ic"):
        raise key.error("section ic is empty: the constant one is always an input")
    if key.count("ic") - 1 > MAX_PUBLIC:
        raise TooLarge(
            f"{name}: section ic: {key.count('ic') - 1} public inputs; cuzkd takes at most {MAX_PUBLIC}",
            advice="publish a hash of the public inputs instead",
        )
    return key


class PointReader:
    """One pass over such a file: every point as it comes is decoded and held to its curve and subgroup."""

    def __init__(self, key: BellpersonKey, stream: Stream, *, subgroup: bool, threads: int) -> None:
        self._key = key
        self._stream = stream
        self._check = first_outside if subgroup else first_off_curve
        self._threads = threads

    def start(self, section: str) -> None:
        """Come to a section's first point; its count must be what it was when the file was opened."""
        at = self._key.sections[section]
        if at.offset == self._stream.position + 4:
            self._stream.expect(struct.pack(">I", at.count))
        assert at.offset == self._stream.position

    def fill(self, section: str, out: Points, first: int) -> None:
        """Fill `out` (n, width) with the section's next points, the first of which is number `first`.

        BadFile naming section and point that is the identity, malformed, off the curve or outside the subgroup.
        """
        group = self._key.sections[section].group
        data = np.empty(len(out) * point_bytes(CURVE, group), dtype=np.uint8)
        self._stream.fill(data.data)
        self.decode(section, data, out, first)

    def decode(self, section: str, data: npt.NDArray[np.uint8], out: Points, first: int) -> None:
        """The same from bytes that were read already."""
        group = self._key.sections[section].group
        bad = read_points(CURVE, group, data, out, threads=self._threads)
        sound = out if bad is None else out[: bad.index]
        at = self._check(CURVE, group, sound, threads=self._threads) if len(sound) else None
        if at is not None:
            off = first_off_curve(CURVE, group, sound[at : at + 1], threads=1) is not None
            self._refuse(
                section, first + at, "is not on the curve" if off else "is outside the subgroup of order r"
            )
        if bad is not None:
            self._refuse(section, first + bad.index, str(bad.fault))

    def _refuse(self, section: str, index: int, what: str) -> None:
        raise self._key.error(f"section {section}: point {index} {what}")


def read_all(fd: int, key: BellpersonKey, *, threads: int) -> dict[str, Points]:
    """All points of a small file such as a `.vk`, by section, checked in full."""
    reader = PointReader(key, Stream(fd, key.name, key.size), subgroup=True, threads=threads)
    read = {}
    for section, at in key.sections.items():
        reader.start(section)
        read[section] = np.empty((at.count, width(CURVE, at.group)), dtype=np.uint64)
        reader.fill(section, read[section], 0)
    return read


def read_vk(fd: int, name: str) -> VerifyingKey:
    """The verifying key of an open `.vk` file, its points checked in full."""
    points = read_all(fd, open_vk(fd, name), threads=1)
    return verifying_key(CURVE, *(points[each] for each in ("alpha1", "beta2", "gamma2", "delta2", "ic")))
