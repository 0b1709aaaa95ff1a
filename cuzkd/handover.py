"""How files are handed to a daemon: opened here, attached to a request in frames of descriptors."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Sequence

from cuzkd.conversation import Conversation, ProgressCallback
from cuzkd.errors import InternalError
from cuzkd.ipc.messages import MAX_DESCRIPTORS, Message
from cuzkd.ipc.requests import Attach, Attached

File = str | os.PathLike[str] | int
"""A file to send: its path, or an open descriptor of it, which stays the caller's."""

_NAME_LIMIT = 1024

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    _Answer = TypeVar("_Answer", bound=Message)


class Files(list[File]):
    """The files of one request in the order of their indices."""

    def add(self, file: File) -> int:
        """Append a file; its index in the request."""
        self.append(file)
        return len(self) - 1

    def add_if(self, file: File | None) -> int | None:
        """Append a file if there is one."""
        return None if file is None else self.add(file)

    def add_all(self, files: Sequence[File]) -> tuple[int, ...]:
        """Append files; their indices."""
        return tuple(map(self.add, files))


def hand_over(
    daemon: Conversation,
    files: Files,
    request: Message,
    answer: type[_Answer],
    progress: ProgressCallback | None,
) -> _Answer:
    """Attach the files and make the request that takes them.

    Any error closes the connection: it may hold files of this attempt, which the next one must not find there.
    """
    try:
        for start in range(0, len(files), MAX_DESCRIPTORS):
            _attach(daemon, files[start : start + MAX_DESCRIPTORS], already=start)
        return daemon.ask(request, answer, progress=progress)
    except BaseException:
        daemon.close()
        raise


def _attach(daemon: Conversation, files: Sequence[File], already: int) -> None:
    opened: list[int] = []
    try:
        descriptors = []
        for file in files:
            if not isinstance(file, int):
                opened.append(open_input(file))
            descriptors.append(file if isinstance(file, int) else opened[-1])
        names = tuple(map(_name, files))
        held = daemon.ask(Attach(names), Attached, descriptors=descriptors).total
    finally:
        for descriptor in opened:
            os.close(descriptor)
    if held != already + len(files):
        raise InternalError(f"the daemon holds {held} files, not {already + len(files)}")


def open_input(path: str | os.PathLike[str]) -> int:
    """A descriptor of a regular file, opened for reading; `OSError` for anything else, without waiting."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise OSError(errno.EINVAL, "not a regular file", os.fspath(path))


def _name(file: File) -> str:
    if isinstance(file, int):
        return f"descriptor {file}"
    return os.fsencode(file).decode("utf-8", "replace")[-_NAME_LIMIT:]
