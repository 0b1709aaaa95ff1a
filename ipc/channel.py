"""A connected Unix stream that carries messages and descriptors: one face that blocks, one for an event loop.

Both raise `ChannelClosed` when the peer is gone and `BadRequest` (or `VersionMismatch`) when it breaks the
protocol; after a breach nothing more is read, so the caller may send a `Failure` and then closes.
"""

from __future__ import annotations

import contextlib
import math
import select
import socket
import time
from _thread import allocate_lock  # `threading` takes a millisecond to load
from collections import deque
from collections.abc import Iterator, Sequence

from cuzkd.errors import BadRequest, ResourceExhausted
from cuzkd.ipc import codec
from cuzkd.ipc.descriptors import Descriptors, receive_into, send_some
from cuzkd.ipc.inbox import Inbox, Received
from cuzkd.ipc.messages import Message

__all__ = ["BlockingChannel", "ChannelClosed", "FrameCut", "NonBlockingChannel", "Received"]

_READ_BYTES = 1 << 16
_MAX_QUEUED_BYTES = 8 << 20
_LONGEST_POLL_S = 86_400  # the system counts the milliseconds in 31 bits


class ChannelClosed(ConnectionError):
    """The peer has closed the connection or died."""


class FrameCut(BadRequest):
    """The peer closed the connection, or died, in the middle of a frame."""


class _Reader:
    """Moves what a socket has into an inbox."""

    def __init__(self, sock: socket.socket) -> None:
        self.inbox = Inbox()
        self._sock = sock
        self._buffer = bytearray(_READ_BYTES)

    def read(self) -> None:
        """Read once, without waiting; `BlockingIOError` when there is nothing."""
        try:
            size, descriptors = receive_into(self._sock, self._buffer)
        except ConnectionError as error:
            raise ChannelClosed("the peer is gone") from error
        if size:
            with memoryview(self._buffer) as view:
                self.inbox.feed(view[:size], descriptors)
            return
        descriptors.close()
        if self.inbox.in_frame:
            raise FrameCut("the peer closed the connection in the middle of a frame")
        raise ChannelClosed("the peer has closed the connection")


class BlockingChannel:
    """The face for children and clients. One thread receives; any thread may send. Owns the socket."""

    def __init__(self, sock: socket.socket) -> None:
        sock.setblocking(True)
        self._sock = sock
        self._reader = _Reader(sock)
        self._sending = allocate_lock()

    def send(self, message: Message, request_id: int = 0, fds: Sequence[int] | Descriptors = ()) -> None:
        """Send one whole frame, waiting for the peer to read; the descriptors stay the caller's."""
        left = memoryview(codec.encode(message, request_id, len(fds)))
        with self._sending:
            try:
                while left:
                    left = left[send_some(self._sock, left, fds) :]
                    fds = ()
            except ConnectionError as error:
                raise ChannelClosed("the peer is gone") from error

    def receive(self, timeout_s: float | None = None) -> Received:
        """Wait for the next message; `TimeoutError` when it is not whole in time (what came is kept)."""
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while (received := self._reader.inbox.take()) is None:
            self._wait(deadline)
            try:
                self._reader.read()
            except BlockingIOError:
                continue
        return received

    def _wait(self, deadline: float | None) -> None:
        poll = select.poll()
        poll.register(self._sock, select.POLLIN)
        while True:
            left_s = math.inf if deadline is None else max(0.0, deadline - time.monotonic())
            if poll.poll(math.ceil(min(left_s, _LONGEST_POLL_S) * 1000)):
                return
            if left_s <= _LONGEST_POLL_S:
                raise TimeoutError("no message came in time")

    def fileno(self) -> int:
        """The socket's descriptor; -1 once closed."""
        return self._sock.fileno()

    def close(self) -> None:
        """Close the socket and every descriptor received and not handed out."""
        self._reader.inbox.close()
        self._sock.close()


class _Outgoing:
    """What is left of a queued frame, with duplicates of its descriptors until the first byte has gone."""

    def __init__(self, left: memoryview, descriptors: Descriptors) -> None:
        self.left = left
        self.descriptors = descriptors


class NonBlockingChannel:
    """The face for an event loop, which watches `fileno` and calls `on_readable` and `on_writable`.

    Owns the socket. A peer that does not read fills the queue up to `max_queued_bytes`, and no further.
    """

    def __init__(self, sock: socket.socket, max_queued_bytes: int = _MAX_QUEUED_BYTES) -> None:
        sock.setblocking(False)
        self._sock = sock
        self._reader = _Reader(sock)
        self._outgoing: deque[_Outgoing] = deque()
        self._max_queued_bytes = max_queued_bytes
        self.queued_bytes = 0

    @property
    def wants_write(self) -> bool:
        """Whether `on_writable` has something to send."""
        return bool(self._outgoing)

    @property
    def in_frame(self) -> bool:
        """Whether a frame has begun to arrive and is not whole: a caller sets a deadline for such a peer."""
        return self._reader.inbox.in_frame

    def on_readable(self) -> Iterator[Received]:
        """Read once and yield the messages that are whole; what the caller does not take is `waiting`.

        Messages before a breach are yielded before it is raised. Closing the channel ends the iteration.
        """
        with contextlib.suppress(BlockingIOError):
            self._reader.read()
        yield from self.waiting()

    def waiting(self) -> Iterator[Received]:
        """Yield the messages that came whole before and were not taken; reads nothing."""
        while (received := self._reader.inbox.take()) is not None:
            yield received

    def queue(self, message: Message, request_id: int = 0, fds: Sequence[int] | Descriptors = ()) -> None:
        """Queue one frame; the descriptors stay the caller's (duplicates are queued).

        `ResourceExhausted` when the queue is full, which means that the peer does not read.
        """
        frame = codec.encode(message, request_id, len(fds))
        if self.queued_bytes + len(frame) > self._max_queued_bytes:
            raise ResourceExhausted(
                f"{self.queued_bytes} bytes wait for a peer that does not read them",
                advice="read the answers before asking for more",
            )
        self._outgoing.append(_Outgoing(memoryview(frame), Descriptors.duplicate(fds)))
        self.queued_bytes += len(frame)

    def on_writable(self) -> None:
        """Send what the socket takes now."""
        try:
            while self._outgoing:
                self._send_front(self._outgoing[0])
        except BlockingIOError:
            return
        except ConnectionError as error:
            raise ChannelClosed("the peer is gone") from error

    def _send_front(self, front: _Outgoing) -> None:
        sent = send_some(self._sock, front.left, front.descriptors)
        front.descriptors.close()
        front.left = front.left[sent:]
        self.queued_bytes -= sent
        if not front.left:
            self._outgoing.popleft()

    def fileno(self) -> int:
        """The socket's descriptor; -1 once closed."""
        return self._sock.fileno()

    def close(self) -> None:
        """Close the socket and every descriptor that is queued, or received and not handed out."""
        self._reader.inbox.close()
        for outgoing in self._outgoing:
            outgoing.descriptors.close()
        self._outgoing.clear()
        self.queued_bytes = 0
        self._sock.close()
