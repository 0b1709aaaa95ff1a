"""What several of the tests of descriptors need: real descriptors, and a count of those that are open."""

import array
import os
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

FdKey = tuple[int, int]


def open_fds() -> set[str]:
    """The process's open descriptors, the one that lists them excepted."""
    return {fd for fd in os.listdir("/proc/self/fd") if Path(f"/proc/self/fd/{fd}").exists()}


@contextmanager
def no_fd_growth() -> Iterator[None]:
    """Fail when the block leaves a descriptor open that was not before."""
    before = open_fds()
    yield
    assert open_fds() <= before


@contextmanager
def memfds(count: int) -> Iterator[list[int]]:
    """`count` memory files, each holding its own index as text."""
    fds = [os.memfd_create(f"test-{index}") for index in range(count)]
    try:
        for index, fd in enumerate(fds):
            os.write(fd, str(index).encode())
        yield fds
    finally:
        for fd in fds:
            os.close(fd)


def contents(fds: Sequence[int]) -> list[int]:
    """The indices that memory files made by `memfds` hold."""
    return [int(os.pread(fd, 20, 0)) for fd in fds]


def send_raw(sock: socket.socket, data: bytes, fds: Sequence[int] = ()) -> None:
    """One sendmsg of exactly these bytes and descriptors."""
    control = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
    assert sock.sendmsg([data], control) == len(data)
