"""A plain prover in Python integers, for keys and witnesses of up to some hundred constraints.

It shares only the curves' constants with cuzkd: with the same r and s, cuzkd must give the very same proof.
The equations are those of snarkjs' `groth16_prove`; points are affine pairs outside and Jacobian inside.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from containers import Container, KeyFields

from cuzkd.kernels.params import PARAMS
from cuzkd.model import G1, G2, Curve, Proof, VerifyingKey

ENTRY_BYTES = 44
WINDOW_BITS = 6


def prove(zkey: bytes, wtns: bytes, r: int, s: int) -> Proof:
    """The proof of this witness with exactly these blinding factors."""
    key, w = Key(zkey), witness_values(wtns)
    g1, g2 = group_of(key.curve, 1), group_of(key.curve, 2)
    modulus = PARAMS[key.curve].r
    a = g1.sum([(key.alpha1, 1), (key.delta1, r), *zip(key.points(5), w, strict=True)])
    b2 = g2.sum([(key.beta2, 1), (key.delta2, s), *zip(key.points(7), w, strict=True)])
    b1 = g1.sum([(key.beta1, 1), (key.delta1, s), *zip(key.points(6), w, strict=True)])
    private = w[key.num_public + 1 :]
    c = g1.sum(
        [
            *zip(key.points(8), private, strict=True),
            *zip(key.points(9), quotient(key, w), strict=True),
            (a, s),
            (b1, r),
            (key.delta1, -r * s % modulus),
        ]
    )
    assert a is not None
    assert b2 is not None
    assert c is not None
    return Proof(key.curve, a, b2, c)


def public_inputs(zkey: bytes, wtns: bytes) -> tuple[int, ...]:
    """Wires 1 to nPublic."""
    return tuple(witness_values(wtns)[1 : 1 + Key(zkey).num_public])


def verifying_key(zkey: bytes) -> VerifyingKey:
    """The verifying key that the proving key holds."""
    key = Key(zkey)
    return VerifyingKey(key.curve, key.alpha1, key.beta2, key.gamma2, key.delta2, tuple(key.points(3)))


def witness_values(wtns: bytes) -> list[int]:
    """All values of a witness file."""
    payload = Container.parse(wtns).section(2)
    return [int.from_bytes(payload[i : i + 32], "little") for i in range(0, len(payload), 32)]


class Key:
    """A zkey's content, taken apart without any check."""

    def __init__(self, data: bytes) -> None:
        self._parts = Container.parse(data)
        fields = KeyFields.of(self._parts)
        self.curve = fields.curve
        self.num_vars, self.num_public = fields.num_vars, fields.num_public
        self.domain_size = fields.domain_size
        self._q = PARAMS[self.curve].q
        self._size = self.curve.coordinate_bytes
        self._unscale = pow(1 << (8 * self._size), -1, self._q)
        header, at, width = self._parts.section(2), fields.counts_offset + 12, 2 * self._size
        self.alpha1: G1 = self._g1(header[at : at + width])
        self.beta1: G1 = self._g1(header[at + width : at + 2 * width])
        self.beta2: G2 = self._g2(header[at + 2 * width : at + 4 * width])
        self.gamma2: G2 = self._g2(header[at + 4 * width : at + 6 * width])
        self.delta1: G1 = self._g1(header[at + 6 * width : at + 7 * width])
        self.delta2: G2 = self._g2(header[at + 7 * width : at + 9 * width])

    def points(self, type_: int) -> list[Any]:
        """The points of a section, in canonical affine coordinates."""
        read = self._g2 if type_ == 7 else self._g1
        width = self._size * (4 if type_ == 7 else 2)
        payload = self._parts.section(type_)
        return [read(payload[i : i + width]) for i in range(0, len(payload), width)]

    def entries(self) -> list[tuple[int, int, int, int]]:
        """Section 4 as (matrix, row, signal, coefficient)."""
        r = PARAMS[self.curve].r
        unscale = pow(1 << 512, -1, r)
        payload = self._parts.section(4)
        found = []
        for at in range(4, len(payload), ENTRY_BYTES):
            matrix, row, signal = struct.unpack_from("<III", payload, at)
            value = int.from_bytes(payload[at + 12 : at + ENTRY_BYTES], "little")
            found.append((matrix, row, signal, value * unscale % r))
        return found

    def _coordinates(self, data: bytes) -> list[int]:
        pieces = (data[i : i + self._size] for i in range(0, len(data), self._size))
        return [int.from_bytes(piece, "little") * self._unscale % self._q for piece in pieces]

    def _g1(self, data: bytes) -> G1:
        x, y = self._coordinates(data)
        return (x, y) if any(data) else None

    def _g2(self, data: bytes) -> G2:
        x0, x1, y0, y1 = self._coordinates(data)
        return ((x0, x1), (y0, y1)) if any(data) else None


# ---- the quotient


def evaluations(key: Key, w: Sequence[int]) -> tuple[list[int], list[int]]:
    """A·w and B·w over the whole domain."""
    r = PARAMS[key.curve].r
    rows: tuple[list[int], list[int]] = ([0] * key.domain_size, [0] * key.domain_size)
    for matrix, row, signal, value in key.entries():
        rows[matrix][row] = (rows[matrix][row] + value * w[signal]) % r
    return rows


def quotient(key: Key, w: Sequence[int]) -> list[int]:
    """a·b - c at the odd points of the domain of twice the size, where c = a∘b on the domain."""
    params = PARAMS[key.curve]
    r, n = params.r, key.domain_size
    odd = pow(params.root, 1 << (params.two_adicity - n.bit_length()), r)
    a, b = evaluations(key, w)
    c = [x * y % r for x, y in zip(a, b, strict=True)]
    a, b, c = (_at_odd_points(values, odd, r) for values in (a, b, c))
    return [(x * y - z) % r for x, y, z in zip(a, b, c, strict=True)]


