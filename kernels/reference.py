"""The oracle of everything but the pairing (see `reference_pairing`): plain Python integers, obvious formulas.

Points are affine and canonical, None is infinity. Every answer is by definition: a transform is a sum of powers, a
multi-scalar sum is a sum of multiples, a subgroup is what r kills. Tests only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cuzkd.kernels.params import PARAMS, Fp2, fp2_inv, fp2_mul, fp2_pow
from cuzkd.kernels.reference_pairing import Field12, miller_loop
from cuzkd.model import G1, G2, Curve, Proof, VerifyingKey


@dataclass(frozen=True, slots=True)
class Twist:
    """The group of points of y² = x³ + b2 over Fq2; G1 is the part of E with both coordinates in Fq.

    An element of Fq is (a, 0), so that one set of formulas serves both groups.
    """

    q: int
    b: Fp2

    def is_on_curve(self, point: tuple[Fp2, Fp2] | None) -> bool:
        """Whether the point satisfies the equation, coordinates below q; infinity does."""
        if point is None:
            return True
        if not all(0 <= c < self.q for coordinate in point for c in coordinate):
            return False
        x, y = point
        cube = fp2_mul(self.q, fp2_mul(self.q, x, x), x)
        return fp2_mul(self.q, y, y) == self._add(cube, self.b)

    def add(self, a: tuple[Fp2, Fp2] | None, b: tuple[Fp2, Fp2] | None) -> tuple[Fp2, Fp2] | None:
        """a + b by chord and tangent."""
        if a is None or b is None:
            return b if a is None else a
        if a[0] == b[0]:
            if a[1] != b[1] or a[1] == (0, 0):
                return None
            square = fp2_mul(self.q, a[0], a[0])
            slope = self._divide(fp2_mul(self.q, (3, 0), square), self._add(a[1], a[1]))
        else:
            slope = self._divide(self._sub(b[1], a[1]), self._sub(b[0], a[0]))
        x = self._sub(self._sub(fp2_mul(self.q, slope, slope), a[0]), b[0])
        return x, self._sub(fp2_mul(self.q, slope, self._sub(a[0], x)), a[1])

    def multiply(self, point: tuple[Fp2, Fp2] | None, k: int) -> tuple[Fp2, Fp2] | None:
        """k·point for k ≥ 0 by double and add."""
        result = None
        while k:
            if k & 1:
                result = self.add(result, point)
            point = self.add(point, point)
            k >>= 1
        return result

    def lift(self, x: Fp2) -> tuple[Fp2, Fp2] | None:
        """A point with this x coordinate, None when there is none."""
        cube = fp2_mul(self.q, fp2_mul(self.q, x, x), x)
        y = square_root(self.q, self._add(cube, self.b))
        return None if y is None else (x, y)

    def _add(self, a: Fp2, b: Fp2) -> Fp2:
        return (a[0] + b[0]) % self.q, (a[1] + b[1]) % self.q

    def _sub(self, a: Fp2, b: Fp2) -> Fp2:
        return (a[0] - b[0]) % self.q, (a[1] - b[1]) % self.q

    def _divide(self, a: Fp2, b: Fp2) -> Fp2:
        return fp2_mul(self.q, a, fp2_inv(self.q, b))


def square_root(q: int, a: Fp2) -> Fp2 | None:
    """A square root in Fq2 for q = 3 mod 4, or None (Adj, Rodriguez-Henriquez, eprint 2012/685, algorithm 9)."""
    a1 = fp2_pow(q, a, (q - 3) // 4)
    x0 = fp2_mul(q, a1, a)
    alpha = fp2_mul(q, a1, x0)
    if alpha == (q - 1, 0):
        root = fp2_mul(q, (0, 1), x0)
    else:
        root = fp2_mul(q, fp2_pow(q, ((alpha[0] + 1) % q, alpha[1]), (q - 1) // 2), x0)
    return root if fp2_mul(q, root, root) == a else None


def group1(curve: Curve) -> Twist:
    """The curve itself, with coordinates (a, 0)."""
    return Twist(PARAMS[curve].q, (PARAMS[curve].b, 0))


def group2(curve: Curve) -> Twist:
    """The twist."""
    return Twist(PARAMS[curve].q, PARAMS[curve].b2)


def widen(point: G1) -> tuple[Fp2, Fp2] | None:
    """A point of G1 with its coordinates seen in Fq2."""
    return None if point is None else ((point[0], 0), (point[1], 0))


def narrow(point: tuple[Fp2, Fp2] | None) -> G1:
    """The inverse of `widen`."""
    return None if point is None else (point[0][0], point[1][0])


def msm1(curve: Curve, points: Sequence[G1], scalars: Sequence[int]) -> G1:
    """Sum of scalars[i]·points[i] in G1."""
    return narrow(_msm(group1(curve), [widen(p) for p in points], scalars))


def msm2(curve: Curve, points: Sequence[G2], scalars: Sequence[int]) -> G2:
    """Sum of scalars[i]·points[i] in G2."""
    return _msm(group2(curve), points, scalars)


def _msm(group: Twist, points: Sequence[G2], scalars: Sequence[int]) -> G2:
    total = None
    for point, k in zip(points, scalars, strict=True):
        total = group.add(total, group.multiply(point, k))
    return total


def root_of_unity(curve: Curve, log_n: int) -> int:
    """The 2^log_n-th root that snarkjs uses."""
    p = PARAMS[curve]
    return pow(p.root, 1 << (p.two_adicity - log_n), p.r)


def ntt(curve: Curve, values: Sequence[int], *, inverse: bool = False) -> list[int]:
    """X_j = sum of values[i]·w^(i·j), natural order; the inverse divides by n and uses 1/w."""
    r, n = PARAMS[curve].r, len(values)
    w = root_of_unity(curve, n.bit_length() - 1)
    if inverse:
        w = pow(w, -1, r)
    scale = pow(n, -1, r) if inverse else 1
    return [sum(v * pow(w, i * j, r) for i, v in enumerate(values)) * scale % r for j in range(n)]


def evaluate(curve: Curve, rows: Sequence[Sequence[tuple[int, int]]], z: Sequence[int]) -> list[int]:
    """Row by row, the sum of coefficient·z[column] over (column, coefficient) entries."""
    return [sum(v * z[column] for column, v in row) % PARAMS[curve].r for row in rows]


def odd_coset_quotient(
    curve: Curve, a: Sequence[int], b: Sequence[int], c: Sequence[int], log_domain: int
) -> list[int]:
    """a·b - c at the odd points w_2n^(2i + 1) of the domain twice as large, from values on the domain."""
    r, n = PARAMS[curve].r, 1 << log_domain
    shift = root_of_unity(curve, log_domain + 1)

    def at_odd_points(values: Sequence[int]) -> list[int]:
        padded = [*values, *[0] * (n - len(values))]
        coefficients = ntt(curve, padded, inverse=True)
        return ntt(curve, [k * pow(shift, j, r) % r for j, k in enumerate(coefficients)])

    parts = zip(at_odd_points(a), at_odd_points(b), at_odd_points(c), strict=True)
    return [(x * y - z) % r for x, y, z in parts]


def verify(vkey: VerifyingKey, public: Sequence[int], proof: Proof) -> bool:
    """Groth16's equation and the checks of its inputs, by definition."""
    curve, r = vkey.curve, PARAMS[vkey.curve].r
    if proof.curve is not curve or len(public) != vkey.num_public or not all(0 <= v < r for v in public):
        return False
    in_g1 = [widen(p) for p in (proof.a, proof.c, vkey.alpha_g1, *vkey.ic)]
    in_g2 = (proof.b, vkey.beta_g2, vkey.gamma_g2, vkey.delta_g2)
    for group, points in ((group1(curve), in_g1), (group2(curve), in_g2)):
        if not all(group.is_on_curve(p) and group.multiply(p, r) is None for p in points):
            return False
    f = Field12(PARAMS[curve])
    statement = msm1(curve, vkey.ic, [1, *public])
    right = f.mul(
        f.mul(miller_loop(curve, vkey.alpha_g1, vkey.beta_g2), miller_loop(curve, statement, vkey.gamma_g2)),
        miller_loop(curve, proof.c, vkey.delta_g2),
    )
    quotient = f.mul(miller_loop(curve, proof.a, proof.b), f.inverse(right))
    return f.pow(quotient, (f.p.q**12 - 1) // r) == f.constant(1)
