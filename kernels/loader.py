"""CUDA sources to loaded modules: NVRTC, a cache on disk that knows every source, and kernels by name.

A compiled module is kept under the digest of all sources, the options and the compiler's version, so that a change
in any header makes a new one. Compiling needs the NVRTC library but no device.
"""

from __future__ import annotations

import functools
import hashlib
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cuzkd.errors import InternalError
from cuzkd.model import Curve

_ROOT = Path(__file__).resolve().parent
_FOLDERS = ("include", "cuda")
_NAMES = {Curve.BN254: "Bn254", Curve.BLS12_381: "Bls12381"}
_MAX_DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
CACHE_VARIABLE = "CUPY_CACHE_DIR"


@functools.cache
def sources() -> Mapping[str, str]:
    """Every header and kernel source by its file's name."""
    return {
        path.name: path.read_text(encoding="utf-8")
        for folder in _FOLDERS
        for path in sorted((_ROOT / folder).glob("*.cu*"))
    }


def options(curve: Curve, arch: str, defines: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """NVRTC's options for a module of this curve on `arch` (such as `sm_90`)."""
    given = {"CUZKD_CURVE": _NAMES[curve], **(defines or {})}
    return (f"-arch={arch}", "-std=c++17", *(f"-D{name}={value}" for name, value in given.items()))


def compile_module(name: str, flags: tuple[str, ...]) -> bytes:
    """The machine code of `cuda/<name>.cu`; `InternalError` with the compiler's log when it does not compile."""
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
        code: bytes = nvrtc.getCUBIN(program)
        return code
    finally:
        nvrtc.destroyProgram(program)


def digest(name: str, flags: tuple[str, ...], compiler: tuple[int, int]) -> str:
    """What a compiled module is kept under: SHA-256 over all sources, the options and the compiler's version."""
    state = hashlib.sha256(repr((name, flags, compiler)).encode())
    for file, text in sources().items():
        state.update(f"{file}\0{len(text)}\0".encode())
        state.update(text.encode())
    return state.hexdigest()


def cubin(name: str, curve: Curve, arch: str, defines: Mapping[str, str] | None = None) -> bytes:
    """The machine code of a module from the cache, or compiled and put there if that can be written."""
    from cupy.cuda import nvrtc

    flags = options(curve, arch, defines)
    path = _cache_dir() / f"{name}-{digest(name, flags, nvrtc.getVersion())}.cubin"
    try:
        return path.read_bytes()
    except OSError:
        code = compile_module(name, flags)
        _keep(path, code)
        return code


class Kernels:
    """The kernels of one module on the current device."""

    def __init__(self, code: bytes) -> None:
        from cupy.cuda.function import Module

        self._module: Any = Module()
        self._module.load(code)
        self._kernels: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        """A kernel by name: call it with (grid, block, arguments, shared memory in bytes, stream)."""
        kernel = self._kernels.get(name)
        if kernel is None:
            kernel = self._kernels[name] = self._module.get_function(name)
        return kernel

    def allow_shared(self, name: str, size_bytes: int) -> None:
        """Let a kernel have this much dynamic shared memory; more than 48 KiB has to be asked for."""
        from cupy_backends.cuda.api import driver

        driver.funcSetAttribute(self[name].ptr, _MAX_DYNAMIC_SHARED, size_bytes)


@functools.cache
def kernels(name: str, curve: Curve, defines: tuple[tuple[str, str], ...] = ()) -> Kernels:
    """The module's kernels on the current device, compiled for it if need be."""
    import cupy

    major, minor = divmod(int(cupy.cuda.Device().compute_capability), 10)
    return Kernels(cubin(name, curve, f"sm_{major}{minor}", dict(defines)))


def _cache_dir() -> Path:
    base = os.environ.get(CACHE_VARIABLE) or Path.home() / ".cupy" / "kernel_cache"
    return Path(base) / "cuzkd"


def _keep(path: Path, code: bytes) -> None:
    """Write atomically; a cache that cannot be written costs a compilation at the next start and nothing else."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
            file.write(code)
        os.replace(file.name, path)
    except OSError:
        return
