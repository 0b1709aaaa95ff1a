"""Requests and their answers over one connection to a daemon: made when needed, closed after any breach.

A failure that the daemon answers is raised as its class in `cuzkd.errors`; a peer that is gone or is no
daemon is `DaemonUnreachable`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence

from cuzkd.errors import BadRequest, DaemonUnreachable, Forbidden, WaitTimeout
from cuzkd.ipc.channel import BlockingChannel, ChannelClosed, FrameCut
from cuzkd.ipc.messages import PROTOCOL_VERSION, Failure, Message
from cuzkd.ipc.requests import Hello, Progress, Welcome
from cuzkd.sockets import connect

ProgressCallback = Callable[[Progress], object]
"""What is told how far a request has come; an exception of it ends the request and the connection."""

GRACE_S = 10.0
"""What a daemon may take beyond the time that a request names, before it counts as stuck."""

_CLOSED_ADVICE = "see the daemon's log; an accepted job goes on as long as the daemon runs"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    _Answer = TypeVar("_Answer", bound=Message)


class ConnectionLost(DaemonUnreachable):
    """A connection to a daemon ended before the answer came; it had lasted for `lasted_s`."""

    lasted_s = 0.0


class Stranger(DaemonUnreachable):
    """What answers does not speak as a daemon of this version does."""


class Conversation:
    """One connection at a time, made at the first request and again at the first one after an error in it.

    With `control`, the operators' socket is preferred where this user may connect to it.
    """

    def __init__(self, socket_path: str | os.PathLike[str] | None, *, control: bool = False) -> None:
        self._socket_path = socket_path
        self._control = control
        self._connected_at = 0.0
        self._welcomed = False
        self._channel: BlockingChannel | None = None
        self._request_id = 0

    def ask(
        self,
        request: Message,
        answer: type[_Answer],
        *,
        timeout_s: float | None = None,
        descriptors: Sequence[int] = (),
        progress: ProgressCallback | None = None,
    ) -> _Answer:
        """Send a request and return its answer; the descriptors stay the caller's.

        `timeout_s` bounds the silence before each message that comes back.
        """
        if self._channel is None:
            self._meet(timeout_s)
        assert self._channel is not None
        self._request_id += 1
        try:
            self._channel.send(request, self._request_id, descriptors)
        except ChannelClosed:
            # What the daemon said before it closed is still to be read, and says why.
            return self.receive(answer, timeout_s=0)
        except BaseException:
            self.close()
            raise
        return self.receive(answer, timeout_s=timeout_s, progress=progress)

    def _meet(self, timeout_s: float | None) -> None:
        """Connect and say hello: to the job socket after all where the operators' lets this user in but not pass."""
        try:
            self._greet(timeout_s, control=self._control)
        except Forbidden:
            if not self._control:
                raise
            self._greet(timeout_s, control=False)

    def _greet(self, timeout_s: float | None, *, control: bool) -> None:
        self.close()
        self._channel = BlockingChannel(connect(self._socket_path, control=control))
        self._connected_at = time.monotonic()
        self._welcomed = False
        hello = Hello(PROTOCOL_VERSION, PROTOCOL_VERSION, "cuzkd.Client")
        try:
            self.ask(hello, Welcome, timeout_s=timeout_s)
        except BaseException:
            self.close()  # or the next request would be made without a hello
            raise
        self._welcomed = True

    def receive(
        self,
        answer: type[_Answer],
        *,
        timeout_s: float | None = None,
        progress: ProgressCallback | None = None,
    ) -> _Answer:
        """The next message, which must answer the last request; what comes before it goes to `progress`."""
        while True:
            message = self._next(timeout_s)
            if isinstance(message, answer):
                return message
            if isinstance(message, Failure):
                raise message.error()
            if progress is None or not isinstance(message, Progress):
                self.close()
                raise _stranger(f"{answer.__name__} was due, {type(message).__name__} came")
            try:
                progress(message)
            except BaseException:
                # Its answer is still to come, and would be taken for the next request's.
                self.close()
                raise

    def close(self) -> None:
        """Close the connection. Closing twice is nothing."""
        if self._channel is not None:
            self._channel.close()
            self._channel = None

    def _next(self, timeout_s: float | None) -> Message:
        """One message of the daemon to the last request; a broken connection is closed."""
        assert self._channel is not None
        try:
            message, request_id, descriptors = self._channel.receive(timeout_s)
            descriptors.close()
            if request_id != self._request_id and not isinstance(message, Failure):
                raise BadRequest(f"request {self._request_id} was answered as {request_id}")
        except BaseException as error:
            self.close()
            self._explain(error)
            raise
        return message

    def _explain(self, error: BaseException) -> None:
        """Raise what a failure to receive means to the caller, if it means more than it says."""
        if isinstance(error, ChannelClosed) or (isinstance(error, FrameCut) and self._welcomed):
            lost = ConnectionLost("the daemon closed the connection", advice=_CLOSED_ADVICE)
            lost.lasted_s = time.monotonic() - self._connected_at
            raise lost from error
        if isinstance(error, BadRequest):
            raise _stranger(str(error)) from error
        if isinstance(error, TimeoutError):
            raise WaitTimeout("the daemon does not answer") from error


def _stranger(why: str) -> Stranger:
    return Stranger(f"what answers is no cuzkd of this version: {why}")
