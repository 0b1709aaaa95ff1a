"""The frame's header: its exact bytes, and everything that is refused before a payload byte is read."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuzkd.errors import BadRequest, VersionMismatch
from cuzkd.ipc.frames import HEADER_BYTES, FrameDecoder, Header
from cuzkd.ipc.messages import MESSAGES, Message
from cuzkd.ipc.orders import Spool
from cuzkd.ipc.requests import Attach, JobWait, StatusRequest

# A `JobWait` of 5 payload bytes with request id 7.
VECTOR = bytes.fromhex("c55a 01 00 1600 0000 05000000 07000000")


def raw_header(
    magic: bytes = b"\xc5\x5a",
    version: int = 1,
    descriptors: int = 0,
    number: int = JobWait.TYPE,
    flags: int = 0,
    length: int = 0,
) -> bytes:
    return struct.pack("<2sBBHHII", magic, version, descriptors, number, flags, length, 0)


def test_a_header_is_these_sixteen_bytes() -> None:
    header = Header(JobWait.TYPE, 5, request_id=7)
    assert header.encode() == VECTOR
    assert len(VECTOR) == HEADER_BYTES == 16
    assert Header.decode(VECTOR) == header


def test_type_numbers_are_unique_and_complete() -> None:
    declared = {cls.__name__ for cls in Message.__subclasses__()}
    assert {cls.__name__ for cls in MESSAGES.values()} == declared
    assert all(number == cls.TYPE for number, cls in MESSAGES.items())


@pytest.mark.parametrize(
    ("header", "why"),
    [
        (raw_header(magic=b"GE"), "begins with 4745"),
        (raw_header(number=9999), "unknown message type 9999"),
        (raw_header(flags=1), "unknown flags 0x0001"),
        (raw_header(length=0xFFFF_FFFF), "4294967295 bytes, the limit is 4096"),
        (raw_header(length=JobWait.MAX_BYTES + 1), "4097 bytes, the limit is 4096"),
        (raw_header(descriptors=1), "1 descriptors, the limit is 0"),
        (raw_header(number=Spool.TYPE, descriptors=2), "2 descriptors, the limit is 1"),
        (raw_header(number=Attach.TYPE, descriptors=65), "65 descriptors, the limit is 64"),
    ],
)
def test_fault_19_a_header_over_any_limit_is_refused_before_its_payload(header: bytes, why: str) -> None:
    decoder = FrameDecoder()
    decoder.feed(header)
    with pytest.raises(BadRequest, match=why):
        decoder.next()


def test_another_framing_version_is_refused_with_both_numbers() -> None:
    with pytest.raises(VersionMismatch, match="version 9, this side speaks 1"):
        Header.decode(raw_header(version=9))


def test_limits_themselves_are_allowed() -> None:
    for cls in MESSAGES.values():
        header = Header(cls.TYPE, cls.MAX_BYTES, descriptors=cls.DESCRIPTORS)
        assert Header.decode(header.encode()) == header


@given(st.binary(min_size=HEADER_BYTES, max_size=HEADER_BYTES))
def test_any_sixteen_bytes_are_a_header_or_refused(data: bytes) -> None:
    try:
        header = Header.decode(data)
    except (BadRequest, VersionMismatch):
        return
    assert header.encode() == data


@given(
    payloads=st.lists(st.binary(max_size=64), max_size=5),
    cuts=st.lists(st.integers(1, 40), min_size=1, max_size=40),
)
def test_frames_do_not_depend_on_how_the_stream_is_cut(payloads: list[bytes], cuts: list[int]) -> None:
    stream = b"".join(Header(JobWait.TYPE, len(p), request_id=i).encode() + p for i, p in enumerate(payloads))
    decoder, found, offset, turn = FrameDecoder(), [], 0, 0
    while offset < len(stream):
        step = cuts[turn % len(cuts)]
        decoder.feed(stream[offset : offset + step])
        offset, turn = offset + step, turn + 1
        while (frame := decoder.next()) is not None:
            found.append(frame)
    assert [payload for _, payload in found] == payloads
    assert [header.request_id for header, _ in found] == list(range(len(payloads)))
    assert not decoder.in_frame
    assert decoder.position == decoder.end == len(stream)


def test_the_header_is_known_before_the_payload_arrives() -> None:
    decoder = FrameDecoder()
    decoder.feed(Header(StatusRequest.TYPE, 1).encode()[:-1])
    assert decoder.header() is None
    assert decoder.in_frame
    decoder.feed(Header(StatusRequest.TYPE, 1).encode()[-1:])
    assert decoder.header() == Header(StatusRequest.TYPE, 1)
    assert decoder.next() is None
