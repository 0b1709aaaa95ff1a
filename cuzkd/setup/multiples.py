"""A query of a key in the making: multiples of a generator, made piece by piece as the file is written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cuzkd.kernels.curve import Group
from cuzkd.kernels.fixed_base import multiples
from cuzkd.model import Curve

Scalars = npt.NDArray[np.uint64]

Report = Callable[[str, int, int], None]
"""Takes a stage, how many points are made and how many there will be (0: not known)."""


def unreported(stage: str, done: int, total: int) -> None:
    """The report that nobody reads."""
    del stage, done, total


POINTS_AT_ONCE = 1 << 18


class Tally:
    """How many of a key's points are made, over all its queries."""

    def __init__(self, report: Report = unreported) -> None:
        self._report = report
        self._done = 0
        self.total = 0

    def evaluating(self) -> None:
        """What comes before the points has begun."""
        self._report("evaluating the circuit", 0, 0)

    def expect(self, count: int) -> None:
        """So many points more are to be made."""
        self.total += count

    def add(self, what: str, count: int) -> None:
        """`count` points more are there, of a query called `what`."""
        self._done += count
        self._report(f"making points of {what}", self._done, self.total)


@dataclass(frozen=True, slots=True)
class Multiples:
    """scalars[i]·base for (n, 4) canonical scalars, as a `PointSource`."""

    name: str
    curve: Curve
    group: Group
    base: Scalars
    scalars: Scalars
    threads: int
    tally: Tally

    @property
    def count(self) -> int:
        """How many."""
        return len(self.scalars)

    def pieces(self) -> Iterator[Scalars]:
        """The points in order."""
        for begin in range(0, len(self.scalars), POINTS_AT_ONCE):
            piece = np.ascontiguousarray(self.scalars[begin : begin + POINTS_AT_ONCE])
            yield multiples(self.curve, self.group, piece, base=self.base, threads=self.threads)
            self.tally.add(self.name, len(piece))
