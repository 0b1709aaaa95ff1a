"""The sandbox that a circuit's witness program runs in: bounded memory and time, every failure an error.

A program is code from outside. Time is bounded by wasmtime's epochs and not by fuel: a limit in seconds is
what an operator can reason about, and an epoch check is one compare where fuel counts every basic block. A
thread advances the epoch, only while something runs. Each run has a store of its own, closed after it:
nothing survives from one witness to the next, nor does a program that trapped.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from types import TracebackType
from typing import Any, NoReturn

from wasmtime import (
    Config,
    Engine,
    Func,
    FuncType,
    Instance,
    Limits,
    Memory,
    MemoryType,
    Module,
    Store,
    Trap,
    TrapCode,
    WasmtimeError,
)

from cuzkd.errors import BadFile, CuzkdError, WitnessOutOfMemory, WitnessOutOfTime

PAGE_BYTES = 65536
_TICK_S = 0.02
_MAX_INSTANCES = 3  # the program and the helpers
_MAX_TABLE_ELEMENTS = 1 << 22
_OFF = (
    "wasm_threads",
    "wasm_relaxed_simd",
    "wasm_simd",
    "wasm_memory64",
    "wasm_multi_memory",
    "wasm_tail_call",
    "wasm_exceptions",
)


@dataclass(frozen=True, slots=True)
class WasmLimits:
    """What a program may use: bytes of file and of memory (4 GiB end a 32-bit one), seconds a run."""

    module_bytes: int = 512 << 20
    memory_bytes: int = 2 << 30
    seconds: float = 60.0
    log_lines: int = 1000

    @property
    def memory_pages(self) -> int:
        """The limit in whole pages of wasm memory."""
        return min(self.memory_bytes, 4 << 30) // PAGE_BYTES


class HostStop(Exception):
    """Unwinds a program from a host function; the reason is the sandbox's `fault`."""


@cache
def engine() -> Engine:
    """The process's one engine: what compiled modules in a cache were compiled for."""
    config = Config()
    config.epoch_interruption = True
    for feature in _OFF:
        setattr(config, feature, False)
    return Engine(config)


