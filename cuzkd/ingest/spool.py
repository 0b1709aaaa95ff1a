"""Copies a client's payload into the spool: by reading, never by mapping, under a limit, digested on the way.

The client may change or shrink its file meanwhile; a copy that differs from the size at the start is refused.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cuzkd.errors import BadFile, Refused, ResourceExhausted, TooLarge
from cuzkd.pulse import PULSE

_CHUNK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Copied:
    """What arrived: bytes and their SHA-256 in hex."""

    size_bytes: int
    digest: str


def copy_payload(source: int, name: str, target: Path, limit_bytes: int) -> Copied:
    """Copy the open file `source` from its start to the new file `target`, mode 0600.

    `Refused` for what is not a regular file, `TooLarge` past the limit, `BadFile` when the file changed its
    size while it was read or cannot be read, `ResourceExhausted` when the spool's disk is full. No file is left
    after an error.
    """
    with PULSE.reading():
        info = os.fstat(source)
    if not stat.S_ISREG(info.st_mode):
        raise Refused(f"{name} is not a regular file", advice="save it to a file and pass that")
    if info.st_size > limit_bytes:
        raise TooLarge(f"{name} has {info.st_size} bytes; the limit of a payload is {limit_bytes}")
    with _new_file(target) as sink:
        try:
            return _copy(source, sink, name, info.st_size)
        except OSError as error:
            raise ResourceExhausted(f"{name} could not be copied: {error.strerror}") from error


@contextlib.contextmanager
def _new_file(path: Path) -> Iterator[int]:
    try:
        sink = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        raise
    except OSError as error:
        raise ResourceExhausted(f"{path} cannot be made in the spool: {error.strerror}") from error
    try:
        yield sink
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    finally:
        os.close(sink)


def _copy(source: int, sink: int, name: str, size_bytes: int) -> Copied:
    digest = hashlib.sha256()
    done = 0
    while chunk := _read(source, name, min(_CHUNK_BYTES, size_bytes - done + 1), done):
        done += len(chunk)
        if done > size_bytes:
            raise BadFile(f"{name} grew while it was read")
        digest.update(chunk)
        _write_all(sink, chunk)
    if done < size_bytes:
        raise BadFile(f"{name} ended after {done} of {size_bytes} bytes: it shrank while it was read")
    return Copied(done, digest.hexdigest())


def _read(source: int, name: str, count: int, offset: int) -> bytes:
    try:
        with PULSE.reading():
            return os.pread(source, count, offset)
    except OSError as error:
        raise BadFile(f"{name} cannot be read: {error.strerror}") from error


def _write_all(sink: int, chunk: bytes) -> None:
    view = memoryview(chunk)
    while view:
        view = view[os.write(sink, view) :]
