"""The child side of every worker process: it dies with its parent, beats, and answers orders one by one.

A child is a program of its own (`python -m cuzkd.gpu.worker …`). It never outlives the supervisor: the
kernel kills it when the parent dies (PDEATHSIG), and a thread that reads the death pipe ends it should that
have been too late. Bad input is answered and the process goes on; broken state ends the process.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import faulthandler
import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Protocol

from cuzkd import logs
from cuzkd.errors import BadRequest, CuzkdError, InternalError, ResourceExhausted
from cuzkd.ipc.channel import BlockingChannel, ChannelClosed, Received
from cuzkd.ipc.descriptors import Descriptors
from cuzkd.ipc.messages import Failure, Message
from cuzkd.ipc.orders import Booted, Heartbeat
from cuzkd.model import PartitionId, Phase, Role
from cuzkd.pulse import PULSE

_PR_SET_PDEATHSIG = 1
_HEARTBEAT_S = 1.0
_OOM_SCORE_ADJ = 500
EXIT_PARENT_GONE = 3
EXIT_BROKEN = 4

_log = logging.getLogger(__name__)


class Broken(Exception):
    """The process's own state can no longer be trusted: it ends, and is replaced."""


@dataclass(frozen=True, slots=True)
class WorkerArgs:
    """A child's command line. `parent` is the supervisor's pid; the descriptors are inherited."""

    role: Role
    index: int
    incarnation: int
    parent: int
    channel_fd: int
    death_fd: int
    threads: int
    state_dir: Path
    log_level: str
    backend: str
    witness_seconds: float
    witness_bytes: int

    def to_argv(self) -> list[str]:
        """`--field=value` for every field."""
        return [f"--{field.name}={getattr(self, field.name)}" for field in fields(self)]

    @classmethod
    def from_argv(cls, argv: Sequence[str]) -> WorkerArgs:
        """The inverse of `to_argv`; exits with status 2 on anything else."""
        parser = argparse.ArgumentParser(description="A cuzkd process; started by the supervisor only.")
        kinds: dict[str, Callable[[str], object]] = {
            "role": Role, "state_dir": Path, "log_level": str, "backend": str, "witness_seconds": float,
        }  # fmt: skip
        for field in fields(cls):
            parser.add_argument(f"--{field.name}", type=kinds.get(field.name, int), required=True)
        return cls(**vars(parser.parse_args(argv)))

    @property
    def title(self) -> str:
        """How log lines name the process."""
        return self.role.named(self.index)


class Handler(Protocol):
    """What a role does with its orders."""

    @property
    def device(self) -> tuple[str, str]:
        """Backend and device for `Booted`; empty strings where there is none."""

    def handle(self, message: Message, descriptors: Descriptors) -> None:
        """Do one order and send its answer; the descriptors are closed by the caller."""

    def refusal(self, message: Message, failure: Failure) -> Message:
        """The answer that says that `message` failed."""


@dataclass(frozen=True, slots=True)
class _At:
    """What the process works on; an ingest order's phase is told from whether it waits for a file."""

    phase: Phase | None = None
    partition: PartitionId | None = None
    ticket: int | None = None


_IDLE = _At()


class Runtime:
    """What a handler may use: the arguments, the way back to the supervisor, and what it says that it does."""

    def __init__(self, args: WorkerArgs, channel: BlockingChannel) -> None:
        self.args = args
        self._channel = channel
        self._lock = threading.Lock()
        self._at = _IDLE

    def send(self, message: Message) -> None:
        """Send one message; from any thread."""
        self._channel.send(message)

    @contextlib.contextmanager
    def phase(self, phase: Phase, partition: PartitionId | None = None) -> Iterator[None]:
        """Say that the process works on this phase, of this partition if of one, until the block ends."""
        with self._working(_At(phase, partition)):
            yield

    @contextlib.contextmanager
    def ticket(self, ticket: int) -> Iterator[None]:
        """Say that the process works on this ingest order, until the block ends."""
        with self._working(_At(ticket=ticket)):
            yield

    def beat(self) -> None:
        """Send a heartbeat; under the lock, so that none says what has already ended when it is sent."""
        with self._lock:
            at, steps = self._at, PULSE.steps
            phase = at.phase
            if at.ticket is not None:
                phase = Phase.READ if PULSE.waits_for_file else Phase.KEEP
            self._channel.send(Heartbeat(self.args.incarnation, at.partition, at.ticket, phase, steps))

    @contextlib.contextmanager
    def _working(self, at: _At) -> Iterator[None]:
        self._enter(at)
        self.beat()
        try:
            yield
        finally:
            self._enter(_IDLE)

    def _enter(self, at: _At) -> None:
        with self._lock:
            self._at = at
        PULSE.step()