def _at_odd_points(values: list[int], odd: int, r: int) -> list[int]:
    n, root = len(values), odd * odd % r
    coefficients = _evaluate(values, pow(root, -1, r), r)
    scale = pow(n, -1, r)
    return _evaluate([c * scale * pow(odd, j, r) % r for j, c in enumerate(coefficients)], root, r)


def _evaluate(coefficients: list[int], root: int, r: int) -> list[int]:
    """The polynomial at 1, root, root², …: the textbook recursion on even and odd coefficients."""
    n = len(coefficients)
    if n == 1:
        return coefficients
    even = _evaluate(coefficients[::2], root * root % r, r)
    odd = _evaluate(coefficients[1::2], root * root % r, r)
    power, low, high = 1, [], []
    for x, y in zip(even, odd, strict=True):
        t = power * y % r
        low.append((x + t) % r)
        high.append((x - t) % r)
        power = power * root % r
    return low + high


# ---- curves


@dataclass(frozen=True, slots=True)
class Field:
    """The operations of Fq or of Fq2 = Fq[u]/(u² + 1)."""

    mul: Callable[[Any, Any], Any]
    sub: Callable[[Any, Any], Any]
    invert: Callable[[Any], Any]
    one: Any
    zero: Any


def prime_field(q: int) -> Field:
    return Field(lambda x, y: x * y % q, lambda x, y: (x - y) % q, lambda x: pow(x, -1, q), 1, 0)


def quadratic_field(q: int) -> Field:
    def mul(x: tuple[int, int], y: tuple[int, int]) -> tuple[int, int]:
        (x0, x1), (y0, y1) = x, y
        return (x0 * y0 - x1 * y1) % q, (x0 * y1 + x1 * y0) % q

    def invert(x: tuple[int, int]) -> tuple[int, int]:
        scale = pow(x[0] * x[0] + x[1] * x[1], -1, q)
        return x[0] * scale % q, -x[1] * scale % q

    return Field(mul, lambda x, y: ((x[0] - y[0]) % q, (x[1] - y[1]) % q), invert, (1, 0), (0, 0))


def group_of(curve: Curve, degree: int) -> Group:
    """G1 (degree 1) or G2 (degree 2)."""
    q = PARAMS[curve].q
    return Group(prime_field(q) if degree == 1 else quadratic_field(q))


class Group:
    """Sums of multiples on y² = x³ + b; a Jacobian point is (X, Y, Z) with x = X/Z², y = Y/Z³."""

    def __init__(self, field: Field) -> None:
        self._field = field
        self._infinity = (field.one, field.one, field.zero)

    def sum(self, terms: Sequence[tuple[Any, int]]) -> Any:
        """Σ scalar · point, affine; by windows of a few bits, each with its buckets."""
        live = [((*point, self._field.one), scalar) for point, scalar in terms if point and scalar]
        total = self._infinity
        windows = max((scalar.bit_length() for _, scalar in live), default=0) // WINDOW_BITS
        for window in range(windows, -1, -1):
            for _ in range(WINDOW_BITS):
                total = self.add(total, total)
            buckets = [self._infinity] * (1 << WINDOW_BITS)
            for point, scalar in live:
                digit = scalar >> (WINDOW_BITS * window) & (len(buckets) - 1)
                buckets[digit] = self.add(buckets[digit], point)
            running = self._infinity
            for bucket in reversed(buckets[1:]):
                running = self.add(running, bucket)
                total = self.add(total, running)
        return self._affine(total)

    def add(self, p: Any, q: Any) -> Any:
        """The sum of two Jacobian points, whatever they are."""
        mul, sub, zero = self._field.mul, self._field.sub, self._field.zero
        if p[2] == zero:
            return q
        if q[2] == zero:
            return p
        zz1, zz2 = mul(p[2], p[2]), mul(q[2], q[2])
        u1, u2 = mul(p[0], zz2), mul(q[0], zz1)
        s1, s2 = mul(p[1], mul(zz2, q[2])), mul(q[1], mul(zz1, p[2]))
        h, slope = sub(u2, u1), sub(s2, s1)
        if h == zero:
            return self._double(p) if slope == zero else self._infinity
        hh = mul(h, h)
        hhh, v = mul(h, hh), mul(u1, hh)
        x = sub(sub(sub(mul(slope, slope), hhh), v), v)
        y = sub(mul(slope, sub(v, x)), mul(s1, hhh))
        return x, y, mul(mul(p[2], q[2]), h)

    def _double(self, p: Any) -> Any:
        mul, sub, zero = self._field.mul, self._field.sub, self._field.zero

        def twice(x: Any) -> Any:
            return sub(x, sub(zero, x))

        x, y, z = p
        yy = mul(y, y)
        s = twice(twice(mul(x, yy)))
        xx = mul(x, x)
        m = sub(twice(xx), sub(zero, xx))
        new_x = sub(mul(m, m), twice(s))
        new_y = sub(mul(m, sub(s, new_x)), twice(twice(twice(mul(yy, yy)))))
        return new_x, new_y, twice(mul(y, z))

    def _affine(self, p: Any) -> Any:
        mul = self._field.mul
        if p[2] == self._field.zero:
            return None
        inverse = self._field.invert(p[2])
        square = mul(inverse, inverse)
        return mul(p[0], square), mul(p[1], mul(square, inverse))
