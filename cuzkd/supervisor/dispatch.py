"""Between the scheduler and the processes: children's messages become events, commands become orders."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable

from cuzkd.errors import CuzkdError
from cuzkd.events import (
    Command,
    CompleteJob,
    CreateSegment,
    Event,
    FailJob,
    PartitionFailed,
    PhaseReported,
    PrepareSegment,
    Prove,
    Proved,
    SegmentDrained,
    SegmentFailed,
    SegmentPrepared,
    Synthesize,
    Synthesized,
    UnlinkSegment,
    Worker,
)
from cuzkd.ipc import messages, orders
from cuzkd.model import PartitionId, Phase, Role
from cuzkd.scheduler import Scheduler
from cuzkd.supervisor.children import Roster
from cuzkd.supervisor.segments import Segments
from cuzkd.supervisor.submission import IngestOrder

_log = logging.getLogger(__name__)


class Dispatcher:
    """Feeds the scheduler and does what it says.

    `order_of` says what a synthesis process is told (None: the job is over), `working` is told that a partition enters
    a phase or (None) has its proof, and how many of its job are done; `ended`, how a job ended.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        roster: Roster,
        segments: Segments,
        order_of: Callable[[Synthesize], orders.SynthesizeOrder | None],
        working: Callable[[PartitionId, Phase | None, int | None], None],
        ended: Callable[[CompleteJob | FailJob], None],
    ) -> None:
        self._scheduler = scheduler
        self._roster = roster
        self._segments = segments
        self._order_of = order_of
        self._working = working
        self._ended = ended
        self._events: deque[Event] = deque()
        self._feeding = False

    def feed(self, event: Event) -> None:
        """Tell the scheduler and do what it answers; what that brings about is told after it."""
        self._events.append(event)
        if self._feeding:
            return
        self._feeding = True
        try:
            while self._events:
                for command in self._scheduler.handle(self._events.popleft()):
                    self._execute(command)
        finally:
            self._feeding = False

    def hear(self, worker: Worker, message: messages.Message) -> bool:
        """Take a child's message about partitions and segments; False if it is about something else."""
        incarnation = getattr(message, "incarnation", worker.incarnation)
        if incarnation != worker.incarnation:
            _log.error("%s says that its life is the %dth: its message is dropped", worker, incarnation)
            return True
        event = self._event_of(worker, message)
        if event is not None:
            self.feed(event)
        if isinstance(event, PhaseReported):
            self._tell(event.partition, event.phase)
        elif isinstance(event, Proved):
            self._tell(event.partition, None)
        return event is not None or isinstance(message, orders.Heartbeat)

    def _tell(self, partition: PartitionId, phase: Phase | None) -> None:
        job = self._scheduler.jobs.get(partition.job)
        self._working(partition, phase, None if job is None else job.done)

    @staticmethod
    def _event_of(worker: Worker, message: messages.Message) -> Event | None:
        match message:
            case orders.Heartbeat(partition=PartitionId() as partition, phase=Phase() as phase):
                return PhaseReported(worker, partition, phase)
            case orders.SegmentReady(segment=segment, pinned=pinned):
                return SegmentPrepared(worker, segment, pinned)
            case orders.SegmentUnusable(segment=segment, failure=failure):
                return SegmentFailed(segment, failure.error(), worker)
            case orders.SynthesisDone(partition=partition, handle=handle):
                return Synthesized(worker, partition, handle)
            case orders.SegmentRead(handle=handle):
                return SegmentDrained(worker, handle)
            case orders.ProofDone(partition=partition, proof=proof, public=public):
                return Proved(worker, partition, proof, public)
            case orders.StageFailed(partition=partition, failure=failure):
                return PartitionFailed(worker, partition, failure.error())
            case _:
                return None

    def _execute(self, command: Command) -> None:
        match command:
            case CreateSegment(segment=segment, size_bytes=size_bytes):
                self._create(segment, size_bytes)
            case PrepareSegment(worker=worker, segment=segment, size_bytes=size_bytes):
                self._roster.order(worker, orders.PrepareOrder(segment, size_bytes))
            case UnlinkSegment(segment=segment):
                self.tell_all(orders.ForgetSegment(segment))
                self._segments.unlink(segment)
            case Synthesize(worker=worker):
                order = self._order_of(command)
                if order is not None:
                    self._roster.order(worker, order)
            case Prove(worker=worker, partition=partition, circuit=circuit, handle=handle):
                self._roster.order(worker, orders.ProveOrder(partition, circuit, handle))
            case CompleteJob() | FailJob():
                self._ended(command)

    def _create(self, segment: str, size_bytes: int) -> None:
        try:
            self._segments.create(segment, size_bytes)
        except CuzkdError as error:
            _log.error("segment %s: %s", segment, error)
            self._events.append(SegmentFailed(segment, error))
            return
        self.tell_gpu(orders.PrepareOrder(segment, size_bytes))

    def tell_gpu(self, message: messages.Message) -> bool:
        """Give the gpu process an order; False when there is none that takes orders."""
        [slot] = self._roster.of(Role.GPU)
        if slot.ready is not None:
            self._roster.order(slot.ready.worker, message)
        return slot.ready is not None

    def tell_ingest(self, order: IngestOrder | orders.Discard, fds: tuple[int, ...]) -> None:
        """Give the ingest process an order, if it takes any; what it discards, the others have to forget."""
        if isinstance(order, orders.Discard):
            self.tell_all(orders.Forget(order.circuit, order.program, order.constraints))
        [slot] = self._roster.of(Role.INGEST)
        if slot.ready is not None:
            self._roster.order(slot.ready.worker, order, fds)

    def tell_all(self, message: messages.Message) -> None:
        """Give the synthesis processes and the gpu process an order."""
        for slot in (*self._roster.of(Role.SYNTHESIS), *self._roster.of(Role.GPU)):
            if slot.ready is not None:
                self._roster.order(slot.ready.worker, message)
