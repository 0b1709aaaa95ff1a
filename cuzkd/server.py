"""What the daemon's sockets take: how versions are agreed, how files come, and which message asks for what.

One slow or hostile client never holds up another: connections, unanswered requests, attached files and
unsent answers are bounded, and whatever does not come or go in time is closed.
"""

from __future__ import annotations

import asyncio
import socket
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

from cuzkd import __version__
from cuzkd.access import Access
from cuzkd.attachment import Attachment
from cuzkd.connection import Connection
from cuzkd.errors import BadRequest, Busy, CuzkdError, Forbidden, Refused, TooLarge, VersionMismatch
from cuzkd.ipc.channel import Received
from cuzkd.ipc.messages import PROTOCOL_VERSION, Message
from cuzkd.ipc.requests import (
    Attach,
    Attached,
    BlobBegin,
    BlobChunk,
    BlobEnd,
    CircuitAdd,
    CircuitEvict,
    CircuitList,
    CircuitPreload,
    CircuitRemove,
    CircuitShow,
    Drain,
    Hello,
    JobCancel,
    JobFetch,
    JobList,
    JobShow,
    JobSubmit,
    JobWait,
    MetricsRequest,
    Reload,
    StatusRequest,
    Watch,
    Welcome,
)
from cuzkd.listener import Entrance, Listener
from cuzkd.reply import Reply
from cuzkd.uploads import Uploads

_NAME_CHARS = 255
_CIRCUIT_FILES = 4  # params, vk, matrices or r1cs, wasm

CircuitRequest = CircuitList | CircuitShow | CircuitRemove | CircuitPreload | CircuitEvict
Request = (
    CircuitRequest
    | JobCancel
    | JobFetch
    | JobList
    | JobShow
    | JobWait
    | Watch
    | StatusRequest
    | MetricsRequest
    | Drain
    | Reload
)
"""What is asked without files."""

_FOR_OPERATORS: dict[type[Message], str] = {
    CircuitEvict: "to evict circuits",
    Drain: "to drain the daemon",
    Reload: "to have the configuration read again",
}


@dataclass(frozen=True, slots=True)
class FileLimits:
    """How many files clients may attach: to one job's partitions, and in all."""

    partitions: int = 1024
    attached: int = 4096


@dataclass(frozen=True, slots=True)
class Files:
    """The attached files of one request, by what they are for; `payloads` are witnesses or inputs, in order."""

    zkey: Attachment | None
    wasm: Attachment | None
    r1cs: Attachment | None
    payloads: tuple[Attachment, ...] = ()
    params: Attachment | None = None
    vk: Attachment | None = None
    matrices: Attachment | None = None

    def __iter__(self) -> Iterator[Attachment]:
        key = (self.zkey, self.params, self.vk, self.matrices)
        yield from (file for file in (*key, self.wasm, self.r1cs) if file is not None)
        yield from self.payloads

    def __len__(self) -> int:
        return sum(1 for _ in self)


class Service(Protocol):
    """What the daemon does for its clients. A `CuzkdError` raised here is the answer."""

    def submit(self, request: JobSubmit, files: Files, reply: Reply) -> None:
        """Take over the files (unless it raises) and answer `JobAccepted` or a failure later."""

    def add_circuit(self, request: CircuitAdd, files: Files, reply: Reply) -> None:
        """Take over the files (unless it raises) and answer `CircuitInfo` or a failure later."""

    def answer(self, request: Request, reply: Reply) -> None:
        """Answer what needs no files, now or later. What is for operators comes from operators only."""


