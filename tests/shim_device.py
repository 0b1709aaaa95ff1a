"""A device made of this processor: the kernels under the launch shim, arrays of NumPy with guards around them.

Memory is full of garbage when it is given out, and every launch looks whether it wrote beside an array. Arguments
are compared with what the kernel takes, in number and size. See tests/kernels/shim/shim.hpp for the kernels' side.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cuzkd.kernels import loader
from cuzkd.kernels.curve import Group
from cuzkd.kernels.loader import Module
from cuzkd.model import Curve

ROOT = Path(__file__).resolve().parents[1]
SHIM = ROOT / "tests" / "kernels" / "shim"
BUILD = ROOT / "build" / "shim"
COMPILER = os.environ.get("CXX") or shutil.which("g++") or shutil.which("clang++")
GUARD = 256
GARBAGE = 0xA5
FLAGS = (
    "-std=c++17", "-O1", "-fPIC", "-shared", "-fno-strict-aliasing", "-Wall", "-Wextra", "-Werror",
    "-Wno-unknown-pragmas", "-DCUZKD_WORD32", f"-I{SHIM}", f"-I{ROOT}/kernels/include", f"-I{ROOT}/kernels/cuda",
)  # fmt: skip

KERNEL = re.compile(r"CUZKD_KERNEL void\s+(?:CUZKD_BOUNDS\((?:[^()]|\([^()]*\))*\)\s*)?(\w+)\(")


def kernel_names(module: str) -> list[str]:
    """The kernels of a source in its order."""
    return KERNEL.findall(loader.sources()[f"{module}.cu"])


@functools.cache
def library(module: Module) -> ctypes.CDLL:
    """The module compiled for this processor."""
    return compiled(ROOT / "kernels" / "cuda" / f"{module.name}.cu", module.macros)


def compiled(source: Path, given: Mapping[str, str]) -> ctypes.CDLL:
    """A kernel source compiled for this processor, kept under the digest of all that it is made of."""
    assert COMPILER is not None, "the shim needs a C++ compiler"
    text = source.read_text()
    entries = "".join(f"ENTRY({name})" for name in KERNEL.findall(text))
    macros = {**given, "CUZKD_SHIM_SOURCE": f'"{source}"', "CUZKD_SHIM_KERNELS": entries}
    command = [COMPILER, *FLAGS, *(f"-D{name}={value}" for name, value in macros.items())]
    state = hashlib.sha256(repr(command).encode())
    for part in (text, *loader.sources().values(), *(path.read_text() for path in sorted(SHIM.iterdir()))):
        state.update(part.encode())
    path = BUILD / f"{source.stem}-{state.hexdigest()[:24]}.so"
    if not path.exists():
        BUILD.mkdir(parents=True, exist_ok=True)
        new = path.with_suffix(f".{os.getpid()}")
        subprocess.run([*command, str(SHIM / "runner.cpp"), "-o", str(new)], check=True)
        new.rename(path)
    found = ctypes.CDLL(str(path))
    found.shim_launch.restype = ctypes.c_char_p
    return found


@functools.cache
def build_all() -> None:
    """Compile every module, several at once."""
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        list(pool.map(library, loader.modules()))


def launch(
    module: ctypes.CDLL, name: str, arguments: Any, grid: Any, block: Any, shared: int = 0, order: int = 0
) -> str | None:
    """Run a kernel; what is wrong with the launch or with what the kernel did, as far as the shim sees it."""
    raw, sizes = (ctypes.c_uint64 * len(arguments))(), bytearray()
    for i, argument in enumerate(arguments):
        raw[i], size = _argument(argument)
        sizes.append(size)
    error = module.shim_launch(
        name.encode(), raw, bytes(sizes), len(sizes), _dim(grid), _dim(block), ctypes.c_size_t(shared), order
    )
    return None if error is None else str(error.decode())


class ShimDevice:
    """Kernels on the processor; `order` picks the order of a block's threads, `processors` is what it claims."""

    def __init__(self, order: int = 0, processors: int = 3) -> None:
        build_all()
        self.order = order
        self.processors = processors
        self.launched: set[str] = set()
        self._memory: list[npt.NDArray[np.uint8]] = []
        self._modules: dict[Module, ShimKernels] = {}

    def empty(self, shape: tuple[int, ...], dtype: npt.DTypeLike) -> Any:
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        memory = np.full(size + 2 * GUARD + 63, GARBAGE, dtype=np.uint8)
        memory = memory[-memory.ctypes.data % 64 :][: size + 2 * GUARD]
        self._memory.append(memory)
        return memory[GUARD : GUARD + size].view(dtype).reshape(shape)

    def zeros(self, shape: tuple[int, ...], dtype: npt.DTypeLike) -> Any:
        array = self.empty(shape, dtype)
        array.fill(0)
        return array

    def upload(self, values: npt.NDArray[Any]) -> Any:
        array = self.empty(values.shape, values.dtype)
        array[...] = values
        return array

    def download(self, values: Any) -> npt.NDArray[Any]:
        return np.array(values)

    def kernels(self, module: str, curve: Curve, group: Group | None = None) -> ShimKernels:
        wanted = Module(module, curve, group)
        return self._modules.setdefault(wanted, ShimKernels(self, wanted))

    def launch(self, module: Module, name: str, grid: Any, block: Any, arguments: Any, shared: int) -> None:
        error = launch(library(module), name, arguments, grid, block, shared, self.order)
        assert error is None, f"{module}, {name}: {error}"
        for memory in self._memory:
            whole = (memory[:GUARD] == GARBAGE).all() and (memory[-GUARD:] == GARBAGE).all()
            assert whole, f"{module}, {name} wrote beside an array"
        self.launched.add(name)


class ShimKernels:
    """The kernels of one module under the shim."""

    def __init__(self, device: ShimDevice, module: Module) -> None:
        self._device = device
        self._module = module
        self._allowed: dict[str, int] = {}

    def __getitem__(self, name: str) -> Any:
        def launch(grid: Any, block: Any, arguments: Any, shared_bytes: int = 0, _stream: Any = None) -> None:
            allowed = self._allowed.get(name, 48 << 10)
            assert shared_bytes <= allowed, (
                f"{name} asks for {shared_bytes} bytes of shared memory of {allowed}"
            )
            self._device.launch(self._module, name, grid, block, arguments, shared_bytes)

        return launch

    def allow_shared(self, name: str, size_bytes: int) -> None:
        assert name in kernel_names(self._module.name)
        assert size_bytes <= 227 << 10, "no device has so much"
        self._allowed[name] = max(size_bytes, self._allowed.get(name, 48 << 10))


def _dim(size: tuple[int, ...]) -> Any:
    return (ctypes.c_uint * 2)(*size, *[1] * (2 - len(size)))


def _argument(value: Any) -> tuple[int, int]:
    """An argument as eight bytes, and how many of them the caller means."""
    if isinstance(value, np.ndarray):
        assert value.flags.c_contiguous
        return value.ctypes.data, 8
    if isinstance(value, np.generic):
        return int(value) & 0xFFFFFFFFFFFFFFFF, value.dtype.itemsize
    assert isinstance(value, int), f"a kernel cannot take {value!r}"
    return value, 8
