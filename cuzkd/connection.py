"""One client's connection: its requests, which of them are unanswered, and the limits that keep it from harming others.

A request has one answer (or one stream of answers), which may come much later by its `Reply`.
The connection is closed when a frame does not become whole in time, when the client does not read its
answers, and after any breach of the protocol. Requests that came at once are done in turns, so that a client
with thousands of them holds up nobody.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import time
from collections.abc import Callable, Iterator
from typing import Protocol

from cuzkd.attachment import Attachment
from cuzkd.errors import BadRequest, Busy, CuzkdError, ResourceExhausted, VersionMismatch
from cuzkd.ipc.channel import ChannelClosed, NonBlockingChannel, Received
from cuzkd.ipc.messages import Failure, Message
from cuzkd.ipc.peer import peer_of
from cuzkd.ipc.requests import Progress
from cuzkd.outbox import Outbox
from cuzkd.reply import Reply
from cuzkd.share import Share
from cuzkd.uploads import Upload

MAX_OUTSTANDING = 64
FRAME_DEADLINE_S = 10.0
UPLOAD_DEADLINE_S = 60.0
TURN_S = 0.005
_RETRY_AFTER_S = 1.0

_log = logging.getLogger(__name__)


class Requests(Protocol):
    """What takes a connection's messages."""

    def received(self, connection: Connection, received: Received) -> None:
        """Handle one message; a `CuzkdError` is answered, a `BadRequest` also ends the connection."""

    def failed(self, error: CuzkdError) -> None:
        """A request, or the connection, is answered with an error."""

    def closed(self, connection: Connection) -> None:
        """The connection is gone."""


