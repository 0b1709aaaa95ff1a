"""Submitted jobs on their way through the ingest process: one key to compile and N witnesses to spool each.

A job is accepted when every file of it is copied and valid. Submissions take turns, one order each, with few
orders under way at a time, so that a job of a thousand witnesses does not hold up a job of one. Should the
ingest process die, what was under way is ordered again from the descriptors, which are kept until then.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cuzkd.connection import Attachment, Reply
from cuzkd.errors import CuzkdError, InternalError, Poisoned, from_wire
from cuzkd.ipc.descriptors import OutOfDescriptors
from cuzkd.ipc.messages import Compile, Compiled, IngestFailed, Spool, Spooled
from cuzkd.model import CircuitRef

_WINDOW = 4
_MAX_ATTEMPTS = 3

_log = logging.getLogger(__name__)

SendOrder = Callable[[Compile | Spool, int], None]


@dataclass(slots=True, eq=False)
class Submission:
    """A job that is not accepted yet. `circuit` is known once the key is compiled."""

    job: int
    reply: Reply
    orders: deque[_Order] = field(default_factory=deque)
    spooled: list[Path] = field(default_factory=list)
    circuit: CircuitRef | None = None
    unanswered: int = 0
    dropped: bool = False

    def remove_spooled(self) -> None:
        """Remove the witnesses that were copied."""
        for path in self.spooled:
            path.unlink(missing_ok=True)
        self.spooled.clear()


@dataclass(slots=True, eq=False)
class _Order:
    """One file's order; `path` is its place in the spool, None for the key, which is compiled."""

    submission: Submission
    file: Attachment
    path: Path | None
    attempts: int = 0

    def message(self, ticket: int, limit_bytes: int) -> Compile | Spool:
        if self.path is None:
            return Compile(ticket, self.file.name, self.submission.reply.peer.uid)
        return Spool(ticket, self.file.name, str(self.path), limit_bytes)

    def discard(self) -> None:
        self.file.close()
        if self.path is not None:
            self.path.unlink(missing_ok=True)


class Intake:
    """Gives orders to the ingest process and tells `accepted` of every submission that came through."""

    def __init__(
        self,
        spool: Path,
        limit_bytes: int,
        send: SendOrder,
        accepted: Callable[[Submission, CircuitRef], None],
        refused: Callable[[Submission, CuzkdError], None],
    ) -> None:
        self._spool = spool
        self._limit_bytes = limit_bytes
        self._send = send
        self._accepted = accepted
        self._refused = refused
        self._turns: deque[Submission] = deque()
        self._live: dict[int, Submission] = {}
        self._under_way: dict[int, _Order] = {}
        self._next_ticket = 1
        self._ingest_up = False
        self.compiled = 0
        self.found = 0

    @property
    def pending(self) -> int:
        """How many submissions are neither accepted nor refused."""
        return len(self._live)

    @property
    def open_files(self) -> int:
        """How many clients' files are held open."""
        return len(self._under_way) + sum(len(submission.orders) for submission in self._live.values())

    def witness_path(self, job: int, index: int) -> Path:
        """Where the spool has a partition's witness."""
        return self._spool / f"{job}.{index}.wtns"

    def submit(self, job: int, zkey: Attachment, witnesses: Sequence[Attachment], reply: Reply) -> None:
        """Take over the files and begin; if the client leaves before acceptance, everything is discarded."""
        submission = Submission(job, reply)
        submission.orders.append(_Order(submission, zkey, None))
        for index, witness in enumerate(witnesses):
            submission.orders.append(_Order(submission, witness, self.witness_path(job, index)))
        submission.unanswered = len(submission.orders)
        self._live[job] = submission
        self._turns.append(submission)
        reply.on_close(lambda: self._drop(submission))
        self._pump()

    def ingest_up(self) -> None:
        """A new ingest process takes orders: those that died with the last one first."""
        self._ingest_up = True
        self._pump()

    def ingest_down(self) -> None:
        """The ingest process is gone; an order that took it down too often is refused."""
        self._ingest_up = False
        lost, self._under_way = self._under_way, {}
        for order in reversed(lost.values()):
            if order.path is not None:
                order.path.unlink(missing_ok=True)
            submission = order.submission
            if submission.dropped:
                order.discard()
            elif order.attempts >= _MAX_ATTEMPTS:
                submission.orders.append(order)
                self._refuse(submission, Poisoned(f"reading {order.file.name} ended its process too often"))
            else:
                submission.orders.appendleft(order)
                if submission not in self._turns:
                    self._turns.appendleft(submission)

    def answered(self, answer: Compiled | Spooled | IngestFailed) -> None:
        """Take one answer of the ingest process."""
        order = self._under_way.pop(answer.ticket, None)
        if order is None:
            _log.warning("an answer to the unknown ticket %d was dropped", answer.ticket)
            return
        order.file.close()
        self._note(order, answer)
        self._pump()

    def refuse_all(self, error: CuzkdError) -> None:
        """Refuse whatever is not accepted yet."""
        for submission in list(self._live.values()):
            self._refuse(submission, error)

    def _note(self, order: _Order, answer: Compiled | Spooled | IngestFailed) -> None:
        submission = order.submission
        if submission.dropped:
            order.discard()
        elif isinstance(answer, IngestFailed):
            failure = answer.failure
            self._refuse(submission, from_wire(failure.code, failure.message, failure.advice))
        elif (order.path is None) != isinstance(answer, Compiled):
            self._refuse(submission, InternalError("the ingest process answered another order"))
        else:
            self._advance(submission, order, answer)

    def _advance(self, submission: Submission, order: _Order, answer: Compiled | Spooled) -> None:
        if isinstance(answer, Compiled):
            submission.circuit = answer.circuit
            self.found += answer.found
            self.compiled += not answer.found
        elif order.path is not None:
            submission.spooled.append(order.path)
        submission.unanswered -= 1
        if submission.unanswered == 0 and submission.circuit is not None:
            del self._live[submission.job]
            self._accepted(submission, submission.circuit)

    def _refuse(self, submission: Submission, error: CuzkdError) -> None:
        self._drop(submission)
        self._refused(submission, error)

    def _drop(self, submission: Submission) -> None:
        """Forget a submission; orders under way are discarded when they are answered."""
        if self._live.pop(submission.job, None) is None:
            return
        submission.dropped = True
        for order in submission.orders:
            order.discard()
        submission.orders.clear()
        submission.remove_spooled()

    def _pump(self) -> None:
        while self._ingest_up and len(self._under_way) < _WINDOW:
            order = next(self._orders_in_turn(), None)
            if order is None:
                return
            order.attempts += 1
            ticket, self._next_ticket = self._next_ticket, self._next_ticket + 1
            self._under_way[ticket] = order
            try:
                self._send(order.message(ticket, self._limit_bytes), order.file.fd)
            except OutOfDescriptors as error:
                order.submission.orders.append(self._under_way.pop(ticket))
                self._refuse(order.submission, error)

    def _orders_in_turn(self) -> Iterator[_Order]:
        while self._turns:
            submission = self._turns.popleft()
            if submission.orders:
                order = submission.orders.popleft()
                if submission.orders:
                    self._turns.append(submission)
                yield order
