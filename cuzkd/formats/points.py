"""Points on their way into a key file, a piece at a time, so that no query need be in memory as a whole."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np
import numpy.typing as npt


def whole(points: PointSource | npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """All points of a query that is small enough to be in memory, (n, width)."""
    return points if isinstance(points, np.ndarray) else np.concatenate(list(points.pieces()))


class PointSource(Protocol):
    """A query of a key: how many points, and they themselves."""

    @property
    def count(self) -> int:
        """How many points there are."""

    def pieces(self) -> Iterator[npt.NDArray[np.uint64]]:
        """All points in order, (n, width) affine Montgomery, a bounded number at a time."""
