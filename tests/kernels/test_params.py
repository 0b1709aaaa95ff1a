"""Every constant is what it claims to be, and the C++ header is generated from these."""

from __future__ import annotations

from pathlib import Path

import pytest

from cuzkd.kernels import params as module
from cuzkd.kernels.params import PARAMS, cube_root_of_one, fp2_mul, fp2_pow, header, twist_frobenius
from cuzkd.kernels.reference import group1, group2, widen
from cuzkd.model import Curve

MODULI = {
    Curve.BN254: (
        21888242871839275222246405745257275088696311157297823662689037894645226208583,
        21888242871839275222246405745257275088548364400416034343698204186575808495617,
    ),
    Curve.BLS12_381: (
        int(
            "1a0111ea397fe69a4b1ba7b6434bacd764774b84f38512bf6730d2a0f6b0f624"
            "1eabfffeb153ffffb9feffffffffaaab",
            16,
        ),
        0x73EDA753299D7D483339D80809A1D80553BDA402FFFE5BFEFFFFFFFF00000001,
    ),
}


@pytest.mark.parametrize("curve", Curve)
def test_moduli_are_the_published_ones(curve: Curve) -> None:
    assert (PARAMS[curve].q, PARAMS[curve].r) == MODULI[curve]


@pytest.mark.parametrize("curve", Curve)
def test_generators_have_order_r_and_cofactors_kill_the_rest(curve: Curve) -> None:
    p = PARAMS[curve]
    g1, g2 = group1(curve), group2(curve)
    assert g1.is_on_curve(widen(p.g1))
    assert g2.is_on_curve(p.g2)
    assert g1.multiply(widen(p.g1), p.r) is None
    assert g2.multiply(p.g2, p.r) is None
    off_g2 = next(point for x in range(1, 50) if (point := g2.lift((x, 1))) is not None)
    assert g2.multiply(off_g2, p.r) is not None
    assert g2.multiply(g2.multiply(off_g2, p.cofactor2), p.r) is None
    off_g1 = next(point for x in range(3, 50) if (point := g1.lift((x, 0))) is not None and point[1][1] == 0)
    assert g1.multiply(g1.multiply(off_g1, p.cofactor1), p.r) is None


@pytest.mark.parametrize("curve", Curve)
def test_the_root_has_order_two_to_the_two_adicity(curve: Curve) -> None:
    p = PARAMS[curve]
    assert pow(p.root, 1 << (p.two_adicity - 1), p.r) == p.r - 1
    assert (p.r - 1) % (1 << p.two_adicity) == 0
    assert (p.r - 1) >> p.two_adicity & 1


@pytest.mark.parametrize("curve", Curve)
def test_xi_has_neither_square_nor_cube_root(curve: Curve) -> None:
    p = PARAMS[curve]
    assert fp2_pow(p.q, p.xi, (p.q**2 - 1) // 2) != (1, 0)
    assert fp2_pow(p.q, p.xi, (p.q**2 - 1) // 3) != (1, 0)


@pytest.mark.parametrize("curve", Curve)
def test_psi_is_multiplication_by_q_on_g2(curve: Curve) -> None:
    p = PARAMS[curve]
    cx, cy = twist_frobenius(p)
    x, y = p.g2
    psi = (fp2_mul(p.q, cx, (x[0], -x[1])), fp2_mul(p.q, cy, (y[0], -y[1])))
    assert psi == group2(curve).multiply(p.g2, p.q % p.r)


def test_beta_is_minus_x_squared_on_g1_of_bls12_381() -> None:
    p = PARAMS[Curve.BLS12_381]
    expected = group1(Curve.BLS12_381).multiply(widen(p.g1), -(p.x**2) % p.r)
    assert expected == widen((cube_root_of_one(p) * p.g1[0] % p.q, p.g1[1]))


@pytest.mark.parametrize("curve", Curve)
def test_every_modulus_leaves_its_top_bit_free(curve: Curve) -> None:
    p = PARAMS[curve]
    assert p.q >> (64 * p.limbs - 1) == 0
    assert p.r >> 255 == 0


def test_the_header_in_the_tree_is_current() -> None:
    path = Path(module.__file__).resolve().parent / "include" / "params.cuh"
    assert path.read_text() == header()
