"""A real daemon for tests: its own runtime directory, real processes, and ways to look at them from outside.

Tests import this as `daemon`: pytest puts tests/ on the path.
"""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from hashlib import sha256
from pathlib import Path

from cuzkd.client import Client
from cuzkd.errors import CuzkdError
from cuzkd.ipc.channel import BlockingChannel
from cuzkd.ipc.messages import PROTOCOL_VERSION
from cuzkd.ipc.requests import Hello, Status, Welcome, WorkerStatus
from cuzkd.model import Role

LIMIT_S = 30.0


def wait_until(holds: Callable[[], object], what: str, limit_s: float = LIMIT_S) -> None:
    """Return as soon as `holds()` is true; fail when it is not in time."""
    deadline = time.monotonic() + limit_s
    while not holds():
        if time.monotonic() > deadline:
            raise AssertionError(f"not in {limit_s:g} s: {what}")
        time.sleep(0.005)


def alive(pid: int) -> bool:
    """Whether the process exists and is no zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] not in ("Z", "X")


_LIBC = ctypes.CDLL(None)


def _die_with_the_tests() -> None:
    """PR_SET_PDEATHSIG: a test run that is cut off leaves no daemon."""
    _LIBC.prctl(1, signal.SIGKILL, 0, 0, 0)


class Daemon:
    """`cuzkd serve` in `runtime_dir`, with two synthesis processes unless `config` says otherwise."""

    def __init__(
        self,
        runtime_dir: Path,
        config: str = "",
        environment: dict[str, str] | None = None,
        backend: str = "host",
    ) -> None:
        self.runtime_dir = runtime_dir
        self.socket = runtime_dir / "cuzkd.sock"
        self.spool = runtime_dir / "state" / "spool"
        self.log_path = runtime_dir.with_suffix(".log")
        self._config = runtime_dir.with_suffix(".toml")
        places = f'runtime_dir = "{runtime_dir}"\nbackend = "{backend}"\n'
        if "state_dir" not in config:
            places += f'state_dir = "{runtime_dir / "state"}"\n'
        self._config.write_text(
            places + (config or '[synthesis]\nworkers = 2\nthreads = 1\n[pool]\nlimit = "256MiB"\n')
        )
        self._environment = environment or {}
        self.start()

    def start(self) -> None:
        """Start the program; again, when it has ended."""
        with self.log_path.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "cuzkd", "serve", "--config", str(self._config)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, "PYTHONWARNINGS": "error", **self._environment},
                preexec_fn=_die_with_the_tests,
            )

    def wait_ready(self) -> Daemon:
        """Return when the daemon answers; fail with its log when it ends instead."""

        def answers() -> bool:
            if self.process.poll() is not None:
                raise AssertionError(f"the daemon ended with {self.process.returncode}:\n{self.log()}")
            try:
                self.status()
            except CuzkdError:
                return False
            return True

        wait_until(answers, "the daemon is ready")
        return self

    def client(self) -> Client:
        """A new client of this daemon."""
        return Client(self.socket)

    def status(self) -> Status:
        """The daemon's state, by a connection of its own."""
        with self.client() as client:
            return client.status()

    def worker(self, role: Role, index: int = 0) -> WorkerStatus:
        """What status says of one child."""
        return next(w for w in self.status().workers if (w.role, w.index) == (role, index))

    def log(self) -> str:
        """Everything that the daemon and its children have written."""
        return self.log_path.read_text()

    def children(self) -> list[int]:
        """The pids of the daemon's living children."""
        threads = Path(f"/proc/{self.process.pid}/task").glob(
            "*/children"
        )  # any of them may have started one
        return [int(child) for thread in threads for child in thread.read_text().split()]

    def segments(self) -> list[str]:
        """The shared-memory segments that this runtime directory's daemons have."""
        tag = sha256(os.fsencode(self.runtime_dir.resolve())).hexdigest()[:8]
        return [name for name in os.listdir("/dev/shm") if name.startswith(f"cuzkd-{tag}-")]

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send the signal, unless the daemon has ended, and return its exit status."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(LIMIT_S)


@contextmanager
def running(
    runtime_dir: Path, config: str = "", environment: dict[str, str] | None = None
) -> Iterator[Daemon]:
    """A daemon that answers; killed at the block's end if it still runs, and its children with it."""
    daemon = Daemon(runtime_dir, config, environment)
    try:
        yield daemon.wait_ready()
    finally:
        if daemon.process.poll() is None:
            daemon.stop()


def connected_as(uid: int, daemon: Daemon) -> Client:
    """A client that has connected as this user; the kernel records that for good."""
    groups = os.getgroups()
    os.setgroups([])
    os.setegid(uid)
    os.seteuid(uid)
    client = daemon.client()
    try:
        client.status()
    except CuzkdError:
        client.close()
        raise
    finally:
        os.seteuid(0)
        os.setegid(0)
        os.setgroups(groups)
    return client


@contextmanager
def connected(daemon: Daemon) -> Iterator[BlockingChannel]:
    """A bare channel to the daemon that has said hello."""
    sock = socket.socket(socket.AF_UNIX)
    sock.connect(str(daemon.socket))
    with closing(BlockingChannel(sock)) as channel:
        channel.send(Hello(PROTOCOL_VERSION, PROTOCOL_VERSION, "test"), 1)
        assert isinstance(channel.receive(LIMIT_S).message, Welcome)
        yield channel
