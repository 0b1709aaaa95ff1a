"""The daemon's directories: made with the right modes, refused when somebody else could change them."""

from __future__ import annotations

import logging
import os
import shutil
import stat
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from cuzkd.config import CTL_SOCKET_NAME, SOCKET_NAME, SOCKET_PATH_MAX
from cuzkd.errors import BadConfig

_ROOT_UID = 0

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Directories:
    """Where the daemon keeps things. The runtime directory also identifies the daemon."""

    runtime: Path
    state: Path

    @property
    def socket(self) -> Path:
        """The job socket."""
        return self.runtime / SOCKET_NAME

    @property
    def control_socket(self) -> Path:
        """The operators' socket."""
        return self.runtime / CTL_SOCKET_NAME

    @property
    def instance_lock(self) -> Path:
        """Held by the one supervisor of this runtime directory; contains its pid."""
        return self.runtime / "cuzkd.lock"

    @property
    def children_lock(self) -> Path:
        """Held as long as any process of this runtime directory lives."""
        return self.runtime / "children.lock"

    @property
    def spool(self) -> Path:
        """Payloads of the jobs that are not finished; private to the daemon.

        They may be large, and the runtime directory is often in memory that the whole system needs.
        """
        return self.state / "spool"

    @property
    def state_lock(self) -> Path:
        """Held by the one supervisor of this state directory; contains its pid."""
        return self.state / "state.lock"

    @property
    def names(self) -> Path:
        """The file of circuits' names."""
        return self.state / "names.json"

    @property
    def job_numbers(self) -> Path:
        """The file of a number that no job has had."""
        return self.state / "next-job"

    @property
    def segment_prefix(self) -> str:
        """What the names of this daemon's shared-memory segments begin with."""
        return f"/cuzkd-{sha256(os.fsencode(self.runtime)).hexdigest()[:8]}-"


def prepare(runtime: Path, state: Path) -> Directories:
    """Make what is missing. `BadConfig` names a path that cannot be made or that others could tamper with."""
    try:
        found = Directories(_private_directory(runtime), _private_directory(state))
    except OSError as error:
        raise BadConfig(
            f"{error.filename}: {error.strerror}", advice="choose a directory that the daemon's user can make"
        ) from error
    # links in the path may have made it longer than the configuration's was
    if len(os.fsencode(found.control_socket)) > SOCKET_PATH_MAX:
        raise BadConfig(
            f"the socket's path {found.control_socket} is longer than Unix sockets allow ({SOCKET_PATH_MAX} bytes)",
            advice="choose a shorter --runtime-dir",
        )
    return found


def empty_spool(directories: Directories) -> None:
    """Remove whatever an earlier daemon left, and make the spool anew; only under both locks.

    `BadConfig` names what cannot be made, or what is in its place and is no spool.
    """
    remove_spool(directories)
    try:
        directories.spool.mkdir(mode=0o700)
    except OSError as error:
        raise BadConfig(
            f"{error.filename}: {error.strerror}", advice="make room for the spool in the state directory"
        ) from error


def remove_spool(directories: Directories) -> None:
    """Remove the spool with all payloads."""
    if directories.spool.is_symlink():
        directories.spool.unlink()
    shutil.rmtree(directories.spool, ignore_errors=True)


def remove_payload(path: Path) -> None:
    """Remove a file from the spool; what keeps it there is logged, for the jobs have no part in it."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        _log.error("%s cannot be removed: %s", path, error.strerror)


def _private_directory(path: Path) -> Path:
    absolute = Path(os.path.abspath(path))
    parent = absolute.parent
    if not parent.exists():
        _private_directory(parent)
    real = parent.resolve() / absolute.name
    for ancestor in real.parents:
        _require_tamper_proof(ancestor)
    if not os.path.lexists(real):
        real.mkdir()
        real.chmod(0o755 if os.geteuid() == _ROOT_UID else 0o700)
    _require_own_directory(real)
    return real


def _require_own_directory(path: Path) -> None:
    info = path.lstat()
    if stat.S_ISLNK(info.st_mode):
        raise BadConfig(f"{path} is a symbolic link", advice="name the directory itself")
    if not stat.S_ISDIR(info.st_mode):
        raise BadConfig(f"{path} is not a directory")
    if info.st_uid != os.geteuid():
        raise BadConfig(
            f"{path} belongs to uid {info.st_uid}, not to uid {os.geteuid()}",
            advice="give the directory to the daemon's user, or choose another",
        )
    if info.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise BadConfig(
            f"others may write to {path} (mode {stat.S_IMODE(info.st_mode):04o})",
            advice=f"chmod go-w {path}",
        )


def _require_tamper_proof(path: Path) -> None:
    info = path.lstat()
    if info.st_mode & stat.S_IWOTH and not info.st_mode & stat.S_ISVTX:
        raise BadConfig(
            f"everybody may rename what is in {path} (mode {stat.S_IMODE(info.st_mode):04o})",
            advice=f"choose a directory below a safer one, or chmod o-w {path}",
        )
