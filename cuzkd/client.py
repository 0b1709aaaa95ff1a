"""The client library: `cuzkd.Client` asks a daemon for proofs, blocking, over its Unix socket.

Files are opened here and travel as descriptors, so the daemon needs no right to read them by name. Every
error that the daemon answers is raised as its class in `cuzkd.errors`.
"""

from __future__ import annotations

import errno
import os
import socket
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TypeVar

from cuzkd.errors import BadRequest, DaemonUnreachable, InternalError, WaitTimeout, from_wire
from cuzkd.ipc.channel import BlockingChannel, ChannelClosed
from cuzkd.ipc.messages import (
    MAX_DESCRIPTORS,
    PROTOCOL_VERSION,
    Attach,
    Attached,
    Failure,
    Hello,
    JobAccepted,
    JobResult,
    JobSubmit,
    JobWait,
    Message,
    PartitionResult,
    Status,
    StatusRequest,
    Welcome,
)
from cuzkd.model import SCALAR_BYTES, Curve, Proof

File = str | os.PathLike[str] | int
"""A file to send: its path, or an open descriptor of it, which stays the caller's."""

SOCKET_VARIABLE = "CUZKD_SOCKET"
_NAME_LIMIT = 1024
_GRACE_S = 10.0  # what a daemon may take beyond a wait's time before it counts as stuck

_CLOSED_ADVICE = "see the daemon's log; an accepted job goes on as long as the daemon runs"

_Answer = TypeVar("_Answer", bound=Message)


@dataclass(frozen=True, slots=True)
class Result:
    """A finished job: a verified proof and its public inputs for each witness, in the witnesses' order."""

    job: int
    curve: Curve
    seconds: float
    proofs: tuple[Proof, ...]
    publics: tuple[tuple[int, ...], ...]


class Client:
    """One connection to a daemon, made at the first request; to be used by one thread at a time.

    `socket_path` names the daemon's socket; None looks at $CUZKD_SOCKET or, when that is not set, in the
    usual places. After an error in the connection the next request connects again. Requests raise
    `DaemonUnreachable` when nothing answers, and whatever error of `cuzkd.errors` the daemon answers with.

        with cuzkd.Client() as client:
            result = client.prove("circuit.zkey", ["witness.wtns"])
    """

    def __init__(self, socket_path: str | os.PathLike[str] | None = None) -> None:
        self._socket_path = socket_path
        self._channel: BlockingChannel | None = None
        self._request_id = 0

    def prove(self, zkey: File, witnesses: Sequence[File], timeout_s: float | None = None) -> Result:
        """Submit and wait; `timeout_s` bounds the wait. Raises what `submit` and `wait` raise."""
        return self.wait(self.submit(zkey, witnesses), timeout_s)

    def submit(self, zkey: File, witnesses: Sequence[File]) -> int:
        """Hand over a proving key and its witnesses; returns the job's number once the job is accepted.

        The daemon has copied and checked everything by then: the files may go, and so may this client.
        Raises `Refused` (or one of its kinds) for input that cannot be proved, `Busy` or `Draining` when
        no job is taken now, and `OSError` for a path that cannot be opened as a regular file.
        """
        files = (zkey, *witnesses)
        try:
            for start in range(0, len(files), MAX_DESCRIPTORS):
                self._attach(files[start : start + MAX_DESCRIPTORS], already=start)
            return self._ask(JobSubmit(0, tuple(range(1, len(files)))), JobAccepted).job
        except BaseException:
            # The connection may hold files of the failed attempt, which the next one must not find there.
            self.close()
            raise

    def wait(self, job: int, timeout_s: float | None = None) -> Result:
        """Wait for a job's proofs; `WaitTimeout` after `timeout_s` seconds (None: never), the job goes on.

        Raises `JobFailed` (or one of its kinds) or `BadWitness` when the job ended without proofs, and
        `NotFound` when there is no such job.
        """
        limit_s = None if timeout_s is None else timeout_s + _GRACE_S
        head = self._ask(JobWait(job, timeout_s), JobResult, limit_s)
        proofs, publics = [], []
        for index in range(head.partitions):
            part = self._receive(PartitionResult, limit_s)
            if part.index != index:
                self.close()
                raise InternalError(f"proof {index} was due, {part.index} came")
            proofs.append(Proof.from_bytes(head.curve, part.proof))
            publics.append(_scalars(part.public))
        return Result(job, head.curve, head.seconds, tuple(proofs), tuple(publics))

    def status(self) -> Status:
        """What the daemon is doing now."""
        return self._ask(StatusRequest(), Status)

    def close(self) -> None:
        """Close the connection; accepted jobs go on. Closing twice is nothing."""
        if self._channel is not None:
            self._channel.close()
            self._channel = None

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _attach(self, files: Sequence[File], already: int) -> None:
        opened: list[int] = []
        try:
            descriptors = []
            for file in files:
                if not isinstance(file, int):
                    opened.append(open_input(file))
                descriptors.append(file if isinstance(file, int) else opened[-1])
            names = tuple(map(_name, files))
            held = self._ask(Attach(names), Attached, descriptors=descriptors).total
        finally:
            for descriptor in opened:
                os.close(descriptor)
        if held != already + len(files):
            raise InternalError(f"the daemon holds {held} files, not {already + len(files)}")

    def _ask(
        self,
        request: Message,
        answer: type[_Answer],
        timeout_s: float | None = None,
        descriptors: Sequence[int] = (),
    ) -> _Answer:
        """Send a request on the connection, making it first if there is none, and return its answer."""
        if self._channel is None:
            self._channel = BlockingChannel(connect(self._socket_path))
            self._ask(Hello(PROTOCOL_VERSION, PROTOCOL_VERSION, "cuzkd.Client"), Welcome)
        self._request_id += 1
        try:
            self._channel.send(request, self._request_id, descriptors)
        except ChannelClosed:
            # What the daemon said before it closed is still to be read, and says why.
            return self._receive(answer, 0)
        except BaseException:
            self.close()
            raise
        return self._receive(answer, timeout_s)

    def _receive(self, answer: type[_Answer], timeout_s: float | None) -> _Answer:
        """The next message, which must answer the last request; a broken connection is closed."""
        assert self._channel is not None
        try:
            message, request_id, descriptors = self._channel.receive(timeout_s)
            descriptors.close()
            if request_id != self._request_id and not isinstance(message, Failure):
                raise BadRequest(f"request {self._request_id} was answered as {request_id}")
            if not isinstance(message, answer | Failure):
                raise BadRequest(f"{answer.__name__} was due, {type(message).__name__} came")
        except BaseException as error:
            self.close()
            _explain(error)
            raise
        if isinstance(message, Failure):
            raise from_wire(message.code, message.message, message.advice)
        return message


