"""cuzkd: a Groth16 proving daemon. `cuzkd.Client` talks to it; loading this package loads nothing else."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cuzkd.client import (
        CircuitInfo,
        Client,
        JobInfo,
        JobListing,
        JobState,
        JobStatus,
        PointChecks,
        Progress,
        Result,
    )

    __version__: str

__all__ = [
    "CircuitInfo",
    "Client",
    "JobInfo",
    "JobListing",
    "JobState",
    "JobStatus",
    "PointChecks",
    "Progress",
    "Result",
    "__version__",
]


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        return version("cuzkd")
    if name in __all__:
        from cuzkd import client

        return getattr(client, name)
    raise AttributeError(f"module 'cuzkd' has no attribute {name!r}")
