"""A plan of a multi-scalar sum stays within what the kernels and a device can address, from 1 to 2^27 points."""

from __future__ import annotations

import pytest

from cuzkd.kernels.curve import Group
from cuzkd.kernels.msm_plan import MAX_LOG_COUNT, MsmPlan, window_bits
from cuzkd.kernels.params import PARAMS
from cuzkd.model import Curve

SHARED_BYTES_OF_A_BLOCK = 227 << 10
COUNTS = [1, 2, 3, 100, 1 << 10, (1 << 14) + 1, 1 << 16, 1 << 18, 1 << 20, 1 << 22, 1 << 24, 1 << 26, 1 << 27]


def plan(count: int, stored: bool = True, group: Group = Group.G1, **more: int) -> MsmPlan:
    return MsmPlan(Curve.BLS12_381, group, count, window_bits(count, stored=stored), stored, **more)


@pytest.mark.parametrize("stored", [True, False], ids=["stored", "bases"])
@pytest.mark.parametrize("count", COUNTS)
def test_indices_and_shared_memory_are_what_kernels_have(count: int, stored: bool) -> None:
    given = plan(count, stored)
    assert given.chunk * given.chunks >= count > given.chunk * (given.chunks - 1)
    assert given.chunk * given.windows <= 1 << 30, "a base's index leaves a bit for its sign, and holes"
    assert given.slots < 1 << 31, "a slot in a list of pairs has a flag beside it"
    assert given.tile_bytes <= SHARED_BYTES_OF_A_BLOCK
    assert 4 * (given.capacity + (1 << given.sub_bits)) <= SHARED_BYTES_OF_A_BLOCK
    assert 4 * max(given.bins, given.list_blocks) <= SHARED_BYTES_OF_A_BLOCK
    assert given.staging_bytes <= SHARED_BYTES_OF_A_BLOCK
    assert given.bins << given.sub_bits == given.buckets
    assert given.runs << given.log_run == given.buckets
    assert given.sub_bits <= 16, "a bucket's number within its bin has two bytes"


@pytest.mark.parametrize("curve", Curve)
@pytest.mark.parametrize("bits", range(3, 25))
def test_digits_hold_every_spread_scalar(curve: Curve, bits: int) -> None:
    given, r = MsmPlan(curve, Group.G1, 1000, bits, stored=True), PARAMS[curve].r
    largest = (r - 1) + (given.spread - 1) * r
    assert given.spread >= 1
    assert largest < 1 << (given.windows * bits - 1), "no carry leaves the topmost digit"


def test_buffers_lie_apart_and_aligned_in_the_plans_bytes() -> None:
    given = plan(1 << 20)
    end = 0
    for buffer in given.buffers.values():
        assert buffer.offset >= end
        assert buffer.offset % 256 == 0
        end = buffer.offset + buffer.size_bytes
    assert given.bytes == end


def test_the_largest_sum_fits_a_device_of_141_gigabytes_when_chunks_are_bounded() -> None:
    """2^27 points of G1 without stored multiples: 12.9 GB of points, 4.3 GB of scalars."""
    whole, bounded = plan(1 << MAX_LOG_COUNT, stored=False), plan(1 << MAX_LOG_COUNT, False, limit=1 << 24)
    assert bounded.chunks == 8
    assert bounded.bytes < whole.bytes
    assert bounded.bytes + 18e9 < 60e9


@pytest.mark.parametrize("count", [1 << 20, 1 << 22, 1 << 24])
def test_a_run_takes_about_120_bytes_an_entry_in_g1(count: int) -> None:
    given = plan(count)
    assert 100 * given.entries < given.bytes < 130 * given.entries


@pytest.mark.parametrize(
    "wrong", [{"count": 0}, {"count": (1 << 27) + 1}, {"bits": 2}, {"bits": 25}, {"batch": 0}]
)
def test_other_shapes_are_refused(wrong: dict[str, int]) -> None:
    given = {"count": 10, "bits": 8, "batch": 1, **wrong}
    with pytest.raises(ValueError, match=r"a sum has|windows have"):
        MsmPlan(Curve.BN254, Group.G1, given["count"], given["bits"], True, given["batch"])
