"""Transforms and quotients of every size class on the device are the host's."""

from __future__ import annotations

import pytest
from device_cases import check_quotient, check_transforms

from cuzkd.kernels.device import CudaDevice
from cuzkd.model import Curve

pytestmark = pytest.mark.parametrize("curve", Curve)


@pytest.mark.parametrize("log_size", [*range(1, 18), 20, 24, 25])
def test_transforms_of_both_orders_are_the_hosts(
    device: CudaDevice, curve: Curve, log_size: int, threads: int
) -> None:
    check_transforms(device, curve, log_size, 3 if log_size < 14 else 1, threads)


@pytest.mark.parametrize("log_domain", [1, 2, 5, 8, 9, 11, 14, 16, 17, 18, 20])
def test_quotients_are_the_hosts(device: CudaDevice, curve: Curve, log_domain: int, threads: int) -> None:
    check_quotient(device, curve, log_domain, threads)
