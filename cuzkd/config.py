"""The daemon's configuration: one TOML file whose every key has a default that works.

Strict on purpose: an unknown key, a wrong type or a literal that does not parse exactly is refused with
the file's and the key's name. Defaults that ask the machine (cores, free shared memory) ask it when the
configuration is loaded.
"""

from __future__ import annotations

import enum
import grp
import os
import pwd
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from cuzkd.errors import BadConfig
from cuzkd.model import MAX_PARTITIONS, PAGE_BYTES

SHM_DIR: Final = Path("/dev/shm")  # noqa: S108  # where Linux keeps POSIX shared memory; no file is made by name
SOCKET_NAME: Final = "cuzkd.sock"
SOCKET_PATH_MAX: Final = 107  # sun_path holds 108 bytes, the last of them zero

_SIZE_UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
_DURATION_UNITS_MS = {"ms": 1, "s": 1000, "min": 60_000, "h": 3_600_000}
_LITERAL = re.compile(r"([0-9]{1,15})([A-Za-z]+)", re.ASCII)


class Backend(enum.StrEnum):
    """Where proofs are computed; `auto` takes the host only on a machine without a device."""

    AUTO = "auto"
    CUDA = "cuda"
    HOST = "host"


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
    have in all, and what computing one witness may take."""

    payload_bytes: int
    upload_per_uid_bytes: int
    witness_time_s: float
    witness_memory_bytes: int


@dataclass(frozen=True, slots=True)
class Access:
    """`[access]`: the group that clients have to be in (None: any), and the uids of operators."""

    group: str | None
    operators: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Config:
    """Everything that can be configured; sizes in bytes, times in seconds."""

    runtime_dir: Path
    state_dir: Path
    backend: Backend
    boot_timeout_s: float
    drain_timeout_s: float
    synthesis: Synthesis
    gpu: Gpu
    pool: Pool
    jobs: Jobs
    limits: Limits
    access: Access

    @classmethod
    def load(cls, path: Path | None = None, overrides: Mapping[str, object] | None = None) -> Config:
        """Read `path` (None: defaults only), then apply `overrides`, which use the file's dotted keys.

        Raises `BadConfig` that names the file (or "the command line"), the key and what it should be.
        """
        given: dict[str, Any] = {}
        if path is not None:
            for key, value in _flatten(_read(path)).items():
                given[key] = _parse(key, value, str(path))
        for key, value in (overrides or {}).items():
            given[key] = _parse(key, value, "the command line")
        for key, spec in _KEYS.items():
            if key not in given:
                given[key] = spec.default(given)
        return cls._from_keys(given)

    @classmethod
    def _from_keys(cls, v: Mapping[str, Any]) -> Config:
        return cls(
            runtime_dir=v["runtime_dir"],
            state_dir=v["state_dir"],
            backend=v["backend"],
            boot_timeout_s=v["boot_timeout"],
            drain_timeout_s=v["drain_timeout"],
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
            ),
            access=Access(v["access.group"], v["access.operators"]),
        )

    @property
    def socket_path(self) -> Path:
        """Where clients connect."""
        return self.runtime_dir / SOCKET_NAME


# ---- literals: each parser returns the value or raises ValueError that says what is wanted


def parse_size(value: object) -> int:
    """Bytes of a literal such as "4GiB" or "512MiB": a whole number and a binary unit, nothing else."""
    size = _scaled(value, _SIZE_UNITS, 'a size such as "4GiB" or "512MiB"')
    if size < PAGE_BYTES:
        raise ValueError(f"a size of at least one page ({PAGE_BYTES} bytes)")
    return size


def parse_duration_s(value: object) -> float:
    """Seconds of a literal such as "90s", "5min" or "250ms": a whole number and a unit, nothing else."""
    milliseconds = _scaled(value, _DURATION_UNITS_MS, 'a duration such as "90s" or "5min"')
    if milliseconds == 0:
        raise ValueError("a duration above zero")
    return milliseconds / 1000


def _scaled(value: object, units: Mapping[str, int], wanted: str) -> int:
    match = _LITERAL.fullmatch(value) if isinstance(value, str) else None
    if match is None or match[2] not in units:
        raise ValueError(f"{wanted} (units: {', '.join(units)})")
    return int(match[1]) * units[match[2]]


def _integer(low: int, high: int) -> Callable[[object], int]:
    def parse(value: object) -> int:
        # bool is a subclass of int, and `workers = true` is a mistake
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise ValueError(f"a whole number from {low} to {high}")
        return value

    return parse


def _absolute_path(value: object) -> Path:
    if not isinstance(value, str | Path) or "\0" in str(value) or not Path(value).is_absolute():
        raise ValueError("an absolute path")
    return Path(value)


def _runtime_path(value: object) -> Path:
    path = _absolute_path(value)
    if len(os.fsencode(path / SOCKET_NAME)) > SOCKET_PATH_MAX:
        raise ValueError(f"a path short enough for a socket in it ({SOCKET_PATH_MAX} bytes with the name)")
    return path


def _backend(value: object) -> Backend:
    if not isinstance(value, str) or value not in set(Backend):
        raise ValueError(" or ".join(f'"{choice}"' for choice in Backend))
    return Backend(value)


def _group(value: object) -> str:
    if not isinstance(value, str) or not _is_group(value):
        raise ValueError("the name of a group that exists")
    return value


def _is_group(name: str) -> bool:
    try:
        grp.getgrnam(name)
    except KeyError:
        return False
    return True


def _users(value: object) -> tuple[int, ...]:
    if not isinstance(value, list | tuple):
        raise ValueError('a list of users, such as ["alice", 1001]')
    return tuple(sorted({_user(each) for each in value}))


def _user(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 32:
        return value
    try:
        return pwd.getpwnam(str(value)).pw_uid
    except KeyError:
        raise ValueError(f"a list of users that exist, and {value!r} does not") from None


# ---- defaults: each may read the keys before it in the table


def _default_runtime_dir(_: Mapping[str, Any]) -> Path:
    if directory := os.environ.get("RUNTIME_DIRECTORY"):
        return _from_environment("RUNTIME_DIRECTORY", directory.split(":")[0], _runtime_path)
    if directory := os.environ.get("XDG_RUNTIME_DIR"):
        return _from_environment("XDG_RUNTIME_DIR", f"{directory}/cuzkd", _runtime_path)
    uid = os.geteuid()
    return Path("/run/cuzkd") if uid == 0 else Path(f"/tmp/cuzkd-{uid}")  # noqa: S108  # 0700, its owner checked


def _default_state_dir(keys: Mapping[str, Any]) -> Path:
    if directory := os.environ.get("STATE_DIRECTORY"):
        return _from_environment("STATE_DIRECTORY", directory.split(":")[0], _absolute_path)
    runtime_dir: Path = keys["runtime_dir"]
    return runtime_dir / "state"


def _from_environment(variable: str, value: str, parse: Callable[[object], Path]) -> Path:
    try:
        return parse(value)
    except ValueError as error:
        raise BadConfig(f"${variable} is {value!r}; it should hold {error}") from None


def _cores() -> int:
    return len(os.sched_getaffinity(0))


def _default_pool_limit(_: Mapping[str, Any]) -> int:
    try:
        facts = os.statvfs(SHM_DIR)
    except OSError as error:
        raise BadConfig(f"{SHM_DIR}: {error.strerror}", advice=f"mount a tmpfs at {SHM_DIR}") from None
    return max(PAGE_BYTES, facts.f_bavail * facts.f_frsize // 2)


@dataclass(frozen=True, slots=True)
class _Key:
    parse: Callable[[object], object]
    default: Callable[[Mapping[str, Any]], object]


_KEYS: Final[dict[str, _Key]] = {
    "runtime_dir": _Key(_runtime_path, _default_runtime_dir),
    "state_dir": _Key(_absolute_path, _default_state_dir),
    "backend": _Key(_backend, lambda _: Backend.AUTO),
    "boot_timeout": _Key(parse_duration_s, lambda _: 60.0),
    "drain_timeout": _Key(parse_duration_s, lambda _: 60.0),
    "synthesis.workers": _Key(_integer(1, 64), lambda _: min(4, max(1, _cores() // 2))),
    "synthesis.threads": _Key(_integer(1, 1024), lambda k: max(1, _cores() // k["synthesis.workers"])),
    "gpu.threads": _Key(_integer(1, 1024), lambda _: _cores()),
    "pool.limit": _Key(parse_size, _default_pool_limit),
    "jobs.max_queued": _Key(_integer(1, 100_000), lambda _: 256),
    "jobs.max_queued_per_uid": _Key(_integer(1, 100_000), lambda k: max(1, k["jobs.max_queued"] // 2)),
    "jobs.max_partitions": _Key(_integer(1, MAX_PARTITIONS), lambda _: 1024),
    "jobs.max_attempts": _Key(_integer(1, 100), lambda _: 3),
    "limits.payload": _Key(parse_size, lambda _: 64 << 30),
    "limits.upload_per_uid": _Key(parse_size, lambda k: k["limits.payload"]),
    "limits.witness_time": _Key(parse_duration_s, lambda _: 60.0),
    "limits.witness_memory": _Key(parse_size, lambda _: 2 << 30),
    "access.group": _Key(_group, lambda _: None),
    "access.operators": _Key(_users, lambda _: ()),
}
_TABLES: Final = frozenset(key.split(".")[0] for key in _KEYS if "." in key)


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadConfig(f"{path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadConfig(f"{path}: {error}") from None


def _flatten(document: Mapping[str, Any]) -> dict[str, Any]:
    """`{"pool": {"limit": …}}` as `{"pool.limit": …}`, for the tables that exist; the rest stays as it is."""
    flat: dict[str, Any] = {}
    for name, value in document.items():
        if name in _TABLES and isinstance(value, dict):
            flat.update({f"{name}.{inner}": item for inner, item in value.items()})
        else:
            flat[name] = value
    return flat


def _parse(key: str, value: object, source: str) -> object:
    spec = _KEYS.get(key)
    if spec is None:
        wrong = f"[{key}] is a table" if key in _TABLES else f"there is no key {key!r}"
        raise BadConfig(f"{source}: {wrong}", advice=f"the keys are {', '.join(_KEYS)}")
    try:
        return spec.parse(value)
    except ValueError as error:
        raise BadConfig(f"{source}: {key} = {value!r} should be {error}") from None
