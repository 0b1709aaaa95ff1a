"""What the kernels' drivers need of a device: memory, copies, modules of kernels. `CudaDevice` has it from CuPy.

Drivers take a `Device` and never import CuPy, so that the tests run the same drivers, and the same kernels, on the
processor. An array is whatever the device makes: it has a shape, slices, `fill`, `view`, and takes arrays of its
device by assignment to a slice.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from cuzkd.kernels import loader
from cuzkd.kernels.curve import Group
from cuzkd.model import Curve

Array = Any
"""An array on a device."""

HostArray = npt.NDArray[Any]


class Kernel(Protocol):
    """A kernel, launched by a call. Numbers among the arguments are of NumPy's types, or pointers as int."""

    def __call__(
        self,
        grid: tuple[int, ...],
        block: tuple[int, ...],
        arguments: tuple[Any, ...],
        shared_bytes: int = 0,
        stream: Any = None,
        /,
    ) -> None:
        """Launch `grid` blocks of `block` threads on a stream, the current one if None; does not wait."""


class Kernels(Protocol):
    """The kernels of one module by name."""

    def __getitem__(self, name: str) -> Kernel:
        """A kernel by name."""

    def allow_shared(self, name: str, size_bytes: int) -> None:
        """Let a kernel have this much dynamic shared memory; more than 48 KiB has to be asked for."""


class Device(Protocol):
    """Memory and kernels of one device."""

    @property
    def processors(self) -> int:
        """How many blocks of the largest size run at once."""

    def empty(self, shape: tuple[int, ...], dtype: npt.DTypeLike) -> Array:
        """An array whose contents are not defined."""

    def zeros(self, shape: tuple[int, ...], dtype: npt.DTypeLike) -> Array:
        """An array of zeros."""

    def upload(self, values: HostArray) -> Array:
        """A copy of a host array on the device."""

    def download(self, values: Array) -> HostArray:
        """A copy of a device array on the host, when all work before it is done."""

    def kernels(self, module: str, curve: Curve, group: Group | None = None) -> Kernels:
        """The kernels of `cuda/<module>.cu` for a curve, and for a group if the module is one of points."""


class CudaDevice:
    """The current CUDA device. `defines` are further macros of a module, for measurements of variants."""

    def __init__(self, defines: Mapping[str, Mapping[str, str]] | None = None) -> None:
        import cupy

        self._cupy = cupy
        self._defines = dict(defines or {})
        current = cupy.cuda.Device()
        self.processors: int = current.attributes["MultiProcessorCount"]
        self.arch = f"sm_{current.compute_capability}"

    def empty(self, shape: tuple[int, ...], dtype: npt.DTypeLike) -> Array:
        """An array whose contents are not defined."""
        return self._cupy.empty(shape, dtype=np.dtype(dtype))

    def zeros(self, shape: tuple[int, ...], dtype: npt.DTypeLike) -> Array:
        """An array of zeros."""
        return self._cupy.zeros(shape, dtype=np.dtype(dtype))

    def upload(self, values: HostArray) -> Array:
        """A copy of a host array on the device."""
        return self._cupy.asarray(values)

    def download(self, values: Array) -> HostArray:
        """A copy of a device array on the host, when all work before it is done."""
        host: HostArray = self._cupy.asnumpy(values)
        return host

    def kernels(self, module: str, curve: Curve, group: Group | None = None) -> Kernels:
        """A module's kernels, compiled for this device if they are not in the cache."""
        defines = tuple(sorted(self._defines.get(module, {}).items()))
        return loader.loaded(loader.Module(module, curve, group, defines), self.arch)
