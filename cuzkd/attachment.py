"""A client's file in the supervisor: held, passed on and closed, and never looked into."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from dataclasses import dataclass

from cuzkd.errors import Refused
from cuzkd.ipc.descriptors import close_descriptor


@dataclass(slots=True, eq=False)
class Attachment:
    """A file that a client passed or uploaded; whoever holds it closes it. `name` is for messages only.

    `closed` is called when it is closed, if anything was set aside for it.
    """

    fd: int
    name: str
    closed: Callable[[], object] | None = None

    def check(self) -> None:
        """`Refused` unless it is open for reading.

        The file system is not asked, for it might not answer: what the file is, the ingest process finds out.
        """
        flags = fcntl.fcntl(self.fd, fcntl.F_GETFL)
        if flags & os.O_ACCMODE not in (os.O_RDONLY, os.O_RDWR) or flags & os.O_PATH:
            raise Refused(f"{self.name} is not open for reading", advice="open the file for reading")

    def close(self) -> None:
        """Close the descriptor; a second time is nothing."""
        fd, self.fd = self.fd, -1
        if fd < 0:
            return
        close_descriptor(fd)
        if self.closed is not None:
            self.closed()
