"""The pairing gives snarkjs' values, is bilinear, and agrees with the oracle and with arkworks."""

from __future__ import annotations

import json
from types import ModuleType

import fixtures
import numpy as np
import py_arkworks_bls12381 as arkworks
import pytest

from cuzkd.kernels import _native, native, reference_pairing
from cuzkd.kernels.curve import Group, encode
from cuzkd.kernels.pairing import pairing, product_is_one
from cuzkd.kernels.params import PARAMS
from cuzkd.kernels.reference import msm1, msm2
from cuzkd.model import G1, G2, Curve

BUILDS = [pytest.param(_native, id="portable"), pytest.param(native, id=native.arithmetic)]


def g1(c: Curve, k: int) -> G1:
    return msm1(c, [PARAMS[c].g1], [k % PARAMS[c].r])


def g2(c: Curve, k: int) -> G2:
    return msm2(c, [PARAMS[c].g2], [k % PARAMS[c].r])


@fixtures.each()
def test_alpha_beta_is_what_snarkjs_wrote(case: fixtures.Case) -> None:
    key = json.loads(case.verification_key.read_text())
    alpha = (int(key["vk_alpha_1"][0]), int(key["vk_alpha_1"][1]))
    x, y = (tuple(int(c) for c in pair) for pair in key["vk_beta_2"][:2])
    written = [[[int(c) for c in pair] for pair in half] for half in key["vk_alphabeta_12"]]
    assert pairing(case.curve, alpha, (x, y)) == written  # type: ignore[arg-type]


@pytest.mark.parametrize("c", Curve)
def test_the_oracle_agrees(c: Curve) -> None:
    p, q = g1(c, 0xDEADBEEF), g2(c, 0xCAFE << 200)
    assert pairing(c, p, q) == reference_pairing.pairing(c, p, q)


@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize("c", Curve)
def test_every_build_is_bilinear_and_not_degenerate(build: ModuleType, c: Curve) -> None:
    def is_one(pairs: list[tuple[int, int]]) -> bool:
        p = encode(c, Group.G1, [g1(c, a) for a, _ in pairs])
        q = encode(c, Group.G2, [g2(c, b) for _, b in pairs])
        result: bool = build.product_is_one(c.value, p, q)
        return result

    assert is_one([(6, 35), (-10, 21)])
    assert is_one([(1, 1), (1, 1), (-2, 1)])
    assert is_one([(3, 5), (7, 11), (-92, 1)])
    assert not is_one([(6, 35), (-10, 22)])
    assert not is_one([(1, 1)])
    assert not is_one([(-1, -1)])


@pytest.mark.parametrize("c", Curve)
def test_terms_at_infinity_are_one(c: Curve) -> None:
    assert product_is_one(c, [])
    assert product_is_one(c, [(None, g2(c, 3)), (g1(c, 3), None), (None, None)])
    assert not product_is_one(c, [(None, g2(c, 3)), (g1(c, 1), g2(c, 1))])
    one = [[[1, 0], [0, 0], [0, 0]], [[0, 0], [0, 0], [0, 0]]]
    assert pairing(c, None, g2(c, 1)) == one


@pytest.mark.parametrize("c", Curve)
def test_points_off_their_curve_are_refused(c: Curve) -> None:
    x, y = PARAMS[c].g1
    with pytest.raises(ValueError, match="off its curve"):
        pairing(c, (x, y + 1), PARAMS[c].g2)
    with pytest.raises(ValueError, match="off its curve"):
        product_is_one(c, [(PARAMS[c].g1, (PARAMS[c].g2[1], PARAMS[c].g2[0]))])


def test_arrays_of_other_shapes_are_refused() -> None:
    p, q = encode(Curve.BN254, Group.G1, [(1, 2)]), encode(Curve.BN254, Group.G2, [PARAMS[Curve.BN254].g2])
    for bad_p, bad_q in ((p, q[:0]), (q, q), (p, p)):
        with pytest.raises(ValueError, match=r"width|length"):
            native.product_is_one("bn128", bad_p, bad_q)
    with pytest.raises(ValueError, match="six"):
        native.pairing("bn128", p, q, np.empty((5, 8), dtype=np.uint64))


def test_arkworks_finds_the_same_products_to_be_one() -> None:
    ark1, ark2 = arkworks.G1Point(), arkworks.G2Point()
    for ks in ([(6, 35), (10, 21)], [(6, 35), (10, 22)]):
        (a, b), (c, d) = ks
        left = arkworks.GT.pairing(ark1 * arkworks.Scalar(a), ark2 * arkworks.Scalar(b))
        right = arkworks.GT.pairing(ark1 * arkworks.Scalar(c), ark2 * arkworks.Scalar(d))
        curve = Curve.BLS12_381
        ours = product_is_one(curve, [(g1(curve, a), g2(curve, b)), (g1(curve, -c), g2(curve, d))])
        assert ours == (left == right)
