"""Writes a compiled circuit so that it is there whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

import numpy as np

from cuzkd.atomic import NewDirectory
from cuzkd.errors import ResourceExhausted
from cuzkd.formats.compiled import (
    ARRAYS,
    MANIFEST,
    Array,
    ArrayPlace,
    Manifest,
    find_compiled,
    manifest_text,
)
from cuzkd.ipc.requests import PointChecks
from cuzkd.model import CircuitRef, page_align

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_ADVICE = "free space in the state directory"


class CompiledWriter:
    """One compiled circuit in the making; as a context that ends without `publish`, it leaves nothing."""

    def __init__(self, circuits_dir: Path) -> None:
        self._circuits_dir = circuits_dir
        self._end = 0
        self._places: dict[str, ArrayPlace] = {}
        with self._room("the directory"), contextlib.ExitStack() as undo:
            self._new = undo.enter_context(NewDirectory(circuits_dir))
            self._arrays = self._new.path / ARRAYS
            self._file = os.open(self._arrays, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            undo.callback(os.close, self._file)
            self._undo = undo.pop_all()

    def __enter__(self) -> CompiledWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._undo.close()

    def expect(self, size_bytes: int) -> None:
        """ResourceExhausted unless the disk has room for so much; cheaper to know before the work than after."""
        disk = os.fstatvfs(self._file)
        free = disk.f_bavail * disk.f_frsize
        if size_bytes > free:
            raise ResourceExhausted(
                f"{self._circuits_dir}: a compiled circuit of at least {size_bytes} bytes does not fit "
                f"into the {free} that are free",
                advice=_ADVICE,
            )

    def allocate(self, name: str, dtype: str, shape: tuple[int, ...]) -> Array:
        """A writable array of this name in the file, its blocks reserved.

        What is written to it is what the circuit will hold. ResourceExhausted when the disk is full.
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
        return np.memmap(self._arrays, dtype=dtype, mode="r+", offset=place.offset, shape=shape)

    def store(self, name: str, values: Array) -> None:
        """Put an array that is already in memory into the file."""
        self.allocate(name, values.dtype.str, values.shape)[...] = values

    def publish(self, ref: CircuitRef, key_bytes: int, points: PointChecks) -> None:
        """Make the circuit appear under its digest, unless one is there of which as much was checked."""
        manifest = Manifest(ref, key_bytes, points, self._places)
        with self._room("the manifest"):
            (self._new.path / MANIFEST).write_text(manifest_text(manifest), encoding="utf-8")
            found = find_compiled(self._circuits_dir, ref.digest)
            if found is None or not found.satisfies(points):
                self._new.publish(ref.digest)

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
                advice=_ADVICE,
            ) from error
