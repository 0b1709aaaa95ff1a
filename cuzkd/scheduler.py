"""The scheduler: hears events, answers commands, and decides everything in between without doing any of it.

No clock, socket, process or thread: `handle` is the only way in, and the same events give the same commands.
A job's steps are in `partitions`, whose turn it is in `turns`, who works in `stages`, the segments in
`memory`.

Three rules hold it together. A synthesis starts only into a segment that is leased to it, so the pool is the
throttle. A lease ends only by its holder's report or its holder's death. What a dead process says is stale:
dropped and counted.
"""

from __future__ import annotations

from bisect import insort
from dataclasses import dataclass
from typing import Final

from cuzkd import errors, events, invariants
from cuzkd.errors import CuzkdError, InvalidTransition
from cuzkd.events import Command, Event, Worker
from cuzkd.ipc.handle import Handle
from cuzkd.memory import Memory, Wait
from cuzkd.model import PartitionId, Role
from cuzkd.partitions import Job, Partition, PartitionState
from cuzkd.stages import Stage, Stages
from cuzkd.turns import Turns

GPU_DEPTH: Final = 2
_WRONG_PROOFS_MAX: Final = 2


@dataclass(slots=True)
class Counters:
    """What has happened since the start, for status and metrics."""

    jobs_done: int = 0
    jobs_failed: int = 0
    jobs_cancelled: int = 0
    partitions_proved: int = 0
    partitions_retried: int = 0


