"""The codec: every message survives the trip exactly, and nothing but an exact message is let through."""

import dataclasses
import math
import tracemalloc
from typing import Any

import msgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cuzkd.errors import BadRequest, InternalError, TooLarge
from cuzkd.ipc import codec
from cuzkd.ipc.frames import HEADER_BYTES, Header
from cuzkd.ipc.messages import MAX_FRAME_BYTES, MESSAGES, Failure, Message
from cuzkd.ipc.orders import Heartbeat, SynthesisDone
from cuzkd.ipc.requests import Attach, Hello, JobResult, JobSubmit, JobWait, PartitionResult, StatusRequest
from cuzkd.ipc.schema import record_schema
from cuzkd.model import PartitionId, Phase
from cuzkd.records import record
from tests.ipc.values import instances


def split(frame: bytes) -> tuple[Header, bytes]:
    return Header.decode(frame), frame[HEADER_BYTES:]


def decode_payload(cls: type[Message], payload: bytes) -> Message:
    return codec.decode(Header(cls.TYPE, len(payload)), payload)


def decode_fields(cls: type[Message], fields: Any) -> Message:
    return decode_payload(cls, msgpack.packb(fields))


@pytest.mark.parametrize("cls", MESSAGES.values(), ids=lambda cls: cls.__name__)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_every_message_survives_the_trip(cls: type[Message], data: st.DataObject) -> None:
    message = data.draw(instances(cls))
    header, payload = split(codec.encode(message, request_id=99))
    assert header == Header(cls.TYPE, len(payload), 99)
    decoded = codec.decode(header, payload)
    assert decoded == message
    assert repr(decoded) == repr(message)


@pytest.mark.parametrize(
    ("message", "request_id", "frame"),
    [
        (
            Failure("busy", "full", "wait", True, 2.0),
            3,
            "c55a0100 0100 0000 46000000 03000000"
            "85 a4636f6465 a462757379 a76d657373616765 a466756c6c a6616476696365 a477616974"
            "a9726574727961626c65 c3 ad72657472795f61667465725f73 cb4000000000000000",
        ),
        (
            JobWait(5, 1.5, progress=False),
            7,
            "c55a0100 1600 0000 23000000 07000000"
            "83 a36a6f62 05 a974696d656f75745f73 cb3ff8000000000000 a870726f6772657373 c2",
        ),
        (
            Heartbeat(2, PartitionId(9, 300), None, Phase.MSM, 0),
            0,
            "c55a0100 4100 0000 43000000 00000000"
            "85 ab696e6361726e6174696f6e 02 a9706172746974696f6e 82 a36a6f62 09 a5696e646578 cd012c"
            "a67469636b6574 c0 a57068617365 a36d736d a870726f6772657373 00",
        ),
    ],
    ids=["failure", "client", "child"],
)
def test_a_frame_is_these_bytes(message: Message, request_id: int, frame: str) -> None:
    assert codec.encode(message, request_id).hex(" ") == bytes.fromhex(frame).hex(" ")


