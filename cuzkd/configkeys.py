"""The table of configuration keys: how each is parsed, its default, how it is shown, and when a change counts.

Defaults that ask the machine (cores, free shared memory) ask it when the configuration is loaded.
"""

from __future__ import annotations

import enum
import grp
import os
import pwd
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from cuzkd.errors import BadConfig
from cuzkd.literals import duration_text, parse_duration_s, parse_size, size_text
from cuzkd.model import MAX_PARTITIONS

SHM_DIR: Final = Path("/dev/shm")  # noqa: S108  # where Linux keeps POSIX shared memory; no file is made by name
SOCKET_NAME: Final = "cuzkd.sock"
CTL_SOCKET_NAME: Final = "cuzkd-ctl.sock"
SOCKET_PATH_MAX: Final = 107  # sun_path holds 108 bytes, the last of them zero
_MOST_OPERATORS = 64
_MOST_ID = (1 << 32) - 2


class Backend(enum.StrEnum):
    """Where proofs are computed; `auto` takes the host only on a machine without a device."""

    AUTO = "auto"
    CUDA = "cuda"
    HOST = "host"


@dataclass(frozen=True, slots=True)
class Key:
    """One key. `parse` raises ValueError that says what is wanted; `default` may read the keys before it.

    `show` writes a value as the file would have it. A change of a `live` key counts at once, any other from the
    daemon's next start on.
    """

    parse: Callable[[object], object]
    default: Callable[[Mapping[str, Any]], object]
    show: Callable[[Any], object]
    live: bool = False


# ---- values


def _integer(low: int, high: int) -> Callable[[object], int]:
    def parse(value: object) -> int:
        # bool is a subclass of int, and `workers = true` is a mistake
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise ValueError(f"a whole number from {low} to {high}")
        return value

    return parse


def absolute_path(value: object) -> Path:
    """ValueError unless it is one."""
    if not isinstance(value, str | Path) or "\0" in str(value) or not Path(value).is_absolute():
        raise ValueError("an absolute path")
    return Path(value)


def runtime_path(value: object) -> Path:
    """An absolute path that leaves room for the sockets' names."""
    path = absolute_path(value)
    if len(os.fsencode(path / CTL_SOCKET_NAME)) > SOCKET_PATH_MAX:
        raise ValueError(f"a path short enough for a socket in it ({SOCKET_PATH_MAX} bytes with the name)")
    return path


def _backend(value: object) -> Backend:
    if not isinstance(value, str) or value not in set(Backend):
        raise ValueError(" or ".join(f'"{choice}"' for choice in Backend))
    return Backend(value)


def _group(value: object) -> str | None:
    """A group's name; the empty one is none."""
    if value == "":
        return None
    try:
        grp.getgrnam(value if isinstance(value, str) else "")
    except (KeyError, ValueError):
        raise ValueError('the name of a group that exists, or "" for none') from None
    return str(value)


def _users(value: object) -> tuple[int, ...]:
    if not isinstance(value, list | tuple) or len(value) > _MOST_OPERATORS:
        raise ValueError(f'a list of at most {_MOST_OPERATORS} users, such as ["alice", 1001]')
    return tuple(sorted({_user(each) for each in value}))


