"""Any order of jobs, deaths, failures and delays: every job ends exactly once and all leases come home.

Each step is checked by the scheduler's own invariants and by the world, which takes every command literally.
About 10 000 events by default; for a long run: `CUZKD_SCHEDULER_EVENTS=1000000 pytest --timeout=0
tests/scheduler/test_stateful.py`.
"""

import os
import random

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from cuzkd import events
from cuzkd.errors import BadWitness, CuzkdError, InternalError, ResourceExhausted, WrongProof
from cuzkd.model import Phase, Role
from tests.scheduler.world import MIB, Order, Process, World

EVENTS = int(os.environ.get("CUZKD_SCHEDULER_EVENTS", "10000"))
STEPS = 60
LIMIT = 8 * MIB
ERRORS: list[CuzkdError] = [
    BadWitness("row 3"),
    WrongProof("does not verify"),
    InternalError("a bug"),
    ResourceExhausted("out of device memory"),
]
NO_SPACE = ResourceExhausted("no space left on /dev/shm")
SIZES = [MIB, MIB + 16384, 2 * MIB, 3 * MIB, 6 * MIB, 8 * MIB, 12 * MIB]
picks = st.integers(0, 1 << 16)


class Chaos(World):
    """A world in which a number decides what happens next, and shared memory may be less than configured."""

    def __init__(self, *, workers: int, max_attempts: int, shm_bytes: int) -> None:
        super().__init__(limit_bytes=LIMIT, workers=workers, max_attempts=max_attempts, start=False)
        self.workers = workers
        self.shm_bytes = shm_bytes
        self.dead_says: list[events.Event] = []

    def prepare_one(self, pick: int) -> None:
        """The gpu process prepares a segment, or cannot because shared memory is full."""
        segment = self.gpu.to_prepare[pick % len(self.gpu.to_prepare)]
        taken = sum(s.size_bytes for name, s in self.segments.items() if name not in self.gpu.to_prepare)
        if taken + self.segments[segment].size_bytes > self.shm_bytes:
            self.fail_segment(segment, NO_SPACE)
        else:
            self.prepare(segment)

    def held(self) -> list[tuple[Process, Order]]:
        return [(process, order) for process in self.processes.values() for order in process.orders]

    def down(self) -> list[tuple[Role, int]]:
        slots = [(Role.GPU, 0), *((Role.SYNTHESIS, index) for index in range(self.workers))]
        return [slot for slot in slots if slot not in self.processes]

    def kill_one(self, pick: int) -> None:
        """A process dies; what it was about to say is said after its death."""
        role, index = sorted(self.processes)[pick % len(self.processes)]
        process = self.processes[role, index]
        for order in process.orders:
            self.dead_says.append(events.PartitionFailed(process.worker, order.partition, ERRORS[0]))
            if role is Role.GPU:
                self.dead_says.append(events.Proved(process.worker, order.partition, b"", b""))
                self.dead_says.append(events.SegmentDrained(process.worker, order.handle))
            else:
                self.dead_says.append(events.Synthesized(process.worker, order.partition, order.handle))
        self.kill(role, index)

    def finish(self) -> None:
        """Everything works again; what can happen happens."""
        self.shm_bytes = LIMIT
        for role, index in self.down():
            self.up(role, index)
        self.settle()

    def check_the_end(self) -> None:
        assert self.ends.keys() == self.jobs.keys(), "a job has not ended"
        assert self.scheduler.idle
        assert not self.scheduler.jobs
        assert not self.scheduler.memory.holders(), "a lease has not come home"
        live = {name for name, segment in self.segments.items() if segment.prepared_by == self.gpu.worker}
        assert live == set(self.segments), "a segment is not prepared"
        assert {s.name for s in self.scheduler.memory.pool} == live, "a segment is forgotten"


