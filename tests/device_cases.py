"""Inputs for kernels of a device, random and adversarial, and what they must give: the same on every device.

The expected values are those of the host library, which its own tests compare with the oracle.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from cuzkd.kernels.curve import Group
from cuzkd.kernels.device import Device
from cuzkd.kernels.device_msm import DeviceMsm
from cuzkd.kernels.device_ntt import DeviceNtt, DeviceQuotient
from cuzkd.kernels.device_points import PointTables
from cuzkd.kernels.field import ints_from_scalars, scalars_from_ints
from cuzkd.kernels.fixed_base import multiples
from cuzkd.kernels.msm import msm
from cuzkd.kernels.msm_plan import MsmPlan
from cuzkd.kernels.ntt import ntt
from cuzkd.kernels.params import PARAMS
from cuzkd.kernels.quotient import odd_coset_quotient
from cuzkd.model import Curve

Array = npt.NDArray[np.uint64]
POISONS = (0xA5, 0xFF)
"""What buffers are full of before a run."""


def uniform(curve: Curve, count: int, seed: int) -> Array:
    """(count, 4) numbers below r."""
    scalars = np.random.default_rng(seed).integers(0, 1 << 64, (count, 4), dtype=np.uint64)
    scalars[:, 3] %= np.uint64(PARAMS[curve].r >> 192)
    return scalars


def reversed_places(log_size: int) -> npt.NDArray[np.intp]:
    """Place i of the natural order is this place of the reversed one."""
    places = np.zeros(1 << log_size, dtype=np.intp)
    for bit in range(log_size):
        places |= (np.arange(1 << log_size) >> bit & 1) << (log_size - 1 - bit)
    return places


def check_transforms(device: Device, curve: Curve, log_size: int, batch: int, threads: int) -> None:
    """Transforms in both orders are the host's, for several vectors in one launch."""
    values = uniform(curve, batch << log_size, log_size).reshape(batch, -1, 4)
    expected = values.copy()
    for vector in expected:
        ntt(curve, vector, threads=threads)
    places = reversed_places(log_size)
    transform = DeviceNtt(device, curve, log_size)
    down = device.upload(values)
    transform.down(down)
    assert np.array_equal(device.download(down)[:, places], expected)
    up = device.upload(np.ascontiguousarray(values[:, places]))
    transform.up(up)
    assert np.array_equal(device.download(up), expected)


def check_quotient(device: Device, curve: Curve, log_domain: int, threads: int) -> None:
    """The quotient of a domain whose last row is empty is the host's."""
    size = 1 << log_domain
    rows = max(size - 1, 1)
    a, b, c = (uniform(curve, rows, seed) for seed in (1, 2, 3))
    expected = np.empty((size, 4), dtype=np.uint64)
    odd_coset_quotient(curve, a.copy(), b.copy(), c.copy(), log_domain, expected, threads=threads)
    abc = np.zeros((3, size, 4), dtype=np.uint64)
    abc[:, :rows] = a, b, c
    out = device.zeros((size, 4), np.uint64)
    DeviceQuotient(device, curve, log_domain).run(device.upload(abc), out)
    assert np.array_equal(device.download(out), expected)


def _repeated(source: Array) -> Array:
    """Equal scalars where `awkward_bases` has equal and opposite points."""
    if len(source) > 50:
        source[20], source[23], source[40:44] = source[21], source[24], source[39]
    return source


def _cycle(curve: Curve, count: int, *values: int) -> Array:
    """These integers modulo r, over and over."""
    some = scalars_from_ints([value % PARAMS[curve].r for value in values])
    return np.ascontiguousarray(np.resize(some, (count, 4)))


