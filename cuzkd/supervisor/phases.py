"""How long the phases of partitions take, as their processes report them."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable

from cuzkd.model import PartitionId, Phase


class PhaseTimes:
    """Seconds and counts of phases that have ended, by phase. One that a death cut short is not counted."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.seconds: Counter[Phase] = Counter()
        self.ended: Counter[Phase] = Counter()
        self._clock = clock
        self._since: dict[PartitionId, tuple[Phase, float]] = {}

    def entered(self, partition: PartitionId, phase: Phase | None) -> None:
        """A partition enters a phase, which ends the one before, or (None) has its proof."""
        now = self._clock()
        before, since = self._since.pop(partition, (None, now))
        if before is not None and before is not phase and phase is not Phase.SYNTHESIS:
            # a float: Counter's annotation says int, but sums of seconds are what is wanted
            self.seconds[before] += now - since  # type: ignore[assignment]
            self.ended[before] += 1
        if phase is not None:
            self._since[partition] = (phase, now)

    def forget(self, job: int) -> None:
        """Forget what the partitions of a job that ended early were doing."""
        for partition in [each for each in self._since if each.job == job]:
            del self._since[partition]
