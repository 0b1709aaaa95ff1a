"""The job socket: who may connect, how versions are agreed, and which message asks for what.

One slow or hostile client never holds up another: connections, unanswered requests, attached files and
unsent answers are bounded, and whatever does not come or go in time is closed.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import socket
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from cuzkd import __version__
from cuzkd.connection import Attachment, Connection, Reply
from cuzkd.errors import BadConfig, BadRequest, Busy, Refused, ResourceExhausted, TooLarge, VersionMismatch
from cuzkd.ipc.channel import Received
from cuzkd.ipc.messages import PROTOCOL_VERSION
from cuzkd.ipc.requests import (
    Attach,
    Attached,
    CircuitAdd,
    CircuitEvict,
    CircuitList,
    CircuitPreload,
    CircuitRemove,
    CircuitShow,
    Hello,
    JobSubmit,
    JobWait,
    StatusRequest,
    Welcome,
)

_BACKLOG = 128
_ACCEPTS_AT_ONCE = 16
_TICK_S = 1.0
_NAME_CHARS = 255
_CIRCUIT_FILES = 3  # zkey, wasm, r1cs
_OUT_OF_DESCRIPTORS = {errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS}

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Limits:
    """What clients may take: connections in all and per uid, and files per connection and in all."""

    connections: int = 512
    connections_per_uid: int = 128
    partitions: int = 1024
    attached: int = 4096


CircuitRequest = CircuitList | CircuitShow | CircuitRemove | CircuitPreload | CircuitEvict


@dataclass(frozen=True, slots=True)
class Files:
    """The attached files of one request, by what they are for; `payloads` are witnesses or inputs, in order."""

    zkey: Attachment | None
    wasm: Attachment | None
    r1cs: Attachment | None
    payloads: tuple[Attachment, ...] = ()

    def __iter__(self) -> Iterator[Attachment]:
        yield from (file for file in (self.zkey, self.wasm, self.r1cs) if file is not None)
        yield from self.payloads

    def __len__(self) -> int:
        return sum(1 for _ in self)


class Service(Protocol):
    """What the daemon does for its clients. A `CuzkdError` raised here is the answer."""

    def submit(self, request: JobSubmit, files: Files, reply: Reply) -> None:
        """Take over the files (unless it raises) and answer `JobAccepted` or a failure later."""

    def add_circuit(self, request: CircuitAdd, files: Files, reply: Reply) -> None:
        """Take over the files (unless it raises) and answer `CircuitInfo` or a failure later."""

    def circuit(self, request: CircuitRequest, reply: Reply) -> None:
        """Answer what is asked of named circuits, or do it and answer then."""

    def wait(self, request: JobWait, reply: Reply) -> None:
        """Answer when the job ends or the time is up."""

    def status(self, reply: Reply) -> None:
        """Answer with the daemon's state."""


