"""Taking zkey and wtns files apart and putting them together again, for tests: independent of the readers."""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace

from cuzkd.model import Curve


@dataclass(frozen=True, slots=True)
class Container:
    """A container's parts; `count` None writes the true number of sections."""

    magic: bytes
    version: int
    sections: tuple[tuple[int, bytes], ...]
    count: int | None = None
    tail: bytes = b""

    @classmethod
    def parse(cls, data: bytes) -> Container:
        magic, version, count = struct.unpack_from("<4sII", data)
        sections, position = [], 12
        for _ in range(count):
            type_, length = struct.unpack_from("<IQ", data, position)
            position += 12
            sections.append((type_, data[position : position + length]))
            position += length
        return cls(magic, version, tuple(sections), tail=data[position:])

    def build(self) -> bytes:
        count = len(self.sections) if self.count is None else self.count
        parts = [struct.pack("<4sII", self.magic, self.version, count)]
        for type_, payload in self.sections:
            parts += [struct.pack("<IQ", type_, len(payload)), payload]
        return b"".join(parts) + self.tail

    def section(self, type_: int) -> bytes:
        return next(payload for found, payload in self.sections if found == type_)

    def with_section(self, type_: int, payload: bytes) -> Container:
        return replace(
            self,
            sections=tuple((t, payload if t == type_ else old) for t, old in self.sections),
        )

    def without(self, type_: int) -> Container:
        return replace(self, sections=tuple(section for section in self.sections if section[0] != type_))


@dataclass(frozen=True, slots=True)
class KeyFields:
    """Where the fields of a zkey's section 2 lie, and what they say."""

    curve: Curve
    num_vars: int
    num_public: int
    domain_size: int
    counts_offset: int

    @classmethod
    def of(cls, container: Container) -> KeyFields:
        header = container.section(2)
        (size_q,) = struct.unpack_from("<I", header)
        counts = 8 + size_q + 32
        curve = Curve.BN254 if size_q == 32 else Curve.BLS12_381
        return cls(curve, *struct.unpack_from("<III", header, counts), counts)


def patch(data: bytes, offset: int, new: bytes) -> bytes:
    """`data` with `new` written over it at `offset`."""
    return data[:offset] + new + data[offset + len(new) :]
