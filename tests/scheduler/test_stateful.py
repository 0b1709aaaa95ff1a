"""Any order of jobs, deaths, failures and delays: every job ends exactly once and all leases come home.

Each step is checked by the scheduler's own invariants and by the world, which takes every command literally.
Short sequences are made by a generator of numbers, for there are many; hypothesis makes fewer, and shrinks what
goes wrong. `scripts/soak-scheduler` tries as many sequences as one likes.
"""

import random

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from cuzkd import events
from cuzkd.errors import CuzkdError
from cuzkd.model import Phase, Role
from tests.scheduler.chaos import ERRORS, LIMIT, SIZES, Chaos, random_life
from tests.scheduler.world import MIB

SEQUENCES = 10_000
EVENTS = 6000
STEPS = 60
picks = st.integers(0, 1 << 16)


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
        self.world.advance(*held[pick % len(held)], in_one=pick % 7 == 0)

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
        self.world.hear_the_dead(pick)

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
            else:
                world.advance(process, order, in_one=False)
        else:
            world.shm_bytes = chance.choice([LIMIT, LIMIT, LIMIT, LIMIT // 2])
        if step % 1000 == 0:
            world.log.clear()
    world.finish()
    world.check_the_end()
    done = sum(isinstance(end, events.CompleteJob) for end in world.ends.values())
    assert done > len(world.ends) // 4, "almost nothing got through"


@pytest.mark.parametrize("tenth", range(10))
def test_ten_thousand_random_sequences_end_well(tenth: int) -> None:
    ends = [
        end
        for seed in range(tenth * SEQUENCES // 10, (tenth + 1) * SEQUENCES // 10)
        for end in random_life(seed).ends.values()
    ]
    done = sum(isinstance(end, events.CompleteJob) for end in ends)
    codes = {end.error.code for end in ends if isinstance(end, events.FailJob)}
    assert done > len(ends) // 10, "almost nothing got through"
    assert codes > {"cancelled", "poisoned", "too_large", "resource_exhausted", "bad_witness"}