class Connection:
    """A client's socket in the event loop, with the files that it has attached.

    `operator` is set for a peer that may do what is for operators; `share` is what its socket's connections may
    take of the loop's time.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        sock: socket.socket,
        requests: Requests,
        *,
        share: Share | None = None,
    ) -> None:
        self.peer = peer_of(sock)
        self.operator = False
        self.version: int | None = None
        self.attached: list[Attachment] = []
        self.upload: Upload | None = None
        self.closed = False
        self._loop = loop
        self._share = share or Share(loop)
        self._channel = NonBlockingChannel(sock)
        self._requests = requests
        self._outbox = Outbox(loop, self._channel, self._share, self._wrote, self._break_off)
        self._pending: dict[Reply, Callable[[], object] | None] = {}
        self._followers: dict[object, Callable[[], object]] = {}
        self._begun: Reply | None = None
        self._ending = False
        self._paused = False
        self._frame_since: float | None = time.monotonic()
        loop.add_reader(self._channel.fileno(), self._on_readable)

    @property
    def writing(self) -> bool:
        """Whether answers are waiting for the client to read."""
        return self._outbox.writing

    def new_reply(self, request_id: int) -> Reply:
        """Begin with a request. `Busy` when the client has too many unanswered ones."""
        if len(self._pending) + len(self._outbox) >= MAX_OUTSTANDING:
            told = f"{MAX_OUTSTANDING} requests of this connection are unanswered"
            raise Busy(
                told, advice="read the answers to earlier requests first", retry_after_s=_RETRY_AFTER_S
            )
        reply = Reply(self, request_id, self._loop)
        self._pending[reply] = None
        self._begun = reply
        return reply

    def answer(self, reply: Reply, request_id: int, messages: Iterator[Message]) -> None:
        """Queue the answer to a request; nothing if the connection is gone or it was answered before."""
        if reply not in self._pending:
            return
        del self._pending[reply]
        reply.end()
        self._outbox.add(request_id, messages)

    def fail(self, reply: Reply, request_id: int, error: CuzkdError) -> None:
        """Queue the answer that a request failed; nothing where `answer` does nothing."""
        if reply in self._pending:
            self._requests.failed(error)
            self.answer(reply, request_id, iter((Failure.of(error),)))

    def progress(self, reply: Reply, request_id: int, progress: Progress) -> None:
        """Queue word of an unanswered request, unless anything still waits for the client to read it."""
        if reply in self._pending and not self.writing:
            self._outbox.add(request_id, iter((progress,)))

    def tell(self, reply: Reply, request_id: int, messages: Iterator[Message]) -> None:
        """Queue messages of an unanswered request."""
        if reply in self._pending:
            self._outbox.add(request_id, messages)

    def on_close(self, reply: Reply, callback: Callable[[], object]) -> None:
        """See `Reply.on_close`."""
        if reply in self._pending:
            self._pending[reply] = callback

    def when_gone(self, callback: Callable[[], object]) -> Callable[[], object]:
        """See `Reply.when_gone`."""
        key = object()
        self._followers[key] = callback
        return lambda: self._followers.pop(key, None)

    def end_with(self, error: CuzkdError, request_id: int = 0) -> None:
        """Say what is wrong, read nothing more, and close when it is said."""
        if self.closed or self._ending:
            return
        self._ending = True
        self._requests.failed(error)
        self._loop.remove_reader(self._channel.fileno())
        self._outbox.add(request_id, iter((Failure.of(error),)))

    def overdue(self, now: float) -> str | None:
        """Why the connection has to be closed by now, if it has."""
        if self._frame_since is not None and now - self._frame_since > FRAME_DEADLINE_S:
            return "a frame did not become whole in time"
        if self._outbox.overdue(now):
            return "the client does not read its answers"
        if self.upload is not None and now - self.upload.written_at > UPLOAD_DEADLINE_S:
            return "an upload stands still"
        return None

    def close(self) -> None:
        """Close the socket and all attached files, and tell whoever works on its requests."""
        if self.closed:
            return
        self.closed = True
        self._loop.remove_reader(self._channel.fileno())
        self._outbox.close()
        self._channel.close()
        self.drop_attached()
        if self.upload is not None:
            self.upload.abandon()
        for reply in self._pending:
            reply.end()
        callbacks = [callback for callback in self._pending.values() if callback is not None]
        callbacks += self._followers.values()
        self._pending.clear()
        self._followers.clear()
        for callback in callbacks:
            callback()
        self._requests.closed(self)

    def drop_attached(self) -> None:
        """Close every attached file that nobody took over."""
        while self.attached:
            self.attached.pop().close()

    def _on_readable(self) -> None:
        if self._share.left:
            begin = time.monotonic()
            self._take_turn(self._channel.on_readable())
            self._share.spend(time.monotonic() - begin)
        else:
            self._give_turn()

    def _take_turn(self, messages: Iterator[Received]) -> None:
        """Do requests for a short time; what is left of those that came is done when others had their turn."""
        until = time.monotonic() + TURN_S
        try:
            for received in messages:
                with received.descriptors:
                    self._dispatch(received)
                if time.monotonic() > until:
                    self._give_turn()
                    return
        except ChannelClosed:
            self.close()
        except (BadRequest, VersionMismatch, ResourceExhausted) as error:
            self.end_with(error)
        except OSError as error:
            self._log_closed(error)
            self.close()
        else:
            self._note_frame_begin()
            self._pause_if_behind()

    def _give_turn(self) -> None:
        """Read nothing until it is this connection's turn; what waits that long, the client has not to answer for."""
        if self.closed or self._ending:
            return
        self._frame_since = None
        self._loop.remove_reader(self._channel.fileno())
        self._share.stand_in_line(self._next_turn)

    def _next_turn(self) -> None:
        if self.closed or self._ending:
            return
        self._loop.add_reader(self._channel.fileno(), self._on_readable)
        self._take_turn(self._left_or_new())

    def _left_or_new(self) -> Iterator[Received]:
        """What is left of earlier turns; more is read only when there is nothing, so that no more piles up."""
        left = False
        for received in self._channel.waiting():
            left = True
            yield received
        if not left:
            yield from self._channel.on_readable()

    def _dispatch(self, received: Received) -> None:
        if self._ending or self.closed:
            return
        self._begun = None
        try:
            self._requests.received(self, received)
        except (BadRequest, VersionMismatch) as error:
            self.end_with(error, received.request_id)
        except CuzkdError as error:
            self._refuse(received.request_id, error)

    def _refuse(self, request_id: int, error: CuzkdError) -> None:
        """Answer a request that could not be begun with, or was begun with and then refused."""
        if self._begun is None:
            self._requests.failed(error)
            self._outbox.add(request_id, iter((Failure.of(error),)))
        else:
            self._begun.fail(error)

    def _pause_if_behind(self) -> None:
        """Read nothing more from a client that does not read its answers, until it does."""
        if len(self._outbox) >= MAX_OUTSTANDING and not (self.closed or self._paused):
            self._paused = True
            self._frame_since = None
            self._loop.remove_reader(self._channel.fileno())

    def _note_frame_begin(self) -> None:
        """A connection that has not said hello counts as one that has begun a frame."""
        if self._channel.in_frame or self.version is None:
            self._frame_since = self._frame_since or time.monotonic()
        else:
            self._frame_since = None

    def _wrote(self) -> None:
        """Go on with a client that reads its answers; close when the last one is said."""
        if self._paused and not self._ending and len(self._outbox) < MAX_OUTSTANDING:
            self._paused = False
            self._loop.add_reader(self._channel.fileno(), self._on_readable)
            self._note_frame_begin()
        if self._ending and not self.writing:
            self.close()

    def _break_off(self, error: Exception) -> None:
        """Close soon, and not now: whoever is answering does not expect to be told of the end meanwhile."""
        if not isinstance(error, ChannelClosed):
            self._log_closed(error)
        self._ending = True
        self._loop.remove_reader(self._channel.fileno())
        self._loop.call_soon(self.close)

    def _log_closed(self, error: Exception) -> None:
        _log.info("a connection of uid %d is closed: %s", self.peer.uid, error)
