"""Number-theoretic transforms and the quotient on a CUDA device.

Transforms go from natural to bit-reversed order (`down`) or back (`up`), in place, in passes of up to 8 bits;
tables are made once for each size. Elements are 32 bytes in Montgomery form, canonical, as on the host.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

from cuzkd.kernels.device import Array, Device, HostArray
from cuzkd.kernels.field import scalars_from_ints
from cuzkd.kernels.params import PARAMS
from cuzkd.model import Curve

MAX_LOG_SIZE = 28
_MAX_BITS = 8
_TILE = 1024
_FULL_TABLE_LOG = 24
_THREADS = 128
_EACH = 8
_INNER = 1 << (_MAX_BITS - 1)
_SHARED_BYTES = 32 * (_TILE + _INNER)


def passes(log_size: int) -> list[tuple[int, int]]:
    """(bits, low) of every pass of a transform from natural order: as few as can be, nearly equal, and even."""
    count = -(-log_size // _MAX_BITS)
    low, result = log_size, []
    for i in range(count):
        bits = -(-low // (count - i))
        bits += bits % 2 if bits < low else 0  # rounds of butterflies take two bits each
        low -= bits
        result.append((bits, low))
    return result


@dataclass(frozen=True, slots=True)
class Powers:
    """Powers factor·w^i of one number: low[i mod 2^split] · high[i / 2^split], or all of them in `low`."""

    low: Array
    high: Array | None
    split: int

    @property
    def arguments(self) -> tuple[Any, Any, np.uint32]:
        """As kernels take them."""
        return self.low, 0 if self.high is None else self.high, np.uint32(self.split)


@dataclass(frozen=True, slots=True)
class _Twiddles:
    """What one direction multiplies by: w_256^i within a pass, w^e between passes."""

    inner: Array
    between: Powers


class DeviceNtt:
    """Transforms of one size over one scalar field; holds its tables on the device."""

    def __init__(self, device: Device, curve: Curve, log_size: int) -> None:
        params = PARAMS[curve]
        if not 1 <= log_size <= min(MAX_LOG_SIZE, params.two_adicity):
            raise ValueError(f"{curve} has no transform of 2^{log_size} elements here")
        self.curve = curve
        self.log_size = log_size
        self._device = device
        self._kernels = device.kernels("ntt", curve)
        root = pow(params.root, 1 << (params.two_adicity - log_size), params.r)
        self._forward = self._tables(root)
        self._backward = self._tables(pow(root, -1, params.r))
        for name in ("ntt_down", "ntt_up", "ntt_turn"):
            self._kernels.allow_shared(name, _SHARED_BYTES)

    def down(self, values: Array, *, inverse: bool = False, stream: Any = None) -> None:
        """Transform (batch, n, 4) uint64 `values` from natural to reversed order; the inverse is not scaled."""
        for bits, low in passes(self.log_size):
            self._launch("ntt_down", values, bits, low, self._backward if inverse else self._forward, stream)

    def up(self, values: Array, *, inverse: bool = False, stream: Any = None) -> None:
        """Transform (batch, n, 4) `values` from reversed to natural order."""
        for bits, low in reversed(passes(self.log_size)):
            self._launch("ntt_up", values, bits, low, self._backward if inverse else self._forward, stream)

    def there_and_back(self, values: Array, shift: Powers, stream: Any = None) -> None:
        """The inverse of (batch, n, 4) `values`, unscaled, its element j times shift^j, transformed: all in place."""
        *outer, (bits, _) = passes(self.log_size)
        for outer_bits, outer_low in outer:
            self._launch("ntt_down", values, outer_bits, outer_low, self._backward, stream)
        columns = self._columns(values, bits)
        arguments = (
            values, values, np.uint32(bits), np.uint32(self.log_size), np.uint64(columns),
            self._backward.inner, self._forward.inner, *shift.arguments,
        )  # fmt: skip
        self._kernels["ntt_turn"](_grid(columns, bits), (_THREADS,), arguments, _SHARED_BYTES, stream)
        for outer_bits, outer_low in reversed(outer):
            self._launch("ntt_up", values, outer_bits, outer_low, self._forward, stream)

    def powers(self, base: int, factor: int, log_count: int) -> Powers:
        """The table of factor·base^i for i < 2^log_count; integers below r."""
        return self._split_powers(base, factor, log_count, log_count)

    def shift(self, base: int, factor: int) -> Powers:
        """The table for `there_and_back`: a block's elements differ in few bits of either part of their exponents."""
        bits, _ = passes(self.log_size)[-1]
        return self._split_powers(base, factor, self.log_size, self.log_size - bits)

    def _split_powers(self, base: int, factor: int, log_count: int, split: int) -> Powers:
        if split == log_count and log_count <= _FULL_TABLE_LOG:
            return Powers(self._powers(base, factor, 1 << log_count), None, log_count)
        split = split if split < log_count else (log_count + 1) // 2
        high_base = pow(base, 1 << split, PARAMS[self.curve].r)
        high = self._powers(high_base, factor, 1 << (log_count - split))
        return Powers(self._powers(base, 1, 1 << split), high, split)

    def _tables(self, root: int) -> _Twiddles:
        params = PARAMS[self.curve]
        if self.log_size >= _MAX_BITS:
            inner_root = pow(root, 1 << (self.log_size - _MAX_BITS), params.r)
        else:
            full = pow(params.root, 1 << (params.two_adicity - _MAX_BITS), params.r)
            forward = pow(full, 1 << (_MAX_BITS - self.log_size), params.r) == root
            inner_root = full if forward else pow(full, -1, params.r)
        return _Twiddles(self._powers(inner_root, 1, _INNER), self.powers(root, 1, self.log_size))

    def _powers(self, base: int, factor: int, count: int) -> Array:
        table = self._device.empty((count, 4), np.uint64)
        given = self._device.upload(_montgomery(self.curve, (base, factor)))
        threads = -(-count // _EACH)
        self._kernels["powers"](
            (-(-threads // _THREADS),), (_THREADS,), (table, np.uint32(count), given, given[1:])
        )
        return table

    def _launch(self, name: str, values: Array, bits: int, low: int, table: _Twiddles, stream: Any) -> None:
        columns = self._columns(values, bits)
        arguments = (
            values, values, np.uint32(bits), np.uint32(low), np.uint32(self.log_size), np.uint64(columns),
            table.inner, *table.between.arguments,
        )  # fmt: skip
        self._kernels[name](_grid(columns, bits), (_THREADS,), arguments, _SHARED_BYTES, stream)

    def _columns(self, values: Array, bits: int) -> int:
        return (int(values.size) // 4 >> self.log_size) << (self.log_size - bits)


def _grid(columns: int, bits: int) -> tuple[int]:
    return (-(-columns // (_TILE >> bits)),)


class DeviceQuotient:
    """The quotient in the form of snarkjs keys (see `quotient.odd_coset_quotient`) for one domain on the device."""

    def __init__(self, device: Device, curve: Curve, log_domain: int) -> None:
        params = PARAMS[curve]
        self.log_domain = log_domain
        self._ntt = DeviceNtt(device, curve, log_domain)
        root = pow(params.root, 1 << (params.two_adicity - log_domain - 1), params.r)
        scale = pow(1 << log_domain, -1, params.r)
        self._shift = self._ntt.shift(root, scale)
        self._points = device.kernels("ntt", curve)["quotient_points"]

    def run(self, abc: Array, out: Array, stream: Any = None) -> None:
        """(3, n, 4) `abc`, zeros from the last row on, becomes scratch; `out` (n, 4) takes the canonical p_i."""
        self._ntt.there_and_back(abc, self._shift, stream)
        count = 1 << self.log_domain
        self._points(
            (-(-count // _THREADS),), (_THREADS,), (abc[0], abc[1], abc[2], out, np.uint64(count)), 0, stream
        )


@functools.lru_cache(maxsize=64)
def _montgomery(curve: Curve, values: tuple[int, ...]) -> HostArray:
    r = PARAMS[curve].r
    return scalars_from_ints([value * (1 << 256) % r for value in values])
