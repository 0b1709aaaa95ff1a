"""Which backend the gpu process is started with; decided once, at start, and never after a fault."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cuzkd.config import Backend
from cuzkd.errors import BadConfig


@dataclass(frozen=True, slots=True)
class Choice:
    """The backend, and why it is not the one that the machine would allow, if so."""

    backend: Backend
    degraded: str | None


def choose(configured: Backend, devices: Path = Path("/dev")) -> Choice:
    """The backend to start. `BadConfig` for `cuda`, which this version does not have."""
    if configured is Backend.CUDA:
        raise BadConfig(
            'backend = "cuda": this build has the host backend only', advice='set it to "auto" or "host"'
        )
    if configured is Backend.AUTO and any(devices.glob("nvidia[0-9]*")):
        return Choice(
            Backend.HOST, "the machine has an NVIDIA device, but this build has the host backend only"
        )
    return Choice(Backend.HOST, None)