def _user(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST_ID:
        return value
    try:
        return pwd.getpwnam(value if isinstance(value, str) else "").pw_uid
    except (KeyError, ValueError):  # a name with a zero byte in it is a ValueError
        raise ValueError(f"a list of users that exist, and {value!r} does not") from None


# ---- defaults


def _default_runtime_dir(_: Mapping[str, Any]) -> Path:
    if directory := os.environ.get("RUNTIME_DIRECTORY"):
        return _from_environment("RUNTIME_DIRECTORY", directory.split(":")[0], runtime_path)
    if directory := os.environ.get("XDG_RUNTIME_DIR"):
        return _from_environment("XDG_RUNTIME_DIR", f"{directory}/cuzkd", runtime_path)
    uid = os.geteuid()
    return Path("/run/cuzkd") if uid == 0 else Path(f"/tmp/cuzkd-{uid}")  # noqa: S108  # 0700, its owner checked


def _default_state_dir(_: Mapping[str, Any]) -> Path:
    """What has to outlast a reboot: never below the runtime directory, which is often in memory."""
    if directory := os.environ.get("STATE_DIRECTORY"):
        return _from_environment("STATE_DIRECTORY", directory.split(":")[0], absolute_path)
    if os.geteuid() == 0:
        return Path("/var/lib/cuzkd")
    if directory := os.environ.get("XDG_STATE_HOME"):
        return _from_environment("XDG_STATE_HOME", f"{directory}/cuzkd", absolute_path)
    home = os.environ.get("HOME")
    if not home:
        raise BadConfig("there is no $HOME to keep state in", advice="set state_dir")
    return _from_environment("HOME", f"{home}/.local/state/cuzkd", absolute_path)


def _from_environment(variable: str, value: str, parse: Callable[[object], Path]) -> Path:
    try:
        return parse(value)
    except ValueError as error:
        raise BadConfig(f"${variable} is {value!r}; it should hold {error}") from None


def _cores() -> int:
    return len(os.sched_getaffinity(0))


_LEAST_POOL_BYTES: Final = 16 << 20
_LEAST_STALL_S: Final = 3.0  # a child's word of its progress comes once a second, and may be late


def _default_pool_limit(_: Mapping[str, Any]) -> int:
    try:
        facts = os.statvfs(SHM_DIR)
    except OSError as error:
        raise BadConfig(f"{SHM_DIR}: {error.strerror}", advice=f"mount a tmpfs at {SHM_DIR}") from None
    half = facts.f_bavail * facts.f_frsize // 2
    # a pool that nothing fits is of no use: what others hold of the memory now, they may give back
    return max(_LEAST_POOL_BYTES, half - half % (1 << 20))


# ---- the table


def _plain(value: object) -> object:
    return value


def _name(value: str | None) -> str:
    return value or ""


def _size(default: Callable[[Mapping[str, Any]], int], *, live: bool = False) -> Key:
    return Key(parse_size, default, size_text, live)


def _duration(default_s: float, *, at_least_s: float = 0.0, live: bool = False) -> Key:
    def parse(value: object) -> float:
        seconds = parse_duration_s(value)
        if seconds < at_least_s:
            raise ValueError(f"a duration of at least {duration_text(at_least_s)}")
        return seconds

    return Key(parse, lambda _: default_s, duration_text, live)


def _count(low: int, high: int, default: Callable[[Mapping[str, Any]], int], *, live: bool = False) -> Key:
    return Key(_integer(low, high), default, _plain, live)


KEYS: Final[dict[str, Key]] = {
    "runtime_dir": Key(runtime_path, _default_runtime_dir, str),
    "state_dir": Key(absolute_path, _default_state_dir, str),
    "backend": Key(_backend, lambda _: Backend.AUTO, str),
    "boot_timeout": _duration(60.0),
    "drain_timeout": _duration(60.0, live=True),
    "access.group": Key(_group, lambda _: None, _name, live=True),
    "access.operators": Key(_users, lambda _: (), list, live=True),
    "synthesis.workers": _count(1, 64, lambda _: min(4, max(1, _cores() // 2))),
    "synthesis.threads": _count(1, 1024, lambda k: max(1, _cores() // k["synthesis.workers"])),
    "gpu.threads": _count(1, 1024, lambda _: _cores()),
    "pool.limit": _size(_default_pool_limit),
    "jobs.max_queued": _count(1, 100_000, lambda _: 256, live=True),
    "jobs.max_queued_per_uid": _count(1, 100_000, lambda k: (k["jobs.max_queued"] + 1) // 2, live=True),
    "jobs.max_partitions": _count(1, MAX_PARTITIONS, lambda _: 1024),
    "jobs.max_attempts": _count(1, 100, lambda _: 3),
    "limits.payload": _size(lambda _: 64 << 30, live=True),
    "limits.upload_per_uid": _size(lambda k: k["limits.payload"], live=True),
    "limits.witness_time": _duration(60.0),
    "limits.witness_memory": _size(lambda _: 2 << 30),
    "limits.phase_time": _duration(60.0, at_least_s=_LEAST_STALL_S, live=True),
    "limits.read_stall": _duration(60.0, at_least_s=_LEAST_STALL_S, live=True),
}
TABLES: Final = frozenset(key.split(".")[0] for key in KEYS if "." in key)
