"""A world for the scheduler to run: processes and segments as plain records that take its commands literally.

Nothing here decides anything. The world keeps what a real one keeps (who may be touching which segment,
what was last written to it, what was promised to whom) and asserts at every command that it is safe.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from cuzkd import events
from cuzkd.errors import CuzkdError
from cuzkd.events import Command, Event, Worker
from cuzkd.ipc.handle import Handle
from cuzkd.model import CircuitRef, CircuitShape, Curve, PartitionId, Phase, Role
from cuzkd.scheduler import Scheduler

MIB = 1 << 20
PREFIX = "/cuzkd-00000000-"


def circuit(size_bytes: int) -> CircuitRef:
    """A circuit whose partitions need exactly `size_bytes`, a multiple of 16 KiB: four vectors alike."""
    rows = size_bytes // 4 // 32
    return CircuitRef(f"{size_bytes:x}", CircuitShape(Curve.BN254, rows, rows, 1, rows.bit_length()))


@dataclass(eq=False)
class Order:
    """A partition that a process has; `drained` once the gpu process has read its segment."""

    partition: PartitionId
    handle: Handle
    drained: bool = False


@dataclass(eq=False)
class Process:
    """One life of one worker."""

    worker: Worker
    orders: list[Order] = field(default_factory=list)
    to_prepare: list[str] = field(default_factory=list)
    stuck: bool = False

    def find(self, partition: PartitionId) -> Order:
        return next(order for order in self.orders if order.partition == partition)


@dataclass(eq=False)
class Shm:
    """One segment: its size, which gpu process prepared it, and whose vectors it holds."""

    size_bytes: int
    prepared_by: Worker | None = None
    content: tuple[PartitionId, int] | None = None


class World:
    """A scheduler, the processes that it commands, and a record of what it said about each job."""

    def __init__(
        self, *, limit_bytes: int = 1024 * MIB, workers: int = 1, max_attempts: int = 3, start: bool = True
    ) -> None:
        self.scheduler = Scheduler(
            limit_bytes=limit_bytes,
            synthesis_workers=workers,
            segment_prefix=PREFIX,
            max_attempts=max_attempts,
        )
        self.limit_bytes = limit_bytes
        self.processes: dict[tuple[Role, int], Process] = {}
        self.incarnations = 0
        self.segments: dict[str, Shm] = {}
        self.names: set[str] = set()
        self.jobs: dict[int, events.JobAccepted] = {}
        self.ends: dict[int, events.CompleteJob | events.FailJob] = {}
        self.log: list[Command] = []
        if start:
            self.up(Role.GPU)
            for index in range(workers):
                self.up(Role.SYNTHESIS, index)

    # ---- what can happen

    def feed(self, event: Event) -> list[Command]:
        """Have the scheduler hear an event, and take each of its commands literally."""
        commands = self.scheduler.handle(event)
        for command in commands:
            self.log.append(command)
            self._take(command)
        self.scheduler.validate()
        return commands

    def submit(
        self, size_bytes: int = MIB, partitions: int = 1, uid: int = 1000, *, checked: bool = True
    ) -> int:
        job = len(self.jobs) + 1
        self.jobs[job] = events.JobAccepted(job, uid, circuit(size_bytes), partitions, checked)
        self.feed(self.jobs[job])
        return job

    def cancel(self, job: int) -> list[Command]:
        return self.feed(events.JobCancelled(job))

    def up(self, role: Role, index: int = 0) -> Worker:
        self.incarnations += 1
        worker = Worker(role, index, self.incarnations)
        self.processes[role, index] = Process(worker)
        self.feed(events.WorkerUp(worker))
        return worker

    def kill(self, role: Role, index: int = 0, reason: str = "signal 9") -> list[Command]:
        process = self.processes.pop((role, index))
        return self.feed(events.WorkerDown(process.worker, reason))

    def stick(self, role: Role, index: int = 0, reason: str = "in the kernel") -> list[Command]:
        """A process cannot be ended: it may touch what it has, and says and gets nothing."""
        process = self.processes[role, index]
        process.stuck = True
        return self.feed(events.WorkerStuck(process.worker, reason))

    def report(self, process: Process, order: Order, phase: Phase = Phase.SYNTHESIS) -> None:
        self.feed(events.PhaseReported(process.worker, order.partition, phase))

    def prepare(self, segment: str) -> list[Command]:
        gpu = self.gpu
        gpu.to_prepare.remove(segment)
        self.segments[segment].prepared_by = gpu.worker
        return self.feed(events.SegmentPrepared(gpu.worker, segment, pinned=True))

    def fail_segment(self, segment: str, error: CuzkdError) -> list[Command]:
        self.gpu.to_prepare.remove(segment)
        return self.feed(events.SegmentFailed(segment, error, self.gpu.worker))

    def synthesize(self, index: int = 0) -> list[Command]:
        process = self.processes[Role.SYNTHESIS, index]
        [order] = process.orders
        process.orders.clear()
        self.segments[order.handle.segment].content = (order.partition, order.handle.generation)
        return self.feed(events.Synthesized(process.worker, order.partition, order.handle))

    def drain(self, order: Order) -> list[Command]:
        order.drained = True
        return self.feed(events.SegmentDrained(self.gpu.worker, order.handle))

    def prove(self, order: Order) -> list[Command]:
        self.gpu.orders.remove(order)
        proof = str(order.partition).encode()
        return self.feed(events.Proved(self.gpu.worker, order.partition, proof, b"public " + proof))

    def fail(self, process: Process, order: Order, error: CuzkdError) -> list[Command]:
        process.orders.remove(order)
        return self.feed(events.PartitionFailed(process.worker, order.partition, error))

    def settle(self) -> None:
        """Let everything that can happen well happen, until nothing more can."""
        while self._one_good_step():
            pass

    def _one_good_step(self) -> bool:
        gpu = self.processes.get((Role.GPU, 0))
        if gpu is not None and gpu.stuck:
            gpu = None
        if gpu is not None and gpu.to_prepare:
            self.prepare(gpu.to_prepare[0])
        elif gpu is not None and gpu.orders:
            order = gpu.orders[0]
            if not order.drained:
                self.drain(order)
            self.prove(order)
        else:
            busy = [
                p
                for (role, _), p in self.processes.items()
                if role is Role.SYNTHESIS and p.orders and not p.stuck
            ]
            if not busy:
                return False
            self.synthesize(busy[0].worker.index)
        return True

    # ---- what tests look at

    @property
    def gpu(self) -> Process:
        return self.processes[Role.GPU, 0]

    def synthesis(self, index: int = 0) -> Process:
        return self.processes[Role.SYNTHESIS, index]

    def started(self) -> list[str]:
        """Partitions in the order in which their syntheses started, retries included."""
        return [str(c.partition) for c in self.log if isinstance(c, events.Synthesize)]

    def proving(self) -> list[str]:
        return [str(order.partition) for order in self.gpu.orders]

    def error_of(self, job: int) -> CuzkdError:
        end = self.ends[job]
        assert isinstance(end, events.FailJob)
        return end.error

    def touched(self) -> list[str]:
        """The segments that a live process may be reading or writing."""
        return [o.handle.segment for p in self.processes.values() for o in p.orders if not o.drained]

    # ---- commands

    def _take(self, command: Command) -> None:
        match command:
            case events.CreateSegment(segment, size_bytes):
                assert segment not in self.names, "a segment's name is used twice"
                self.names.add(segment)
                self.segments[segment] = Shm(size_bytes)
                assert sum(s.size_bytes for s in self.segments.values()) <= self.limit_bytes
                self.gpu.to_prepare.append(segment)
            case events.PrepareSegment(worker, segment, size_bytes):
                assert worker == self.gpu.worker
                assert self.segments[segment].size_bytes == size_bytes
                assert self.segments[segment].prepared_by != worker, "it is prepared already"
                self.gpu.to_prepare.append(segment)
            case events.UnlinkSegment(segment):
                assert segment not in self.touched(), "a segment is unlinked that somebody may touch"
                del self.segments[segment]
            case events.Synthesize(worker, partition, _, handle):
                process = self._alive(worker)
                assert not process.orders, "a synthesis worker gets a second partition"
                self._check_lease(handle, worker.incarnation)
                process.orders.append(Order(partition, handle))
            case events.Prove(worker, partition, _, handle):
                process = self._alive(worker)
                assert len(process.orders) < 2, "the gpu process gets too many partitions"
                self._check_lease(handle, handle.incarnation)
                content = self.segments[handle.segment].content
                assert content == (partition, handle.generation), "the segment holds something else"
                process.orders.append(Order(partition, handle))
            case events.CompleteJob(job, proofs, publics):
                accepted = self._end(command, job)
                expected = tuple(f"{job}.{index}".encode() for index in range(accepted.partitions))
                assert proofs == expected, "the proofs are not those of the partitions, in order"
                assert publics == tuple(b"public " + proof for proof in expected)
            case events.FailJob(job):
                self._end(command, job)

    def _alive(self, worker: Worker) -> Process:
        process = self.processes[worker.role, worker.index]
        assert process.worker == worker, "a command for a dead process"
        assert not process.stuck, "a command for a process that is stuck"
        return process

    def _check_lease(self, handle: Handle, incarnation: int) -> None:
        segment = self.segments[handle.segment]
        assert segment.prepared_by == self.gpu.worker, "the live gpu process has not prepared the segment"
        assert handle.size_bytes <= segment.size_bytes
        assert handle.incarnation == incarnation
        assert handle.segment not in self.touched(), "two processes get the same segment"

    def _end(self, command: events.CompleteJob | events.FailJob, job: int) -> events.JobAccepted:
        assert job not in self.ends, "a job ends twice"
        self.ends[job] = command
        return self.jobs[job]
