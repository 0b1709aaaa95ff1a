"""The way back to a client for one request, which may be answered much later: one answer, or one stream of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Protocol

from cuzkd.errors import CuzkdError
from cuzkd.ipc.messages import Message
from cuzkd.ipc.peer import Peer
from cuzkd.ipc.requests import Progress
from cuzkd.pace import Pace


class Answering(Protocol):
    """The connection, as its requests see it. What is not one of its unanswered requests is not answered."""

    peer: Peer
    operator: bool

    def answer(self, reply: Reply, request_id: int, messages: Iterator[Message]) -> None:
        """Queue the answer to a request."""

    def fail(self, reply: Reply, request_id: int, error: CuzkdError) -> None:
        """Queue the answer that a request failed."""

    def tell(self, reply: Reply, request_id: int, messages: Iterator[Message]) -> None:
        """Queue messages of a request that stays unanswered."""

    def progress(self, reply: Reply, request_id: int, progress: Progress) -> None:
        """Queue word of a request, unless the client reads slowly."""

    def on_close(self, reply: Reply, callback: Callable[[], object]) -> None:
        """Call back if the connection goes before the request is answered."""

    def when_gone(self, callback: Callable[[], object]) -> Callable[[], object]:
        """Call back when the connection goes; what is returned takes that back."""


class Reply:
    """Where the answer to one request goes. `operator` says that the peer may do what is for operators."""

    def __init__(self, connection: Answering, request_id: int, loop: asyncio.AbstractEventLoop) -> None:
        self.peer = connection.peer
        self.operator = connection.operator
        self._connection = connection
        self._request_id = request_id
        self._loop = loop
        self._pace: Pace[Progress] = Pace(loop, self._tell)
        self._timer: asyncio.TimerHandle | None = None

    def send(self, message: Message) -> None:
        """Answer with one message."""
        self._connection.answer(self, self._request_id, iter((message,)))

    def stream(self, messages: Iterator[Message]) -> None:
        """Answer with several messages, made as fast as the client reads them."""
        self._connection.answer(self, self._request_id, messages)

    def fail(self, error: CuzkdError) -> None:
        """Answer that the request failed."""
        self._connection.fail(self, self._request_id, error)

    def tell(self, messages: Iterator[Message]) -> None:
        """Send messages, made as fast as the client reads them; the request stays unanswered."""
        self._connection.tell(self, self._request_id, messages)

    def progress(self, stage: str, done: int, total: int) -> None:
        """Tell how far the request has come: a few times a second, and not at all to a client that reads slowly."""
        self._pace.tell(Progress(stage, done, total))

    def on_close(self, callback: Callable[[], object]) -> None:
        """Call back if the connection goes before this request is answered."""
        self._connection.on_close(self, callback)

    def when_gone(self, callback: Callable[[], object]) -> Callable[[], object]:
        """Call back when the connection goes, answered or not; what is returned takes that back."""
        return self._connection.when_gone(callback)

    def after(self, seconds: float, callback: Callable[[], object]) -> None:
        """Call back in a while, unless the request is answered or the connection goes before. Once a request."""
        self._timer = self._loop.call_later(seconds, callback)

    def end(self) -> None:
        """The request is answered, or nobody can be told any more."""
        self._pace.stop()
        if self._timer is not None:
            self._timer.cancel()

    def _tell(self, progress: Progress) -> None:
        self._connection.progress(self, self._request_id, progress)
