"""File descriptors with one owner: whoever holds a `Descriptors` closes it, so no error path leaks any."""

from __future__ import annotations

import array
import errno
import fcntl
import os
import socket
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import TracebackType

from cuzkd.errors import BadRequest, ResourceExhausted
from cuzkd.ipc.messages import MAX_DESCRIPTORS

_INT_BYTES = array.array("i").itemsize
_CONTROL_BYTES = socket.CMSG_SPACE(MAX_DESCRIPTORS * _INT_BYTES)


class OutOfDescriptors(ResourceExhausted):
    """This process can hold no more descriptors."""

    default_advice = "raise LimitNOFILE, or attach fewer files at a time"


class Descriptors:
    """A fixed list of open descriptors. Reading it lends them; `take` gives them away; `close` ends them.

    One that is dropped while it holds descriptors closes them with a ResourceWarning, as files do.
    """

    __slots__ = ("_fds",)

    def __init__(self, fds: Iterable[int] = ()) -> None:
        self._fds = list(fds)

    @classmethod
    def duplicate(cls, fds: Iterable[int]) -> Descriptors:
        """Own close-on-exec duplicates; `OutOfDescriptors` when the process has no more descriptors."""
        own = cls()
        try:
            for fd in fds:
                own._fds.append(fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 0))
        except OSError as error:
            own.close()
            if error.errno != errno.EMFILE:
                raise
            raise OutOfDescriptors("the process is out of file descriptors") from error
        return own

    def __len__(self) -> int:
        return len(self._fds)

    def __iter__(self) -> Iterator[int]:
        return iter(tuple(self._fds))

    def __getitem__(self, index: int) -> int:
        return self._fds[index]

    def take(self) -> list[int]:
        """Give the descriptors to the caller, who closes them; this object is empty afterwards."""
        fds, self._fds = self._fds, []
        return fds

    def close(self) -> None:
        """Close what is still held; closing twice is nothing."""
        while self._fds:
            close_descriptor(self._fds.pop())

    def __enter__(self) -> Descriptors:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        if self._fds:
            warnings.warn(f"unclosed descriptors {self._fds}", ResourceWarning, source=self, stacklevel=2)
            self.close()


def close_descriptor(fd: int) -> None:
    """Close somebody else's file, as `have_closed_by` says."""
    _closer(fd)


def have_closed_by(closer: Callable[[int], None]) -> None:
    """From now on, have the descriptors of others closed by `closer`, for a process that must not wait for that."""
    global _closer
    _closer = closer


def close_now(fd: int) -> None:
    """Close somebody else's file: what its file system says to that is no fault of ours.

    A file server that is gone makes close(2) fail; Linux has freed the descriptor all the same. One that does not
    answer makes it wait.
    """
    try:
        os.close(fd)
    except OSError as error:
        if error.errno == errno.EBADF:
            raise


_closer: Callable[[int], None] = close_now


def receive_into(sock: socket.socket, buffer: bytearray) -> tuple[int, Descriptors]:
    """Read once, without waiting: how many bytes came (0 at the end of the stream), and descriptors.

    Descriptors are close-on-exec. When control data was cut, all that arrived are closed: `BadRequest` if
    the peer sent more than a frame may carry, `OutOfDescriptors` if this process can hold no more.
    `BlockingIOError` when there is nothing to read.
    """
    how = socket.MSG_CMSG_CLOEXEC | socket.MSG_DONTWAIT
    size, control, flags, _ = sock.recvmsg_into([buffer], _CONTROL_BYTES, how)
    fds = array.array("i")
    for level, kind, data in control:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            fds.frombytes(data[: len(data) - len(data) % _INT_BYTES])
    descriptors = Descriptors(fds)
    if flags & socket.MSG_CTRUNC:
        came = len(descriptors)
        descriptors.close()
        if came < MAX_DESCRIPTORS:
            raise OutOfDescriptors("the process is out of file descriptors")
        raise BadRequest(f"more than {MAX_DESCRIPTORS} descriptors came at once")
    return size, descriptors


def send_some(sock: socket.socket, data: bytes | memoryview, fds: Sequence[int] | Descriptors) -> int:
    """Write once: how many bytes went. The descriptors go with the first of them.

    `ResourceExhausted` when too many descriptors are on their way to processes that do not read them.
    """
    control = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
    try:
        return sock.sendmsg([data], control, socket.MSG_NOSIGNAL)
    except OSError as error:
        if error.errno != errno.ETOOMANYREFS:
            raise
        raise ResourceExhausted("too many file descriptors are in flight") from error
