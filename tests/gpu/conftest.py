"""Tests of the kernels on a CUDA device; without one they are skipped. `scripts/gpu-check` runs them."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from cuzkd.kernels.device import CudaDevice


@pytest.fixture(scope="session")
def session_device() -> CudaDevice:
    cupy = pytest.importorskip("cupy", reason="needs CuPy", exc_type=ImportError)
    try:
        cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        pytest.skip(f"needs a CUDA device: {error}")
    if "CUZKD_NO_MEMORY_POOL" in os.environ:
        cupy.cuda.set_allocator(
            None
        )  # every array an allocation of its own, whose bounds the sanitizer knows
    return CudaDevice()


@pytest.fixture
def device(session_device: CudaDevice) -> Iterator[CudaDevice]:
    """The device, its memory given back after the test."""
    import cupy

    yield session_device
    cupy.cuda.Device().synchronize()
    cupy.get_default_memory_pool().free_all_blocks()


@pytest.fixture(scope="session")
def threads() -> int:
    """Of the host library."""
    return len(os.sched_getaffinity(0))