def _explain(error: BaseException) -> None:
    """Raise what a failure to receive means to the caller, if it means more than it says."""
    if isinstance(error, ChannelClosed):
        raise DaemonUnreachable("the daemon closed the connection", advice=_CLOSED_ADVICE) from error
    if isinstance(error, BadRequest):
        raise DaemonUnreachable(f"what answers is no cuzkd of this version: {error}") from error
    if isinstance(error, TimeoutError):
        raise WaitTimeout("the daemon does not answer") from error


def open_input(path: str | os.PathLike[str]) -> int:
    """A descriptor of a regular file, opened for reading; `OSError` for anything else, without waiting."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise OSError(errno.EINVAL, "not a regular file", os.fspath(path))


def connect(socket_path: str | os.PathLike[str] | None) -> socket.socket:
    """A connection to the named socket, or to the first of the usual places where a daemon answers.

    `DaemonUnreachable` says which sockets were tried and what each one answered.
    """
    tried = []
    for path in sockets_to_try(socket_path):
        try:
            _refuse_planted(path)
            return _connect(path)
        except OSError as error:
            tried.append(f"{path}: {error.strerror or error}")
    raise DaemonUnreachable("no daemon answers at " + ", nor at ".join(tried))


def sockets_to_try(socket_path: str | os.PathLike[str] | None) -> list[Path]:
    """Where to look for a daemon: the socket named by the caller or the environment, or the usual places."""
    named = socket_path or os.environ.get(SOCKET_VARIABLE)
    if named:
        return [Path(named)]
    folders = [Path("/run/cuzkd")]
    if session := os.environ.get("XDG_RUNTIME_DIR"):
        folders.append(Path(session) / "cuzkd")
    return [folder / "cuzkd.sock" for folder in (*folders, _own_temporary())]


def _own_temporary() -> Path:
    return Path(f"/tmp/cuzkd-{os.geteuid()}")  # noqa: S108  # its owner and mode are checked before use


def _refuse_planted(path: Path) -> None:
    """Anybody may make a folder in /tmp, and the daemon is sent secrets: there, trust only one's own."""
    if path.parent != _own_temporary():
        return
    facts = path.parent.lstat()
    if not stat.S_ISDIR(facts.st_mode) or facts.st_uid != os.geteuid() or facts.st_mode & 0o022:
        raise PermissionError(errno.EPERM, "the folder is not this user's own")


def _connect(path: Path) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
    try:
        connection.connect(os.fspath(path))
    except OSError:
        connection.close()
        raise
    return connection


def _name(file: File) -> str:
    if isinstance(file, int):
        return f"descriptor {file}"
    return os.fsencode(file).decode("utf-8", "replace")[-_NAME_LIMIT:]


def _scalars(data: bytes) -> tuple[int, ...]:
    if len(data) % SCALAR_BYTES:
        raise InternalError(f"{len(data)} bytes of public inputs are no whole number of scalars")
    return tuple(
        int.from_bytes(data[start : start + SCALAR_BYTES], "little")
        for start in range(0, len(data), SCALAR_BYTES)
    )
