"""CUDA sources to loaded modules: NVRTC, a cache on disk that knows every source, and kernels by name.

A compiled module is kept under the digest of all sources, the options and the compiler's version, so that a change
in any header makes a new one. Compiling needs the NVRTC library but no device; `python -m cuzkd.kernels.loader ARCH`
fills the cache.
"""

from __future__ import annotations

import functools
import hashlib
import os
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cuzkd.errors import InternalError
from cuzkd.kernels.curve import Group
from cuzkd.model import Curve

_ROOT = Path(__file__).resolve().parent
_FOLDERS = ("include", "cuda")
_NAMES = {Curve.BN254: "Bn254", Curve.BLS12_381: "Bls12381"}
_MAX_DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
_DIGEST_BYTES = 32
CACHE_VARIABLE = "CUPY_CACHE_DIR"

SCALAR_MODULES = ("ntt", "msm_sort")
"""Modules of one curve's scalars."""

POINT_MODULES = ("msm_add", "msm_reduce", "points")
"""Modules of one curve and group."""


@dataclass(frozen=True, slots=True)
class Module:
    """A source and what it is compiled for; `defines` are macros beside the curve and the group."""

    name: str
    curve: Curve
    group: Group | None = None
    defines: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        group = "" if self.group is None else f" {self.group.value}"
        return f"{self.name} {self.curve}{group}"

    @property
    def macros(self) -> Mapping[str, str]:
        """What the source sees of it."""
        group = {} if self.group is None else {"CUZKD_GROUP": "1" if self.group is Group.G1 else "2"}
        return {"CUZKD_CURVE": _NAMES[self.curve], **group, **dict(self.defines)}


def modules() -> tuple[Module, ...]:
    """Every module that a prover uses, those that take longest to compile first."""
    points = [
        Module(name, curve, group)
        for group in (Group.G2, Group.G1)
        for curve in (Curve.BLS12_381, Curve.BN254)
        for name in ("msm_reduce", "points", "msm_add")
    ]
    return (*points, *(Module(name, curve) for name in SCALAR_MODULES for curve in Curve))


@functools.cache
def sources() -> Mapping[str, str]:
    """Every header and kernel source by its file's name."""
    return {
        path.name: path.read_text(encoding="utf-8")
        for folder in _FOLDERS
        for path in sorted((_ROOT / folder).glob("*.cu*"))
    }


def options(module: Module, arch: str) -> tuple[str, ...]:
    """NVRTC's options for a module on `arch` (such as `sm_90`)."""
    return (f"-arch={arch}", "-std=c++17", *(f"-D{name}={value}" for name, value in module.macros.items()))


def compile_module(name: str, flags: tuple[str, ...]) -> tuple[bytes, str]:
    """The machine code of `cuda/<name>.cu` (PTX for an `-arch` of `compute_…`) and the compiler's log.

    `InternalError` with the log if it does not compile.
    """
    from cupy.cuda import nvrtc

    texts = sources()
    headers = [other for other in texts if other.endswith(".cuh")]
    program = nvrtc.createProgram(
        texts[f"{name}.cu"],
        f"{name}.cu",
        [texts[header].encode() for header in headers],
        [header.encode() for header in headers],
    )
    try:
        try:
            nvrtc.compileProgram(program, flags)
        except nvrtc.NVRTCError:
            raise InternalError(f"{name}.cu does not compile:\n{nvrtc.getProgramLog(program)}") from None
        virtual = any(flag.startswith("-arch=compute_") for flag in flags)
        code = nvrtc.getPTX(program) if virtual else nvrtc.getCUBIN(program)
        return bytes(code), str(nvrtc.getProgramLog(program))
    finally:
        nvrtc.destroyProgram(program)


def digest(name: str, flags: tuple[str, ...], compiler: object) -> str:
    """What a compiled module is kept under: SHA-256 over all sources, the options and the compiler's version."""
    state = hashlib.sha256(repr((name, flags, compiler)).encode())
    for file, text in sources().items():
        state.update(f"{file}\0{len(text)}\0".encode())
        state.update(text.encode())
    return state.hexdigest()


def cubin(module: Module, arch: str) -> bytes:
    """The machine code of a module from the cache, or compiled and put there if that can be written."""
    from cupy.cuda import nvrtc

    flags = options(module, arch)
    path = _cache_dir() / f"{module.name}-{digest(module.name, flags, nvrtc.getVersion())}.cubin"
    code = _kept(path)
    if code is None:
        code, _ = compile_module(module.name, flags)
        _keep(path, code)
    return code


def compile_all(arch: str, wanted: Iterable[Module] | None = None) -> Mapping[Module, float]:
    """Bring modules (all of them if None) into the cache, as many at once as there are processors: seconds each."""

    def compiled(module: Module) -> float:
        start = time.monotonic()
        cubin(module, arch)
        return time.monotonic() - start

    every = modules() if wanted is None else tuple(wanted)
    with ThreadPoolExecutor(len(os.sched_getaffinity(0)), "cuzkd-nvrtc") as pool:
        return dict(zip(every, pool.map(compiled, every), strict=True))


class CudaKernels:
    """The kernels of one module on the current device."""

    def __init__(self, code: bytes) -> None:
        from cupy.cuda.function import Module as CudaModule

        self._module: Any = CudaModule()
        self._module.load(code)
        self._kernels: dict[str, Any] = {}
        self._shared: dict[str, int] = {}

    def __getitem__(self, name: str) -> Any:
        """A kernel by name: call it with (grid, block, arguments, shared memory in bytes, stream)."""
        kernel = self._kernels.get(name)
        if kernel is None:
            kernel = self._kernels[name] = self._module.get_function(name)
        return kernel

    def allow_shared(self, name: str, size_bytes: int) -> None:
        """Let a kernel have this much dynamic shared memory; more than 48 KiB has to be asked for."""
        from cupy_backends.cuda.api import driver

        if size_bytes > self._shared.get(name, 0):
            driver.funcSetAttribute(self[name].ptr, _MAX_DYNAMIC_SHARED, size_bytes)
            self._shared[name] = size_bytes


@functools.cache
def loaded(module: Module, arch: str) -> CudaKernels:
    """The module's kernels on the current device, whose architecture is `arch`."""
    return CudaKernels(cubin(module, arch))


def _cache_dir() -> Path:
    base = os.environ.get(CACHE_VARIABLE) or Path.home() / ".cupy" / "kernel_cache"
    return Path(base) / "cuzkd"


def _kept(path: Path) -> bytes | None:
    """What `_keep` wrote, or None if it is not there, cannot be read or is not what was written."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    check, code = data[:_DIGEST_BYTES], data[_DIGEST_BYTES:]
    return code if hashlib.sha256(code).digest() == check else None


def _keep(path: Path, code: bytes) -> None:
    """Write atomically; a cache that cannot be written costs a compilation at the next start and nothing else."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
            file.write(hashlib.sha256(code).digest() + code)
        try:
            os.replace(file.name, path)
        except OSError:
            os.unlink(file.name)
    except OSError:
        return


def _main(arch: str) -> None:
    start = time.monotonic()
    for module, seconds in compile_all(arch).items():
        print(f"{seconds:6.1f} s  {module}")
    print(f"{time.monotonic() - start:6.1f} s in all")


if __name__ == "__main__":
    _main(sys.argv[1])