@pytest.mark.parametrize(
    ("payload", "why"),
    [
        (b"", "JobWait: the message: the payload ends early"),
        (b"\x82\xa3job", "JobWait: job: the payload ends early"),
        (b"\xdf\xff\xff\xff\xff", "map of 4294967295 items is larger"),
        (b"\xde\x00", "the payload ends early"),
        (b"\x92\x01\x02", "the message: expected map, got array"),
        (b"\xc1", "got a type that is not allowed"),
        (b"\x81\xa3job\xd4\x01\x00", "job: expected int, got a type that is not allowed"),
        (b"\x81\xa3job\xc7\xff\x01", "job: expected int, got a type that is not allowed"),
        (b"\x81\xa3job" + b"\x91" * 2000, "job: expected int, got array"),
        (b"\x81\xa3job" + b"\x81" * 2000, "job: expected int, got map"),
        (b"\x81\xa3job\xdb\xff\xff\xff\xff", "job: expected int, got str"),
        (b"\x81\xdb\xff\xff\xff\xffab", "the message: the payload ends early"),
        (b"\x81\xa2\xff\xfe\x01", "the message: a string that is not UTF-8"),
        (b"\x81\xa9timeout_s\xca\x3f\x80\x00\x00", "timeout_s: expected float, got 32-bit float"),
    ],
)
def test_fault_18_malformed_msgpack_is_refused(payload: bytes, why: str) -> None:
    with pytest.raises(BadRequest) as caught:
        decode_payload(JobWait, payload)
    assert why in str(caught.value)


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"job": 1}, "the message: missing progress, timeout_s"),
        ({"job": 1, "timeout_s": None, "more": 1}, "the message: unknown field 'more'"),
        ({"job": True, "timeout_s": None}, "job: expected int, got bool"),
        ({"job": 1.0, "timeout_s": None}, "job: expected int, got float"),
        ({"job": "1", "timeout_s": None}, "job: expected int, got str"),
        ({"job": None, "timeout_s": None}, "job: expected int, got nil"),
        ({"job": 1, "timeout_s": 2}, "timeout_s: expected float, got int"),
        ({"job": 1, "timeout_s": math.nan}, "timeout_s: nan is not a finite number"),
        ({"job": 1, "timeout_s": -math.inf}, "timeout_s: -inf is not a finite number"),
        ({b"job": 1, "timeout_s": None}, "the message: expected str, got bytes"),
        ({1: 1, "timeout_s": None}, "the message: expected str, got int"),
    ],
)
def test_fault_18_a_field_that_is_not_what_its_annotation_says_is_refused_by_name(
    fields: Any, why: str
) -> None:
    with pytest.raises(BadRequest) as caught:
        decode_fields(JobWait, fields)
    assert str(caught.value) == f"JobWait: {why}"


def test_a_repeated_field_is_refused() -> None:
    with pytest.raises(BadRequest, match="JobWait: the message: field 'job' comes twice"):
        decode_payload(JobWait, b"\x83\xa3job\x01\xa3job\x01\xa9timeout_s\xc0")


def test_fault_18_trailing_bytes_are_refused() -> None:
    header, payload = split(codec.encode(StatusRequest()))
    with pytest.raises(BadRequest, match="StatusRequest: the message: 1 bytes follow the message"):
        codec.decode(header, payload + b"\xc0")


def test_the_path_leads_into_nested_values() -> None:
    handle = {"segment": "/s", "generation": 1, "incarnation": 1, "offsets": [0, 1, "2", 3], "size_bytes": 4}
    done = {"incarnation": 1, "partition": {"job": 1, "index": 0}, "handle": handle}
    with pytest.raises(BadRequest, match=r"SynthesisDone: handle\.offsets\[2\]: expected int, got str"):
        decode_fields(SynthesisDone, done)
    handle["offsets"] = [0, 1, 2]
    with pytest.raises(BadRequest, match=r"handle\.offsets: expected 4 items, got 3"):
        decode_fields(SynthesisDone, done)


def test_an_unknown_enum_value_is_refused_with_the_known_ones() -> None:
    with pytest.raises(BadRequest, match="curve: not one of bn128, bls12381"):
        decode_fields(JobResult, {"job": 1, "curve": "bn254", "partitions": 1, "seconds": 0.5})


def test_an_array_cannot_claim_more_items_than_the_payload_has_bytes() -> None:
    with pytest.raises(BadRequest, match=r"witnesses: array of 4294967295 items is larger"):
        decode_payload(JobSubmit, b"\x82\xa4zkey\x00\xa9witnesses\xdd\xff\xff\xff\xff")


def test_an_array_over_the_types_limit_is_refused_before_it_is_read() -> None:
    """A megabyte of empty strings would keep the supervisor from everything else for a second."""
    head = b"\x81\xa5names\xdd"
    most = decode_payload(Attach, head + (64).to_bytes(4, "big") + b"\xa0" * 64)
    assert most == Attach(("",) * 64)
    with pytest.raises(BadRequest, match="names: array of 65 items, the limit is 64"):
        decode_payload(Attach, head + (65).to_bytes(4, "big") + b"\xc1" * 65)
    with pytest.raises(TooLarge, match="names has 65 items, the limit is 64"):
        codec.encode(Attach(("",) * 65))


