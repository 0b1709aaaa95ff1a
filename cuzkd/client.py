"""The client library: `cuzkd.Client` asks a daemon for proofs, blocking, over its Unix socket.

Files are opened here and travel as descriptors, so the daemon needs no right to read them by name. Every
error that the daemon answers is raised as its class in `cuzkd.errors`.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Sequence
from types import TracebackType
from typing import TypeVar

from cuzkd.conversation import Conversation, ProgressCallback
from cuzkd.errors import InternalError
from cuzkd.ipc.messages import MAX_DESCRIPTORS, Message
from cuzkd.ipc.requests import (
    Attach,
    Attached,
    CircuitAdd,
    CircuitEvict,
    CircuitInfo,
    CircuitList,
    CircuitPreload,
    CircuitRemove,
    Circuits,
    CircuitShow,
    JobAccepted,
    JobResult,
    JobSubmit,
    JobWait,
    PartitionResult,
    PointChecks,
    Progress,
    Status,
    StatusRequest,
)
from cuzkd.model import SCALAR_BYTES, Curve, Proof
from cuzkd.records import record

__all__ = [
    "CircuitInfo",
    "Client",
    "File",
    "PointChecks",
    "Progress",
    "ProgressCallback",
    "Result",
    "open_input",
]

File = str | os.PathLike[str] | int
"""A file to send: its path, or an open descriptor of it, which stays the caller's."""

_NAME_LIMIT = 1024
_GRACE_S = 10.0  # what a daemon may take beyond a wait's time before it counts as stuck

_Answer = TypeVar("_Answer", bound=Message)


@record
class Result:
    """A finished job: a verified proof and its public inputs for each partition, in the order submitted."""

    job: int
    curve: Curve
    seconds: float
    proofs: tuple[Proof, ...]
    publics: tuple[tuple[int, ...], ...]