class _EpochClock:
    """Advances the engine's epoch every tick while at least one run holds it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._stop = threading.Event()

    @contextmanager
    def running(self) -> Iterator[None]:
        with self._lock:
            self._users += 1
            if self._users == 1:
                self._stop = threading.Event()
                threading.Thread(target=_tick, args=(self._stop,), name="wasm-epoch", daemon=True).start()
        try:
            yield
        finally:
            with self._lock:
                self._users -= 1
                if self._users == 0:
                    self._stop.set()


def _tick(stop: threading.Event) -> None:
    while not stop.wait(_TICK_S):
        engine().increment_epoch()


_clock = _EpochClock()


class Sandbox:
    """One run's store, with its deadline. Use as a context manager; everything made in it dies with it."""

    def __init__(self, limits: WasmLimits) -> None:
        self.limits = limits
        self.fault: CuzkdError | None = None
        self._memory: Memory | None = None
        self._first_pages = 0
        self.store = Store(engine())
        self.store.set_limits(
            memory_size=limits.memory_pages * PAGE_BYTES,
            table_elements=_MAX_TABLE_ELEMENTS,
            instances=_MAX_INSTANCES,
            tables=_MAX_INSTANCES,
            memories=_MAX_INSTANCES,
        )
        self._running = _clock.running()
        self._deadline = 0.0

    def __enter__(self) -> Sandbox:
        self._running.__enter__()
        self._deadline = time.monotonic() + self.limits.seconds
        self.store.set_epoch_deadline(math.ceil(self.limits.seconds / _TICK_S) + 1)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._running.__exit__(None, None, None)
        # Host functions refer to the sandbox and the store to them: without this nothing would be freed.
        self.store.close()

    def make_memory(self, pages: int, max_pages: int | None) -> Memory:
        """A zeroed memory for the program to import; WitnessOutOfMemory when the limit is below `pages`."""
        if pages > self.limits.memory_pages:
            raise out_of_memory(pages, self.limits)
        with self._explained():
            memory = Memory(self.store, MemoryType(Limits(pages, max_pages)))
        self.watch(memory)
        return memory

    def watch(self, memory: Memory) -> None:
        """Name the program's memory: a crash after it grew up to the limit is then told as lack of memory."""
        self._memory = memory
        self._first_pages = memory.size(self.store)

    def instantiate(self, module: Module, imports: list[Func | Memory]) -> Instance:
        """Start a module; its memory and its start function are bound by the limits."""
        with self._explained():
            return Instance(self.store, module, imports)

    def call(self, function: Func, *arguments: int) -> int:
        """Call a function of i32 parameters; its i32 result as unsigned, 0 where it has none."""
        self.check_time()
        with self._explained():
            result = function(self.store, *(signed(argument) for argument in arguments))
        return 0 if result is None else int(result) & 0xFFFFFFFF

    def host(self, kind: FuncType, function: Callable[..., None]) -> Func:
        """A host function for the program to import."""
        return Func(self.store, kind, function)

    def stop(self, fault: CuzkdError) -> NoReturn:
        """In a host function: end the run with `fault`, whatever the program does next."""
        self.fault = self.fault or fault
        raise HostStop

    def read(self, memory: Memory, address: int, size_bytes: int) -> memoryview:
        """A view of a program's memory, valid until the program runs again; BadFile when it lies outside."""
        return memoryview(self._span(memory, address, size_bytes)).cast("B")

    def write(self, memory: Memory, address: int, data: bytes) -> None:
        """Copy bytes into a program's memory; BadFile when they would lie outside."""
        memoryview(self._span(memory, address, len(data))).cast("B")[:] = data

    def check_time(self) -> None:
        """Raise WitnessOutOfTime after the deadline."""
        if time.monotonic() > self._deadline:
            raise self._out_of_time()

    def _span(self, memory: Memory, address: int, size_bytes: int) -> Any:
        held = memory.data_len(self.store)
        if address < 0 or size_bytes < 0 or address + size_bytes > held:
            raise BadFile(f"the witness program points outside its memory of {held} bytes")
        return memory.get_buffer_ptr(self.store, size_bytes, address)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (Trap, WasmtimeError, HostStop) as error:
            # The sandbox's own record goes first: wasmtime hands a host function's exception to whichever
            # thread asks next, so the exception alone does not tell whose it was.
            raise self.fault or self._reason(error) from None

    def _reason(self, error: Exception) -> CuzkdError:
        code = error.trap_code if isinstance(error, Trap) else None
        if code is TrapCode.INTERRUPT or time.monotonic() > self._deadline:
            return self._out_of_time()
        if self._memory is not None:
            pages = self._memory.size(self.store)
            if self._first_pages < pages == self.limits.memory_pages:
                return out_of_memory(pages + 1, self.limits)
        if code is not None:
            return BadFile(f"the witness program crashed: {code.name.lower().replace('_', ' ')}")
        if isinstance(error, WasmtimeError):
            return BadFile(f"the witness program does not start: {first_line(error)}")
        return BadFile("the witness program crashed")

    def _out_of_time(self) -> WitnessOutOfTime:
        return WitnessOutOfTime(f"the witness program ran longer than {self.limits.seconds:g} s")


def out_of_memory(pages: int, limits: WasmLimits) -> WitnessOutOfMemory:
    """The error for a program that needs `pages` of memory or more."""
    return WitnessOutOfMemory(
        f"the witness program needs at least {pages * PAGE_BYTES} bytes of memory; "
        f"the limit is {limits.memory_bytes}"
    )


def signed(value: int) -> int:
    """A 32-bit word as the signed number that wasmtime takes."""
    value &= 0xFFFFFFFF
    return value - (1 << 32) if value >> 31 else value


def first_line(error: Exception) -> str:
    """The first line of wasmtime's message, shortened."""
    return (str(error).splitlines() or [""])[0][:200]
