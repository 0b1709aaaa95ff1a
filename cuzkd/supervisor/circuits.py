"""Named circuits for clients: added, listed, shown, removed, and their keys brought to the device and dropped."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable

from cuzkd.errors import Busy, CuzkdError, Refused, ResourceExhausted
from cuzkd.ipc.requests import (
    CircuitAdd,
    CircuitEvict,
    CircuitInfo,
    CircuitList,
    CircuitPreload,
    CircuitRemove,
    Circuits,
    CircuitShow,
)
from cuzkd.logs import Event, about
from cuzkd.registry import Named, Registry, check_name
from cuzkd.reply import Reply
from cuzkd.server import CircuitRequest, Files
from cuzkd.supervisor.intake import Intake
from cuzkd.supervisor.keys import Keys
from cuzkd.supervisor.namefile import NameFile
from cuzkd.supervisor.submission import Submission, Work

# what a list of all of them can take in one frame
MAX_NAMES = 1000

_log = logging.getLogger(__name__)


class NamedCircuits:
    """The registry with what is done to its circuits. `proving` tells whether a proof uses a circuit's key now."""

    def __init__(
        self,
        registry: Registry,
        file: NameFile,
        intake: Intake,
        keys: Keys,
        proving: Callable[[str], bool],
    ) -> None:
        self.registry = registry
        self._file = file
        self._intake = intake
        self._keys = keys
        self._proving = proving
        self._hits: Counter[tuple[int, str]] = Counter()

    def use(self, reply: Reply, written: str) -> Named:
        """The circuit that a job of this peer names; `NotFound`."""
        return self.registry.find(reply.peer.uid, written, operator=reply.operator)

    def hit(self, entry: Named) -> None:
        """Count a job that used the name."""
        self._hits[entry.uid, entry.name] += 1

    def add(self, request: CircuitAdd, files: Files, reply: Reply) -> None:
        """Take the files in; answered when they are checked, compiled, and the name is on disk."""
        check_name(request.name)
        uid = reply.peer.uid
        if len(self.registry) >= MAX_NAMES and self.registry.get(uid, request.name) is None:
            raise Refused(f"{MAX_NAMES} circuits have names already", advice="remove some that are not used")

        def accepted(submission: Submission) -> None:
            self._added(request.name, submission)

        submission = Submission(
            f"circuit {request.name!r}", reply, accepted, _refused, request.points, request.progress
        )
        _add_key(submission, files)
        submission.add(files.wasm, Work.PROGRAM)
        _log.info("%s of uid %d: %s", submission.title, uid, ", ".join(file.name for file in files))
        self._intake.submit(submission)

    def answer(self, request: CircuitRequest, reply: Reply) -> None:
        """Do what is asked of named circuits; `NotFound` when there is none of the name."""
        uid = reply.peer.uid
        if isinstance(request, CircuitList):
            visible = self.registry.visible_to(uid, operator=reply.operator)
            reply.send(Circuits(tuple(map(self._info, visible))))
            return
        entry = self.use(reply, request.name)
        match request:
            case CircuitShow():
                reply.send(self._info(entry))
            case CircuitRemove():
                self._remove(entry, reply)
            case CircuitPreload():
                self._keys.load(entry.circuit, lambda error: self._moved(entry, reply, error))
            case CircuitEvict():
                if self._proving(entry.circuit.digest):
                    raise Busy(
                        f"a proof uses the key of {entry.name!r} now",
                        advice="try again when it is done",
                        retry_after_s=1.0,
                    )
                self._keys.drop(entry.circuit, lambda error: self._moved(entry, reply, error))

    def _added(self, name: str, submission: Submission) -> None:
        """Give the name, unless it stands for another circuit; what it had and is not given anew, it keeps."""
        reply, circuit = submission.reply, submission.circuit
        assert circuit is not None
        uid = reply.peer.uid
        before = self.registry.get(uid, name)
        if before is not None and before.circuit.digest != circuit.digest:
            _refused(
                submission,
                Refused(f"{name!r} names another circuit", advice="remove that first, or take another name"),
            )
            return
        entry = Named(
            name,
            uid,
            circuit,
            submission.size_bytes,
            submission.points,
            submission.program or (None if before is None else before.program),
            submission.constraints or (None if before is None else before.constraints),
        )
        self.registry.put(entry)

        def saved(error: ResourceExhausted | None) -> None:
            if error is None:
                reply.send(self._info(entry, found=submission.found))
                self._discard_replaced(before)
            else:
                self._restore(entry, before)
                _refused(submission, error)

        self._file.save(self.registry.to_bytes(), saved)

    def _remove(self, entry: Named, reply: Reply) -> None:
        info = self._info(entry)
        self.registry.drop(entry)

        def saved(error: ResourceExhausted | None) -> None:
            if error is None:
                _log.info("circuit %r of uid %d is removed", entry.name, entry.uid)
                self._hits.pop((entry.uid, entry.name), None)
                reply.send(info)
                self._intake.discard(entry.artefacts)
            else:
                self._restore(None, entry)
                reply.fail(error)

        self._file.save(self.registry.to_bytes(), saved)

    def _restore(self, entry: Named | None, before: Named | None) -> None:
        """Take back a change that is not on disk, unless another has come after it."""
        key = entry or before
        assert key is not None
        if self.registry.get(key.uid, key.name) is entry:
            if before is not None:
                self.registry.put(before)
            elif entry is not None:
                self.registry.drop(entry)

    def _discard_replaced(self, before: Named | None) -> None:
        if before is not None:
            self._intake.discard(before.artefacts)

    def _moved(self, entry: Named, reply: Reply, error: CuzkdError | None) -> None:
        if error is None:
            reply.send(self._info(entry))
        else:
            reply.fail(error)

    def _info(self, entry: Named, *, found: bool = True) -> CircuitInfo:
        return CircuitInfo(
            name=entry.name,
            uid=entry.uid,
            circuit=entry.circuit,
            size_bytes=entry.size_bytes,
            points=entry.points,
            wasm=entry.program is not None,
            r1cs=entry.checks_witnesses,
            residency=self._keys.residency(entry.circuit),
            hits=self._hits[entry.uid, entry.name],
            found=found,
        )


def _add_key(submission: Submission, files: Files) -> None:
    """Have the key compiled; an `.r1cs` is kept beside a zkey, and part of a bellperson key."""
    if files.params is None:
        submission.add(files.zkey, Work.KEY)
        submission.add(files.r1cs, Work.CONSTRAINTS)
        return
    work, matrices = Work.KEY_WITH_R1CS, files.r1cs
    if matrices is None:
        work, matrices = Work.KEY_WITH_MATRICES, files.matrices
    assert files.vk is not None
    assert matrices is not None
    submission.add(files.params, work, beside=(files.vk, matrices))


def _refused(submission: Submission, error: CuzkdError) -> None:
    told = about(Event.REFUSED, uid=submission.reply.peer.uid)
    _log.info("%s is refused: %s", submission.title, error, extra=told)
    submission.reply.fail(error)
