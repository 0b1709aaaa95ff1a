"""Transforms and the quotient by the kernels of a device, run under the launch shim, are the host's."""

from __future__ import annotations

import pytest
from device_cases import check_quotient, check_transforms, reversed_places
from shim_device import ShimDevice

from cuzkd.kernels.device_ntt import DeviceNtt, passes
from cuzkd.kernels.field import from_montgomery, ints_from_scalars, scalars_from_ints, to_montgomery
from cuzkd.kernels.params import PARAMS
from cuzkd.kernels.reference import root_of_unity
from cuzkd.model import Curve

pytestmark = pytest.mark.timeout(600)  # the first test waits for the kernels to be compiled
both = pytest.mark.parametrize("curve", Curve)
LOGS = range(1, 10)
ORDERS = (0, 1, 7)


@both
@pytest.mark.parametrize("log_size", LOGS)
def test_transforms_of_both_orders_are_the_hosts(curve: Curve, log_size: int) -> None:
    check_transforms(ShimDevice(ORDERS[log_size % 3]), curve, log_size, batch=3, threads=1)


@both
@pytest.mark.parametrize("log_domain", LOGS)
def test_the_quotient_is_the_hosts(curve: Curve, log_domain: int) -> None:
    check_quotient(ShimDevice(ORDERS[log_domain % 3]), curve, log_domain, threads=1)


@both
@pytest.mark.parametrize("log_size", [1, 3, 6])
def test_transforms_are_the_definition(curve: Curve, log_size: int) -> None:
    device, r, size = ShimDevice(order=1), PARAMS[curve].r, 1 << log_size
    values = [pow(7, i * i + 1, r) for i in range(size)]
    given = device.upload(to_montgomery(curve, scalars_from_ints(values), threads=1).reshape(1, size, 4))
    DeviceNtt(device, curve, log_size).down(given)
    found = ints_from_scalars(from_montgomery(curve, device.download(given)[0], threads=1))
    w = root_of_unity(curve, log_size)
    places = reversed_places(log_size)
    assert [found[places[j]] for j in range(size)] == [
        sum(x * pow(w, i * j, r) for i, x in enumerate(values)) % r for j in range(size)
    ]


@both
def test_three_passes_are_right_as_two_are(curve: Curve) -> None:
    """2^17 is the smallest transform with a pass between two others."""
    check_transforms(ShimDevice(), curve, 17, batch=1, threads=1)


@both
@pytest.mark.parametrize("log_size", [0, 29])
def test_other_sizes_are_refused(curve: Curve, log_size: int) -> None:
    with pytest.raises(ValueError, match="no transform"):
        DeviceNtt(ShimDevice(), curve, log_size)


@pytest.mark.parametrize("log_size", range(1, 29))
def test_passes_take_every_bit_once_and_all_but_the_last_are_even(log_size: int) -> None:
    bits = [count for count, _ in passes(log_size)]
    assert sum(bits) == log_size
    assert max(bits) <= min(8, min(bits) + 3)
    assert not any(count % 2 for count in bits[:-1])
    assert [low for _, low in passes(log_size)] == [sum(bits[i + 1 :]) for i in range(len(bits))]
