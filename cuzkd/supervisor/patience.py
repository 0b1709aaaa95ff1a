"""How long a child may be at the same point: a deadline for each phase, which every step of its work begins anew.

The deadlines are the supervisor's own: from the size of the circuit, as the scheduler knows it, and the configured
times. A child says what it does and counts its steps; one that does not speak at all makes none.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from cuzkd.config import Limits
from cuzkd.ipc.orders import Heartbeat
from cuzkd.model import SCALAR_BYTES, CircuitShape, PartitionId, Phase

SILENCE_S = 30.0
_ELEMENTS_OF_PHASE_TIME: Final = 1 << 19
"""So large a step may take twice the time of the smallest: 115 µs an element at 60 s, where a slow core takes ten."""

_BYTES_OF_ELEMENT: Final = 4 * SCALAR_BYTES  # of a, b, c and z
_UNKNOWN_SIZE: Final = 30  # for work whose size only the child knows: files being kept, keys loaded on demand


@dataclass(frozen=True, slots=True)
class Doing:
    """What a child says that it does: a phase of a partition, or of an ingest order's ticket, or of neither."""

    phase: Phase
    partition: PartitionId | None = None
    ticket: int | None = None

    @classmethod
    def of(cls, beat: Heartbeat) -> Doing | None:
        """What the heartbeat says; None for a child that has nothing to do."""
        return None if beat.phase is None else cls(beat.phase, beat.partition, beat.ticket)


@dataclass(frozen=True, slots=True)
class Patience:
    """The deadline of a step. `shape_of` knows the circuits of partitions that are under way."""

    limits: Limits
    pool_bytes: int
    shape_of: Callable[[PartitionId], CircuitShape | None]

    def seconds(self, doing: Doing) -> float:
        """How long a child may do this without a step."""
        limits = self.limits
        if doing.phase is Phase.READ:
            return limits.read_stall_s
        if doing.phase is Phase.PREPARE:
            return self._scaled(self.pool_bytes // _BYTES_OF_ELEMENT)
        shape = None if doing.partition is None else self.shape_of(doing.partition)
        if shape is None:
            return limits.phase_time_s * _UNKNOWN_SIZE
        at_least = self._scaled(max(shape.domain_size, shape.rows, shape.num_vars))
        # the witness program has a deadline of its own, which is the client's to hear of
        return at_least + (limits.witness_time_s if doing.phase is Phase.SYNTHESIS else 0.0)

    def _scaled(self, elements: int) -> float:
        return self.limits.phase_time_s * (1 + elements / _ELEMENTS_OF_PHASE_TIME)


class Watch:
    """What is known of one life of a child. Times are of the monotonic clock, in seconds."""

    def __init__(self, now: float) -> None:
        self.doing: Doing | None = None
        self._steps = 0
        self._heard_at = now
        self._since = now

    def hear(self, now: float) -> None:
        """The child has said something."""
        self._heard_at = now

    def beat(self, now: float, doing: Doing | None, steps: int) -> None:
        """The child has said what it does, and how many steps it has made in its life."""
        if (doing, steps) != (self.doing, self._steps):
            self._since = now
        self.doing, self._steps = doing, steps

    def done(self, now: float) -> None:
        """The child has done what it did."""
        self.doing = None
        self._since = now

    def forgive(self, now: float) -> None:
        """Nobody has listened for a while: begin anew."""
        self._heard_at = self._since = now

    def overdue(self, now: float, patience: Patience) -> str | None:
        """Why the child has to be ended, if it has."""
        if self.doing is not None:
            limit_s = patience.seconds(self.doing)
            if now - self._since > limit_s:
                return f"no progress in {self.doing.phase} for {limit_s:.3g} s"
        if now - self._heard_at > SILENCE_S:
            return f"silent for {SILENCE_S:g} s"
        return None
