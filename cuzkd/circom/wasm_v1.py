"""The programs of circom 0.5 (ABI version 1): the host makes the memory and passes field elements through it.

The program's own sanity checks are switched on: without them it checks no constraint, and values beyond a
signal's end would leak into the next one unseen. What version 1 cannot tell is how many values a signal
takes, so a wrong count is known by its effects: a cell set twice (too many) or a main component that never
ran (too few).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from wasmtime import Func, FuncType, Memory, MemoryType, Module

from cuzkd.circom.inputs import InputSignal, name_hash, shown
from cuzkd.circom.wasm_bind import (
    BoundedLog,
    check_exports,
    check_hosts,
    functions,
    helper,
    printable,
    unknown_import,
)
from cuzkd.circom.wasm_limits import Sandbox
from cuzkd.errors import (
    AssertionFailed,
    BadWitness,
    CuzkdError,
    MissingSignal,
    UnknownSignal,
    Unsupported,
    WitnessOutOfMemory,
    WrongValueCount,
)
from cuzkd.model import SCALAR_BYTES

_LONG = 0x80000000
_MONTGOMERY = 0x40000000
_ELEMENT_BYTES = 8 + SCALAR_BYTES  # i32 small value, u32 flags, the value's words
_CHUNK = 256  # elements lent from the program's heap, which its stack grows towards
_MAX_PAGES = 32767  # what circom 0.5's own host gives, whatever little the program asks for
_MAX_STRING = 512
_REQUIRED = {
    "getFrLen": (0, 1),
    "getPRawPrime": (0, 1),
    "getNVars": (0, 1),
    "init": (1, 0),
    "getSignalOffset32": (4, 0),
    "setSignal": (4, 0),
    "getWitnessBuffer": (0, 1),
}
_HOST = {"error": 6, "log": 1}
_HOOKS = {"logSetSignal": 2, "logGetSignal": 2, "logStartComponent": 1, "logFinishComponent": 1}


def check(module: Module) -> None:
    """Raise BadFile unless the module offers what version 1 needs and asks for nothing else."""
    check_exports(module, _REQUIRED)
    check_hosts(
        [item for item in module.imports if not isinstance(item.type, MemoryType)], {**_HOST, **_HOOKS}
    )
    for item in module.imports:
        if isinstance(item.type, MemoryType) and (item.module, item.name) != ("env", "memory"):
            raise unknown_import(item)


class Run:
    """One run of a program: feed its inputs, then drain the witness."""

    def __init__(self, sandbox: Sandbox, module: Module, log: list[str] | None) -> None:
        self._sandbox = sandbox
        self._hooks = functions(sandbox, sandbox.instantiate(helper("hooks_v1"), []))
        self._reports_start = any(item.name == "logStartComponent" for item in module.imports)
        self._memory = self._make_memory(module)
        self._host = _Host(sandbox, self._memory, log)
        imports: list[Func | Memory] = []
        for item in module.imports:
            if isinstance(item.type, MemoryType):
                imports.append(self._memory)
            elif item.name in _HOOKS:
                imports.append(self._hooks[item.name])
            else:
                assert isinstance(item.type, FuncType)
                imports.append(sandbox.host(item.type, self._host.functions[item.name or ""]))
        self._calls = functions(sandbox, sandbox.instantiate(module, imports))
        if self._call("getFrLen") != _ELEMENT_BYTES:
            raise Unsupported("the witness program's field does not have 256-bit elements")

    def prime(self) -> int:
        """The modulus that the program was compiled for."""
        address = self._call("getPRawPrime")
        return int.from_bytes(self._sandbox.read(self._memory, address, SCALAR_BYTES), "little")

    def num_vars(self) -> int:
        """Wires of the circuit, as the program says."""
        return self._call("getNVars")

    def feed(self, inputs: Sequence[InputSignal], prime: int) -> None:
        """Set every input, which runs the circuit; raises the errors of `WitnessProgram.calculate`."""
        self._host.prime = prime
        transfer = functions(
            self._sandbox, self._sandbox.instantiate(helper("transfer_v1"), [self._calls["setSignal"]])
        )
        self._call("init", 1)
        lent = self._borrow(8 + _CHUNK * _ELEMENT_BYTES)
        for signal, offset in self._placed(inputs, lent):
            self._host.signal = signal
            for first in range(0, len(signal.values), _CHUNK):
                chunk = signal.values[first : first + _CHUNK]
                data = b"".join(_element(value % prime, prime) for value in chunk)
                self._sandbox.write(self._memory, lent + 8, data)
                self._sandbox.call(transfer["feed"], lent + 8, offset + first, len(chunk))
        self._host.signal = None
        if self._reports_start and not self._sandbox.call(self._hooks["mainRan"]):
            given = sum(len(signal.values) for signal in inputs)
            raise MissingSignal(f"the circuit takes more than the {given} input values that are given")

    def drain(self, num_vars: int, out: NDArray[np.uint8]) -> None:
        """Write the witness, `num_vars` values of 32 bytes, to `out`."""
        address = self._call("getWitnessBuffer")
        values = self._sandbox.read(self._memory, address, num_vars * SCALAR_BYTES)
        out[:] = np.frombuffer(values, np.uint8)

    def _call(self, name: str, *arguments: int) -> int:
        return self._sandbox.call(self._calls[name], *arguments)

    def _make_memory(self, module: Module) -> Memory:
        """The program's memory: as much as is allowed, since its heap and stack share what its data leave."""
        least, most = 0, _MAX_PAGES
        bounded = None
        for item in module.imports:
            if isinstance(item.type, MemoryType):
                least, bounded = item.type.limits.min, item.type.limits.max
        if bounded is not None:
            most = min(most, bounded)
        return self._sandbox.make_memory(max(least, min(most, self._sandbox.limits.memory_pages)), bounded)

    def _borrow(self, size_bytes: int) -> int:
        """Take memory from the program's heap, whose top is the word at address 0."""
        top = int.from_bytes(self._sandbox.read(self._memory, 0, 4), "little") + 7 & ~7
        self._sandbox.read(self._memory, top, size_bytes)
        self._sandbox.write(self._memory, 0, (top + size_bytes).to_bytes(4, "little"))
        return top

    def _placed(self, inputs: Sequence[InputSignal], lent: int) -> list[tuple[InputSignal, int]]:
        """The inputs with their first cells; raises when the values of one would run into another's."""
        placed: list[tuple[InputSignal, int]] = []
        self._host.looking_up = True
        for signal in inputs:
            self._host.signal = signal
            digest = name_hash(signal.name)
            self._call("getSignalOffset32", lent, 0, digest >> 32, digest)
            placed.append((signal, int.from_bytes(self._sandbox.read(self._memory, lent, 4), "little")))
        self._host.looking_up = False
        placed.sort(key=lambda item: item[1])
        for (signal, offset), (_, following) in pairwise(placed):
            if offset + len(signal.values) > following:
                raise WrongValueCount(
                    f"the signal {shown(signal.name)} takes at most {following - offset} values, "
                    f"{len(signal.values)} are given"
                )
        return placed


