"""A circuit's witness program (circom's `.wasm`): inputs in, the witness out, in place, within limits.

The program is code from outside and is believed in nothing: it runs in a sandbox, what it says of itself
is checked against the limits, and what it writes is checked to be canonical. Whether the witness satisfies
the circuit is for the evaluator to say.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray
from wasmtime import Module

from cuzkd.circom import wasm_v1, wasm_v2
from cuzkd.circom.inputs import InputSignal
from cuzkd.circom.wasm_cache import compiled
from cuzkd.circom.wasm_limits import Sandbox, WasmLimits
from cuzkd.errors import BadFile, BadWitness, TooLarge
from cuzkd.model import SCALAR_BYTES

_CHECK_WIRES = 1 << 16
_MIN_PRIME_BITS = 128


class _Run(Protocol):
    def prime(self) -> int: ...
    def num_vars(self) -> int: ...
    def feed(self, inputs: Sequence[InputSignal], prime: int) -> None: ...
    def drain(self, num_vars: int, out: NDArray[np.uint8]) -> None: ...


_StartRun = Callable[[Sandbox, Module, list[str] | None], _Run]


class WitnessProgram:
    """A loaded program. `calculate` may be called from several threads: each run has a sandbox of its own.

    `prime` is the modulus and `num_vars` the number of wires that the program claims: compare both with
    the key's.
    `abi_version` is 1 (circom 0.5) or 2; `from_cache` tells whether compiling was spared.
    """

    def __init__(self, module: Module, abi_version: int, limits: WasmLimits, *, from_cache: bool) -> None:
        self.abi_version = abi_version
        self.from_cache = from_cache
        self._module = module
        self._limits = limits
        self._start: _StartRun = wasm_v2.Run if abi_version == 2 else wasm_v1.Run
        with Sandbox(limits) as sandbox:
            run = self._start(sandbox, module, None)
            self.prime = run.prime()
            self.num_vars = run.num_vars()
        if self.prime.bit_length() < _MIN_PRIME_BITS or not self.prime & 1:
            raise BadFile("the witness program names no prime field")
        # Each wire has 40 bytes of the program's memory, so an honest number stays below this.
        if not 0 < self.num_vars * SCALAR_BYTES <= limits.memory_bytes:
            raise TooLarge(f"the witness program claims {self.num_vars} wires; they cannot be in its memory")

    @classmethod
    def load(
        cls, source: bytes | Path, cache_dir: Path | None = None, limits: WasmLimits | None = None
    ) -> Self:
        """Compile a program, or find it compiled in `cache_dir`, and ask it for its prime and size.

        Raises BadFile (no WebAssembly, no program of circom's, an import that no such program has),
        Unsupported, TooLarge, or what the limits on time and memory raise.
        """
        limits = limits or WasmLimits()
        wasm = source if isinstance(source, bytes) else _read(source, limits.module_bytes)
        if len(wasm) > limits.module_bytes:
            raise TooLarge(f"the witness program has {len(wasm)} bytes; the limit is {limits.module_bytes}")
        module, from_cache = compiled(wasm, cache_dir)
        return cls(module, _abi_version(module), limits, from_cache=from_cache)

    def calculate(
        self,
        inputs: Sequence[InputSignal],
        out: memoryview | NDArray[np.generic],
        log: list[str] | None = None,
    ) -> None:
        """Compute the witness of `inputs` into `out`: `num_vars` canonical little-endian values of 32 bytes.

        `out` is a writable contiguous buffer of exactly that size; after an error its contents mean nothing.
        Lines that the circuit logs are appended to `log`, up to a limit; they show secrets.
        Raises UnknownSignal, MissingSignal, WrongValueCount, AssertionFailed, another BadWitness,
        WitnessOutOfTime, WitnessOutOfMemory, or BadFile when the program itself fails.
        """
        target = _writable_bytes(out, self.num_vars * SCALAR_BYTES)
        with Sandbox(self._limits) as sandbox:
            run = self._start(sandbox, self._module, log)
            run.feed(inputs, self.prime)
            run.drain(self.num_vars, target)
        wire = _first_noncanonical(target, self.prime)
        if wire is not None:
            raise BadWitness(f"the witness program's value of wire {wire} is not below its prime")


def _abi_version(module: Module) -> int:
    exported = {export.name for export in module.exports}
    if "getVersion" in exported:
        wasm_v2.check(module)
        return 2
    if "getFrLen" in exported:
        wasm_v1.check(module)
        return 1
    raise BadFile("the file is no witness program of circom's: it exports neither getVersion nor getFrLen")


def _read(path: Path, max_bytes: int) -> bytes:
    with path.open("rb") as file:
        return file.read(max_bytes + 1)


def _writable_bytes(out: memoryview | NDArray[np.generic], size_bytes: int) -> NDArray[np.uint8]:
    view = out if isinstance(out, memoryview) else out.data
    if view.readonly or not view.c_contiguous or view.nbytes != size_bytes:
        raise ValueError(f"the witness needs a writable contiguous buffer of {size_bytes} bytes")
    return np.frombuffer(view.cast("B"), np.uint8)


def _first_noncanonical(values: NDArray[np.uint8], prime: int) -> int | None:
    """The first 32-byte value that is not below `prime`, compared limb by limb from the highest."""
    limbs = values.view("<u8").reshape(-1, 4)
    bounds = [np.uint64(prime >> 64 * index & 0xFFFFFFFFFFFFFFFF) for index in range(4)]
    for first in range(0, len(limbs), _CHECK_WIRES):
        part = limbs[first : first + _CHECK_WIRES]
        too_large = part[:, 0] >= bounds[0]
        for index in (1, 2, 3):
            too_large = (part[:, index] > bounds[index]) | ((part[:, index] == bounds[index]) & too_large)
        if too_large.any():
            return first + int(too_large.argmax())
    return None