class Scheduler:
    """Decides what runs where. Its public attributes may be read for status; only `handle` changes them."""

    def __init__(
        self,
        *,
        limit_bytes: int,
        synthesis_workers: int,
        segment_prefix: str,
        max_attempts: int = 3,
        gpu_depth: int = GPU_DEPTH,
    ) -> None:
        self.jobs: dict[int, Job] = {}
        self.stages = Stages()
        self.memory = Memory(limit_bytes, synthesis_workers + gpu_depth, segment_prefix)
        self.counters = Counters()
        self.device_suspect = False
        self._max_attempts = max_attempts
        self._gpu_depth = gpu_depth
        self._turns = Turns()
        self._ready: list[Partition] = []
        self._accepted = 0
        self._readied = 0
        self._out: list[Command] = []

    @property
    def idle(self) -> bool:
        """Whether every job has ended and nothing of one runs any more."""
        return not self.jobs and not any(stage.partitions for stage in self.stages)

    @property
    def stale(self) -> int:
        """How many events of dead processes, and handles of ended leases, were dropped."""
        return self.stages.stale + self.memory.pool.stale

    def handle(self, event: Event) -> list[Command]:
        """Take one event and answer what to do, in order; `InvalidTransition` if it cannot have happened."""
        self._out = []
        stale = self.stages.stale
        match event:
            case events.JobAccepted():
                self._accept(event)
            case events.JobCancelled():
                self._cancel(event.job)
            case events.WorkerUp():
                self._worker_up(event.worker)
            case events.WorkerDown():
                self._worker_down(event)
            case events.WorkerStuck():
                self._worker_stuck(event)
            case events.PhaseReported():
                self._phase_reported(event)
                return []
            case events.SegmentPrepared():
                self._segment_prepared(event)
            case events.SegmentFailed():
                self._segment_failed(event)
            case events.Synthesized():
                self._synthesized(event)
            case events.PartitionFailed():
                self._partition_failed(event)
            case events.SegmentDrained():
                self._segment_drained(event)
            case events.Proved():
                self._proved(event)
        if self.stages.stale == stale:  # what is dropped changes nothing
            self._prove()
            self._synthesize()
        return self._out

    def validate(self) -> None:
        """Check every invariant; AssertionError names the first that does not hold."""
        invariants.check_partitions(self.jobs, self._turns, self._ready, self.stages)
        invariants.check_leases(self._ready, self.stages, self.memory)
        gpu = self.stages.gpu
        assert gpu is None or len(gpu.partitions) <= self._gpu_depth, "the gpu process has too many"

    # ---- jobs

    def _accept(self, event: events.JobAccepted) -> None:
        if event.job in self.jobs or event.partitions < 1:
            raise InvalidTransition(f"job {event.job} of {event.partitions} partitions cannot be accepted")
        job = Job.of(event, order=self._accepted, max_attempts=self._max_attempts)
        self._accepted += 1
        self.jobs[job.id] = job
        self._turns.join(job)
        need, limit = job.layout.size_bytes, self.memory.limit_bytes
        if need > limit:  # the layout is of whole pages
            told = f"a partition needs a segment of {need} bytes, and pool.limit is {limit} bytes"
            self._fail(job, errors.TooLarge(told))

    def _cancel(self, number: int) -> None:
        job = self.jobs.get(number)
        if job is not None:
            self._end(job, errors.Cancelled("the job was cancelled"))
            self.counters.jobs_cancelled += 1

    def _fail(self, job: Job, error: CuzkdError) -> None:
        self._end(job, error)
        self.counters.jobs_failed += 1

    def _end(self, job: Job, error: CuzkdError) -> None:
        """End a job early: what waits of it is dropped now, what runs when its worker has reported it."""
        del self.jobs[job.id]
        self._turns.leave(job)
        for partition in job.partitions:
            if partition.state is PartitionState.READY:
                self._ready.remove(partition)
                self._release(partition)
            partition.move(PartitionState.DROPPED, f"the job ended: {error.code}")
        self._out.append(events.FailJob(job.id, error))

    def _requeue(self, partition: Partition, because: str) -> None:
        """Have a partition start over, at its old place and with its uid's turn given back."""
        partition.move(PartitionState.QUEUED, because)
        partition.job.put_back(partition)
        self._turns.join(partition.job, keep_turn=True)
        self.counters.partitions_retried += 1

    def _charge(self, partition: Partition, failure: str, error: CuzkdError | None = None) -> None:
        """Count an attempt; the last one fails the job, with what the worker said if it said something."""
        partition.failures = (*partition.failures, failure)
        if len(partition.failures) >= self._max_attempts:
            died = errors.Poisoned("; ".join(partition.failures))
            self._fail(partition.job, partition.named(error or died))

    # ---- workers

    def _worker_up(self, worker: Worker) -> None:
        if worker.role is not Role.INGEST and self.stages.up(worker) and worker.role is Role.GPU:
            holding = [p.handle.segment for p in self._ready if p.handle is not None]
            self._out.extend(self.memory.gpu_up(worker, holding))

    def _worker_down(self, event: events.WorkerDown) -> None:
        if event.worker.role is Role.INGEST:
            return
        stage = self.stages.down(event.worker)
        if stage is None:
            return
        because = f"its {event.worker.role} process died ({event.reason})"
        if event.worker.role is Role.GPU:
            self.memory.gpu_down()
        self._blame(stage, because)
        for partition in stage.partitions.values():
            self._lost(partition, because)
        self._out.extend(self.memory.reclaim(event.worker))

    def _worker_stuck(self, event: events.WorkerStuck) -> None:
        """Begin its partitions anew, elsewhere: what it holds stays its own until it is down."""
        stage = self.stages.live(event.worker)
        if stage is None or stage.stuck:
            return
        because = f"its {event.worker.role} process cannot be ended ({event.reason})"
        self._blame(stage, because)
        for partition in stage.give_up():
            if partition.live:
                self._requeue(partition, because)

    def _blame(self, stage: Stage, because: str) -> None:
        """Charge an attempt to the partition that the worker last reported a phase of."""
        if stage.reported is not None:
            blamed, phase = stage.partitions[stage.reported[0]], stage.reported[1]
            if blamed.live:
                self._charge(blamed, f"{because} in {phase}")

    def _lost(self, partition: Partition, because: str) -> None:
        """The partition's process is dead. A segment that the gpu had not read to its end is still good."""
        if partition.state is PartitionState.PROVING and partition.handle is not None:
            self.memory.hand_over(partition.handle, None)
            self._make_ready(partition, because)
            self.counters.partitions_retried += 1
            return
        partition.handle = None
        if partition.live:
            self._requeue(partition, because)

    def _phase_reported(self, event: events.PhaseReported) -> None:
        if (found := self.stages.held(event.worker, event.partition)) is not None:
            found[0].reported = (event.partition, event.phase)

    # ---- segments

    def _segment_prepared(self, event: events.SegmentPrepared) -> None:
        if self.stages.live(event.worker) is None:
            return
        if self.memory.expects(event.segment):
            self.memory.prepared(event.segment, pinned=event.pinned)
        else:
            self.stages.stale += 1

    def _segment_failed(self, event: events.SegmentFailed) -> None:
        """Carry on with the memory that there is; the jobs that it cannot serve fail."""
        if event.worker is not None and self.stages.live(event.worker) is None:
            return
        if not self.memory.expects(event.segment):
            self.stages.stale += 1
            return
        if event.worker is None and isinstance(event.error, errors.Unavailable):
            self.memory.name_taken(event.segment)
            return
        for partition in [p for p in self._ready if p.handle and p.handle.segment == event.segment]:
            self._ready.remove(partition)
            self._release(partition)
            self._requeue(partition, "its segment failed")
        self._out.extend(self.memory.failed(event.segment))
        for job in [job for job in self._turns if not self.memory.can_fit(job.layout.size_bytes)]:
            told = f"no shared memory for {job.layout.size_bytes} bytes: {event.error.message}"
            self._fail(job, errors.ResourceExhausted(told))

    def _segment_drained(self, event: events.SegmentDrained) -> None:
        stage = self.stages.live(event.worker)
        if stage is None:
            return
        partition = stage.holder_of(event.handle)
        if partition is None:
            self.stages.stale += 1
        else:
            self._release(partition)

    def _release(self, partition: Partition) -> None:
        if partition.handle is not None:
            self._out.extend(self.memory.release(partition.handle))
            partition.handle = None

    # ---- results

    def _synthesized(self, event: events.Synthesized) -> None:
        found = self.stages.held(event.worker, event.partition)
        if found is None:
            return
        stage, partition = found
        if partition.handle != event.handle:
            self.stages.stale += 1
            return
        stage.end(partition)
        if not partition.live:
            self._release(partition)
        elif self.memory.is_retired(event.handle):
            self._release(partition)
            self._requeue(partition, "its segment failed")
        else:
            self.memory.hand_over(event.handle, None)
            self._readied += 1
            partition.ready_order = self._readied
            self._make_ready(partition, "synthesized")

    def _make_ready(self, partition: Partition, because: str) -> None:
        partition.move(PartitionState.READY, because)
        insort(self._ready, partition, key=lambda p: p.ready_order)

    def _through_with(self, worker: Worker, number: PartitionId) -> Partition | None:
        """The worker is through with a partition and its segment; the partition, if its job has not ended."""
        found = self.stages.held(worker, number)
        if found is None:
            return None
        stage, partition = found
        stage.end(partition)
        self._release(partition)
        return partition if partition.live else None

    def _proved(self, event: events.Proved) -> None:
        partition = self._through_with(event.worker, event.partition)
        if partition is None:
            return
        partition.move(PartitionState.DONE, "proved")
        partition.result = (event.proof, event.public)
        self.counters.partitions_proved += 1
        job = partition.job
        job.done += 1
        if job.done == len(job.partitions):
            del self.jobs[job.id]
            self.counters.jobs_done += 1
            results = [p.result for p in job.partitions if p.result is not None]
            proofs, publics = zip(*results, strict=True)
            self._out.append(events.CompleteJob(job.id, proofs, publics))

    def _partition_failed(self, event: events.PartitionFailed) -> None:
        """The worker is through with the partition and its segment, and says why it could not do it."""
        partition = self._through_with(event.worker, event.partition)
        if partition is None:
            return
        error = event.error
        if isinstance(error, errors.Refused):
            self._fail(partition.job, partition.named(error))
        elif isinstance(error, errors.WrongProof):
            partition.wrong_proofs += 1
            if partition.wrong_proofs >= _WRONG_PROOFS_MAX:
                self.device_suspect |= partition.job.checked
                self._fail(partition.job, partition.named(error))
            else:
                self._requeue(partition, "its proof was wrong")
        else:
            self._charge(partition, f"{error.code}: {error.message}", error)
            if partition.live:
                self._requeue(partition, error.code)

    # ---- what can start now

    def _prove(self) -> None:
        """Send the oldest ready partitions to the gpu process; one on its last chance goes alone."""
        gpu = self.stages.gpu
        if gpu is None or gpu.stuck:
            return
        for partition in [p for p in self._ready if p.handle and self.memory.is_prepared(p.handle)]:
            alone = partition.last_chance or any(p.last_chance for p in gpu.partitions.values())
            if len(gpu.partitions) >= (1 if alone else self._gpu_depth):
                return
            assert partition.handle is not None
            self._ready.remove(partition)
            self.memory.hand_over(partition.handle, gpu.worker)
            gpu.begin(partition)
            partition.move(PartitionState.PROVING, "sent to the gpu process")
            circuit = partition.job.circuit
            self._out.append(events.Prove(gpu.worker, partition.id, circuit, partition.handle))

    def _synthesize(self) -> None:
        """Start what can start; once more if that brought back memory that had been given up, for those before."""
        if self.stages.gpu is None or self.stages.gpu.stuck:
            return
        limit_bytes = self.memory.pool.limit_bytes
        self._synthesize_in_turn()
        if self.memory.pool.limit_bytes > limit_bytes:
            self._synthesize_in_turn()

    def _synthesize_in_turn(self) -> None:
        """Start what has a segment and a worker; set segments aside, or have them made, for what is next.

        A partition may overtake one that waits for memory, but not take the memory that that one is next for.
        """
        idle = self.stages.idle_synthesis()
        self.memory.begin_round(min((job.layout.size_bytes for job in self._turns), default=0))
        in_vain: set[int] = set()
        for job in list(self._turns.upcoming(self.memory.max_segments)):
            need = job.layout.size_bytes
            if need in in_vain:
                continue
            handle = self.memory.lease(job.layout, idle[0].worker) if idle else None
            if handle is not None:
                self._start(job, idle.pop(0), handle)
                continue
            match self.memory.set_aside(need, startable=bool(idle)):
                case Wait.FOR_A_LEASE_TO_END:
                    in_vain.add(need)
                case Wait.FOR_ALL_THAT_COMES_FREE:
                    return
                case commands:
                    self._out.extend(commands)

    def _start(self, job: Job, stage: Stage, handle: Handle) -> None:
        partition = job.take_lowest()
        self._turns.spend(job)
        partition.handle = handle
        stage.begin(partition)
        partition.move(PartitionState.SYNTHESIZING, f"leased {handle.segment}")
        self._out.append(events.Synthesize(stage.worker, partition.id, job.circuit, handle))
