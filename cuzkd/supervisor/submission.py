"""One request on its way through the ingest process: which files it brings, and what has to be done with each.

A key comes first: programs, constraints and witnesses are held to the circuit that it is.
"""

from __future__ import annotations

import enum
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from cuzkd.attachment import Attachment
from cuzkd.circom.inputs import InputLimits
from cuzkd.errors import CuzkdError
from cuzkd.ipc.orders import (
    Compile,
    CompileBellperson,
    Compiled,
    ConstraintsKept,
    KeepConstraints,
    KeepProgram,
    ProgramKept,
    Spool,
    Spooled,
)
from cuzkd.ipc.requests import PointChecks
from cuzkd.model import CircuitRef
from cuzkd.registry import Artefacts
from cuzkd.reply import Reply
from cuzkd.supervisor.directories import remove_payload

IngestOrder = Compile | CompileBellperson | KeepProgram | KeepConstraints | Spool
IngestAnswer = Compiled | ProgramKept | ConstraintsKept | Spooled


class Work(enum.Enum):
    """What is done with a file, or with the three of a bellperson key, whose matrices come in one form or the other."""

    KEY = "key"
    KEY_WITH_R1CS = "key with r1cs"
    KEY_WITH_MATRICES = "key with matrices"
    PROGRAM = "program"
    CONSTRAINTS = "constraints"
    WITNESS = "witness"
    INPUTS = "inputs"


KEYS = (Work.KEY, Work.KEY_WITH_R1CS, Work.KEY_WITH_MATRICES)
"""The work that makes a circuit known."""

DONE_BY: dict[Work, type[IngestAnswer]] = {
    **dict.fromkeys(KEYS, Compiled),
    Work.PROGRAM: ProgramKept,
    Work.CONSTRAINTS: ConstraintsKept,
    Work.WITNESS: Spooled,
    Work.INPUTS: Spooled,
}
"""The answer that says that the work is done."""


@dataclass(slots=True, eq=False)
class Order:
    """One file's order; `path` is its place in the spool, if it is copied there, `beside` what belongs to the file."""

    submission: Submission
    file: Attachment
    work: Work
    path: Path | None = None
    beside: tuple[Attachment, ...] = ()
    attempts: int = 0

    def message(self, ticket: int, limit_bytes: int) -> IngestOrder:
        """The order as the ingest process takes it; spooled files may have at most `limit_bytes`."""
        name, uid, circuit = self.file.name, self.submission.reply.peer.uid, self.submission.circuit
        if self.work is Work.KEY:
            return Compile(ticket, name, uid, self.submission.points)
        if self.work in KEYS:
            vk, matrices = self.beside
            recorded = self.work is Work.KEY_WITH_MATRICES
            return CompileBellperson(ticket, name, vk.name, matrices.name, recorded, self.submission.points)
        assert circuit is not None, "the key comes first"
        match self.work:
            case Work.PROGRAM:
                return KeepProgram(ticket, name, uid, circuit)
            case Work.CONSTRAINTS:
                return KeepConstraints(ticket, name, uid, circuit)
            case Work.WITNESS:
                return Spool(ticket, name, str(self.path), limit_bytes, circuit)
            case _:
                return Spool(ticket, name, str(self.path), min(limit_bytes, InputLimits().size_bytes), None)

    @property
    def files(self) -> tuple[Attachment, ...]:
        """All files of the order, as its message takes them."""
        return (self.file, *self.beside)

    @property
    def keeps(self) -> bool:
        """Whether the order finds or makes something in the state directory."""
        return self.path is None

    def close(self) -> None:
        """Close its files."""
        for file in self.files:
            file.close()

    def discard(self) -> None:
        """Close its files and remove the copy."""
        self.close()
        if self.path is not None:
            remove_payload(self.path)


@dataclass(slots=True, eq=False)
class Submission:
    """A job or a circuit that is not accepted yet; what is known of it grows with every answer.

    `circuit` is known from the start or once the key is compiled; until then all other orders wait in `later`.
    `found` says whether everything that is kept had been there.
    """

    title: str
    reply: Reply
    accepted: Callable[[Submission], None]
    refused: Callable[[Submission, CuzkdError], None]
    points: PointChecks = PointChecks.FULL
    progress: bool = False
    circuit: CircuitRef | None = None
    program: str | None = None
    constraints: str | None = None
    size_bytes: int = 0
    found: bool = True
    orders: deque[Order] = field(default_factory=deque)
    later: list[Order] = field(default_factory=list)
    spooled: list[Path] = field(default_factory=list)
    payloads: int = 0
    unanswered: int = 0
    dropped: bool = False

    def add(
        self,
        file: Attachment | None,
        work: Work,
        path: Path | None = None,
        beside: tuple[Attachment, ...] = (),
    ) -> None:
        """Have something done with a file and what belongs to it; nothing if there is none."""
        if file is None:
            return
        order = Order(self, file, work, path, beside)
        if work in KEYS or self.circuit is not None:
            self.orders.append(order)
        else:
            self.later.append(order)
        self.payloads += path is not None
        self.unanswered += 1

    @property
    def digests(self) -> set[str]:
        """What it needs of the state directory, as far as that is known."""
        return set() if self.circuit is None else self.artefacts.digests

    @property
    def artefacts(self) -> Artefacts:
        """What it needs of the state directory, once its circuit is known."""
        assert self.circuit is not None
        return Artefacts(self.circuit.digest, self.program, self.constraints)

    @property
    def waiting(self) -> list[Order]:
        """The orders that have not been given."""
        return [*self.orders, *self.later]

    def note(self, order: Order, answer: IngestAnswer) -> None:
        """One order is done."""
        self.unanswered -= 1
        match answer:
            case Compiled():
                self.circuit, self.points, self.size_bytes = answer.circuit, answer.points, answer.size_bytes
                self.orders.extend(self.later)
                self.later.clear()
            case ProgramKept():
                self.program = answer.digest
            case ConstraintsKept():
                self.constraints = answer.digest
            case Spooled():
                assert order.path is not None
                self.spooled.append(order.path)
                what = "inputs" if order.work is Work.INPUTS else "witnesses"
                self.tell(f"copying {what}", len(self.spooled), self.payloads)
        if not isinstance(answer, Spooled):
            self.found = self.found and answer.found

    def tell(self, stage: str, done: int, total: int) -> None:
        """Tell the client how far its request has come, if it wants to know."""
        if self.progress and not self.dropped:
            self.reply.progress(stage, done, total)

    def drop(self) -> None:
        """Discard every file that is not in the hands of the ingest process."""
        self.dropped = True
        for order in self.waiting:
            order.discard()
        self.orders.clear()
        self.later.clear()
        self.remove_spooled()

    def remove_spooled(self) -> None:
        """Remove the payloads that were copied."""
        for path in self.spooled:
            remove_payload(path)
        self.spooled.clear()
