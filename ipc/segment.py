"""Shared-memory segments: the only user of posix_ipc. Created and unlinked by one process, mapped by several.

A segment is sized once and never truncated, its pages are allocated before anybody writes (a full tmpfs is
an error, not a SIGBUS), and whoever opens one sees its real size first. Numbers in names and sizes in
messages are checked here even though they come from our own processes.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import mmap
import os
import re
import stat
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType

import posix_ipc

from cuzkd.errors import InternalError, ResourceExhausted, Unavailable
from cuzkd.ipc.descriptors import Descriptors
from cuzkd.model import PAGE_BYTES, page_align

SHM_DIR = Path("/dev/shm")  # noqa: S108 - where Linux keeps POSIX shared memory, not a temporary file

_PREFIX = re.compile(r"/cuzkd-[0-9a-f]{8}-")
_NAME = re.compile(_PREFIX.pattern + r"[0-9]{1,10}")
_MADV_POPULATE_WRITE = 23


class SegmentInUse(InternalError):
    """A view, or an array over one, outlives what it looks at: a bug in the caller."""


def create_segment(name: str, size_bytes: int) -> None:
    """Create a segment of mode 0600, rounded up to whole pages; no memory is allocated yet.

    `Unavailable` when the name is taken (it is never opened), `ResourceExhausted` when descriptors or
    inodes ran out.
    """
    _check_name(name)
    if size_bytes <= 0:
        raise InternalError(f"a segment of {size_bytes} bytes")
    try:
        memory = posix_ipc.SharedMemory(name, posix_ipc.O_CREX, mode=0o600, size=page_align(size_bytes))
    except posix_ipc.ExistentialError as error:
        raise Unavailable(f"shared memory {name} exists already", advice="use another name") from error
    except OSError as error:
        raise ResourceExhausted(f"shared memory {name} cannot be created: {error.strerror}") from error
    memory.close_fd()


def unlink_segment(name: str) -> bool:
    """Remove a segment's name; its memory goes with the last mapping. False when there is none."""
    _check_name(name)
    try:
        posix_ipc.unlink_shared_memory(name)
    except posix_ipc.ExistentialError:
        return False
    return True


def leftover_segments(prefix: str) -> list[str]:
    """The names of this user's segments that begin with `prefix`, a daemon's `/cuzkd-<8 hex>-`."""
    if not _PREFIX.fullmatch(prefix):
        raise InternalError(f"{prefix!r} begins no segment's name")
    names = sorted("/" + entry for entry in os.listdir(SHM_DIR))
    return [name for name in names if name.startswith(prefix) and _NAME.fullmatch(name) and _is_ours(name)]


def sweep_segments(prefix: str) -> list[str]:
    """Unlink what an earlier daemon left behind; only for the holder of the instance's lock."""
    return [name for name in leftover_segments(prefix) if unlink_segment(name)]


