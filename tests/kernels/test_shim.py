"""The launch shim runs kernels as a device would, and sees the faults that it says it sees."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from shim_device import SHIM, compiled, launch

ORDERS = (0, 1, 7)


@pytest.fixture(scope="module")
def faulty() -> ctypes.CDLL:
    return compiled(SHIM / "faulty.cu", {"CUZKD_CURVE": "Bn254"})


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("threads", [1, 33, 1024])
def test_a_barrier_parts_writes_from_reads(faulty: ctypes.CDLL, threads: int, order: int) -> None:
    values = np.arange(threads, dtype=np.uint32)
    assert launch(faulty, "reversed", (values,), (1,), (threads,), 4 * threads, order) is None
    assert values.tolist() == list(reversed(range(threads)))


def test_a_missing_barrier_gives_wrong_results_in_some_order(faulty: ctypes.CDLL) -> None:
    wrong = 0
    for order in ORDERS:
        values = np.arange(64, dtype=np.uint32)
        launch(faulty, "reversed_without_barrier", (values,), (1,), (64,), 256, order)
        wrong += values.tolist() != list(reversed(range(64)))
    assert wrong == len(ORDERS)


def test_a_write_behind_shared_memory_is_seen(faulty: ctypes.CDLL) -> None:
    error = launch(faulty, "behind_shared", (np.zeros(1, np.uint32),), (1,), (32,), 128)
    assert error == "the kernel wrote behind its dynamic shared memory"


def test_a_barrier_in_divergent_code_is_seen(faulty: ctypes.CDLL) -> None:
    error = launch(faulty, "half_at_barrier", (np.zeros(64, np.uint32),), (1,), (64,))
    assert error is not None
    assert error.startswith("threads wait for others that never come")


def test_arguments_of_another_number_or_size_are_seen(faulty: ctypes.CDLL) -> None:
    values = np.zeros(1, np.uint32)
    assert launch(faulty, "reversed", (), (1,), (1,)) == "the kernel takes 1 arguments"
    assert launch(faulty, "reversed", (np.uint32(0),), (1,), (1,)) == "argument 0 has 8 bytes"
    assert launch(faulty, "unknown", (values,), (1,), (1,)) == "the module has no such kernel"


@pytest.mark.parametrize("order", ORDERS)
def test_shuffles_and_atomic_additions_join_a_block(faulty: ctypes.CDLL, order: int) -> None:
    values = np.append(np.arange(256, dtype=np.uint32), np.uint32(0))
    assert launch(faulty, "warp_sums", (values,), (1,), (256,), 0, order) is None
    assert values[-1] == 255 * 256 // 2
