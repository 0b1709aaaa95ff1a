"""PROTOCOL.md says what the codec does: every type with its limits and fields, every vector byte for byte."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cuzkd import errors, model
from cuzkd.errors import CuzkdError
from cuzkd.ipc import codec, messages, requests
from cuzkd.ipc.frames import HEADER_BYTES, Header
from cuzkd.ipc.messages import MAX_FRAME_BYTES, PROTOCOL_VERSION, Message
from tests.ipc.protocol_text import client_messages, fields_of, kinds_of, records_of, table_of_types

DOCUMENT = Path(codec.__file__).with_name("PROTOCOL.md").read_text()
_VECTOR = re.compile(
    r"^`(?P<message>\w+\(.*\))`, request id (?P<id>\d+)[^\n]*:\n\n```hex\n(?P<hex>[^`]+)```", re.M
)
VECTORS = [(found["message"], int(found["id"]), found["hex"]) for found in _VECTOR.finditer(DOCUMENT)]
NAMES = {**vars(model), **vars(messages), **vars(requests)}


def section(heading: str) -> str:
    """The text under a heading of the third level, up to the next heading."""
    found = re.search(rf"^### {re.escape(heading)}\n(?P<text>.*?)(?=^#|\Z)", DOCUMENT, re.M | re.S)
    assert found is not None, f"PROTOCOL.md has no section {heading!r}"
    return found["text"]


def test_the_table_of_types_is_complete() -> None:
    assert table_of_types() in DOCUMENT, f"PROTOCOL.md should have\n{table_of_types()}"


@pytest.mark.parametrize("cls", client_messages(), ids=lambda cls: cls.__name__)
def test_every_message_has_its_fields(cls: type[Message]) -> None:
    told = section(f"{cls.TYPE} {cls.__name__}")
    assert f"\n{fields_of(cls)}\n" in told, f"{cls.__name__} should have\n{fields_of(cls)}"


def test_every_record_in_messages_has_its_fields() -> None:
    records = {record for cls in client_messages() for record in records_of(cls)}
    assert records
    for record in records:
        assert f"\n{fields_of(record)}\n" in section(record.__name__), (
            f"{record.__name__}\n{fields_of(record)}"
        )


@pytest.mark.parametrize(("source", "request_id", "hex_frame"), VECTORS, ids=lambda value: str(value)[:24])
def test_every_vector_is_what_the_codec_writes_and_reads(
    source: str, request_id: int, hex_frame: str
) -> None:
    message = eval(source, dict(NAMES))
    frame = bytes.fromhex(re.sub(r"#.*", "", hex_frame))
    descriptors = Header.decode(frame).descriptors
    assert codec.encode(message, request_id, descriptors).hex(" ") == frame.hex(" ")
    header = Header.decode(frame)
    assert header == Header(type(message).TYPE, len(frame) - HEADER_BYTES, request_id, descriptors)
    assert codec.decode(header, frame[HEADER_BYTES:]) == message


def test_vectors_show_every_kind_of_field() -> None:
    shown = {kind for source, _, _ in VECTORS for kind in kinds_of(type(eval(source, dict(NAMES))))}
    assert shown == {kind for cls in client_messages() for kind in kinds_of(cls)}
    assert len(VECTORS) >= 6


def test_every_error_code_that_a_client_may_see_is_told() -> None:
    local = {"unreachable", "already_running", "boot_failed"}  # raised on the side where they happen
    every = [
        value
        for value in vars(errors).values()
        if isinstance(value, type) and issubclass(value, CuzkdError) and value.code not in local
    ]
    for cls in every:
        retry = "yes" if cls.retryable else "no"
        assert f"| `{cls.code}` | {retry} |" in DOCUMENT, f"| `{cls.code}` | {retry} | …"


def test_the_numbers_of_the_framing_are_the_ones_told() -> None:
    assert f"version {PROTOCOL_VERSION} of the protocol" in DOCUMENT
    assert f"{MAX_FRAME_BYTES} bytes" in DOCUMENT
    assert f"{HEADER_BYTES} bytes" in DOCUMENT
