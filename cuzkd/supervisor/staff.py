"""Which processes the daemon has, what each is started with, and how many files may be open."""

from __future__ import annotations

import logging
import resource

from cuzkd.child import Settings
from cuzkd.config import Config
from cuzkd.model import Role
from cuzkd.supervisor.backend import Choice

_OWN_FILES = 512
_MOST_FILES = 1 << 16


def settings(config: Config, backend: Choice, lock_fd: int) -> list[Settings]:
    """One ingest process, the synthesis processes, one gpu process; all inherit `lock_fd`."""

    def of(role: Role, index: int, threads: int) -> Settings:
        return Settings(
            role=role,
            index=index,
            threads=threads,
            state_dir=config.state_dir,
            log_level=logging.getLevelName(logging.getLogger().level),
            backend=str(backend.backend),
            witness_seconds=config.limits.witness_time_s,
            witness_bytes=config.limits.witness_memory_bytes,
            lock_fd=lock_fd,
        )

    synthesis = config.synthesis
    return [
        of(Role.INGEST, 0, synthesis.threads * synthesis.workers),
        *(of(Role.SYNTHESIS, index, synthesis.threads) for index in range(synthesis.workers)),
        of(Role.GPU, 0, config.gpu.threads),
    ]


def raise_file_limit() -> int:
    """Take all the descriptors that the system allows; how many of them clients' files may use."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = min(hard, _MOST_FILES) if hard != resource.RLIM_INFINITY else _MOST_FILES
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return max(64, (wanted - _OWN_FILES) // 2)
