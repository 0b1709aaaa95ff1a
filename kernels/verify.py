"""The Groth16 verifier: e(A, B) = e(alpha, beta)·e(IC(public), gamma)·e(C, delta), after every check of its inputs.

Source: Groth, "On the size of pairing-based non-interactive arguments", 2016.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from cuzkd.kernels.curve import Group, combine, decode, encode, first_outside_subgroup
from cuzkd.kernels.field import scalars_from_ints
from cuzkd.kernels.pairing import product_is_one
from cuzkd.kernels.params import PARAMS
from cuzkd.model import G1, G2, Curve, Proof, VerifyingKey


def verify(vkey: VerifyingKey, public: Sequence[int], proof: Proof) -> bool:
    """Whether `proof` proves the statement with these public inputs (the constant one left out).

    False for another curve, a wrong count of public inputs, one that is not in 0 … r - 1, and a point of the proof
    or the key that is off its curve or outside its subgroup: nothing that is wrong with the inputs raises.
    """
    curve = vkey.curve
    if proof.curve is not curve or len(public) != vkey.num_public:
        return False
    if not all(0 <= value < PARAMS[curve].r for value in public):
        return False
    in_groups = _all_in_group(curve, Group.G1, (proof.a, proof.c)) and _all_in_group(
        curve, Group.G2, (proof.b,)
    )
    if not in_groups or not _is_sound(vkey):
        return False
    statement = _statement(vkey, public)
    return product_is_one(
        curve,
        [
            (_negative(curve, proof.a), proof.b),
            (vkey.alpha_g1, vkey.beta_g2),
            (statement, vkey.gamma_g2),
            (proof.c, vkey.delta_g2),
        ],
    )


@lru_cache(maxsize=64)
def _is_sound(vkey: VerifyingKey) -> bool:
    """Whether every point of the key is in its group; kept, because a key is used for many proofs."""
    return _all_in_group(vkey.curve, Group.G1, (vkey.alpha_g1, *vkey.ic)) and _all_in_group(
        vkey.curve, Group.G2, (vkey.beta_g2, vkey.gamma_g2, vkey.delta_g2)
    )


def _all_in_group(curve: Curve, group: Group, points: Sequence[G1 | G2]) -> bool:
    # A (0, 0) would be encoded as infinity, although it is no point of the curve.
    try:
        encoded = encode(curve, group, points)
    except ValueError:
        return False
    if any(point is not None and not row.any() for point, row in zip(points, encoded, strict=True)):
        return False
    return first_outside_subgroup(curve, group, encoded, threads=1) is None


def _statement(vkey: VerifyingKey, public: Sequence[int]) -> G1:
    """IC_0 + sum of public[i]·IC_(i + 1)."""
    points = encode(vkey.curve, Group.G1, vkey.ic)
    total = combine(vkey.curve, Group.G1, points, scalars_from_ints([1, *public]), secret=False)
    (point,) = decode(vkey.curve, Group.G1, total)
    return point  # type: ignore[return-value]  # decode returns the group it was asked for


def _negative(curve: Curve, point: tuple[int, int]) -> tuple[int, int]:
    return point[0], -point[1] % PARAMS[curve].q
