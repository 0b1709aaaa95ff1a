"""The ingest process: copies payloads into the spool, and keeps circuits, witness programs and constraints."""

from __future__ import annotations

import logging
import os
import sys
import time
from pathlib import Path

from cuzkd.circom.wasm_limits import WasmLimits
from cuzkd.errors import InternalError
from cuzkd.formats.payload import open_payload
from cuzkd.ingest.compile_bellperson import BellpersonFiles, Source
from cuzkd.ingest.progress import Meter, Report
from cuzkd.ingest.spool import copy_payload
from cuzkd.ingest.store import Kept, Store
from cuzkd.ipc.descriptors import Descriptors
from cuzkd.ipc.messages import Failure, Message
from cuzkd.ipc.orders import (
    Compile,
    CompileBellperson,
    Compiled,
    ConstraintsKept,
    Discard,
    IngestFailed,
    IngestProgress,
    KeepConstraints,
    KeepProgram,
    ProgramKept,
    Spool,
    Spooled,
)
from cuzkd.logs import Event, about
from cuzkd.model import CircuitRef, Role
from cuzkd.pulse import PULSE
from cuzkd.worker import Broken, Runtime, serve

_PROGRAM_START_S = 10.0  # to say its prime and size: no inputs are fed here

_log = logging.getLogger(__name__)

Order = Compile | CompileBellperson | KeepProgram | KeepConstraints | Spool


class IngestHandler:
    """One order with its file or files, one answer."""

    device = ("", "")

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        args = runtime.args
        seconds = min(args.witness_seconds, _PROGRAM_START_S)
        limits = WasmLimits(memory_bytes=args.witness_bytes, seconds=seconds)
        self._store = Store(args.state_dir, threads=args.threads, limits=limits)

    def handle(self, message: Message, descriptors: Descriptors) -> None:
        """Do one order with its file, or delete what nobody needs any more."""
        match message:
            case Discard(circuit=circuit, program=program, constraints=constraints):
                try:
                    self._store.discard(circuit, program, constraints)
                except OSError as error:
                    _log.warning("what nobody needs could not be deleted: %s", error)
            case Compile() | CompileBellperson() | KeepProgram() | KeepConstraints() | Spool():
                if len(descriptors) != message.DESCRIPTORS:
                    raise InternalError(f"an order came with {len(descriptors)} descriptors")
                with self._runtime.ticket(message.ticket):
                    try:
                        answer = self._answer(message, descriptors)
                    finally:
                        # its file system may be asked, and may not answer
                        with PULSE.reading():
                            descriptors.close()
                self._runtime.send(answer)
            case _:
                raise Broken(f"{type(message).__name__} is no order for ingest")

    def refusal(self, message: Message, failure: Failure) -> Message:
        """The failure of the ticket's file."""
        match message:
            case Compile() | CompileBellperson() | KeepProgram() | KeepConstraints() | Spool():
                return IngestFailed(message.ticket, failure)
            case _:
                raise Broken(f"{type(message).__name__} failed: {failure.message}")

    def _answer(self, order: Order, descriptors: Descriptors) -> Message:
        begin, fd = time.monotonic(), descriptors[0]
        report = self._reporter(order.ticket)
        match order:
            case Spool():
                return _spool(order, fd)
            case Compile():
                kept = self._store.compile(fd, order.name, order.uid, order.points, report)
                return _compiled(order.ticket, order.name, kept, begin)
            case CompileBellperson():
                kept = self._store.compile_bellperson(
                    _bellperson_files(order, descriptors), order.points, report
                )
                return _compiled(order.ticket, order.params, kept, begin)
            case KeepProgram():
                digest, found = self._store.keep_program(fd, order.name, order.uid, order.circuit, report)
                _told(order.name, "witness program", digest, found, begin)
                return ProgramKept(order.ticket, digest, found)
            case KeepConstraints():
                digest, found = self._store.keep_constraints(fd, order.name, order.uid, order.circuit, report)
                _told(order.name, "constraints", digest, found, begin)
                return ConstraintsKept(order.ticket, digest, found)

    def _reporter(self, ticket: int) -> Report:
        def tell(stage: str, done: int, total: int) -> None:
            self._runtime.send(IngestProgress(ticket, stage, done, total))

        meter = Meter(tell)

        def report(stage: str, done: int, total: int) -> None:
            PULSE.step()
            meter(stage, done, total)

        return report


def _bellperson_files(order: CompileBellperson, descriptors: Descriptors) -> BellpersonFiles:
    params, vk, matrices = map(Source, descriptors, (order.params, order.vk, order.matrices))
    return BellpersonFiles(params, vk, matrices, order.recorded)


def _compiled(ticket: int, name: str, kept: Kept, begin: float) -> Compiled:
    _told(name, "circuit", kept.ref.digest, kept.found, begin)
    return Compiled(ticket, kept.ref, kept.size_bytes, kept.points, kept.found)


def _spool(order: Spool, fd: int) -> Spooled:
    """Copy a payload; the copy of what has to be a witness is seen to be one of the circuit's size."""
    path = Path(order.path)
    copied = copy_payload(fd, order.name, path, order.limit_bytes)
    if order.witness_of is not None:
        try:
            _check_witness(path, order.name, order.witness_of)
        except BaseException:
            path.unlink(missing_ok=True)
            raise
    return Spooled(order.ticket, copied.size_bytes, copied.digest)


def _check_witness(path: Path, name: str, circuit: CircuitRef) -> None:
    copy = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        open_payload(copy, name, circuit.shape)
    finally:
        os.close(copy)


def _told(name: str, what: str, digest: str, found: bool, begin: float) -> None:
    how = "found" if found else "made"
    seconds = time.monotonic() - begin
    told = about(Event.COMPILED, circuit=digest if what == "circuit" else None, seconds=seconds)
    _log.info("%s: %s %s %s in %.3f s", name, what, digest[:12], how, seconds, extra=told)


if __name__ == "__main__":
    sys.exit(serve(Role.INGEST, IngestHandler))