SCALARS: dict[str, Callable[[Curve, int], Array]] = {
    "random": lambda curve, n: uniform(curve, n, n),
    "all zero": lambda curve, n: _cycle(curve, n, 0),
    "all one": lambda curve, n: _cycle(curve, n, 1),
    "all r - 1": lambda curve, n: _cycle(curve, n, -1),
    "all equal": lambda curve, n: _cycle(curve, n, PARAMS[curve].r // 3),
    "one huge bucket": lambda curve, n: _cycle(curve, n, 5),
    "mostly zeros and ones": lambda curve, n: mostly_bits(curve, n),
    "of every kind": lambda curve, n: _cycle(
        curve, n, 0, 1, -1, 2, -2, (1 << 64) + 3, PARAMS[curve].r // 2, 1 << 128
    ),
    "repeated with their points": lambda curve, n: _repeated(uniform(curve, n, n + 1)),
}


def mostly_bits(curve: Curve, count: int) -> Array:
    """What hash circuits give: 42 % zeros, 43 % ones, the rest uniform."""
    scalars, draw = uniform(curve, count, 4), np.random.default_rng(5).random(count)
    scalars[draw < 0.85] = 0
    scalars[draw < 0.43, 0] = 1
    return scalars


def awkward_bases(curve: Curve, group: Group, count: int, threads: int) -> Array:
    """Multiples of the generator; among more than 50 also infinity, equal and opposite points."""
    bases = multiples(curve, group, uniform(curve, count, count + 7), threads=threads)
    if count > 50:
        logs = ints_from_scalars(uniform(curve, 1, 9))
        pair = scalars_from_ints([int(logs[0]), PARAMS[curve].r - int(logs[0])])
        bases[7] = bases[8] = 0
        bases[20], bases[40:44] = bases[21], bases[39]
        bases[23:25] = multiples(curve, group, pair, threads=1)
    return bases


class KnownPoints:
    """2^log_count points that a device makes as sums of two short lists, so that any sum over them is known."""

    def __init__(self, device: Device, curve: Curve, group: Group, log_count: int, threads: int) -> None:
        self.curve, self.group = curve, group
        self._left = uniform(curve, 1 << (log_count - log_count // 2), 11)
        self._right = uniform(curve, 1 << (log_count // 2), 12)
        left, right = (
            device.upload(multiples(curve, group, logs, threads=threads))
            for logs in (self._left, self._right)
        )
        self.bases = device.empty((1 << log_count, left.shape[1]), np.uint64)
        PointTables(device, curve, group).sums(left, right, self.bases)

    def sum(self, scalars: Array) -> Array:
        """Of the points times these scalars: base i·m + j has the logarithm left[i] + right[j]."""
        words = scalars.view(np.uint32).reshape(len(self._left), len(self._right), 8)
        total = 0
        for logs, axis in ((self._left, 1), (self._right, 0)):
            columns = words.sum(axis=axis, dtype=np.uint64)
            weights = (sum(int(word) << (32 * i) for i, word in enumerate(row)) for row in columns)
            total += sum(
                int(log) * weight for log, weight in zip(ints_from_scalars(logs), weights, strict=True)
            )
        log = scalars_from_ints([total % PARAMS[self.curve].r])
        return multiples(self.curve, self.group, log, threads=1)


def check_sum(device: Device, plan: MsmPlan, bases: Array, scalars: Array, threads: int) -> None:
    """The sum of products is the host's, over the bases or over stored multiples as the plan says."""
    table = device.upload(bases)
    if plan.stored:
        table = PointTables(device, plan.curve, plan.group).stored_multiples(plan, table)
    check_sum_over(device, plan, table, scalars, msm(plan.curve, plan.group, bases, scalars, threads=threads))


def check_sum_over(device: Device, plan: MsmPlan, table: object, scalars: Array, expected: Array) -> None:
    """The sum over a table is the expected one whatever a run finds in its buffers."""
    memory = device.empty((plan.bytes,), np.uint8)
    program, given = DeviceMsm(device, plan, memory), device.upload(scalars)
    for poison in POISONS:
        memory.fill(poison)
        assert np.array_equal(program.sum(table, given), expected)
