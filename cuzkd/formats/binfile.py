"""The container of zkey, wtns and r1cs files: a magic, a version, and sections of a type and a length each.

    magic[4]  u32 version  u32 nSections  { u32 type  u64 length  payload[length] } × nSections

All little-endian; there is no index, no padding and no alignment. Files belong to clients who may change them
at any time: they are read into memory of our own, never mapped; what is read twice is compared (`Stream`).
"""

from __future__ import annotations

import hashlib
import os
import stat
import struct
from collections.abc import Mapping
from dataclasses import dataclass

from cuzkd.errors import BadFile
from cuzkd.pulse import PULSE

HEADER_BYTES = 12
SECTION_HEADER_BYTES = 12
MAX_SECTIONS = 1024
"""Real files have at most a dozen; the limit bounds the walk whatever the header claims."""

_HASH_BYTES = 1 << 20
_READ_BYTES = 1 << 26
"""At once: whoever waits for a slow disk is seen to get on."""


@dataclass(frozen=True, slots=True)
class Section:
    """Where a section's payload lies, in bytes from the start of the file."""

    type: int
    offset: int
    size: int

    @property
    def end(self) -> int:
        """The first byte after the payload."""
        return self.offset + self.size

    @property
    def header_bytes(self) -> bytes:
        """The bytes in front of the payload."""
        return struct.pack("<IQ", self.type, self.size)


@dataclass(frozen=True, slots=True)
class Format:
    """What a kind of file must start with, and the names of the sections that this kind knows."""

    kind: str
    magic: bytes
    version: int
    names: Mapping[int, str]

    def section_name(self, type_: int) -> str:
        """How errors call a section: `section 9 (H)`."""
        name = self.names.get(type_)
        return f"section {type_} ({name})" if name else f"section {type_}"


@dataclass(frozen=True, slots=True)
class BinFile:
    """A container whose section lengths were all checked against the file's size.

    `sections` keeps the order of the file; each known type occurs at most once. `fd` stays the caller's.
    """

    fd: int
    name: str
    format: Format
    size: int
    sections: tuple[Section, ...]

    @property
    def preamble(self) -> bytes:
        """The bytes in front of the first section."""
        return struct.pack("<4sII", self.format.magic, self.format.version, len(self.sections))

    def find(self, type_: int) -> Section | None:
        """The section of this type, if the file has it."""
        return next((section for section in self.sections if section.type == type_), None)

    def require(self, type_: int) -> Section:
        """The section of this type; BadFile naming it when it is missing."""
        section = self.find(type_)
        if section is None:
            raise self.error(f"{self.format.section_name(type_)} is missing")
        return section

    def error(self, text: str) -> BadFile:
        """A BadFile that names this file."""
        return BadFile(f"{self.name}: {text}")

    def read(self, section: Section, limit: int) -> bytes:
        """The first `limit` bytes of a small section, or all of it if it is smaller."""
        data = bytearray(min(limit, section.size))
        read_exactly(self.fd, self.name, memoryview(data), section.offset)
        return bytes(data)


def read_exactly(fd: int, name: str, out: memoryview, offset: int) -> None:
    """Fill `out` from `offset`; BadFile when the file ends first or cannot be read."""
    if not out.nbytes:
        return
    view = out.cast("B")
    done = 0
    while done < len(view):
        try:
            with PULSE.reading():
                count = os.preadv(fd, [view[done : done + _READ_BYTES]], offset + done)
        except OSError as error:
            raise BadFile(f"{name}: cannot be read: {error.strerror}") from error
        if count == 0:
            raise BadFile(f"{name}: the file ends at byte {offset + done}, within what began at {offset}")
        done += count


def file_size(fd: int, name: str) -> int:
    """Size in bytes; BadFile unless `fd` is a regular file (a memfd is one)."""
    with PULSE.reading():
        status = os.fstat(fd)
    if not stat.S_ISREG(status.st_mode):
        raise BadFile(f"{name}: not a regular file", advice="pass a file, not a pipe, directory or device")
    return status.st_size


def open_container(fd: int, name: str, format_: Format) -> BinFile:
    """Walk the sections of `fd`; BadFile when magic, version, a length or a repeated section is wrong."""
    size = file_size(fd, name)
    count = _read_header(fd, name, format_, size)
    sections: list[Section] = []
    seen: set[int] = set()
    position = HEADER_BYTES
    for index in range(count):
        where = f"{name}: section header {index + 1} of {count}"
        if size - position < SECTION_HEADER_BYTES:
            raise BadFile(f"{where}: the file ends at byte {size}")
        header = bytearray(SECTION_HEADER_BYTES)
        read_exactly(fd, name, memoryview(header), position)
        type_, length = struct.unpack("<IQ", header)
        position += SECTION_HEADER_BYTES
        if length > size - position:
            raise BadFile(
                f"{name}: {format_.section_name(type_)} says it has {length} bytes, "
                f"but only {size - position} are left in the file"
            )
        if type_ in format_.names and type_ in seen:
            raise BadFile(f"{name}: {format_.section_name(type_)} occurs twice")
        seen.add(type_)
        sections.append(Section(type_, position, length))
        position += length
    return BinFile(fd, name, format_, size, tuple(sections))


def _read_header(fd: int, name: str, format_: Format, size: int) -> int:
    """Check magic and version; the number of sections."""
    if size == 0:
        raise BadFile(f"{name}: the file is empty")
    if size < HEADER_BYTES:
        raise BadFile(f"{name}: {size} bytes are too few for a {format_.kind} file")
    header = bytearray(HEADER_BYTES)
    read_exactly(fd, name, memoryview(header), 0)
    magic, version, count = struct.unpack("<4sII", header)
    if magic != format_.magic:
        raise BadFile(f"{name}: not a {format_.kind} file: it starts with {magic!r}, not {format_.magic!r}")
    if version != format_.version:
        raise BadFile(f"{name}: {format_.kind} version {version}; cuzkd reads version {format_.version}")
    if count > MAX_SECTIONS or count * SECTION_HEADER_BYTES > size - HEADER_BYTES:
        raise BadFile(f"{name}: the header says {count} sections, more than a file of {size} bytes can have")
    return int(count)


class Stream:
    """One pass over a file's first `size` bytes, hashed as they are read: what is used is what was hashed."""

    def __init__(self, fd: int, name: str, size: int) -> None:
        self._fd = fd
        self._name = name
        self._size = size
        self._hash = hashlib.sha256()
        self.position = 0

    def fill(self, out: memoryview) -> None:
        """Fill `out` with the next bytes; BadFile when the file ends first."""
        view = out.cast("B") if out.nbytes else memoryview(b"")
        for start in range(0, len(view), _HASH_BYTES):
            piece = view[start : start + _HASH_BYTES]
            read_exactly(self._fd, self._name, piece, self.position)
            self._hash.update(piece)
            self.position += len(piece)

    def expect(self, known: bytes) -> None:
        """The next bytes must be `known`, which were read before; BadFile when the file changed meanwhile."""
        data = bytearray(len(known))
        self.fill(memoryview(data))
        if data != known:
            raise BadFile(f"{self._name}: the file changed while it was read")

    def skip(self, count: int) -> None:
        """Hash the next `count` bytes and drop them."""
        buffer = memoryview(bytearray(min(count, _HASH_BYTES)))
        while count:
            piece = buffer[:count]
            self.fill(piece)
            count -= len(piece)

    def finish(self) -> str:
        """Hash whatever is left; the SHA-256 of all `size` bytes, in hex."""
        self.skip(self._size - self.position)
        return self._hash.hexdigest()
