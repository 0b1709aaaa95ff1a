"""Sums of every size class on the device, on random and adversarial inputs, are right whatever buffers held before."""

from __future__ import annotations

import pytest
from device_cases import SCALARS, KnownPoints, awkward_bases, check_sum, check_sum_over

from cuzkd.kernels.curve import Group
from cuzkd.kernels.device import CudaDevice
from cuzkd.kernels.device_points import PointTables
from cuzkd.kernels.msm_plan import MsmPlan, window_bits
from cuzkd.model import Curve

pytestmark = [pytest.mark.parametrize("group", Group), pytest.mark.parametrize("curve", Curve)]
SMALL = [(1, 4), (2, 5), (3, 7), (100, 7), (1000, 9), (5000, 12), (1 << 14, 13)]
LARGE = [16, 18, 20, 22]
KINDS_OF_LARGE = ["random", "mostly zeros and ones", "all equal", "one huge bucket", "all r - 1"]


@pytest.mark.parametrize("stored", [True, False], ids=["stored", "bases"])
@pytest.mark.parametrize(("count", "bits"), SMALL)
def test_small_sums_are_the_hosts_for_scalars_of_every_kind(
    device: CudaDevice, curve: Curve, group: Group, count: int, bits: int, stored: bool, threads: int
) -> None:
    bases = awkward_bases(curve, group, count, threads)
    plan = MsmPlan(curve, group, count, bits, stored, processors=device.processors)
    for draw in SCALARS.values():
        check_sum(device, plan, bases, draw(curve, count), threads)


@pytest.mark.parametrize("stored", [True, False], ids=["stored", "bases"])
@pytest.mark.parametrize("log_count", LARGE)
def test_large_sums_are_known_ones(
    device: CudaDevice, curve: Curve, group: Group, log_count: int, stored: bool, threads: int
) -> None:
    if group is Group.G2 and log_count > 20:
        pytest.skip("as for 2^20, at four times the time")
    count = 1 << log_count
    points = KnownPoints(device, curve, group, log_count, threads)
    bits = window_bits(count, stored=stored)
    # Three chunks of the largest: what a table of 2^27 points needs at 2^26 a chunk.
    limit = count // 3 if log_count == max(LARGE) else count
    plan = MsmPlan(curve, group, count, bits, stored, limit=limit, processors=device.processors)
    table = PointTables(device, curve, group).stored_multiples(plan, points.bases) if stored else points.bases
    for kind in KINDS_OF_LARGE:
        scalars = SCALARS[kind](curve, count)
        check_sum_over(device, plan, table, scalars, points.sum(scalars))