class Server:
    """The requests of all connections, by whichever of the daemon's sockets they come."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, service: Service, uploads: Uploads, limits: FileLimits
    ) -> None:
        self.uploads = uploads
        self.listeners: list[Listener] = []
        self.failures: Counter[str] = Counter()
        self._loop = loop
        self._service = service
        self._limits = limits

    def listen(self, sock: socket.socket, entrance: Entrance, access: Callable[[], Access]) -> None:
        """Take connections by this listening socket, which is the server's from now on."""
        self.listeners.append(Listener(self._loop, sock, entrance, self, access))

    @property
    def writing(self) -> bool:
        """Whether any client has still to read an answer."""
        return any(connection.writing for connection in self._connections())

    def close(self) -> None:
        """Stop listening and close every connection."""
        for listener in self.listeners:
            listener.close()

    def closed(self, connection: Connection) -> None:
        """Forget a connection."""
        for listener in self.listeners:
            listener.forget(connection)

    def failed(self, error: CuzkdError) -> None:
        """Count an error that is answered."""
        self.failures[error.code] += 1

    def _connections(self) -> Iterator[Connection]:
        for listener in self.listeners:
            yield from listener

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
        elif isinstance(message, BlobBegin | BlobChunk | BlobEnd):
            self._upload(connection, message, received.request_id)
        elif isinstance(message, Request):
            _require_right(connection, message)
            self._service.answer(message, connection.new_reply(received.request_id))
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
            Welcome(PROTOCOL_VERSION, f"cuzkd {__version__}", connection.operator)
        )

    def _attach(self, connection: Connection, message: Attach, received: Received) -> None:
        if len(message.names) != len(received.descriptors):
            raise BadRequest(f"{len(message.names)} names for {len(received.descriptors)} descriptors")
        self._require_room(connection, len(message.names))
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

    def _require_room(self, connection: Connection, files: int) -> None:
        limits = self._limits
        most = limits.partitions + _CIRCUIT_FILES
        if len(connection.attached) + files > most:
            raise TooLarge(f"more than {most} files for one job")
        if sum(len(other.attached) for other in self._connections()) + files > limits.attached:
            raise Busy("the daemon's clients have attached too many files", retry_after_s=1.0)

    def _upload(
        self, connection: Connection, message: BlobBegin | BlobChunk | BlobEnd, request_id: int
    ) -> None:
        """A file that comes in pieces. Pieces are not answered, so a failure ends the connection: more are to come."""
        try:
            if isinstance(message, BlobBegin):
                self._begin_upload(connection, message)
            elif connection.upload is None:
                raise BadRequest(f"{type(message).__name__} without BlobBegin")
            elif isinstance(message, BlobChunk):
                connection.upload.write(message.data)
            else:
                file = connection.upload.finish()
                connection.upload = None
                connection.attached.append(file)
                connection.new_reply(request_id).send(Attached(len(connection.attached)))
        except CuzkdError as error:
            connection.end_with(error, request_id)

    def _begin_upload(self, connection: Connection, message: BlobBegin) -> None:
        if connection.upload is not None:
            raise BadRequest("one file at a time: the last one has not ended")
        self._require_room(connection, 1)
        name = printable(message.name)
        connection.upload = self.uploads.begin(connection.peer.uid, name, message.size_bytes)

    def _submit(self, connection: Connection, message: JobSubmit, request_id: int) -> None:
        if (message.circuit is None) == (message.zkey is None):
            raise BadRequest("a job names a circuit or has a key")
        if message.circuit is not None and (message.wasm, message.r1cs) != (None, None):
            raise BadRequest("a named circuit has its wasm and r1cs with it")
        if bool(message.witnesses) == bool(message.inputs):
            raise BadRequest("a job has witnesses or inputs")
        payloads = message.witnesses or message.inputs
        files = _files(connection, message, payloads)
        self._service.submit(message, files, connection.new_reply(request_id))
        _taken(connection, files)

    def _add_circuit(self, connection: Connection, message: CircuitAdd, request_id: int) -> None:
        _require_one_key(message)
        files = _files(connection, message)
        self._service.add_circuit(message, files, connection.new_reply(request_id))
        _taken(connection, files)


def _require_right(connection: Connection, message: Message) -> None:
    everybody = isinstance(message, JobList | Watch) and message.everybody
    right = "to see other users' jobs" if everybody else _FOR_OPERATORS.get(type(message))
    if right is not None and not connection.operator:
        raise Forbidden(f"it is for operators {right}")


def _require_one_key(message: CircuitAdd) -> None:
    of_bellperson = [message.params is not None, message.vk is not None]
    if message.zkey is not None:
        if any(of_bellperson) or message.matrices is not None:
            raise BadRequest("a circuit has a zkey, or params with vk and matrices")
    elif not all(of_bellperson) or (message.r1cs is None) == (message.matrices is None):
        raise BadRequest("a circuit has a zkey, or params and vk with either an r1cs or recorded matrices")


def _files(connection: Connection, message: JobSubmit | CircuitAdd, payloads: tuple[int, ...] = ()) -> Files:
    """The attached files that a request names; `BadRequest` when one is named twice or is not there."""
    attached = connection.attached
    params = vk = matrices = None
    if isinstance(message, CircuitAdd):
        params, vk, matrices = message.params, message.vk, message.matrices
    of_circuit = (message.zkey, message.wasm, message.r1cs, params, vk, matrices)
    wanted = [index for index in (*of_circuit, *payloads) if index is not None]
    if len(set(wanted)) != len(wanted) or not all(0 <= index < len(attached) for index in wanted):
        raise BadRequest(f"a request takes different ones of the {len(attached)} files attached before it")

    def of(index: int | None) -> Attachment | None:
        return None if index is None else attached[index]

    return Files(
        zkey=of(message.zkey),
        wasm=of(message.wasm),
        r1cs=of(message.r1cs),
        payloads=tuple(attached[index] for index in payloads),
        params=of(params),
        vk=of(vk),
        matrices=of(matrices),
    )


def _taken(connection: Connection, files: Files) -> None:
    """The service has these files now; others that were attached are closed."""
    theirs = set(map(id, files))
    connection.attached = [file for file in connection.attached if id(file) not in theirs]
    connection.drop_attached()


def printable(name: str) -> str:
    """A client's name for a file, made safe for a log line."""
    return "".join(c if c.isprintable() else "?" for c in name[:_NAME_CHARS]) or "(unnamed)"
