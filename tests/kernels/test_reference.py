"""The oracle itself, against two independent implementations and against the laws of a group."""

from __future__ import annotations

import random

import py_arkworks_bls12381 as arkworks
import pytest
from zksnake.ecc import EllipticCurve

from cuzkd.kernels import reference, reference_pairing
from cuzkd.kernels.params import PARAMS, fp2_mul
from cuzkd.kernels.reference import group2, msm1, msm2, square_root
from cuzkd.model import Curve

ZKSNAKE = {Curve.BN254: EllipticCurve("BN254"), Curve.BLS12_381: EllipticCurve("BLS12_381")}


def scalars(curve: Curve, count: int) -> list[int]:
    source = random.Random(count)
    return [1, 2, PARAMS[curve].r - 1, *(source.randrange(PARAMS[curve].r) for _ in range(count))]


@pytest.mark.parametrize("curve", Curve)
def test_multiples_of_the_generators_are_zksnakes(curve: Curve) -> None:
    theirs = ZKSNAKE[curve]
    for k in scalars(curve, 4):
        p, q = theirs.G1() * k, theirs.G2() * k
        assert msm1(curve, [PARAMS[curve].g1], [k]) == (p.x, p.y)
        assert msm2(curve, [PARAMS[curve].g2], [k]) == (tuple(q.x), tuple(q.y))


def test_multiples_in_g2_are_arkworks() -> None:
    for k in scalars(Curve.BLS12_381, 4):
        data = bytes((arkworks.G2Point() * arkworks.Scalar(k)).to_xy_bytes_le())
        c = [int.from_bytes(data[i : i + 48], "little") for i in range(0, 192, 48)]
        assert msm2(Curve.BLS12_381, [PARAMS[Curve.BLS12_381].g2], [k]) == ((c[0], c[1]), (c[2], c[3]))


@pytest.mark.parametrize("curve", Curve)
def test_a_sum_of_multiples_is_zksnakes_multiexp(curve: Curve) -> None:
    theirs, ks = ZKSNAKE[curve], scalars(curve, 5)
    bases = [theirs.G1() * k for k in reversed(ks)]
    total = theirs.multiexp(bases, ks)
    assert msm1(curve, [(p.x, p.y) for p in bases], ks) == (total.x, total.y)


@pytest.mark.parametrize("curve", Curve)
def test_addition_knows_doubling_opposites_and_infinity(curve: Curve) -> None:
    group, g = group2(curve), PARAMS[curve].g2
    minus = group.multiply(g, PARAMS[curve].r - 1)
    assert group.add(g, g) == group.multiply(g, 2)
    assert group.add(g, minus) is None
    assert group.add(None, g) == group.add(g, None) == g
    assert group.add(group.multiply(g, 5), group.multiply(g, 7)) == group.multiply(g, 12)


@pytest.mark.parametrize("curve", Curve)
def test_square_roots_square_to_what_they_are_of_and_half_the_elements_have_none(curve: Curve) -> None:
    q = PARAMS[curve].q
    source = random.Random(5)
    found = 0
    for _ in range(40):
        a = (source.randrange(q), source.randrange(q))
        root = square_root(q, a)
        found += root is not None
        assert root is None or fp2_mul(q, root, root) == a
        assert square_root(q, fp2_mul(q, a, a)) is not None
    assert 5 < found < 35


@pytest.mark.parametrize("curve", Curve)
def test_transforms_undo_each_other_and_multiply_polynomials(curve: Curve) -> None:
    r = PARAMS[curve].r
    f, g = [3, 1, 4, 1, 0, 0, 0, 0], [5, 9, r - 2, 6, 0, 0, 0, 0]
    assert reference.ntt(curve, reference.ntt(curve, f), inverse=True) == f
    products = zip(reference.ntt(curve, f), reference.ntt(curve, g), strict=True)
    coefficients = reference.ntt(curve, [x * y % r for x, y in products], inverse=True)
    assert coefficients == [sum(f[i] * g[k - i] for i in range(k + 1)) % r for k in range(8)]


@pytest.mark.parametrize("curve", Curve)
def test_the_quotient_of_a_satisfied_product_divides_by_the_vanishing_polynomial(curve: Curve) -> None:
    r, n = PARAMS[curve].r, 8
    a, b = [1, 2, 3, 4, 5, 6, 7, 8], [8, 7, 6, 5, 4, 3, 2, r - 1]
    c = [x * y % r for x, y in zip(a, b, strict=True)]
    odd = reference.odd_coset_quotient(curve, a, b, c, 3)
    # At every odd point w^(2i + 1) the vanishing polynomial X^n - 1 is -2, so odd / -2 interpolates a polynomial of
    # degree n - 2: its top coefficient over the coset is zero.
    quotient = reference.ntt(curve, [v * pow(-2, -1, r) % r for v in odd], inverse=True)
    assert any(quotient)
    assert quotient[n - 1] == 0


@pytest.mark.parametrize("curve", Curve)
def test_the_pairing_is_bilinear_and_its_values_have_order_r(curve: Curve) -> None:
    p = PARAMS[curve]
    f = reference_pairing.Field12(p)
    six = reference_pairing.pairing(curve, msm1(curve, [p.g1], [2]), msm2(curve, [p.g2], [3]))
    assert six == reference_pairing.pairing(curve, msm1(curve, [p.g1], [6]), p.g2)
    value = f.constant(0)
    for i in range(2):
        for j in range(3):
            value = f.add(value, f.embed((six[i][j][0], six[i][j][1]), i + 2 * j))
    assert value != f.constant(1)
    assert f.pow(value, p.r) == f.constant(1)
    assert f.mul(value, f.inverse(value)) == f.constant(1)
