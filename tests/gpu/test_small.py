"""Every kernel on the device at small sizes, among them every awkward input: quick enough for compute-sanitizer."""

from __future__ import annotations

import pytest
from device_cases import SCALARS, awkward_bases, check_quotient, check_sum, check_transforms

from cuzkd.kernels.curve import Group
from cuzkd.kernels.device import CudaDevice
from cuzkd.kernels.msm_plan import MsmPlan
from cuzkd.model import Curve

pytestmark = pytest.mark.parametrize("curve", Curve)


@pytest.mark.parametrize("log_size", [1, 5, 9, 17])
def test_transforms_and_quotients_are_the_hosts(
    device: CudaDevice, curve: Curve, log_size: int, threads: int
) -> None:
    check_transforms(device, curve, log_size, 3 if log_size < 10 else 1, threads)
    check_quotient(device, curve, log_size, threads)


@pytest.mark.parametrize("group", Group)
@pytest.mark.parametrize("count", [1, 3, 150])
@pytest.mark.parametrize("stored", [True, False], ids=["stored", "bases"])
def test_sums_are_the_hosts(
    device: CudaDevice, curve: Curve, group: Group, count: int, stored: bool, threads: int
) -> None:
    bases = awkward_bases(curve, group, count, threads)
    for kind in ("of every kind", "repeated with their points"):
        plan = MsmPlan(curve, group, count, 5, stored, processors=device.processors)
        check_sum(device, plan, bases, SCALARS[kind](curve, count), threads)
