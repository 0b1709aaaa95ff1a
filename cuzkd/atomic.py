"""Directories and files that are there whole or not at all: written under a temporary name, synced, renamed.

Those who write directories hold a shared lock on the folder that these lie in, so that what a dead one left can be
told from what a living one is writing.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import secrets
import shutil
import tempfile
from pathlib import Path
from types import TracebackType

_TEMPORARY = ".writing-"
_LOCK = ".lock"


class NewDirectory:
    """A directory in the making, at `path`; as a context that ends without `publish`, it leaves nothing."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._lock = _open_lock(folder)
        fcntl.flock(self._lock, fcntl.LOCK_SH)
        self.path = Path(tempfile.mkdtemp(prefix=_TEMPORARY, dir=folder))

    def __enter__(self) -> NewDirectory:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)

    def publish(self, name: str) -> None:
        """Sync what is in the directory and make it appear as `name`, in place of what was there."""
        for path in self.path.iterdir():
            _sync(path, os.O_RDONLY)
        _sync(self.path, os.O_RDONLY | os.O_DIRECTORY)
        target = self._folder / name
        try:
            self.path.rename(target)
        except OSError as error:
            if error.errno not in (errno.EEXIST, errno.ENOTEMPTY):
                raise
            remove_directory(self._folder, name)
            self.path.rename(target)
        _sync(self._folder, os.O_RDONLY | os.O_DIRECTORY)


def remove_directory(folder: Path, name: str) -> None:
    """Remove a directory whole, if it is there: nobody finds half of it, though its files may still be mapped."""
    # a full disk may have no room for a new directory, but always for another name
    aside = folder / f"{_TEMPORARY}{secrets.token_hex(8)}"
    with contextlib.suppress(FileNotFoundError):
        (folder / name).rename(aside)
        shutil.rmtree(aside, ignore_errors=True)


def remove_leftovers(folder: Path) -> None:
    """Remove what writers that died left in the folder; nothing is removed while any writer lives."""
    if not folder.is_dir():
        return
    lock = _open_lock(folder)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        for path in folder.glob(f"{_TEMPORARY}*"):
            shutil.rmtree(path, ignore_errors=True)
    except BlockingIOError:
        pass
    finally:
        os.close(lock)


def write_file(path: Path, data: bytes) -> None:
    """Put `data` into the file `path`, mode 0600: at any moment it holds the old bytes or the new. OSError.

    For one writer at a time: what one that died has left is written over.
    """
    temporary = path.with_name(f"{_TEMPORARY}{path.name}")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with open(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(handle)
        temporary.rename(path)
    except BaseException:
        temporary.unlink()
        raise
    _sync(path.parent, os.O_RDONLY | os.O_DIRECTORY)


def _open_lock(folder: Path) -> int:
    """The file that writers hold a shared lock on; locks end with their holder, however it dies."""
    return os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def _sync(path: Path, flags: int) -> None:
    descriptor = os.open(path, flags | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