def test_fault_18_refusing_a_hostile_payload_allocates_about_a_frame() -> None:
    """Deep nesting and huge counts cost the frame's own size, not what they claim."""
    bombs = [b"\x82\xa4zkey\x00\xa9witnesses" + head * 10_000 for head in (b"\xdd\x00\x00\xff\xff", b"\x91")]
    tracemalloc.start()
    try:
        for bomb in bombs:
            with pytest.raises(BadRequest):
                decode_payload(JobSubmit, bomb)
        assert tracemalloc.get_traced_memory()[1] < 4 * max(map(len, bombs))
    finally:
        tracemalloc.stop()


@settings(deadline=None)
@given(st.data())
def test_fault_18_any_corruption_is_refused_or_still_a_message(data: st.DataObject) -> None:
    """Flipped, cut and inserted bytes never raise anything but `BadRequest`."""
    cls = data.draw(st.sampled_from(list(MESSAGES.values())))
    payload = bytearray(codec.encode(data.draw(instances(cls)))[HEADER_BYTES:])
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(payload)))
        payload[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    try:
        message = decode_payload(cls, bytes(payload))
    except BadRequest:
        return
    assert type(message) is cls


def test_a_payload_of_the_limit_travels_and_one_byte_more_is_the_senders_error() -> None:
    overhead = len(codec.encode(PartitionResult(1, 0, b"", bytes(70_000)))) - HEADER_BYTES - 70_000
    largest = PartitionResult(1, 0, b"", bytes(MAX_FRAME_BYTES - overhead))
    header, payload = split(codec.encode(largest))
    assert len(payload) == MAX_FRAME_BYTES
    assert codec.decode(header, payload) == largest
    with pytest.raises(TooLarge, match="1048577 bytes, the limit is 1048576"):
        codec.encode(dataclasses.replace(largest, public=largest.public + b"\0"))


@pytest.mark.parametrize(
    ("message", "why"),
    [
        (JobWait("1", None, progress=False), "JobWait: job: expected int, got str"),
        (JobWait(True, None, progress=False), "JobWait: job: expected int, got bool"),
        (JobWait(1 << 64, None, progress=False), "JobWait: job: an integer beyond 64 bits"),
        (JobWait(1, math.nan, progress=False), "JobWait: timeout_s: nan is not a finite number"),
        (JobWait(1, 10**400, progress=False), "JobWait: timeout_s: a number beyond 64 bits"),
        (Attach(("a", "\udc80")), r"Attach: names\[1\]: a string that UTF-8 cannot hold"),
        (Attach(["a"]), "Attach: names: expected tuple, got list"),
        (PartitionId(1, 2), "PartitionId is no message"),
    ],
)
def test_the_sender_refuses_values_that_the_receiver_would(message: Any, why: str) -> None:
    with pytest.raises(InternalError, match=why):
        codec.encode(message)


def test_the_sender_checks_what_goes_into_the_header() -> None:
    with pytest.raises(InternalError, match="1 descriptors, the limit is 0"):
        codec.encode(Hello(1, 1, "t"), descriptors=1)
    with pytest.raises(InternalError, match="request id 4294967296"):
        codec.encode(Hello(1, 1, "t"), request_id=1 << 32)


def test_an_int_may_be_sent_where_a_float_is_declared() -> None:
    message = codec.decode(*split(codec.encode(JobWait(1, 5, progress=False))))
    assert isinstance(message, JobWait)
    assert type(message.timeout_s) is float


@pytest.mark.parametrize("annotation", ["dict[str, int]", "int | str", "list[int]", "object"])
def test_an_annotation_that_messages_may_not_have_is_a_type_error(annotation: str) -> None:
    cls = record(type("Strange", (), {"__annotations__": {"field": annotation}}))
    with pytest.raises(TypeError, match="messages cannot carry"):
        record_schema(cls)
