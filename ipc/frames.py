"""The frame: a fixed header, judged before a byte of the payload is read. Bytes in, frames out; no I/O.

      0       2       3             4        6        8         12            16
      +-------+-------+-------------+--------+--------+---------+-------------+----------------
      | magic |version| descriptors |  type  | flags  | length  | request id  | payload …
      |  u16  |  u8   |     u8      |  u16   |  u16   |  u32    |    u32      | (one msgpack map)
      +-------+-------+-------------+--------+--------+---------+-------------+----------------

Integers are little-endian; the magic is the bytes C5 5A, which no text begins with. `version` is the
framing's own (`hello` negotiates the messages'). `descriptors` says how many file descriptors travel with
the frame's first byte. `flags` is zero. `length` counts the payload only. The request id is the client's
choice and comes back in every answer; 0 where nothing is answered.
"""

from __future__ import annotations

import struct

from cuzkd.errors import BadRequest, VersionMismatch
from cuzkd.ipc.messages import MESSAGES
from cuzkd.records import record

MAGIC = b"\xc5\x5a"
FRAME_VERSION = 1
MAX_REQUEST_ID = 0xFFFF_FFFF

_HEADER = struct.Struct("<2sBBHHII")
HEADER_BYTES = _HEADER.size


@record
class Header:
    """What precedes a payload of `length` bytes; values are within the type's limits once decoded."""

    type: int
    length: int
    request_id: int = 0
    descriptors: int = 0

    def encode(self) -> bytes:
        """The header's 16 bytes; `struct.error` when a value does not fit its field."""
        return _HEADER.pack(
            MAGIC, FRAME_VERSION, self.descriptors, self.type, 0, self.length, self.request_id
        )

    @classmethod
    def decode(cls, data: bytes | bytearray | memoryview) -> Header:
        """Read and judge the first 16 bytes of `data`.

        `BadRequest` for another magic, an unknown type, set flags, or a length or descriptor count over the
        type's limit; `VersionMismatch` for another version of the framing.
        """
        magic, version, descriptors, number, flags, length, request_id = _HEADER.unpack_from(data)
        if magic != MAGIC:
            raise BadRequest(f"this is no frame: it begins with {magic.hex()}, not {MAGIC.hex()}")
        if version != FRAME_VERSION:
            raise VersionMismatch(f"the frame is of version {version}, this side speaks {FRAME_VERSION}")
        message = MESSAGES.get(number)
        if message is None:
            raise BadRequest(f"unknown message type {number}")
        name = message.__name__
        if flags:
            raise BadRequest(f"{name}: unknown flags {flags:#06x}")
        if length > message.MAX_BYTES:
            raise BadRequest(f"{name}: a payload of {length} bytes, the limit is {message.MAX_BYTES}")
        if descriptors > message.DESCRIPTORS:
            raise BadRequest(f"{name}: {descriptors} descriptors, the limit is {message.DESCRIPTORS}")
        return cls(number, length, request_id, descriptors)


class FrameDecoder:
    """Cuts a stream of bytes into frames, holding at most one frame beyond what was fed last.

    A frame's header is judged as soon as its 16 bytes are there (`header`), so that a caller may act on it,
    or refuse, before the payload arrives. `position` is the stream offset of that frame's first byte.
    """

    def __init__(self) -> None:
        self.position = 0
        self._buffer = bytearray()
        self._header: Header | None = None

    @property
    def end(self) -> int:
        """Stream offset just after the last byte fed."""
        return self.position + len(self._buffer)

    @property
    def in_frame(self) -> bool:
        """Whether a frame has begun and is not whole, so that the end of the stream would cut it."""
        return bool(self._buffer)

    def feed(self, data: bytes | bytearray | memoryview) -> None:
        """Append bytes as they arrived."""
        self._buffer += data

    def header(self) -> Header | None:
        """The header of the frame in front, or None before it is whole; raises what `Header.decode` does."""
        if self._header is None and len(self._buffer) >= HEADER_BYTES:
            self._header = Header.decode(self._buffer)
        return self._header

    def next(self) -> tuple[Header, bytes] | None:
        """Take the frame in front, or None before it is whole; raises what `Header.decode` does."""
        header = self.header()
        if header is None:
            return None
        size = HEADER_BYTES + header.length
        if len(self._buffer) < size:
            return None
        with memoryview(self._buffer) as view:
            payload = bytes(view[HEADER_BYTES:size])
        del self._buffer[:size]
        self.position += size
        self._header = None
        return header, payload