class Client:
    """One connection to a daemon, made at the first request; to be used by one thread at a time.

    `socket_path` names the daemon's socket; None looks at $CUZKD_SOCKET or, when that is not set, in the
    usual places. After an error in the connection the next request connects again. Requests raise
    `DaemonUnreachable` when nothing answers, whatever error of `cuzkd.errors` the daemon answers with, and
    `OSError` for a path that cannot be opened as a regular file.

        with cuzkd.Client() as client:
            result = client.prove("circuit.zkey", ["witness.wtns"])

            client.add_circuit("merkle", "merkle.zkey", wasm="merkle.wasm")
            result = client.prove(circuit="merkle", inputs=["input.json"])

    Where a request takes `progress`, that is called with a `Progress` every now and then until the request
    is answered; without it the daemon reports none.
    """

    def __init__(self, socket_path: str | os.PathLike[str] | None = None) -> None:
        self._daemon = Conversation(socket_path)

    # ---- jobs

    def prove(
        self,
        zkey: File | None = None,
        witnesses: Sequence[File] = (),
        *,
        circuit: str | None = None,
        inputs: Sequence[File] = (),
        wasm: File | None = None,
        r1cs: File | None = None,
        points: PointChecks | str = PointChecks.FULL,
        progress: ProgressCallback | None = None,
        timeout_s: float | None = None,
    ) -> Result:
        """Submit and wait, at most `timeout_s` once accepted. Takes and raises what `submit` and `wait` do."""
        job = self.submit(
            zkey,
            witnesses,
            circuit=circuit,
            inputs=inputs,
            wasm=wasm,
            r1cs=r1cs,
            points=points,
            progress=progress,
        )
        return self.wait(job, timeout_s, progress)

    def submit(
        self,
        zkey: File | None = None,
        witnesses: Sequence[File] = (),
        *,
        circuit: str | None = None,
        inputs: Sequence[File] = (),
        wasm: File | None = None,
        r1cs: File | None = None,
        points: PointChecks | str = PointChecks.FULL,
        progress: ProgressCallback | None = None,
    ) -> int:
        """Hand over a job, one proof a witness or input; returns its number once the job is accepted.

        The circuit is a key file, or the name of a `circuit` that was added. Partitions are `witnesses`
        (.wtns) or `inputs` (JSON, computed by the circuit's `wasm`), not both. With an `r1cs`, a witness that
        breaks a constraint is refused by the constraint's number. `points` says what is checked of a key that
        the daemon does not know yet: curve and subgroup ("full") or the curve alone ("curve").

        The daemon has copied and checked the files by then: they may go, and so may this client. Raises
        `ValueError` when the arguments make no job, `Refused` (or one of its kinds) for files that cannot be
        proved, and `Busy` or `Draining` when no job is taken now.
        """
        if (zkey is None) == (circuit is None):
            raise ValueError("a job takes a zkey, or the name of a circuit")
        if circuit is not None and (wasm is not None or r1cs is not None):
            raise ValueError("a named circuit has the wasm and the r1cs that it was added with")
        if bool(witnesses) == bool(inputs):
            raise ValueError("a job takes witnesses, or inputs")
        files = _Files()
        request = JobSubmit(
            circuit=circuit,
            zkey=files.add_if(zkey),
            wasm=files.add_if(wasm),
            r1cs=files.add_if(r1cs),
            witnesses=files.add_all(witnesses),
            inputs=files.add_all(inputs),
            points=PointChecks(points),
            progress=progress is not None,
        )
        return self._hand_over(files, request, JobAccepted, progress).job

    def wait(
        self, job: int, timeout_s: float | None = None, progress: ProgressCallback | None = None
    ) -> Result:
        """Wait for a job's proofs; `WaitTimeout` after `timeout_s` seconds (None: never), the job goes on.

        Raises `JobFailed` or `BadWitness` (or one of their kinds) when the job ended without proofs, and
        `NotFound` when there is no such job.
        """
        limit_s = None if timeout_s is None else timeout_s + _GRACE_S
        request = JobWait(job, timeout_s, progress=progress is not None)
        head = self._daemon.ask(request, JobResult, timeout_s=limit_s, progress=progress)
        proofs, publics = [], []
        for index in range(head.partitions):
            part = self._daemon.receive(PartitionResult, timeout_s=limit_s)
            if part.index != index:
                self.close()
                raise InternalError(f"proof {index} was due, {part.index} came")
            proofs.append(Proof.from_bytes(head.curve, part.proof))
            publics.append(_scalars(part.public))
        return Result(job, head.curve, head.seconds, tuple(proofs), tuple(publics))

    # ---- named circuits

    def add_circuit(
        self,
        name: str,
        zkey: File,
        *,
        wasm: File | None = None,
        r1cs: File | None = None,
        points: PointChecks | str = PointChecks.FULL,
        progress: ProgressCallback | None = None,
    ) -> CircuitInfo:
        """Have a circuit checked, compiled and kept under a name of this user's; files as in `submit`.

        Raises `Refused` (or one of its kinds) for files that cannot be used or do not belong together.
        """
        files = _Files()
        request = CircuitAdd(
            name=name,
            zkey=files.add(zkey),
            wasm=files.add_if(wasm),
            r1cs=files.add_if(r1cs),
            points=PointChecks(points),
            progress=progress is not None,
        )
        return self._hand_over(files, request, CircuitInfo, progress)

    def circuits(self) -> tuple[CircuitInfo, ...]:
        """This user's named circuits, by name."""
        return self._daemon.ask(CircuitList(), Circuits).circuits

    def show_circuit(self, name: str) -> CircuitInfo:
        """One named circuit; `NotFound` when there is none, here as in the following."""
        return self._daemon.ask(CircuitShow(name), CircuitInfo)

    def remove_circuit(self, name: str) -> CircuitInfo:
        """Forget a name, and what no other name and no job uses; returns the circuit that was."""
        return self._daemon.ask(CircuitRemove(name), CircuitInfo)

    def preload(self, name: str) -> CircuitInfo:
        """Load a circuit's proving key into the device; answered when it is there."""
        return self._daemon.ask(CircuitPreload(name), CircuitInfo)

    def evict(self, name: str) -> CircuitInfo:
        """Drop a circuit's proving key from the device; refused while a proof uses it."""
        return self._daemon.ask(CircuitEvict(name), CircuitInfo)

    # ---- the daemon

    def status(self) -> Status:
        """What the daemon is doing now."""
        return self._daemon.ask(StatusRequest(), Status)

    def close(self) -> None:
        """Close the connection; accepted jobs go on. Closing twice is nothing."""
        self._daemon.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # ---- files

    def _hand_over(
        self, files: _Files, request: Message, answer: type[_Answer], progress: ProgressCallback | None
    ) -> _Answer:
        """Attach the files and make the request that takes them."""
        try:
            for start in range(0, len(files), MAX_DESCRIPTORS):
                self._attach(files[start : start + MAX_DESCRIPTORS], already=start)
            return self._daemon.ask(request, answer, progress=progress)
        except BaseException:
            # The connection may hold files of the failed attempt, which the next one must not find there.
            self.close()
            raise

    def _attach(self, files: Sequence[File], already: int) -> None:
        opened: list[int] = []
        try:
            descriptors = []
            for file in files:
                if not isinstance(file, int):
                    opened.append(open_input(file))
                descriptors.append(file if isinstance(file, int) else opened[-1])
            names = tuple(map(_name, files))
            held = self._daemon.ask(Attach(names), Attached, descriptors=descriptors).total
        finally:
            for descriptor in opened:
                os.close(descriptor)
        if held != already + len(files):
            raise InternalError(f"the daemon holds {held} files, not {already + len(files)}")


class _Files(list[File]):
    """The files of one request in the order of their indices."""

    def add(self, file: File) -> int:
        self.append(file)
        return len(self) - 1

    def add_if(self, file: File | None) -> int | None:
        return None if file is None else self.add(file)

    def add_all(self, files: Sequence[File]) -> tuple[int, ...]:
        return tuple(map(self.add, files))


def open_input(path: str | os.PathLike[str]) -> int:
    """A descriptor of a regular file, opened for reading; `OSError` for anything else, without waiting."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise OSError(errno.EINVAL, "not a regular file", os.fspath(path))


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
