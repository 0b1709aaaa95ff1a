"""The oracle of the pairing: the textbook ate Miller loop over Fq12 and one power, in Python integers.

Fq12 is Fq[w]/(w¹² - 2a·w⁶ + a² + 1) for xi = a + u, so that w⁶ = xi and u = w⁶ - a; an element is its twelve
coefficients. Points of the twist are carried to E(Fq12), where affine formulas and lines are the obvious ones.
Tests only: a pairing takes a good part of a second.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from cuzkd.kernels.params import PARAMS, CurveParams
from cuzkd.model import G1, G2, Curve

Fq12 = tuple[int, ...]
Nested = list[list[list[int]]]


@dataclass(frozen=True, slots=True)
class Field12:
    """Arithmetic of Fq12 for one curve."""

    p: CurveParams

    def constant(self, value: int) -> Fq12:
        """An element of Fq."""
        return (value % self.p.q, *[0] * 11)

    def embed(self, value: tuple[int, int], power: int) -> Fq12:
        """value·w^power for a value of Fq2, power < 6."""
        coefficients = [0] * 12
        coefficients[power] = (value[0] - self.p.xi[0] * value[1]) % self.p.q
        coefficients[power + 6] = value[1] % self.p.q
        return tuple(coefficients)

    def add(self, a: Fq12, b: Fq12) -> Fq12:
        """a + b."""
        return tuple((x + y) % self.p.q for x, y in zip(a, b, strict=True))

    def sub(self, a: Fq12, b: Fq12) -> Fq12:
        """a - b."""
        return tuple((x - y) % self.p.q for x, y in zip(a, b, strict=True))

    def mul(self, a: Fq12, b: Fq12) -> Fq12:
        """a·b, the polynomial product folded by w¹² = 2a·w⁶ - (a² + 1)."""
        product = [0] * 23
        for i, x in enumerate(a):
            if x:
                for j, y in enumerate(b):
                    product[i + j] += x * y
        xi = self.p.xi[0]
        for k in range(22, 11, -1):
            product[k - 6] += 2 * xi * product[k]
            product[k - 12] -= (xi * xi + 1) * product[k]
        return tuple(c % self.p.q for c in product[:12])

    def pow(self, a: Fq12, exponent: int) -> Fq12:
        """a^exponent, exponent ≥ 0."""
        result = self.constant(1)
        while exponent:
            if exponent & 1:
                result = self.mul(result, a)
            a = self.mul(a, a)
            exponent >>= 1
        return result

    def inverse(self, a: Fq12) -> Fq12:
        """1/a as the product of a's other conjugates over its norm in Fq; a ≠ 0."""
        # a^(q + q² + … + q¹¹), each conjugate being a(w^(q^i)).
        others = self.constant(1)
        conjugate = a
        for _ in range(11):
            conjugate = self.frobenius(conjugate)
            others = self.mul(others, conjugate)
        norm = self.mul(a, others)[0]
        return self.mul(others, self.constant(pow(norm, -1, self.p.q)))

    def frobenius(self, a: Fq12) -> Fq12:
        """a^q: the same coefficients at the power w^q, which is c·w^7 or c·w for a constant c of Fq2."""
        w_q = _w_to_the_q(self.p)
        result, power = self.constant(0), self.constant(1)
        for coefficient in a:
            result = self.add(result, tuple(coefficient * c % self.p.q for c in power))
            power = self.mul(power, w_q)
        return result

    def nested(self, a: Fq12) -> Nested:
        """The coefficients in the tower over Fq6 and Fq2, [w^i][v^j][u^k], as snarkjs writes them."""
        pairs = [[(a[m] + self.p.xi[0] * a[m + 6]) % self.p.q, a[m + 6]] for m in range(6)]
        return [[pairs[i + 2 * j] for j in range(3)] for i in range(2)]


@cache
def _w_to_the_q(p: CurveParams) -> Fq12:
    return Field12(p).pow((0, 1, *[0] * 10), p.q)


Point12 = tuple[Fq12, Fq12]


def _untwist(f: Field12, q: tuple[tuple[int, int], tuple[int, int]]) -> Point12:
    """(x·w², y·w³) for a D twist, (x/w², y/w³) = (x·w⁴/xi, y·w³/xi) for an M twist."""
    if f.p.twist_is_d:
        return f.embed(q[0], 2), f.embed(q[1], 3)
    inverse_xi = f.inverse(f.embed(f.p.xi, 0))
    return f.mul(f.embed(q[0], 4), inverse_xi), f.mul(f.embed(q[1], 3), inverse_xi)


def _step(f: Field12, t: Point12, s: Point12, at: Point12) -> tuple[Point12, Fq12]:
    """t + s, and the line through t and s (the tangent when they are equal) at the point `at`."""
    if t == s:
        slope = f.mul(f.mul(f.constant(3), f.mul(t[0], t[0])), f.inverse(f.add(t[1], t[1])))
    else:
        slope = f.mul(f.sub(s[1], t[1]), f.inverse(f.sub(s[0], t[0])))
    x = f.sub(f.sub(f.mul(slope, slope), t[0]), s[0])
    y = f.sub(f.mul(slope, f.sub(t[0], x)), t[1])
    line = f.sub(f.sub(at[1], t[1]), f.mul(slope, f.sub(at[0], t[0])))
    return (x, y), line


def miller_loop(curve: Curve, p: G1, q: G2) -> Fq12:
    """The function of divisor loop·(q) - … at p, times the two Frobenius lines on BN254; 1 at infinity."""
    f = Field12(PARAMS[curve])
    if p is None or q is None:
        return f.constant(1)
    at = (f.constant(p[0]), f.constant(p[1]))
    base = _untwist(f, q)
    t, value = base, f.constant(1)
    for bit in bin(f.p.ate_loop)[3:]:
        t, line = _step(f, t, t, at)
        value = f.mul(f.mul(value, value), line)
        if bit == "1":
            t, line = _step(f, t, base, at)
            value = f.mul(value, line)
    if curve is Curve.BN254:
        q1 = (f.frobenius(base[0]), f.frobenius(base[1]))
        q2 = (f.frobenius(q1[0]), f.sub(f.constant(0), f.frobenius(q1[1])))
        for point in (q1, q2):
            t, line = _step(f, t, point, at)
            value = f.mul(value, line)
    return value if f.p.x > 0 else f.inverse(value)


def final_factor(p: CurveParams) -> int:
    """What snarkjs' final power has beside (q¹² - 1)/r, prime to r: see `native/pairing.hpp` for its origin."""
    return 2 * p.x * (6 * p.x**2 + 3 * p.x + 1) if p.twist_is_d else 3


def pairing(curve: Curve, p: G1, q: G2) -> Nested:
    """The reduced pairing that snarkjs computes: the Miller loop's value to the power (q¹² - 1)/r · factor."""
    f = Field12(PARAMS[curve])
    reduced = f.pow(miller_loop(curve, p, q), (f.p.q**12 - 1) // f.p.r)
    return f.nested(f.pow(reduced, final_factor(f.p)))
