"""What arrived on a stream, put together: bytes and descriptors in, messages out; no I/O.

A stream may hand over several frames at once, or part of one, but a frame's descriptors always arrive in
the read that has the frame's first byte. So descriptors belong to a frame that begins among the bytes that
they came with and declares exactly that many; any others are a breach of the protocol.
"""

from __future__ import annotations

from collections import deque, namedtuple

from cuzkd.errors import BadRequest, CuzkdError
from cuzkd.ipc import codec
from cuzkd.ipc.descriptors import Descriptors
from cuzkd.ipc.frames import FrameDecoder, Header
from cuzkd.ipc.messages import MESSAGES, Message
from cuzkd.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple

    class Received(NamedTuple):
        """A message, its request id, and the descriptors that came with it, which the receiver now owns."""

        message: Message
        request_id: int
        descriptors: Descriptors
else:
    Received = namedtuple("Received", ("message", "request_id", "descriptors"))


@record
class _Batch:
    """The descriptors of one read, and the stream offsets of the bytes that it brought."""

    start: int
    end: int
    descriptors: Descriptors


class Inbox:
    """Assembles one connection's messages and owns the descriptors of those that are not whole yet.

    After a breach everything held is closed, and every further `take` raises the same error.
    """

    def __init__(self) -> None:
        self._decoder = FrameDecoder()
        self._batches: deque[_Batch] = deque()
        self._bound: Descriptors | None = None
        self._error: CuzkdError | None = None
        self._closed = False

    @property
    def in_frame(self) -> bool:
        """Whether part of a frame is held."""
        return self._decoder.in_frame

    def feed(self, data: bytes | memoryview, descriptors: Descriptors) -> None:
        """Append what one read brought; the descriptors are this object's from now on."""
        if self._closed:
            descriptors.close()
            return
        start = self._decoder.end
        self._decoder.feed(data)
        if descriptors:
            self._batches.append(_Batch(start, self._decoder.end, descriptors))

    def take(self) -> Received | None:
        """The next whole message, or None; `BadRequest` or `VersionMismatch` for a breach."""
        if self._error is not None:
            raise self._error
        if self._closed:
            return None
        try:
            return self._take()
        except CuzkdError as error:
            self._error = error
            self.close()
            raise

    def close(self) -> None:
        """Close every descriptor held and take nothing more."""
        self._closed = True
        if self._bound is not None:
            self._bound.close()
        for batch in self._batches:
            batch.descriptors.close()
        self._batches.clear()

    def _take(self) -> Received | None:
        header = self._decoder.header()
        if header is None:
            self._refuse_unclaimed(self._decoder.position)
            return None
        if self._bound is None:
            self._bound = self._bind(header)
        frame = self._decoder.next()
        if frame is None:
            self._refuse_unclaimed(self._decoder.end)
            return None
        if self._batches and self._batches[0].end <= self._decoder.position:
            raise self._unclaimed()
        message = codec.decode(*frame)
        descriptors, self._bound = self._bound, None
        return Received(message, header.request_id, descriptors)

    def _bind(self, header: Header) -> Descriptors:
        """Give the frame in front its descriptors."""
        if not header.descriptors:
            return Descriptors()
        came = Descriptors()
        if self._batches and self._batches[0].start <= self._decoder.position:
            came = self._batches.popleft().descriptors
        if len(came) != header.descriptors:
            count = len(came)
            came.close()
            name = MESSAGES[header.type].__name__
            raise BadRequest(f"{name}: declares {header.descriptors} descriptors, came with {count}")
        return came

    def _refuse_unclaimed(self, next_start: int) -> None:
        """Refuse descriptors that no frame can claim: the next one to bind begins at `next_start`."""
        for batch in self._batches:
            if not batch.start <= next_start < batch.end:
                raise self._unclaimed()

    @staticmethod
    def _unclaimed() -> BadRequest:
        return BadRequest("descriptors came with a frame that declares none")
