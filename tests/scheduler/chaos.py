"""Lives of a scheduler in which anything may happen next: jobs, cancels, deaths, failures, delays, lack of memory.

Every event goes through `World`, which takes each command literally and checks all invariants after it. At the end
everything works again, and then every job must have ended once and every lease must have come home.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from cuzkd import events
from cuzkd.errors import BadWitness, CuzkdError, InternalError, ResourceExhausted, WrongProof
from cuzkd.model import Phase, Role
from tests.scheduler.world import MIB, Order, Process, World

LIMIT = 8 * MIB
ERRORS: list[CuzkdError] = [
    BadWitness("row 3"),
    WrongProof("does not verify"),
    InternalError("a bug"),
    ResourceExhausted("out of device memory"),
]
NO_SPACE = ResourceExhausted("no space left on /dev/shm")
SIZES = [MIB, MIB + 16384, 2 * MIB, 3 * MIB, 6 * MIB, 8 * MIB, 12 * MIB]


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
        return [
            (process, order)
            for process in self.processes.values()
            if not process.stuck
            for order in process.orders
        ]

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

    def advance(self, process: Process, order: Order, *, in_one: bool) -> None:
        """A process gets on with an order; a proof may come without word that the segment was read (`in_one`)."""
        if process.worker.role is Role.SYNTHESIS:
            self.synthesize(process.worker.index)
        elif order.drained or in_one:
            self.prove(order)
        else:
            self.drain(order)

    def hear_the_dead(self, pick: int) -> None:
        """Something that a dead process had to say arrives: it is counted, and nothing comes of it."""
        event = self.dead_says.pop(pick % len(self.dead_says))
        stale = self.scheduler.stale
        assert self.feed(event) == [], "a dead process is heard"
        assert self.scheduler.stale == stale + 1, "a dead process's word is not counted"

    def finish(self) -> None:
        """Everything works again; what can happen happens."""
        self.shm_bytes = LIMIT
        for (role, index), process in list(self.processes.items()):
            if process.stuck:
                self.kill(role, index)
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


def random_life(seed: int) -> Chaos:
    """One sequence of some dozens of events, the same for the same seed; its end is checked."""
    chance = random.Random(seed)
    world = Chaos(
        workers=chance.randint(1, 3),
        max_attempts=chance.randint(1, 3),
        shm_bytes=chance.choice([LIMIT, LIMIT, LIMIT // 2, MIB]),
    )
    doings = [doing for doing, weight in _DOINGS.items() for _ in range(weight)]
    for _ in range(chance.randint(5, 60)):
        chance.choice(doings)(world, chance)
    world.finish()
    world.check_the_end()
    return world


def _submit(world: Chaos, chance: random.Random) -> None:
    world.submit(chance.choice(SIZES), chance.randint(1, 4), chance.randrange(3))


def _cancel(world: Chaos, chance: random.Random) -> None:
    if world.jobs:
        world.cancel(chance.randint(1, len(world.jobs) + 1))


def _up(world: Chaos, chance: random.Random) -> None:
    if down := world.down():
        world.up(*chance.choice(down))


def _prepare(world: Chaos, chance: random.Random) -> None:
    if (Role.GPU, 0) in world.processes and world.gpu.to_prepare and not world.gpu.stuck:
        world.prepare_one(chance.randrange(1 << 16))


def _advance(world: Chaos, chance: random.Random) -> None:
    if held := world.held():
        world.advance(*chance.choice(held), in_one=chance.random() < 0.1)


def _report(world: Chaos, chance: random.Random) -> None:
    if held := world.held():
        world.report(*chance.choice(held), chance.choice(list(Phase)))


def _fail(world: Chaos, chance: random.Random) -> None:
    if held := world.held():
        world.fail(*chance.choice(held), chance.choice(ERRORS))


def _kill(world: Chaos, chance: random.Random) -> None:
    if world.processes:
        world.kill_one(chance.randrange(1 << 16))


def _stick(world: Chaos, chance: random.Random) -> None:
    if movable := [slot for slot, process in world.processes.items() if not process.stuck]:
        world.stick(*chance.choice(movable))


def _hear_the_dead(world: Chaos, chance: random.Random) -> None:
    if world.dead_says:
        world.hear_the_dead(chance.randrange(1 << 16))


def _change_memory(world: Chaos, chance: random.Random) -> None:
    world.shm_bytes = chance.choice([LIMIT, LIMIT // 2, MIB, 0])


_DOINGS: dict[Callable[[Chaos, random.Random], None], int] = {
    _submit: 4,
    _cancel: 2,
    _up: 6,
    _prepare: 6,
    _advance: 12,
    _report: 3,
    _fail: 3,
    _kill: 2,
    _stick: 1,
    _hear_the_dead: 2,
    _change_memory: 1,
}
"""What may happen next, and how often it does."""
