"""Programs are started by a thread that has none of the process's descriptors but the standard ones.

Whoever starts a program closes, on its behalf, all that it is not to have. Among the supervisor's descriptors are
clients' files, and closing one of those may wait for ever for a file system that does not answer: a copy of the
table without them is what new programs are made from.
"""

from __future__ import annotations

import ctypes
import logging
import os
import resource
import signal
import socket
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from functools import cache
from queue import SimpleQueue

from cuzkd.ipc.messages import MAX_DESCRIPTORS

_CLONE_FILES = 0x400
_FIRST_OWN = 3
_OUTPUT = (1, 2)
"""Where these lead may have changed since the thread began."""

_log = logging.getLogger(__name__)

Argv = Callable[[Sequence[int]], list[str]]


class Spawner:
    """The thread, which stays as long as the process: a child may ask the kernel to die with who started it.

    To be made while the process holds no file of a client.
    """

    def __init__(self) -> None:
        self._orders: SimpleQueue[tuple[Argv, Mapping[str, str], Future[subprocess.Popen[bytes]]]] = (
            SimpleQueue()
        )
        self._ours, theirs = socket.socketpair()
        ready: Future[None] = Future()
        threading.Thread(target=self._run, args=(theirs, ready), name="spawner", daemon=True).start()
        ready.result()
        if self.apart:
            theirs.close()

    def start(self, argv: Argv, fds: Sequence[int], env: Mapping[str, str]) -> subprocess.Popen[bytes]:
        """Start a program that has these descriptors, under the numbers that `argv` is given. OSError."""
        socket.send_fds(self._ours, [b"\0"], [*fds, *_OUTPUT])
        started: Future[subprocess.Popen[bytes]] = Future()
        self._orders.put((argv, env, started))
        return started.result()

    def _run(self, sock: socket.socket, ready: Future[None]) -> None:
        # signals are the main thread's, which blocks them when it must not end; programs unblock them for themselves
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        self.apart = _leave_all_but(sock.fileno())
        # both tables have it now: this thread's is used by number, for the other's is closed as an object
        own = os.dup(sock.fileno()) if self.apart else sock.fileno()
        ready.set_result(None)
        with socket.socket(fileno=own) as mine:
            while True:
                argv, env, started = self._orders.get()
                _, fds, _, _ = socket.recv_fds(mine, 1, MAX_DESCRIPTORS, socket.MSG_CMSG_CLOEXEC)
                try:
                    started.set_result(_popen(argv(fds), fds, env))
                except OSError as error:
                    started.set_exception(error)
                finally:
                    for fd in fds:
                        os.close(fd)


@cache
def spawner() -> Spawner:
    """This process's."""
    return Spawner()


def _popen(argv: list[str], fds: Sequence[int], env: Mapping[str, str]) -> subprocess.Popen[bytes]:
    *passed, out, err = fds
    return subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=out,
        stderr=err,
        pass_fds=passed,
        env=dict(env),
        start_new_session=True,
    )


def _leave_all_but(fd: int) -> bool:
    """Give this thread a table of its own with nothing but the standard descriptors and `fd`; False if it may not."""
    if ctypes.CDLL(None, use_errno=True).unshare(_CLONE_FILES) != 0:
        _log.warning("a thread can have no descriptors of its own: %s", os.strerror(ctypes.get_errno()))
        return False
    os.closerange(_FIRST_OWN, fd)
    os.closerange(fd + 1, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
    return True
