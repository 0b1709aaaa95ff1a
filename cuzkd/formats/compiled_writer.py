"""Writes a compiled circuit so that it is there whole or not at all: temporary directory, sync, rename."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

import numpy as np

from cuzkd.errors import ResourceExhausted
from cuzkd.formats.compiled import (
    ARRAYS,
    MANIFEST,
    Array,
    ArrayPlace,
    Checks,
    Manifest,
    find_compiled,
    manifest_text,
)
from cuzkd.model import CircuitRef, page_align

_TEMPORARY = ".writing-"
_LOCK = ".lock"
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class CompiledWriter:
    """One compiled circuit in the making; as a context that ends without `publish`, it leaves nothing.

    Every step raises ResourceExhausted when the disk is full.
    """

    def __init__(self, circuits_dir: Path) -> None:
        self._circuits_dir = circuits_dir
        self._end = 0
        self._places: dict[str, ArrayPlace] = {}

    def __enter__(self) -> CompiledWriter:
        with contextlib.ExitStack() as undo, self._room("the directory"):
            self._circuits_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = _open_lock(self._circuits_dir)
            undo.callback(os.close, lock)
            fcntl.flock(lock, fcntl.LOCK_SH)
            self._path = Path(tempfile.mkdtemp(prefix=_TEMPORARY, dir=self._circuits_dir))
            undo.callback(shutil.rmtree, self._path, ignore_errors=True)
            flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            self._file = os.open(self._path / ARRAYS, flags, 0o600)
            undo.callback(os.close, self._file)
            self._undo = undo.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._undo.close()

    def allocate(self, name: str, dtype: str, shape: tuple[int, ...]) -> Array:
        """A writable array of this name in the file, its blocks reserved.

        What is written to it is what the circuit will hold.
        """
        place = ArrayPlace(dtype, shape, self._end)
        self._places[name] = place
        if place.size_bytes == 0:
            return np.empty(shape, dtype=dtype)
        end = page_align(self._end + place.size_bytes)
        with self._room(f"{end} bytes"):
            # Without reserved blocks a full disk would be a SIGBUS at the first touch, not an error.
            os.posix_fallocate(self._file, self._end, end - self._end)
        self._end = end
        return np.memmap(self._path / ARRAYS, dtype=dtype, mode="r+", offset=place.offset, shape=shape)

    def store(self, name: str, values: Array) -> None:
        """Put an array that is already in memory into the file."""
        self.allocate(name, values.dtype.str, values.shape)[...] = values

    def publish(self, ref: CircuitRef, key_bytes: int, checks: Checks) -> None:
        """Make the circuit appear under its digest; one that is there stays if it was checked as much."""
        manifest = Manifest(ref, key_bytes, checks, self._places)
        with self._room("the manifest"):
            os.fsync(self._file)
            with (self._path / MANIFEST).open("x") as file:
                file.write(manifest_text(manifest))
                file.flush()
                os.fsync(file.fileno())
            _sync_directory(self._path)
            self._appear(self._circuits_dir / ref.digest, checks)
            _sync_directory(self._circuits_dir)

    def _appear(self, target: Path, checks: Checks) -> None:
        try:
            self._path.rename(target)
        except OSError as error:
            if error.errno not in (errno.EEXIST, errno.ENOTEMPTY):
                raise
            there = find_compiled(self._circuits_dir, target.name)
            if there is None or not there.checks.cover(checks):
                self._replace(target)

    def _replace(self, target: Path) -> None:
        """Put the circuit in the place of another, which processes may still have mapped."""
        former = Path(tempfile.mkdtemp(prefix=_TEMPORARY, dir=self._circuits_dir))
        target.rename(former)
        self._path.rename(target)
        shutil.rmtree(former)

    @contextlib.contextmanager
    def _room(self, what: str) -> Iterator[None]:
        """Have a full disk told as such; other failures of the block stay what they are."""
        try:
            yield
        except OSError as error:
            if error.errno not in _FULL:
                raise
            raise ResourceExhausted(
                f"{self._circuits_dir}: no room for {what} of a compiled circuit: {error.strerror}",
                advice="free space in the state directory",
            ) from error


def remove_leftovers(circuits_dir: Path) -> None:
    """Remove what writers that died left in the directory; nothing is removed while any writer lives."""
    if not circuits_dir.is_dir():
        return
    lock = _open_lock(circuits_dir)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        for path in circuits_dir.glob(f"{_TEMPORARY}*"):
            shutil.rmtree(path, ignore_errors=True)
    except BlockingIOError:
        pass
    finally:
        os.close(lock)


def _open_lock(circuits_dir: Path) -> int:
    """The file that writers hold a shared lock on; locks end with their holder, however it dies."""
    return os.open(circuits_dir / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