class Stopwatch:
    """The seconds that each phase of one partition took, for the log."""

    def __init__(self, runtime: Runtime, partition: PartitionId) -> None:
        self._runtime = runtime
        self._partition = partition
        self.seconds: dict[Phase, float] = {}

    @contextlib.contextmanager
    def __call__(self, phase: Phase) -> Iterator[None]:
        """Report the phase while the block runs, and add up its time."""
        begin = time.monotonic()
        try:
            with self._runtime.phase(phase, self._partition):
                yield
        finally:
            self.seconds[phase] = self.seconds.get(phase, 0.0) + time.monotonic() - begin

    def __str__(self) -> str:
        phases = ", ".join(f"{phase} {seconds:.3f}" for phase, seconds in self.seconds.items())
        return f"{sum(self.seconds.values()):.3f} s ({phases})"


def serve(role: Role, make_handler: Callable[[Runtime], Handler]) -> int:
    """Run a child's whole life; the exit status. Called by each role's `__main__`."""
    signal.pthread_sigmask(signal.SIG_SETMASK, ())  # whoever started this process takes no signals
    args = WorkerArgs.from_argv(sys.argv[1:])
    logs.setup(args.title, args.log_level)
    faulthandler.enable()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    die_with_parent(args.parent)
    _watch_death_pipe(args.death_fd)
    # left to that thread: one that waits in the kernel would never come to show the stacks
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGABRT})
    _offer_to_oom_killer()
    channel = BlockingChannel(socket.socket(fileno=args.channel_fd))
    runtime = Runtime(args, channel)
    try:
        handler = make_handler(runtime)
    except CuzkdError as error:
        _log.critical("cannot start: %s (%s)", error, error.advice)
        return EXIT_BROKEN
    runtime.send(Booted(role, args.index, args.incarnation, *handler.device))
    threading.Thread(target=_beat_for_ever, args=(runtime,), name="heartbeat", daemon=True).start()
    try:
        while True:
            received = channel.receive()
            with received.descriptors:
                _answer(received, runtime, handler)
    except ChannelClosed:
        return 0
    except (Broken, BadRequest) as error:
        _log.critical("stopping: %s", error)
        return EXIT_BROKEN


def _answer(received: Received, runtime: Runtime, handler: Handler) -> None:
    message = received.message
    try:
        handler.handle(message, received.descriptors)
    except (Broken, ChannelClosed):
        raise
    except CuzkdError as error:
        runtime.send(handler.refusal(message, Failure.of(error)))
    except MemoryError:
        _log.exception("out of memory at %s", type(message).__name__)
        runtime.send(handler.refusal(message, Failure.of(ResourceExhausted("the process is out of memory"))))
    except Exception as error:
        _log.exception("unexpected failure at %s", type(message).__name__)
        told = InternalError(f"{type(error).__name__} in the {runtime.args.title} process")
        runtime.send(handler.refusal(message, Failure.of(told)))


def die_with_parent(parent: int) -> None:
    """Have the kernel SIGKILL this process when the thread that started it ends; exit if it has ended."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG) failed")
    if os.getppid() != parent:
        os._exit(EXIT_PARENT_GONE)


def _watch_death_pipe(fd: int) -> None:
    def wait_for_end() -> None:
        os.read(fd, 1)
        os._exit(EXIT_PARENT_GONE)

    threading.Thread(target=wait_for_end, name="death-pipe", daemon=True).start()


def _offer_to_oom_killer() -> None:
    """Make the kernel take this process before the supervisor; only advice, so a refusal is no fault."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(str(_OOM_SCORE_ADJ))


def _beat_for_ever(runtime: Runtime) -> None:
    wait = threading.Event()
    while not wait.wait(_HEARTBEAT_S):
        try:
            runtime.beat()
        except OSError:
            return