class Server:
    """The listening socket and its connections."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, listener: socket.socket, service: Service, limits: Limits
    ) -> None:
        self._loop = loop
        self._listener = listener
        self._service = service
        self._limits = limits
        self._connections: set[Connection] = set()
        self._starved = False
        listener.setblocking(False)
        loop.add_reader(listener.fileno(), self._accept)
        self._timer = loop.call_later(_TICK_S, self._tick)

    @property
    def writing(self) -> bool:
        """Whether any client has still to read an answer."""
        return any(connection.writing for connection in self._connections)

    def close(self) -> None:
        """Stop listening and close every connection."""
        self._timer.cancel()
        self._loop.remove_reader(self._listener.fileno())
        self._listener.close()
        for connection in list(self._connections):
            connection.close()

    # ---- connections come and go

    def _accept(self) -> None:
        for _ in range(_ACCEPTS_AT_ONCE):
            try:
                sock, _ = self._listener.accept()
            except (BlockingIOError, ConnectionAbortedError):
                return
            except OSError as error:
                if error.errno not in _OUT_OF_DESCRIPTORS:
                    raise
                self._pause_accepting(error)
                return
            self._admit(sock)

    def _admit(self, sock: socket.socket) -> None:
        connection = Connection(self._loop, sock, self)
        self._connections.add(connection)
        uid = connection.peer.uid
        of_uid = sum(other.peer.uid == uid for other in self._connections)
        if len(self._connections) > self._limits.connections or of_uid > self._limits.connections_per_uid:
            connection.end_with(Busy("too many connections to the daemon"))

    def _pause_accepting(self, error: OSError) -> None:
        if not self._starved:
            _log.warning("no connections are accepted for now: %s", error.strerror)
        self._starved = True
        self._loop.remove_reader(self._listener.fileno())

    def _tick(self) -> None:
        now = time.monotonic()
        for connection in list(self._connections):
            if (reason := connection.overdue(now)) is not None:
                _log.info("a connection of uid %d is closed: %s", connection.peer.uid, reason)
                connection.close()
        if self._starved:
            self._starved = False
            self._loop.add_reader(self._listener.fileno(), self._accept)
        self._timer = self._loop.call_later(_TICK_S, self._tick)

    def closed(self, connection: Connection) -> None:
        """Forget a connection."""
        self._connections.discard(connection)

    # ---- messages

    def received(self, connection: Connection, received: Received) -> None:
        """Do what one message asks for."""
        message = received.message
        if connection.version is None:
            if not isinstance(message, Hello):
                raise BadRequest("the first message has to be Hello")
            self._welcome(connection, message, received.request_id)
        elif isinstance(message, Attach):
            self._attach(connection, message, received)
        elif isinstance(message, JobSubmit):
            self._submit(connection, message, received.request_id)
        elif isinstance(message, CircuitAdd):
            self._add_circuit(connection, message, received.request_id)
        elif isinstance(message, CircuitRequest):
            self._service.circuit(message, connection.new_reply(received.request_id))
        elif isinstance(message, JobWait):
            self._service.wait(message, connection.new_reply(received.request_id))
        elif isinstance(message, StatusRequest):
            self._service.status(connection.new_reply(received.request_id))
        else:
            raise BadRequest(f"{type(message).__name__} is not a request of a client")

    def _welcome(self, connection: Connection, hello: Hello, request_id: int) -> None:
        if not hello.min_version <= PROTOCOL_VERSION <= hello.max_version:
            raise VersionMismatch(
                f"the client speaks versions {hello.min_version} to {hello.max_version}, "
                f"the daemon {PROTOCOL_VERSION}"
            )
        connection.version = PROTOCOL_VERSION
        connection.new_reply(request_id).send(
            Welcome(PROTOCOL_VERSION, f"cuzkd {__version__}", connection.peer.uid == 0)
        )

    def _attach(self, connection: Connection, message: Attach, received: Received) -> None:
        if len(message.names) != len(received.descriptors):
            raise BadRequest(f"{len(message.names)} names for {len(received.descriptors)} descriptors")
        most = self._limits.partitions + _CIRCUIT_FILES
        if len(connection.attached) + len(message.names) > most:
            raise TooLarge(f"more than {most} files for one job")
        if sum(len(other.attached) for other in self._connections) > self._limits.attached:
            raise Busy("the daemon's clients have attached too many files")
        reply = connection.new_reply(received.request_id)
        files = [
            Attachment(fd, printable(name))
            for fd, name in zip(received.descriptors.take(), message.names, strict=True)
        ]
        try:
            for file in files:
                file.check()
        except Refused:
            for file in files:
                file.close()
            raise
        connection.attached += files
        reply.send(Attached(len(connection.attached)))

    def _submit(self, connection: Connection, message: JobSubmit, request_id: int) -> None:
        if (message.circuit is None) == (message.zkey is None):
            raise BadRequest("a job names a circuit or has a key")
        if message.circuit is not None and (message.wasm, message.r1cs) != (None, None):
            raise BadRequest("a named circuit has its wasm and r1cs with it")
        if bool(message.witnesses) == bool(message.inputs):
            raise BadRequest("a job has witnesses or inputs")
        payloads = message.witnesses or message.inputs
        files = _files(connection, message.zkey, message.wasm, message.r1cs, payloads)
        self._service.submit(message, files, connection.new_reply(request_id))
        _taken(connection, files)

    def _add_circuit(self, connection: Connection, message: CircuitAdd, request_id: int) -> None:
        files = _files(connection, message.zkey, message.wasm, message.r1cs)
        self._service.add_circuit(message, files, connection.new_reply(request_id))
        _taken(connection, files)


def _files(
    connection: Connection,
    zkey: int | None,
    wasm: int | None,
    r1cs: int | None,
    payloads: tuple[int, ...] = (),
) -> Files:
    """The attached files of these indices; `BadRequest` when one is used twice or is not there."""
    attached = connection.attached
    wanted = [index for index in (zkey, wasm, r1cs, *payloads) if index is not None]
    if len(set(wanted)) != len(wanted) or not all(0 <= index < len(attached) for index in wanted):
        raise BadRequest(f"a request takes different ones of the {len(attached)} files attached before it")

    def of(index: int | None) -> Attachment | None:
        return None if index is None else attached[index]

    return Files(of(zkey), of(wasm), of(r1cs), tuple(attached[index] for index in payloads))


def _taken(connection: Connection, files: Files) -> None:
    """The service has these files now; others that were attached are closed."""
    theirs = set(map(id, files))
    connection.attached = [file for file in connection.attached if id(file) not in theirs]
    connection.drop_attached()


def printable(name: str) -> str:
    """A client's name for a file, made safe for a log line."""
    return "".join(c if c.isprintable() else "?" for c in name[:_NAME_CHARS]) or "(unnamed)"


def listen(path: Path) -> socket.socket:
    """The job socket at `path`, mode 0660, in place of one that a dead daemon left.

    Call under the instance lock only. `BadConfig` when something else than a socket of ours is there.
    """
    try:
        info = path.lstat()
    except FileNotFoundError:
        pass
    else:
        if not stat.S_ISSOCK(info.st_mode) or info.st_uid != os.geteuid():
            raise BadConfig(f"{path} is in the way: it is not a socket of the daemon's user")
        path.unlink()
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        sock.bind(os.fspath(path))
        # nobody can connect before listen(), so the mode is right from the first connection on
        path.chmod(0o660)
        sock.listen(_BACKLOG)
    except OSError as error:
        sock.close()
        raise ResourceExhausted(f"cannot listen at {path}: {error.strerror}") from error
    return sock