class _Host:
    """The host functions of one run. Values that come with an error are secret and stay out of it."""

    def __init__(self, sandbox: Sandbox, memory: Memory, log: list[str] | None) -> None:
        self.functions: dict[str, Callable[..., None]] = {"error": self._error, "log": self._log_value}
        self.signal: InputSignal | None = None
        self.looking_up = False
        self.prime = 1
        self._sandbox = sandbox
        self._memory = memory
        self._log = BoundedLog(log, sandbox.limits.log_lines)

    def _error(self, code: int, text: int, *details: int) -> None:
        self._sandbox.stop(self._error_of(code, text, details))

    def _error_of(self, code: int, text: int, details: Sequence[int]) -> CuzkdError:
        name = shown(self.signal.name) if self.signal else "an input"
        match code:
            case 1 | 2:
                return WitnessOutOfMemory("the witness program ran out of its own memory")
            case 3 | 4 if self.looking_up:
                return UnknownSignal(f"the circuit has no input signal {name}")
            case 6:
                return WrongValueCount(
                    f"a signal was set twice, at the latest with {name}: an input has more values than it "
                    "takes, or names a signal that the circuit computes"
                )
            case 7:
                return AssertionFailed(f"a constraint of the circuit failed: {self._string(details[3])}")
            case 8:
                return WrongValueCount(f"more input values are given than the circuit takes, with {name}")
            case 9:
                return AssertionFailed(f"an assertion of the circuit failed: {self._string(details[2])}")
            case _:
                return BadWitness(f"the witness program stopped with code {code}: {self._string(text)}")

    def _log_value(self, address: int) -> None:
        raw = self._sandbox.read(self._memory, address & 0xFFFFFFFF, _ELEMENT_BYTES)
        self._log.piece(str(_value(bytes(raw), self.prime)))
        self._log.end_line()

    def _string(self, address: int) -> str:
        address &= 0xFFFFFFFF
        size = max(0, min(_MAX_STRING, self._memory.data_len(self._sandbox.store) - address))
        text = bytes(self._sandbox.read(self._memory, address, size)) if size else b""
        return printable(text.split(b"\0", 1)[0].decode("latin-1"))


def _element(value: int, prime: int) -> bytes:
    """A canonical value as the program holds it: in 32 bits where it fits, else in eight words."""
    if value < 1 << 31:
        return value.to_bytes(4, "little") + bytes(4 + SCALAR_BYTES)
    if prime - value <= 1 << 31:
        return (value - prime).to_bytes(4, "little", signed=True) + bytes(4 + SCALAR_BYTES)
    return bytes(4) + _LONG.to_bytes(4, "little") + value.to_bytes(SCALAR_BYTES, "little")


def _value(raw: bytes, prime: int) -> int:
    flags = int.from_bytes(raw[4:8], "little")
    if not flags & _LONG:
        return int.from_bytes(raw[:4], "little", signed=True) % prime
    value = int.from_bytes(raw[8:], "little")
    return value * pow(2, -8 * SCALAR_BYTES, prime) % prime if flags & _MONTGOMERY else value % prime
