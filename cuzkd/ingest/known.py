"""Files that were read before are found again by their identity, without reading them."""

from __future__ import annotations

import os
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from cuzkd.pulse import PULSE

_SETTLED_NS = 2_000_000_000
"""A file younger than this could change again within its timestamps' granularity."""

_T = TypeVar("_T")


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
        with PULSE.reading():
            status = os.fstat(fd)
        return cls(uid, status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


class KnownFiles:
    """The digests of the `capacity` files seen last; one user's files say nothing about another's."""

    def __init__(self, *, capacity: int = 4096, now_ns: Callable[[], int] = time.time_ns) -> None:
        self._capacity = capacity
        self._now_ns = now_ns
        self._digests: OrderedDict[Identity, str] = OrderedDict()

    def recognise(
        self, fd: int, uid: int, find: Callable[[str], _T | None], read: Callable[[], tuple[str, _T]]
    ) -> _T:
        """What `find` has for the file's digest if that is known and the file unchanged, else what `read` makes.

        `read` reads the whole file and returns its digest too; its errors pass, and then nothing is remembered.
        """
        identity = Identity.of(fd, uid)
        settled = self._now_ns() - max(identity.mtime_ns, identity.ctime_ns) >= _SETTLED_NS
        digest = self._digests.get(identity)
        if digest is not None:
            found = find(digest)
            if found is not None:
                self._digests.move_to_end(identity)
                return found
            del self._digests[identity]
        digest, made = read()
        if settled and Identity.of(fd, uid) == identity:
            self._remember(identity, digest)
        return made

    def _remember(self, identity: Identity, digest: str) -> None:
        self._digests[identity] = digest
        if len(self._digests) > self._capacity:
            self._digests.popitem(last=False)