class Segment:
    """A segment, open and mapped. Closing goes in this order: views, mapping, descriptor."""

    def __init__(self, name: str, size_bytes: int) -> None:
        """Open and map all of an existing segment.

        `InternalError` when there is none, when it is not this user's, or when it really has fewer than
        `size_bytes` bytes.
        """
        _check_name(name)
        self.name = name
        self._fd = Descriptors([_open(name)])
        try:
            self.size_bytes = _checked_size(name, self._fd[0], size_bytes)
            self._map = mmap.mmap(self._fd[0], self.size_bytes)
        except BaseException:
            self._fd.close()
            raise

    def allocate(self) -> None:
        """Have the kernel allocate every page; what is written already stays.

        `ResourceExhausted` with the bytes wanted and free when the file system is full.
        """
        try:
            os.posix_fallocate(self._fd[0], 0, self.size_bytes)
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.ENOMEM, errno.EDQUOT):
                raise
            raise ResourceExhausted(
                f"shared memory {self.name} wants {self.size_bytes} bytes, {SHM_DIR} has {free_bytes()} free",
                advice=f"make {SHM_DIR} larger, or lower the pool's size in the configuration",
            ) from error

    def touch(self, threads: int) -> None:
        """Map every page into this process, in parallel, so that no later access faults. Changes nothing."""
        chunk = page_align(-(-self.size_bytes // max(1, threads)))
        spans = [(start, min(chunk, self.size_bytes - start)) for start in range(0, self.size_bytes, chunk)]
        with ThreadPoolExecutor(len(spans)) as pool:
            list(pool.map(lambda span: self._touch(*span), spans))

    @contextlib.contextmanager
    def view(self) -> Iterator[memoryview]:
        """The whole segment as writable bytes while the block runs.

        `SegmentInUse` at the block's end when an array over the view is still alive (an error that is
        already on its way goes first: its traceback may be what holds the array).
        """
        memory, exporter = self._export()
        try:
            yield memory
        except BaseException:
            with contextlib.suppress(BufferError):
                memory.release()
            raise
        with contextlib.suppress(BufferError):
            memory.release()
        if exporter() is not None:
            raise self._in_use()

    def close(self) -> None:
        """Unmap and close; `SegmentInUse`, with nothing closed, while a view is alive. Twice is nothing."""
        try:
            self._map.close()
        except BufferError as error:
            raise self._in_use() from error
        self._fd.close()

    def __enter__(self) -> Segment:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.close()
            return
        with contextlib.suppress(SegmentInUse):
            self.close()

    def _export(self) -> tuple[memoryview, weakref.ref[ctypes.Array[ctypes.c_ubyte]]]:
        """A view by way of an object that lives exactly as long as anything made from the view.

        Releasing the view alone tells nothing: numpy keeps a second one that it makes for itself.
        """
        exporter = (ctypes.c_ubyte * self.size_bytes).from_buffer(self._map)
        return memoryview(exporter).cast("B"), weakref.ref(exporter)

    def _in_use(self) -> SegmentInUse:
        return SegmentInUse(f"a view of shared memory {self.name} is still alive")

    def _touch(self, start: int, length: int) -> None:
        if _populate(self._map, start, length):
            return
        with memoryview(self._map) as view:  # a kernel before 5.14: fault every page in by reading it
            view[start : start + length : PAGE_BYTES].tobytes()


def free_bytes() -> int:
    """What the file system of shared memory has left."""
    status = os.statvfs(SHM_DIR)
    return status.f_bavail * status.f_frsize


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise InternalError(f"{name[:64]!r} is no segment's name")


def _open(name: str) -> int:
    try:
        return int(posix_ipc.SharedMemory(name).fd)
    except posix_ipc.ExistentialError as error:
        raise InternalError(f"shared memory {name} does not exist") from error
    except posix_ipc.PermissionsError as error:
        raise InternalError(f"shared memory {name} belongs to somebody else") from error


def _checked_size(name: str, fd: int, wanted_bytes: int) -> int:
    status = os.fstat(fd)
    if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
        raise InternalError(f"shared memory {name} belongs to somebody else")
    if status.st_size < max(1, wanted_bytes):
        raise InternalError(f"shared memory {name} has {status.st_size} bytes, expected {wanted_bytes}")
    return status.st_size


def _is_ours(name: str) -> bool:
    try:
        status = os.lstat(SHM_DIR / name[1:])
    except FileNotFoundError:
        return False
    return stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid()


def _populate(mapping: mmap.mmap, start: int, length: int) -> bool:
    """MADV_POPULATE_WRITE, without the GIL (which `mmap.madvise` holds); False when the kernel has none."""
    libc = ctypes.CDLL(None, use_errno=True)
    address = ctypes.addressof(ctypes.c_char.from_buffer(mapping, start))
    if libc.madvise(ctypes.c_void_p(address), ctypes.c_size_t(length), _MADV_POPULATE_WRITE) == 0:
        return True
    code = ctypes.get_errno()
    if code == errno.EINVAL:
        return False
    raise ResourceExhausted(f"shared memory cannot be touched: {os.strerror(code)}")
