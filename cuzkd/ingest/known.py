"""Key files that were compiled before are found again by their identity, without reading them."""

from __future__ import annotations

import os
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cuzkd.formats.compiled import find_compiled
from cuzkd.formats.compiled_writer import remove_leftovers
from cuzkd.ingest.compile import compile_zkey
from cuzkd.model import CircuitRef

_SETTLED_NS = 2_000_000_000
"""A file younger than this could change again within its timestamps' granularity."""


@dataclass(frozen=True, slots=True)
class Identity:
    """A file as one user showed it to us; any write to it changes a timestamp."""

    uid: int
    device: int
    inode: int
    size: int
    mtime_ns: int
    ctime_ns: int

    @classmethod
    def of(cls, fd: int, uid: int) -> Identity:
        """The identity of an open file, shown by the user `uid`."""
        status = os.fstat(fd)
        return cls(uid, status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


class KnownFiles:
    """The circuits of the `capacity` key files seen last; one user's files say nothing about another's.

    Making it also removes what a compilation that was killed left in `circuits_dir`.
    """

    def __init__(
        self, circuits_dir: Path, *, capacity: int = 4096, now_ns: Callable[[], int] = time.time_ns
    ) -> None:
        remove_leftovers(circuits_dir)
        self._circuits_dir = circuits_dir
        self._capacity = capacity
        self._now_ns = now_ns
        self._digests: OrderedDict[Identity, str] = OrderedDict()

    def compile(self, fd: int, name: str, uid: int, *, threads: int | None = None) -> tuple[CircuitRef, bool]:
        """Like `compile_zkey`, but a file that is known and unchanged is not read."""
        identity = Identity.of(fd, uid)
        settled = self._now_ns() - max(identity.mtime_ns, identity.ctime_ns) >= _SETTLED_NS
        ref = self._find(identity)
        if ref is not None:
            return ref, True
        ref, found = compile_zkey(fd, name, self._circuits_dir, threads=threads)
        if settled and Identity.of(fd, uid) == identity:
            self._remember(identity, ref.digest)
        return ref, found

    def _find(self, identity: Identity) -> CircuitRef | None:
        digest = self._digests.get(identity)
        if digest is None:
            return None
        manifest = find_compiled(self._circuits_dir, digest)
        if manifest is None:
            del self._digests[identity]
            return None
        self._digests.move_to_end(identity)
        return manifest.ref

    def _remember(self, identity: Identity, digest: str) -> None:
        self._digests[identity] = digest
        if len(self._digests) > self._capacity:
            self._digests.popitem(last=False)
