"""The daemon's configuration: one TOML file whose every key has a default that works.

Strict on purpose: an unknown key, a wrong type or a literal that does not parse exactly is refused with
the file's name and line and the key's name. The keys themselves are in `configkeys`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cuzkd.configfile import read_config_file
from cuzkd.configkeys import CTL_SOCKET_NAME, KEYS, SHM_DIR, SOCKET_NAME, SOCKET_PATH_MAX, TABLES, Backend
from cuzkd.errors import BadConfig

__all__ = [
    "CTL_SOCKET_NAME",
    "SHM_DIR",
    "SOCKET_NAME",
    "SOCKET_PATH_MAX",
    "Access",
    "Backend",
    "Changes",
    "Config",
    "Gpu",
    "Jobs",
    "Limits",
    "Pool",
    "Synthesis",
]


@dataclass(frozen=True, slots=True)
class Access:
    """`[access]`: the group that clients have to be in (None: any), and the uids of operators."""

    group: str | None
    operators: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Synthesis:
    """`[synthesis]`: how many processes fill segments, and the threads of each."""

    workers: int
    threads: int


@dataclass(frozen=True, slots=True)
class Gpu:
    """`[gpu]`: the threads of the gpu process (the whole proof on the host backend)."""

    threads: int


@dataclass(frozen=True, slots=True)
class Pool:
    """`[pool]`: how much shared memory the segments may take in all."""

    limit_bytes: int


@dataclass(frozen=True, slots=True)
class Jobs:
    """`[jobs]`: admission limits, and how often a partition may kill the process that works on it."""

    max_queued: int
    max_queued_per_uid: int
    max_partitions: int
    max_attempts: int


@dataclass(frozen=True, slots=True)
class Limits:
    """`[limits]`: the largest payload that a client may hand over, what a user's uploads that no job has taken may
    have in all, what computing one witness may take, and how long a process may go without a step: the smallest
    circuit's time for one, and the time for the next bytes of a client's file."""

    payload_bytes: int
    upload_per_uid_bytes: int
    witness_time_s: float
    witness_memory_bytes: int
    phase_time_s: float
    read_stall_s: float


@dataclass(frozen=True, slots=True)
class Changes:
    """The keys in which two configurations differ: those that count at once, and from the next start on."""

    live: tuple[str, ...]
    at_restart: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Config:
    """Everything that can be configured; sizes in bytes, times in seconds.

    `values` has it by dotted key; `given` are the keys that were set, the others have their defaults.
    """

    runtime_dir: Path
    state_dir: Path
    backend: Backend
    boot_timeout_s: float
    drain_timeout_s: float
    access: Access
    synthesis: Synthesis
    gpu: Gpu
    pool: Pool
    jobs: Jobs
    limits: Limits
    values: Mapping[str, Any]
    given: frozenset[str]

    @classmethod
    def load(cls, path: Path | None = None, overrides: Mapping[str, object] | None = None) -> Config:
        """Read `path` (None: defaults only), then apply `overrides`, which use the file's dotted keys.

        Raises `BadConfig` that names the file and line (or "the command line"), the key and what it should be.
        """
        given: dict[str, Any] = {}
        if path is not None:
            file = read_config_file(path, TABLES)
            for key, value in file.values.items():
                try:
                    given[key] = _parse(key, value)
                except BadConfig as error:
                    raise BadConfig(f"{file.place(key)}: {error.message}", advice=error.advice) from None
        for key, value in (overrides or {}).items():
            try:
                given[key] = _parse(key, value)
            except BadConfig as error:
                raise BadConfig(f"the command line: {error.message}", advice=error.advice) from None
        # defaults may read the keys before them, so this goes in the table's order
        values: dict[str, Any] = {}
        for key, spec in KEYS.items():
            values[key] = given[key] if key in given else spec.default(values)
        return cls._from_values(values, frozenset(given))

    @classmethod
    def _from_values(cls, v: Mapping[str, Any], given: frozenset[str]) -> Config:
        return cls(
            runtime_dir=v["runtime_dir"],
            state_dir=v["state_dir"],
            backend=v["backend"],
            boot_timeout_s=v["boot_timeout"],
            drain_timeout_s=v["drain_timeout"],
            access=Access(v["access.group"], v["access.operators"]),
            synthesis=Synthesis(v["synthesis.workers"], v["synthesis.threads"]),
            gpu=Gpu(v["gpu.threads"]),
            pool=Pool(v["pool.limit"]),
            jobs=Jobs(
                v["jobs.max_queued"],
                v["jobs.max_queued_per_uid"],
                v["jobs.max_partitions"],
                v["jobs.max_attempts"],
            ),
            limits=Limits(
                v["limits.payload"],
                v["limits.upload_per_uid"],
                v["limits.witness_time"],
                v["limits.witness_memory"],
                v["limits.phase_time"],
                v["limits.read_stall"],
            ),
            values=v,
            given=given,
        )

    @property
    def socket_path(self) -> Path:
        """Where clients connect."""
        return self.runtime_dir / SOCKET_NAME

    def shown(self) -> dict[str, object]:
        """Every key with its value as the file would have it, in the order of the table."""
        return {key: spec.show(self.values[key]) for key, spec in KEYS.items()}

    def changes_to(self, new: Config) -> Changes:
        """Where `new` differs from this.

        A default is not asked for again while the daemon runs, for it may depend on the machine's free memory.
        """
        changed = [key for key in KEYS if self.values[key] != new.values[key]]
        set_in_one = self.given | new.given
        return Changes(
            tuple(key for key in changed if KEYS[key].live),
            tuple(key for key in changed if not KEYS[key].live and key in set_in_one),
        )

    def with_live_of(self, new: Config) -> Config:
        """This configuration with the values that count at once taken from `new`."""
        values = {key: (new if KEYS[key].live else self).values[key] for key in KEYS}
        merged = self._from_values(values, self.given)
        return replace(merged, runtime_dir=self.runtime_dir, state_dir=self.state_dir)


def _parse(key: str, value: object) -> object:
    spec = KEYS.get(key)
    if spec is None:
        wrong = f"[{key}] is a table" if key in TABLES else f"there is no key {key!r}"
        raise BadConfig(wrong, advice=f"the keys are {', '.join(KEYS)}")
    try:
        return spec.parse(value)
    except ValueError as error:
        given = str(value) if isinstance(value, Path) else value
        raise BadConfig(f"{key} = {given!r} should be {error}") from None
