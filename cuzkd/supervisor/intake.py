"""Submissions on their way through the ingest process: keys to compile, payloads to spool, what is not needed to go.

A submission is accepted when every file of it is copied and valid. Users take turns, and so do each one's
submissions, an order each, with few under way at a time, so that a thousand files of one user do not hold up
another's. Should the ingest process die, what was under way is ordered again from the descriptors, which are
kept until then.

What is to be deleted waits until no order is under way that could find it, and is looked at once more then.
"""

from __future__ import annotations

import logging
from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from cuzkd.errors import CuzkdError, InternalError, Poisoned, Unavailable
from cuzkd.ipc.descriptors import OutOfDescriptors
from cuzkd.ipc.orders import Compiled, Discard, IngestFailed, IngestProgress, ProgramKept
from cuzkd.registry import Artefacts
from cuzkd.supervisor.directories import remove_payload
from cuzkd.supervisor.submission import DONE_BY, IngestAnswer, IngestOrder, Order, Submission

_WINDOW = 4
_STALLED_ADVICE = (
    "see whether the file system that it lies on answers (limits.read_stall), then submit it again"
)
_MAX_ATTEMPTS = 3

_log = logging.getLogger(__name__)

SendOrder = Callable[[IngestOrder | Discard, tuple[int, ...]], None]


@dataclass(frozen=True, slots=True)
class Needed:
    """The digests that names stand for, and those that jobs use which have not ended."""

    by_names: set[str]
    by_jobs: set[str]