class SchedulerMachine(RuleBasedStateMachine):
    """Hypothesis chooses what happens, and shrinks what goes wrong."""

    @initialize(
        workers=st.integers(1, 3),
        max_attempts=st.integers(1, 3),
        shm=st.sampled_from([LIMIT, LIMIT // 2, MIB]),
    )
    def start(self, workers: int, max_attempts: int, shm: int) -> None:
        self.world = Chaos(workers=workers, max_attempts=max_attempts, shm_bytes=shm)

    @rule(size_bytes=st.sampled_from(SIZES), partitions=st.integers(1, 6), uid=st.integers(0, 2))
    def submit(self, size_bytes: int, partitions: int, uid: int) -> None:
        self.world.submit(size_bytes, partitions, uid)

    @precondition(lambda self: self.world.jobs)
    @rule(pick=picks)
    def cancel(self, pick: int) -> None:
        self.world.cancel(pick % len(self.world.jobs) + 1)

    @precondition(lambda self: self.world.down())
    @rule(pick=picks)
    def up(self, pick: int) -> None:
        down = self.world.down()
        self.world.up(*down[pick % len(down)])

    @precondition(lambda self: (Role.GPU, 0) in self.world.processes and self.world.gpu.to_prepare)
    @rule(pick=picks)
    def prepare(self, pick: int) -> None:
        self.world.prepare_one(pick)

    @precondition(lambda self: self.world.held())
    @rule(pick=picks)
    def advance(self, pick: int) -> None:
        held = self.world.held()
        process, order = held[pick % len(held)]
        if process.worker.role is Role.SYNTHESIS:
            self.world.synthesize(process.worker.index)
        elif order.drained or pick % 7 == 0:
            self.world.prove(order)
        else:
            self.world.drain(order)

    @precondition(lambda self: self.world.held())
    @rule(pick=picks, phase=st.sampled_from(Phase))
    def report(self, pick: int, phase: Phase) -> None:
        held = self.world.held()
        self.world.report(*held[pick % len(held)], phase)

    @precondition(lambda self: self.world.held())
    @rule(pick=picks, error=st.sampled_from(ERRORS))
    def fail(self, pick: int, error: CuzkdError) -> None:
        held = self.world.held()
        self.world.fail(*held[pick % len(held)], error)

    @precondition(lambda self: self.world.processes)
    @rule(pick=picks)
    def kill(self, pick: int) -> None:
        self.world.kill_one(pick)

    @precondition(lambda self: self.world.dead_says)
    @rule(pick=picks)
    def hear_the_dead(self, pick: int) -> None:
        event = self.world.dead_says.pop(pick % len(self.world.dead_says))
        stale = self.world.scheduler.stale
        assert self.world.feed(event) == []
        assert self.world.scheduler.stale == stale + 1

    @rule(shm=st.sampled_from([LIMIT, LIMIT // 2, MIB, 0]))
    def let_memory_change(self, shm: int) -> None:
        self.world.shm_bytes = shm

    @rule()
    def let_all_go_well(self) -> None:
        self.world.finish()
        self.world.check_the_end()

    def teardown(self) -> None:
        if hasattr(self, "world"):
            self.world.finish()
            self.world.check_the_end()


TestAnyOrder = SchedulerMachine.TestCase
TestAnyOrder.settings = settings(
    max_examples=max(1, EVENTS // STEPS),
    stateful_step_count=STEPS,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


def test_a_long_random_life_under_load_ends_well() -> None:
    """Where the machine above tries short lives, this is one long one with a backlog of jobs."""
    chance = random.Random(20)
    world = Chaos(workers=3, max_attempts=2, shm_bytes=LIMIT)
    for step in range(EVENTS):
        held, down = world.held(), world.down()
        if len(world.jobs) - len(world.ends) < 12:
            world.submit(chance.choice(SIZES[:-1]), chance.randrange(1, 9), chance.randrange(4))
        elif down and chance.random() < 0.5:
            world.up(*chance.choice(down))
        elif (Role.GPU, 0) in world.processes and world.gpu.to_prepare and chance.random() < 0.5:
            world.prepare_one(chance.randrange(1 << 16))
        elif world.processes and chance.random() < 0.02:
            world.kill_one(chance.randrange(1 << 16))
        elif held and (fate := chance.random()) < 0.9:
            process, order = chance.choice(held)
            if fate < 0.02:
                world.fail(process, order, chance.choice(ERRORS))
            elif fate < 0.2:
                world.report(process, order)
            elif process.worker.role is Role.SYNTHESIS:
                world.synthesize(process.worker.index)
            elif order.drained:
                world.prove(order)
            else:
                world.drain(order)
        else:
            world.shm_bytes = chance.choice([LIMIT, LIMIT, LIMIT, LIMIT // 2])
        if step % 1000 == 0:
            world.log.clear()
    world.finish()
    world.check_the_end()
    done = sum(isinstance(end, events.CompleteJob) for end in world.ends.values())
    assert done > len(world.ends) // 4, "almost nothing got through"
