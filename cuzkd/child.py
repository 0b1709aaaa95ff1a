"""The parent side of a worker process: start it as a new program, talk to it, see its death, end it.

A child that has not said `Booted` is a `BootingChild` and takes no orders; `booted` turns it into a `Child`.
Processes are watched and signalled by pidfd only, so that a reused pid can never be hit.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from cuzkd.errors import BootFailed
from cuzkd.events import Worker
from cuzkd.ipc.channel import NonBlockingChannel, Received
from cuzkd.ipc.messages import Message
from cuzkd.ipc.orders import Booted
from cuzkd.model import Role
from cuzkd.sd import CHILD_SCRUBBED
from cuzkd.spawner import spawner
from cuzkd.worker import WorkerArgs

# the orders of a thousand partitions may wait for a child that computes
_MAX_QUEUED_BYTES = 64 << 20
_PROGRAMS = {
    Role.INGEST: "cuzkd.ingest.worker",
    Role.SYNTHESIS: "cuzkd.synthesis.worker",
    Role.GPU: "cuzkd.gpu.worker",
}


@dataclass(frozen=True, slots=True)
class Settings:
    """What every life of a child is started with; `lock_fd` is inherited and never used by the child."""

    role: Role
    index: int
    threads: int
    state_dir: Path
    log_level: str
    backend: str
    witness_seconds: float
    witness_bytes: int
    lock_fd: int


class Process:
    """One life of a child: its pidfd, its channel and its death pipe."""

    def __init__(
        self,
        worker: Worker,
        popen: subprocess.Popen[bytes],
        pidfd: int,
        channel: NonBlockingChannel,
        death: int,
    ) -> None:
        self.worker = worker
        self.pid = popen.pid
        self.channel = channel
        self.pidfd = pidfd
        self._popen = popen
        self._death = death

    def kill(self, number: signal.Signals) -> None:
        """Send a signal; nothing if the process has ended."""
        try:
            signal.pidfd_send_signal(self.pidfd, number)
        except ProcessLookupError:
            return

    def receive(self) -> Iterator[Received]:
        """What the child has sent; `ChannelClosed` at the end."""
        return self.channel.on_readable()

    def reap(self) -> str:
        """Collect a process whose pidfd has fired and free everything of it; how it ended, for people."""
        status = self._popen.wait()
        self.channel.close()
        os.close(self.pidfd)
        os.close(self._death)
        if status < 0:
            return f"killed by {signal.Signals(-status).name}"
        return f"exited with status {status}"


class BootingChild:
    """A child that has been started; it takes no orders yet."""

    def __init__(self, process: Process) -> None:
        self.process = process

    def booted(self, message: Message) -> Child:
        """The same process as a child that takes orders; `BootFailed` when it says anything else first."""
        worker = self.process.worker
        told = message if isinstance(message, Booted) else None
        if told is None or (told.role, told.index, told.incarnation) != (
            worker.role,
            worker.index,
            worker.incarnation,
        ):
            raise BootFailed(f"the {worker.role} process began with {type(message).__name__}")
        return Child(self.process, told.backend, told.device)


class Child:
    """A child that takes orders."""

    def __init__(self, process: Process, backend: str, device: str) -> None:
        self.process = process
        self.backend = backend
        self.device = device

    @property
    def worker(self) -> Worker:
        """Role, index and incarnation."""
        return self.process.worker

    def order(self, message: Message, fds: Sequence[int] = ()) -> None:
        """Queue an order; the caller sees to it that the channel is written."""
        self.process.channel.queue(message, fds=fds)


def spawn(settings: Settings, incarnation: int) -> BootingChild:
    """Start a child as a program of its own, in a session of its own so that no terminal signals it.

    The child asks the kernel to be killed when the thread that starts it ends: the spawner's, with the process.
    `OSError` when there are no descriptors or processes left; nothing of it runs or stays open then.
    """
    worker = Worker(settings.role, settings.index, incarnation)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    death_read, death_write = os.pipe2(os.O_CLOEXEC)

    def argv(fds: Sequence[int]) -> list[str]:
        args = WorkerArgs(
            role=settings.role,
            index=settings.index,
            incarnation=incarnation,
            parent=os.getpid(),
            channel_fd=fds[0],
            death_fd=fds[1],
            threads=settings.threads,
            state_dir=settings.state_dir,
            log_level=settings.log_level,
            backend=settings.backend,
            witness_seconds=settings.witness_seconds,
            witness_bytes=settings.witness_bytes,
        )
        # -P: a file in the working directory must not shadow a module
        return [sys.executable, "-P", "-m", _PROGRAMS[settings.role], *args.to_argv()]

    try:
        popen = spawner().start(
            argv,
            (theirs.fileno(), death_read, settings.lock_fd),
            {name: value for name, value in os.environ.items() if name not in CHILD_SCRUBBED},
        )
    except OSError:
        ours.close()
        os.close(death_write)
        raise
    finally:
        theirs.close()
        os.close(death_read)
    try:
        pidfd = os.pidfd_open(popen.pid)
    except OSError:
        # without a pidfd its death would not be seen: end it here
        popen.kill()
        popen.wait()
        ours.close()
        os.close(death_write)
        raise
    channel = NonBlockingChannel(ours, _MAX_QUEUED_BYTES)
    return BootingChild(Process(worker, popen, pidfd, channel, death_write))