class Intake:
    """Gives orders to the ingest process and tells every submission what became of it."""

    def __init__(self, limit_bytes: Callable[[], int], send: SendOrder, needed: Callable[[], Needed]) -> None:
        self._limit_bytes = limit_bytes
        self._send = send
        self._needed = needed
        self._turns: deque[Submission] = deque()
        self._live: dict[int, Submission] = {}
        self._under_way: dict[int, Order] = {}
        self._unneeded: list[Artefacts] = []
        self._needed_yet: list[Artefacts] = []
        self._next_ticket = 1
        self._last_ticket_of: Counter[int] = Counter()
        self._ingest_up = False
        self.circuits_compiled = 0
        self.circuits_found = 0
        self.programs_compiled = 0
        self.programs_found = 0

    @property
    def pending(self) -> int:
        """How many submissions are neither accepted nor refused."""
        return len(self._live)

    def pending_of(self, uid: int) -> int:
        """How many of a user's submissions are neither accepted nor refused."""
        return sum(submission.reply.peer.uid == uid for submission in self._live.values())

    @property
    def open_files(self) -> int:
        """How many clients' files are held open."""
        waiting = (order for submission in self._live.values() for order in submission.waiting)
        return sum(len(order.files) for order in (*self._under_way.values(), *waiting))

    def submit(self, submission: Submission) -> None:
        """Begin with a submission; if the client leaves before it is accepted, everything is discarded."""
        self._live[id(submission)] = submission
        self._turns.append(submission)
        submission.reply.on_close(lambda: self._drop(submission))
        self._pump()

    def discard(self, artefacts: Artefacts) -> None:
        """Have deleted what nobody needs of these, when the ingest process can do it safely."""
        self._unneeded.append(artefacts)
        self._pump()

    def job_ended(self) -> None:
        """A job needs nothing any more: what waited for that is looked at again."""
        if self._needed_yet:
            self._unneeded += self._needed_yet
            self._needed_yet.clear()
            self._pump()

    def ingest_up(self) -> None:
        """A new ingest process takes orders: those that died with the last one first."""
        self._ingest_up = True
        self._pump()

    def ingest_down(self) -> None:
        """The ingest process is gone; an order that took it down too often is refused."""
        self._ingest_up = False
        lost, self._under_way = list(self._under_way.values()), {}
        for waiting in lost[1:]:
            waiting.attempts -= 1  # orders are done one after the other: it died over the first
        for order in reversed(lost):
            if order.path is not None:
                remove_payload(order.path)
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

    def stalled(self, ticket: int, why: str) -> None:
        """The process that reads this order's file is being ended, for it got nowhere: that is not tried again."""
        order = self._under_way.get(ticket)
        if order is not None and not order.submission.dropped:
            told = f"{order.file.name} was not read to its end: {why}"
            self._refuse(order.submission, Unavailable(told, advice=_STALLED_ADVICE))

    def answered(self, answer: IngestAnswer | IngestFailed) -> None:
        """Take one answer of the ingest process."""
        order = self._under_way.pop(answer.ticket, None)
        if order is None:
            _log.warning("an answer to the unknown ticket %d was dropped", answer.ticket)
            return
        order.close()
        self._note(order, answer)
        self._pump()

    def progressed(self, progress: IngestProgress) -> None:
        """Pass on how far an order has come."""
        order = self._under_way.get(progress.ticket)
        if order is not None:
            order.submission.tell(progress.stage, progress.done, progress.total)

    def program_used(self, *, found: bool) -> None:
        """Count that a synthesis process had to compile a program, or found it compiled."""
        self.programs_found += found
        self.programs_compiled += not found

    def refuse_all(self, error: CuzkdError) -> None:
        """Refuse whatever is not accepted yet."""
        for submission in list(self._live.values()):
            self._refuse(submission, error)

    def _note(self, order: Order, answer: IngestAnswer | IngestFailed) -> None:
        submission = order.submission
        if submission.dropped:
            order.discard()
        elif isinstance(answer, IngestFailed):
            self._refuse(submission, answer.failure.error())
        elif not isinstance(answer, DONE_BY[order.work]):
            self._refuse(submission, InternalError("the ingest process answered another order"))
        else:
            self._count(answer)
            submission.note(order, answer)
            if submission.unanswered == 0:
                del self._live[id(submission)]
                submission.accepted(submission)
            elif submission.orders and submission not in self._turns:
                self._turns.append(submission)

    def _count(self, answer: IngestAnswer) -> None:
        if isinstance(answer, Compiled):
            self.circuits_found += answer.found
            self.circuits_compiled += not answer.found
        elif isinstance(answer, ProgramKept):
            self.programs_found += answer.found
            self.programs_compiled += not answer.found

    def _refuse(self, submission: Submission, error: CuzkdError) -> None:
        self._drop(submission)
        submission.refused(submission, error)

    def _drop(self, submission: Submission) -> None:
        """Forget a submission; orders under way are discarded when they are answered."""
        if self._live.pop(id(submission), None) is not None:
            submission.drop()

    def _pump(self) -> None:
        while self._ingest_up and len(self._under_way) < _WINDOW:
            if self._unneeded:
                if any(order.keeps for order in self._under_way.values()):
                    return
                self._discard_unneeded()
            order = next(self._orders_in_turn(), None)
            if order is None:
                return
            order.attempts += 1
            ticket, self._next_ticket = self._next_ticket, self._next_ticket + 1
            self._under_way[ticket] = order
            try:
                fds = tuple(file.fd for file in order.files)
                self._send(order.message(ticket, self._limit_bytes()), fds)
            except OutOfDescriptors as error:
                order.submission.orders.append(self._under_way.pop(ticket))
                self._refuse(order.submission, error)

    def _discard_unneeded(self) -> None:
        needed = self._needed()
        by_jobs = needed.by_jobs.union(*(each.digests for each in self._live.values()))

        def unneeded(digest: str | None) -> str | None:
            return None if digest in needed.by_names or digest in by_jobs else digest

        for each in self._unneeded:
            goes = Discard(unneeded(each.circuit), unneeded(each.program), unneeded(each.constraints))
            if goes != Discard(None, None, None):
                self._send(goes, ())
            if each.digests & by_jobs - needed.by_names:
                self._needed_yet.append(each)
        self._unneeded.clear()

    def _orders_in_turn(self) -> Iterator[Order]:
        """Users take turns, and each user's submissions among them: whoever was served longest ago is next."""
        while self._turns:
            submission = min(self._turns, key=lambda each: self._last_ticket_of[each.reply.peer.uid])
            self._turns.remove(submission)
            if submission.orders:
                order = submission.orders.popleft()
                if submission.orders:
                    self._turns.append(submission)
                self._last_ticket_of[submission.reply.peer.uid] = self._next_ticket
                yield order
        self._last_ticket_of.clear()
