"""The verifier accepts what snarkjs proved, and nothing that differs from it in any one place."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator

import fixtures
import pytest

from cuzkd.kernels import reference
from cuzkd.kernels.params import PARAMS
from cuzkd.kernels.verify import verify
from cuzkd.model import G1, G2, Curve, Proof, VerifyingKey

Statement = tuple[VerifyingKey, list[int], Proof]


def load(case: fixtures.Case) -> Statement:
    key = json.loads(case.verification_key.read_text())
    proof = json.loads(case.proof.read_text())
    vkey = VerifyingKey(
        curve=case.curve,
        alpha_g1=_g1(key["vk_alpha_1"]),
        beta_g2=_g2(key["vk_beta_2"]),
        gamma_g2=_g2(key["vk_gamma_2"]),
        delta_g2=_g2(key["vk_delta_2"]),
        ic=tuple(_g1(point) for point in key["IC"]),
    )
    a, b, c = _g1(proof["pi_a"]), _g2(proof["pi_b"]), _g1(proof["pi_c"])
    assert a is not None
    assert b is not None
    assert c is not None
    return vkey, [int(v) for v in json.loads(case.public.read_text())], Proof(case.curve, a, b, c)


def _g1(value: list[str]) -> G1:
    return None if value[2] == "0" else (int(value[0]), int(value[1]))


def _g2(value: list[list[str]]) -> G2:
    if value[2] == ["0", "0"]:
        return None
    return (int(value[0][0]), int(value[0][1])), (int(value[1][0]), int(value[1][1]))


def statement_of(curve: Curve) -> Statement:
    return load(fixtures.bundled(f"publics_{curve}"))


def with_coordinate(proof: Proof, which: int, value: int) -> Proof:
    """The proof with one of its eight coordinates (in the order of `Proof.to_bytes`) replaced."""
    (b0, b1), (b2, b3) = proof.b
    v = [*proof.a, b0, b1, b2, b3, *proof.c]
    v[which] = value
    return Proof(proof.curve, (v[0], v[1]), ((v[2], v[3]), (v[4], v[5])), (v[6], v[7]))


def coordinates(proof: Proof) -> list[int]:
    return [*proof.a, *proof.b[0], *proof.b[1], *proof.c]


@fixtures.each()
def test_what_snarkjs_proved_is_accepted(case: fixtures.Case) -> None:
    assert verify(*load(case))


@fixtures.each()
def test_any_changed_public_input_is_refused(case: fixtures.Case) -> None:
    vkey, public, proof = load(case)
    infinite = [i for i, point in enumerate(vkey.ic[1:]) if point is None]
    for i, value in enumerate(public):
        changed = [*public[:i], (value + 1) % PARAMS[case.curve].r, *public[i + 1 :]]
        assert verify(vkey, changed, proof) == (i in infinite)


@pytest.mark.parametrize("curve", Curve)
def test_any_changed_coordinate_is_refused(curve: Curve) -> None:
    vkey, public, proof = statement_of(curve)
    q = PARAMS[curve].q
    for which, value in enumerate(coordinates(proof)):
        for changed in ((value + 1) % q, (q - value) % q, 0):
            assert not verify(vkey, public, with_coordinate(proof, which, changed))


@pytest.mark.parametrize("curve", Curve)
def test_coordinates_outside_the_field_are_refused(curve: Curve) -> None:
    vkey, public, proof = statement_of(curve)
    q = PARAMS[curve].q
    for which, value in enumerate(coordinates(proof)):
        for changed in (value + q, value - q):
            assert not verify(vkey, public, with_coordinate(proof, which, changed))


@pytest.mark.parametrize("curve", Curve)
def test_a_public_input_that_is_not_canonical_is_refused(curve: Curve) -> None:
    vkey, public, proof = statement_of(curve)
    r = PARAMS[curve].r
    for i in range(len(public)):
        for changed in (public[i] + r, public[i] - r):
            assert not verify(vkey, [*public[:i], changed, *public[i + 1 :]], proof)


@pytest.mark.parametrize("curve", Curve)
def test_a_wrong_count_of_public_inputs_is_refused(curve: Curve) -> None:
    vkey, public, proof = statement_of(curve)
    assert not verify(vkey, public[:-1], proof)
    assert not verify(vkey, [*public, 0], proof)
    assert not verify(vkey, [], proof)


@pytest.mark.parametrize("curve", Curve)
def test_other_valid_points_and_negatives_are_refused(curve: Curve) -> None:
    vkey, public, proof = statement_of(curve)
    p = PARAMS[curve]
    for changed in (
        dataclasses.replace(proof, a=p.g1),
        dataclasses.replace(proof, b=p.g2),
        dataclasses.replace(proof, c=p.g1),
        dataclasses.replace(proof, a=proof.c, c=proof.a),
        dataclasses.replace(proof, c=(proof.c[0], p.q - proof.c[1])),
    ):
        assert not verify(vkey, public, changed)


def small_order_shifts(curve: Curve, proof: Proof) -> Iterator[Proof]:
    """The proof with a point of order dividing a cofactor added: still on the curves, outside the subgroups."""
    p = PARAMS[curve]
    g2 = reference.group2(curve)
    stranger = next(s for x in range(1, 99) if (s := g2.lift((x, 1))) is not None)
    shifted = g2.add(proof.b, g2.multiply(stranger, p.r))
    assert shifted is not None
    assert g2.is_on_curve(shifted)
    yield dataclasses.replace(proof, b=shifted)
    if p.cofactor1 == 1:
        return
    g1 = reference.group1(curve)
    stranger = next(s for x in range(3, 99) if (s := g1.lift((x, 0))) is not None and s[1][1] == 0)
    for name, point in (("a", proof.a), ("c", proof.c)):
        sum_ = reference.narrow(g1.add(reference.widen(point), g1.multiply(stranger, p.r)))
        assert sum_ is not None
        yield dataclasses.replace(proof, **{name: sum_})


@pytest.mark.parametrize("curve", Curve)
def test_a_point_on_the_curve_but_outside_the_subgroup_is_refused(curve: Curve) -> None:
    vkey, public, proof = statement_of(curve)
    for changed in small_order_shifts(curve, proof):
        assert not verify(vkey, public, changed)


@pytest.mark.parametrize("curve", Curve)
def test_a_key_with_a_bad_point_verifies_nothing(curve: Curve) -> None:
    vkey, public, proof = statement_of(curve)
    assert vkey.gamma_g2 is not None
    (x, y) = vkey.gamma_g2
    assert not verify(dataclasses.replace(vkey, gamma_g2=(y, x)), public, proof)
    assert not verify(dataclasses.replace(vkey, ic=((1, 1), *vkey.ic[1:])), public, proof)
    assert not verify(dataclasses.replace(vkey, delta_g2=vkey.beta_g2), public, proof)


def test_a_proof_of_the_other_curve_is_refused() -> None:
    vkey, public, _ = statement_of(Curve.BN254)
    _, _, proof = statement_of(Curve.BLS12_381)
    assert not verify(vkey, public, proof)


@pytest.mark.parametrize("curve", Curve)
def test_the_oracle_verifies_the_same(curve: Curve) -> None:
    vkey, public, proof = load(fixtures.bundled(f"multiplier_{curve}"))
    assert reference.verify(vkey, public, proof)
    assert not reference.verify(vkey, [(public[0] + 1) % PARAMS[curve].r, *public[1:]], proof)
