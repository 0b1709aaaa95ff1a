"""The programs of circom 2 (ABI version 2): inputs by hash and index, text read character by character.

The program keeps its memory to itself and hands values over one 32-bit word a call; a helper module beside it
(`transfer_v2.wat`) makes those calls, so that no Python runs once a wire.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

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
)
from cuzkd.circom.wasm_limits import Sandbox, out_of_memory, signed
from cuzkd.errors import (
    AssertionFailed,
    BadFile,
    BadWitness,
    CuzkdError,
    MissingSignal,
    UnknownSignal,
    Unsupported,
    WitnessOutOfMemory,
    WrongValueCount,
)
from cuzkd.model import SCALAR_BYTES

_WORDS = 8
_CHUNK = 65536  # values that fit the helper's memory
_MAX_MESSAGE = 1024
_MAX_MESSAGES = 64
_REQUIRED = {
    "getVersion": (0, 1),
    "getFieldNumLen32": (0, 1),
    "getRawPrime": (0, 0),
    "getWitnessSize": (0, 1),
    "getInputSize": (0, 1),
    "init": (1, 0),
    "readSharedRWMemory": (1, 1),
    "writeSharedRWMemory": (2, 0),
    "setInputSignal": (3, 0),
    "getWitness": (1, 0),
    "getMessageChar": (0, 1),
}
_OPTIONAL = {"getInputSignalSize": (2, 1)}  # circom 2.0.3 has none, 2.0.6 does
_HOST = {"exceptionHandler": 1, "printErrorMessage": 0, "writeBufferMessage": 0, "showSharedRWMemory": 0}


def check(module: Module) -> None:
    """Raise BadFile unless the module offers what version 2 needs and asks for nothing else."""
    check_exports(module, _REQUIRED, _OPTIONAL)
    check_hosts(module.imports, _HOST)


class Run:
    """One run of a program: feed its inputs, then drain the witness."""

    def __init__(self, sandbox: Sandbox, module: Module, log: list[str] | None) -> None:
        self._sandbox = sandbox
        self._host = _Host(sandbox, log, {item.name or "" for item in module.imports})
        imports: list[Func | Memory] = []
        for item in module.imports:
            assert isinstance(item.type, FuncType)
            imports.append(sandbox.host(item.type, self._host.functions[item.name or ""]))
        for export in module.exports:
            if isinstance(export.type, MemoryType) and export.type.limits.min > sandbox.limits.memory_pages:
                raise out_of_memory(export.type.limits.min, sandbox.limits)
        instance = sandbox.instantiate(module, imports)
        memory = instance.exports(sandbox.store).get("memory")
        if isinstance(memory, Memory):
            sandbox.watch(memory)
        self._calls = self._host.calls = functions(sandbox, instance)
        version = self._call("getVersion")
        if version != 2:
            raise Unsupported(f"the witness program has interface version {version}, not 1 or 2")
        if self._call("getFieldNumLen32") != _WORDS:
            raise Unsupported("the witness program's field does not have 256-bit elements")

    def prime(self) -> int:
        """The modulus that the program was compiled for."""
        self._call("getRawPrime")
        return self._shared()

    def num_vars(self) -> int:
        """Wires of the circuit, as the program says."""
        return self._call("getWitnessSize")

    def feed(self, inputs: Sequence[InputSignal], prime: int) -> None:
        """Set every input, which runs the circuit; raises the errors of `WitnessProgram.calculate`."""
        wanted = self._call("getInputSize")
        sizes_known = "getInputSignalSize" in self._calls
        given = sum(len(signal.values) for signal in inputs)
        if sizes_known:
            self._check_sizes(inputs)
            _check_enough(given, wanted)
        if given > wanted:
            raise WrongValueCount(f"the circuit takes {wanted} input values, {given} are given")
        self._start_transfer()
        self._call("init", 1)
        for signal in inputs:
            self._host.signal = signal
            self._feed_signal(signal, prime)
        self._host.signal = None
        if not sizes_known:
            # Only now: a name that the circuit does not know is the better message.
            _check_enough(given, wanted)

    def drain(self, num_vars: int, out: NDArray[np.uint8]) -> None:
        """Write the witness, `num_vars` values of 32 bytes, to `out`."""
        for first in range(0, num_vars, _CHUNK):
            count = min(_CHUNK, num_vars - first)
            self._sandbox.call(self._drain, first, count)
            values = self._sandbox.read(self._values, 0, count * SCALAR_BYTES)
            out[first * SCALAR_BYTES : (first + count) * SCALAR_BYTES] = np.frombuffer(values, np.uint8)

    def _call(self, name: str, *arguments: int) -> int:
        return self._sandbox.call(self._calls[name], *arguments)

    def _shared(self) -> int:
        words = [self._call("readSharedRWMemory", index) for index in range(_WORDS)]
        return sum(word << 32 * index for index, word in enumerate(words))

    def _start_transfer(self) -> None:
        module = helper("transfer_v2")
        imports: list[Func | Memory] = [self._calls[item.name or ""] for item in module.imports]
        transfer = self._sandbox.instantiate(module, imports)
        exports = transfer.exports(self._sandbox.store)
        drain, feed, values = exports["drain"], exports["feed"], exports["memory"]
        assert isinstance(drain, Func)
        assert isinstance(feed, Func)
        assert isinstance(values, Memory)
        self._drain, self._feed, self._values = drain, feed, values

    def _check_sizes(self, inputs: Sequence[InputSignal]) -> None:
        for signal in inputs:
            given = len(signal.values)
            digest = name_hash(signal.name)
            size = signed(self._call("getInputSignalSize", digest >> 32, digest))
            # The program answers 0 both for a name it does not know and for an array without elements.
            if size <= 0 and given > 0:
                raise UnknownSignal(f"the circuit has no input signal {shown(signal.name)}")
            if max(size, 0) != given:
                name = shown(signal.name)
                raise WrongValueCount(f"the signal {name} takes {size} values, {given} are given")

    def _feed_signal(self, signal: InputSignal, prime: int) -> None:
        digest = name_hash(signal.name)
        for first in range(0, len(signal.values), _CHUNK):
            chunk = signal.values[first : first + _CHUNK]
            data = b"".join((value % prime).to_bytes(SCALAR_BYTES, "little") for value in chunk)
            self._sandbox.write(self._values, 0, data)
            self._sandbox.call(self._feed, digest >> 32, digest, first, len(chunk))


def _check_enough(given: int, wanted: int) -> None:
    if given < wanted:
        raise MissingSignal(f"{wanted - given} of the circuit's {wanted} input values are missing")


class _Host:
    """The host functions of one run. Each reads the program's text by calling back into it."""

    def __init__(self, sandbox: Sandbox, log: list[str] | None, imported: set[str]) -> None:
        self.calls: dict[str, Func] = {}
        self.signal: InputSignal | None = None
        self.functions: dict[str, Callable[..., None]] = {
            "exceptionHandler": self._exception,
            "printErrorMessage": self._error_message,
            "writeBufferMessage": self._log_text,
            "showSharedRWMemory": self._log_value,
        }
        self._sandbox = sandbox
        self._imported = imported
        self._errors: list[str] = []
        self._log = BoundedLog(log, sandbox.limits.log_lines)
        self._reading = False

    def _exception(self, code: int) -> None:
        if "printErrorMessage" not in self._imported:
            self._error_message()
        self._sandbox.stop(self._error_of(code))

    def _error_of(self, code: int) -> CuzkdError:
        text = "; ".join(filter(None, self._errors))
        detail = f": {text}" if text else ""
        name = shown(self.signal.name) if self.signal else "an input"
        match code:
            case 1:
                return UnknownSignal(f"the circuit has no input signal {name}")
            case 2:
                return WrongValueCount(f"more input values are given than the circuit takes, with {name}")
            case 3:
                return WrongValueCount(f"a cell of {name} is given twice")
            case 4:
                return AssertionFailed(f"an assertion of the circuit failed{detail}")
            case 5:
                return WitnessOutOfMemory(f"the witness program ran out of its own memory{detail}")
            case 6:
                return WrongValueCount(f"{name} is given more values than it takes")
            case _:
                return BadWitness(f"the witness program stopped with code {code}{detail}")

    def _error_message(self) -> None:
        text = printable(self._message())
        if len(self._errors) < _MAX_MESSAGES:
            self._errors.append(text)

    def _log_text(self) -> None:
        text = self._message()
        if text == "\n":
            self._log.end_line()
        else:
            self._log.piece(text)

    def _log_value(self) -> None:
        words = [self._back("readSharedRWMemory", index) for index in range(_WORDS)]
        self._log.piece(str(sum(word << 32 * index for index, word in enumerate(words))))
        if "writeBufferMessage" not in self._imported:
            self._log.end_line()

    def _message(self) -> str:
        text = ""
        while (char := self._back("getMessageChar")) != 0:
            text += chr(char & 0xFF)
            if len(text) > _MAX_MESSAGE:
                self._sandbox.stop(BadFile("the witness program's message has no end"))
        return text

    def _back(self, name: str, *arguments: int) -> int:
        """Call back into the program, which may not call the host from there: it could fill the stack."""
        if self._reading or name not in self.calls:
            self._sandbox.stop(BadFile("the witness program calls its host where none of circom's does"))
        self._reading = True
        try:
            return self._sandbox.call(self.calls[name], *arguments)
        except CuzkdError as error:
            self._sandbox.stop(error)
        finally:
            self._reading = False
