"""Multi-scalar sums by the kernels of a device, run under the launch shim, are the host's: on every kind of scalar and
point, over bases or their stored multiples, in chunks and in batches.
"""

from __future__ import annotations

import functools

import numpy as np
import pytest
from device_cases import SCALARS, awkward_bases, check_sum, uniform
from oracle import group_of
from shim_device import ShimDevice, kernel_names

from cuzkd.kernels.curve import Group, decode
from cuzkd.kernels.device_msm import DeviceMsm, joined
from cuzkd.kernels.device_points import PointTables
from cuzkd.kernels.field import scalars_from_ints
from cuzkd.kernels.loader import POINT_MODULES
from cuzkd.kernels.msm import msm
from cuzkd.kernels.msm_plan import MsmPlan
from cuzkd.kernels.params import PARAMS
from cuzkd.model import Curve

pytestmark = [
    pytest.mark.parametrize("group", Group),
    pytest.mark.parametrize("curve", Curve),
    pytest.mark.timeout(600),  # the first test waits for the kernels to be compiled
]
COUNT = 140


class Prepared:
    """A plan with its table and buffers, for many sums one after the other: each finds the last one's leavings."""

    def __init__(self, curve: Curve, group: Group, stored: bool) -> None:
        self.device = ShimDevice(order=7)
        plan = MsmPlan(curve, group, COUNT, 6 if stored else 5, stored, processors=3)
        self.bases = awkward_bases(curve, group, COUNT, threads=1)
        self.table = self.device.upload(self.bases)
        if stored:
            self.table = PointTables(self.device, curve, group).stored_multiples(plan, self.table)
        self.msm = DeviceMsm(self.device, plan)


prepared = functools.cache(Prepared)


@pytest.mark.parametrize("stored", [True, False], ids=["stored", "bases"])
@pytest.mark.parametrize("kind", SCALARS)
def test_it_is_the_hosts_sum_for_scalars_of_every_kind(
    curve: Curve, group: Group, kind: str, stored: bool
) -> None:
    given, scalars = prepared(curve, group, stored), SCALARS[kind](curve, COUNT)
    total = given.msm.sum(given.table, given.device.upload(scalars))
    assert np.array_equal(total, msm(curve, group, given.bases, scalars, threads=1))


def test_it_is_the_oracles_sum(curve: Curve, group: Group) -> None:
    device, r = ShimDevice(order=1), PARAMS[curve].r
    bases = awkward_bases(curve, group, 5, threads=1)
    scalars = [1, r - 1, 12345, pow(3, 150, r), 0]
    plan = MsmPlan(curve, group, 5, 4, stored=False, processors=3)
    total = DeviceMsm(device, plan).sum(device.upload(bases), device.upload(scalars_from_ints(scalars)))
    oracle = group_of(curve, 1 if group is Group.G1 else 2)
    pairs = list(zip(decode(curve, group, bases), scalars, strict=True))
    assert decode(curve, group, total) == [oracle.sum(pairs)]


@pytest.mark.parametrize("count", [1, 2, 3, 33])
def test_few_points_are_summed(curve: Curve, group: Group, count: int) -> None:
    bases = awkward_bases(curve, group, count, threads=1)
    plan = MsmPlan(curve, group, count, 4, stored=count % 2 == 1, processors=3)
    check_sum(ShimDevice(order=1), plan, bases, SCALARS["of every kind"](curve, count), threads=1)


@pytest.mark.parametrize("stored", [True, False], ids=["stored", "bases"])
def test_chunks_and_batches_give_each_vectors_sum(curve: Curve, group: Group, stored: bool) -> None:
    device, count = ShimDevice(), 70
    plan = MsmPlan(curve, group, count, 4, stored, batch=2, limit=32, processors=3)
    assert (plan.chunks, plan.chunk) == (3, 24)
    bases = awkward_bases(curve, group, count, threads=1)
    table = device.upload(bases)
    if stored:
        table = PointTables(device, curve, group).stored_multiples(plan, table)
    scalars = np.stack([SCALARS["of every kind"](curve, count), uniform(curve, count, 8)])
    sums = DeviceMsm(device, plan).run(table, device.upload(scalars))
    for vector, parts in zip(scalars, (sums[: plan.chunks], sums[plan.chunks :]), strict=True):
        assert np.array_equal(joined(device, plan, parts), msm(curve, group, bases, vector, threads=1))


def test_a_run_stays_within_the_plans_memory_and_runs_every_kernel(curve: Curve, group: Group) -> None:
    """Guards lie around the memory; tables of points run the rest of the kernels of points."""
    device = ShimDevice()
    plan = MsmPlan(curve, group, 60, 4, stored=True, processors=3)
    bases = awkward_bases(curve, group, 60, threads=1)
    tables = PointTables(device, curve, group)
    table = tables.stored_multiples(plan, device.upload(bases))
    memory = device.empty((plan.bytes,), np.uint8)
    scalars = SCALARS["of every kind"](curve, 60)
    total = DeviceMsm(device, plan, memory).sum(table, device.upload(scalars))
    assert np.array_equal(total, msm(curve, group, bases, scalars, threads=1))
    tables.sums(
        device.upload(bases[:3]), device.upload(bases[:4]), device.empty((12, bases.shape[1]), np.uint64)
    )
    assert device.launched >= {
        name for module in (*POINT_MODULES, "msm_sort") for name in kernel_names(module)
    }


def test_sums_of_two_lists_are_every_pairs_sum(curve: Curve, group: Group) -> None:
    """Among them equal points, opposite ones, and infinity on either side."""
    device, bases = ShimDevice(order=1), awkward_bases(curve, group, 64, threads=1)
    left, right = bases[[7, 23, 20, 1]], bases[[24, 21, 8, 2, 1, 7, 23, 40]]
    out = device.empty((32, bases.shape[1]), np.uint64)
    PointTables(device, curve, group).sums(device.upload(left), device.upload(right), out)
    one = np.array([[1, 0, 0, 0]] * 2, dtype=np.uint64)
    expected = [msm(curve, group, np.stack([a, b]), one, threads=1)[0] for a in left for b in right]
    assert np.array_equal(device.download(out), expected)
