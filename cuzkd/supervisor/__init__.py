"""The supervisor process: owns all state, starts and watches the other processes, serves the clients."""

from __future__ import annotations

from cuzkd.supervisor.daemon import run

__all__ = ["run"]
