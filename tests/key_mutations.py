"""Keys with one thing wrong, or with one thing odd that is still right: the tables that tests run over."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from containers import Container, KeyFields, patch
from hypothesis import strategies as st

from cuzkd.errors import BadFile, CuzkdError, TooLarge, Unsupported
from cuzkd.kernels.params import PARAMS
from cuzkd.model import Curve

ENTRY_BYTES = 44


@dataclass(frozen=True, slots=True)
class Mutation:
    """A change to a key; refused with `error`, whose message matches the pattern `says`.

    `structural` ones are seen without reading entries or points.
    """

    name: str
    apply: Callable[[bytes], bytes]
    error: type[CuzkdError]
    says: str
    structural: bool = True


def _on_parts(change: Callable[[Container], Container]) -> Callable[[bytes], bytes]:
    return lambda data: change(Container.parse(data)).build()


def _on_section(type_: int, change: Callable[[bytes], bytes]) -> Callable[[bytes], bytes]:
    return _on_parts(lambda parts: parts.with_section(type_, change(parts.section(type_))))


def _count_field(index: int, value: Callable[[KeyFields], int]) -> Callable[[bytes], bytes]:
    """Change nVars (0), nPublic (1) or domainSize (2)."""

    def change(parts: Container) -> Container:
        fields = KeyFields.of(parts)
        at = fields.counts_offset + 4 * index
        return parts.with_section(2, patch(parts.section(2), at, struct.pack("<I", value(fields))))

    return _on_parts(change)


def _entry(index: int, field: int, value: Callable[[KeyFields], int]) -> Callable[[bytes], bytes]:
    """Change the matrix (0), row (1) or signal (2) of one coefficient entry."""

    def change(parts: Container) -> Container:
        at = 4 + index * ENTRY_BYTES + 4 * field
        return parts.with_section(
            4, patch(parts.section(4), at, struct.pack("<I", value(KeyFields.of(parts))))
        )

    return _on_parts(change)


def _halved_domain(data: bytes) -> bytes:
    """A domain that is too small for the rows, though it agrees with section 9."""
    parts = Container.parse(_count_field(2, lambda key: key.domain_size // 2)(data))
    points = parts.section(9)
    return parts.with_section(9, points[: len(points) // 2]).build()


def _entry_value_too_large(data: bytes) -> bytes:
    parts = Container.parse(data)
    r = PARAMS[KeyFields.of(parts).curve].r
    return parts.with_section(4, patch(parts.section(4), 4 + 12, r.to_bytes(32, "little"))).build()


def _point(type_: int, *, q_as_x: bool) -> Callable[[bytes], bytes]:
    """Spoil the first finite point of a section: by a bit of y, or by x ≥ q."""

    def change(parts: Container) -> Container:
        payload = parts.section(type_)
        size = KeyFields.of(parts).curve.coordinate_bytes
        width = size * (4 if type_ == 7 else 2)
        at = next(i for i in range(0, len(payload), width) if any(payload[i : i + width]))
        if q_as_x:
            q = PARAMS[KeyFields.of(parts).curve].q
            return parts.with_section(type_, patch(payload, at, q.to_bytes(size, "little")))
        flipped = payload[at + width - size] ^ 1
        return parts.with_section(type_, patch(payload, at + width - size, bytes([flipped])))

    return _on_parts(change)


def _header_point(*, off_curve: bool) -> Callable[[bytes], bytes]:
    """Spoil delta2, the last point of section 2: off the curve, or at infinity."""

    def change(header: bytes) -> bytes:
        if off_curve:
            return header[:-1] + bytes([header[-1] ^ 1])
        size_q = struct.unpack_from("<I", header)[0]
        return header[: -4 * size_q] + bytes(4 * size_q)

    return _on_section(2, change)


def _cut_within(type_: int) -> Callable[[bytes], bytes]:
    """End the file in the middle of a section."""

    def change(data: bytes) -> bytes:
        position = 12
        for found, payload in Container.parse(data).sections:
            position += 12
            if found == type_:
                return data[: position + len(payload) // 2]
            position += len(payload)
        raise ValueError(f"no section {type_}")

    return change


def _short_section_2(data: bytes) -> bytes:
    return _on_section(2, lambda header: header[:20])(data)


def _drop_points(type_: int) -> Callable[[bytes], bytes]:
    def change(parts: Container) -> Container:
        width = KeyFields.of(parts).curve.coordinate_bytes * (4 if type_ == 7 else 2)
        return parts.with_section(type_, parts.section(type_)[:-width])

    return _on_parts(change)


def _twice(type_: int) -> Callable[[bytes], bytes]:
    return _on_parts(lambda parts: replace(parts, sections=(*parts.sections, (type_, parts.section(type_)))))


def _protocol(number: int) -> Callable[[bytes], bytes]:
    return _on_section(1, lambda _: struct.pack("<I", number))


_STRUCTURAL = [
    ("empty file", lambda _: b"", BadFile, "the file is empty"),
    ("a few bytes", lambda data: data[:7], BadFile, "7 bytes are too few"),
    ("wrong magic", lambda data: b"zkez" + data[4:], BadFile, "not a zkey file.*zkez"),
    ("a wtns file", lambda data: b"wtns" + data[4:], BadFile, "not a zkey file.*wtns"),
    ("version 2", _on_parts(lambda parts: replace(parts, version=2)), BadFile, "zkey version 2"),
    ("version 9", _on_parts(lambda parts: replace(parts, version=9)), BadFile, "zkey version 9"),
    ("plonk", _protocol(2), Unsupported, r"PLONK key \(section 1"),
    ("fflonk", _protocol(10), Unsupported, r"FFLONK key \(section 1"),
    ("unknown protocol", _protocol(77), Unsupported, "unknown proof system 77"),
    ("cut by 10 bytes", lambda data: data[:-10], BadFile, r"section 10 \(contributions\) says"),
    ("cut in half", lambda data: data[: len(data) // 2], BadFile, "section"),
    ("cut within a section header", lambda data: data[: 12 + 5], BadFile, "sections"),
    *((f"cut in section {t}", _cut_within(t), BadFile, f"section {t} ") for t in (2, 3, 4, 5, 6, 7, 9)),
    (
        "4294967295 sections",
        _on_parts(lambda parts: replace(parts, count=0xFFFFFFFF)),
        BadFile,
        "4294967295 sections",
    ),
    ("11 of 10 sections", _on_parts(lambda parts: replace(parts, count=11)), BadFile, "section header 11"),
    *((f"section {t} twice", _twice(t), BadFile, f"section {t} .* occurs twice") for t in (1, 2, 4, 5, 9)),
    *(
        (f"no section {t}", _on_parts(lambda parts, t=t: parts.without(t)), BadFile, f"section {t} .*missing")
        for t in range(1, 9)
    ),
    ("no section 9", _on_parts(lambda parts: parts.without(9)), BadFile, r"section 9 \(H\) is missing"),
    *(
        (f"a point short in section {t}", _drop_points(t), BadFile, rf"section {t} \(")
        for t in (3, 5, 6, 7, 9)
    ),
    ("section 6 empty", _on_section(6, lambda _: b""), BadFile, r"section 6 \(B1\) has 0 points"),
    (
        "half a point in section 8",
        _on_section(8, lambda old: old + b"12345"),
        BadFile,
        r"section 8 \(C\) has \d+ points and 5 bytes",
    ),
    (
        "nVars + 1",
        _count_field(0, lambda key: key.num_vars + 1),
        BadFile,
        r"(?s)wires.*section 5 \(A\).*section 6 \(B1\).*section 7 \(B2\).*section 8 \(C\)",
    ),
    ("domain 48", _count_field(2, lambda _: 48), BadFile, "domain has 48 points: not a power of two"),
    ("domain 0", _count_field(2, lambda _: 0), BadFile, "domain has 0 points"),
    ("domain doubled", _count_field(2, lambda key: 2 * key.domain_size), BadFile, r"section 9 \(H\)"),
    ("domain 2^31", _count_field(2, lambda _: 1 << 31), BadFile, r"section 9 \(H\) .*not 2147483648"),
    ("nPublic + 1", _count_field(1, lambda key: key.num_public + 1), BadFile, r"section 3 \(IC\).*section 8"),
    ("nPublic 1000", _count_field(1, lambda _: 1000), BadFile, "1000 of .* wires are public"),
    (
        "n8q swapped",
        _on_section(2, lambda old: struct.pack("<I", 80 - old[0]) + old[4:]),
        CuzkdError,
        "prime",
    ),
    (
        "q changed by a bit",
        _on_section(2, lambda old: patch(old, 4, bytes([old[4] ^ 2]))),
        Unsupported,
        "prime q",
    ),
    (
        "r changed by a bit",
        _on_section(2, lambda old: patch(old, old[0] + 8, bytes([old[old[0] + 8] ^ 2]))),
        BadFile,
        "r is not",
    ),
    ("a short header", _short_section_2, BadFile, "section 2 .* ends within the prime q"),
    ("delta2 at infinity", _header_point(off_curve=False), BadFile, "section 2 .*delta2 .*infinity"),
    (
        "coefficient count 1",
        _on_section(4, lambda old: b"\x01\0\0\0" + old[4:]),
        BadFile,
        "says it has 1 entries",
    ),
    ("coefficients off by a byte", _on_section(4, lambda old: old + b"\0"), BadFile, "not a whole number"),
    ("no coefficient count", _on_section(4, lambda _: b"\0\0"), BadFile, "too few for its count"),
]

_CONTENT = [
    ("matrix 2", _entry(1, 0, lambda _: 2), BadFile, r"section 4 \(coefficients\), entry 1: matrix 2"),
    (
        "row out of range",
        _entry(0, 1, lambda key: key.domain_size),
        BadFile,
        r"section 4 .*, entry 0: row \d",
    ),
    ("signal out of range", _entry(1, 2, lambda key: key.num_vars), BadFile, "section 4 .*entry 1: signal"),
    (
        "signal 2^32 - 1",
        _entry(0, 2, lambda _: 0xFFFFFFFF),
        BadFile,
        "section 4 .*entry 0: signal 4294967295",
    ),
    ("domain and H halved", _halved_domain, BadFile, r"section 4 .*entry \d+: row \d+ is not below"),
    ("coefficient above r", _entry_value_too_large, BadFile, "section 4 .*entry 0: the value is not below r"),
    *(
        (
            f"off the curve in section {t}",
            _point(t, q_as_x=False),
            BadFile,
            rf"section {t} .*point \d+ is not on",
        )
        for t in (3, 5, 9)
    ),
    ("a coordinate of q in section 5", _point(5, q_as_x=True), BadFile, r"section 5 .*point \d+ is not on"),
    ("delta2 off the curve", _header_point(off_curve=True), BadFile, "section 2 .*delta2"),
]

MUTATIONS = [Mutation(*row) for row in _STRUCTURAL] + [Mutation(*row, structural=False) for row in _CONTENT]


def _more_publics_than_a_reply_carries(_: bytes) -> bytes:
    return key_of_zeros(Curve.BN254, num_vars=33_000, num_public=32_001, log_domain=16)


EXTREME = [Mutation("too many publics", _more_publics_than_a_reply_carries, TooLarge, "32001 public signals")]


def key_of_zeros(curve: Curve, *, num_vars: int, num_public: int, log_domain: int) -> bytes:
    """A key of right sizes whose header is sound and whose sections of points are all infinity."""
    sections = _sections_of_zeros(curve, num_vars, num_public, log_domain)
    payloads = ((type_, data + bytes(size - len(data))) for type_, data, size in sections)
    return Container(b"zkey", 1, tuple(payloads)).build()


def pieces_of_a_huge_key(curve: Curve) -> Iterator[tuple[int, bytes]]:
    """Offsets and bytes of the largest key whose header can be written down; all the rest are zeros."""
    sections = _sections_of_zeros(curve, (1 << 32) - 1, 0, 27)
    yield 0, struct.pack("<4sII", b"zkey", 1, len(sections))
    position = 12
    for type_, data, size in sections:
        yield position, struct.pack("<IQ", type_, size) + data
        position += 12 + size
    yield position - 1, b"\0"


def _sections_of_zeros(
    curve: Curve, num_vars: int, num_public: int, log_domain: int
) -> list[tuple[int, bytes, int]]:
    """Type, first bytes and size of each section; the bytes behind the first ones are zeros."""
    params, size = PARAMS[curve], curve.coordinate_bytes
    header = struct.pack("<I", size) + params.q.to_bytes(size, "little")
    header += struct.pack("<I", 32) + params.r.to_bytes(32, "little")
    header += struct.pack("<III", num_vars, num_public, 1 << log_domain) + b"\x01" * (18 * size)
    g1, g2 = 2 * size, 4 * size
    counts = {3: (num_public + 1) * g1, 5: num_vars * g1, 6: num_vars * g1, 7: num_vars * g2}
    counts |= {8: (num_vars - num_public - 1) * g1, 9: g1 << log_domain, 4: 4}
    sections = [(1, struct.pack("<I", 1), 4), (2, header, len(header))]
    return sections + [(type_, b"", length) for type_, length in counts.items()]


ACCEPTED: list[tuple[str, Callable[[bytes], bytes]]] = [
    ("sections reversed", _on_parts(lambda parts: replace(parts, sections=parts.sections[::-1]))),
    ("an unknown section", _on_parts(lambda p: replace(p, sections=((77, b"hello"), *p.sections)))),
    (
        "an unknown section twice",
        _on_parts(lambda p: replace(p, sections=(*p.sections, (77, b""), (77, b"x")))),
    ),
    ("no contributions", _on_parts(lambda parts: parts.without(10))),
    ("trailing bytes", _on_parts(lambda parts: replace(parts, tail=b"and so on"))),
    ("a name that is not ASCII in section 10", _on_section(10, lambda old: old + "naïve – 名".encode())),
]


@st.composite
def damaged(draw: st.DrawFn, seeds: Sequence[bytes]) -> bytes:
    """One of the files, perhaps cut, with bytes and whole words overwritten, most often near its start."""
    data = bytearray(draw(st.sampled_from(seeds)))
    for _ in range(draw(st.integers(0, 6))):
        at = draw(st.one_of(st.integers(0, 60), st.integers(0, len(data) - 1)))
        new = draw(st.one_of(st.binary(min_size=1, max_size=8), st.sampled_from([b"\xff" * 8, bytes(8)])))
        data[at : at + len(new)] = new
    return bytes(data[: draw(st.one_of(st.just(len(data)), st.integers(0, len(data))))])
