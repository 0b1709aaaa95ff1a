"""What a connection has to say: streams of messages, written one after the other and as the client reads them.

A client that does not read holds up nothing: its messages are made when there is room for them, and the connection
may ask whether it is behind.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterator

from cuzkd.errors import CuzkdError
from cuzkd.ipc.channel import ChannelClosed, NonBlockingChannel
from cuzkd.ipc.messages import Message
from cuzkd.share import Share

WRITE_DEADLINE_S = 30.0
_AHEAD_BYTES = 1 << 18


class Outbox:
    """Writes to a channel within the share of its socket.

    `wrote` is called after every write, `broken` with the reason when the client cannot be written to any more.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        channel: NonBlockingChannel,
        share: Share,
        wrote: Callable[[], None],
        broken: Callable[[Exception], None],
    ) -> None:
        self._loop = loop
        self._channel = channel
        self._share = share
        self._wrote = wrote
        self._broken = broken
        self._streams: deque[tuple[int, Iterator[Message]]] = deque()
        self._closed = False
        self._written_at = time.monotonic()

    def __len__(self) -> int:
        """How many streams are not written to their ends."""
        return len(self._streams)

    @property
    def writing(self) -> bool:
        """Whether anything waits for the client to read."""
        return self._channel.wants_write or bool(self._streams)

    def overdue(self, now: float) -> bool:
        """Whether the client has not read for too long."""
        return self.writing and now - self._written_at > WRITE_DEADLINE_S

    def add(self, request_id: int, messages: Iterator[Message]) -> None:
        """Write a stream of messages after those that wait."""
        if self._closed:
            return
        if not self.writing:
            self._written_at = time.monotonic()
        self._streams.append((request_id, messages))
        self._write()

    def close(self) -> None:
        """Write nothing more."""
        self._closed = True
        self._loop.remove_writer(self._channel.fileno())
        self._streams.clear()

    def _on_writable(self) -> None:
        if self._share.left:
            begin = time.monotonic()
            self._write()
            self._share.spend(time.monotonic() - begin)
        else:
            self._loop.remove_writer(self._channel.fileno())
            self._share.stand_in_line(self._write)

    def _write(self) -> None:
        if self._closed:
            return
        before = self._channel.queued_bytes
        try:
            self._fill()
            self._channel.on_writable()
        except (ChannelClosed, OSError, CuzkdError) as error:
            self.close()
            self._broken(error)
            return
        if self._channel.queued_bytes != before:
            self._written_at = time.monotonic()
        if self.writing:
            self._loop.add_writer(self._channel.fileno(), self._on_writable)
        else:
            self._loop.remove_writer(self._channel.fileno())
        self._wrote()

    def _fill(self) -> None:
        while self._streams and self._channel.queued_bytes < _AHEAD_BYTES:
            request_id, messages = self._streams[0]
            message = next(messages, None)
            if message is None:
                self._streams.popleft()
            else:
                self._channel.queue(message, request_id)
