"""Points in arrays: encoding, the curve's equation, subgroups, and exact combinations, against the oracle."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import py_arkworks_bls12381 as arkworks
import pytest
from points import GROUPS, WITH_OUTSIDE, killed_by_cofactor, multiply, outside_subgroup, point

from cuzkd.kernels import _native, curve, native
from cuzkd.kernels.curve import Group, combine, decode, encode, first_off_curve, first_outside_subgroup
from cuzkd.kernels.field import scalars_from_ints
from cuzkd.kernels.params import PARAMS
from cuzkd.kernels.reference import msm1, msm2
from cuzkd.model import Curve

BUILDS = [pytest.param(_native, id="portable"), pytest.param(native, id=native.arithmetic)]


@pytest.mark.parametrize(("c", "group"), GROUPS)
def test_decode_undoes_encode(c: Curve, group: Group) -> None:
    points = [None, *(point(c, group, k) for k in (1, 2, 3, PARAMS[c].r - 1))]
    array = encode(c, group, points)
    assert array.shape == (5, curve.width(c, group))
    assert not array[0].any()
    assert decode(c, group, array) == points


def test_an_encoded_coordinate_is_its_montgomery_form_least_limb_first() -> None:
    row = encode(Curve.BN254, Group.G1, [(1, 2)])[0]
    assert int.from_bytes(row[:4].tobytes(), "little") == (1 << 256) % PARAMS[Curve.BN254].q


@pytest.mark.parametrize("bad", [-1, PARAMS[Curve.BN254].q])
def test_coordinates_outside_the_field_are_not_encoded(bad: int) -> None:
    with pytest.raises(ValueError, match="base field"):
        encode(Curve.BN254, Group.G1, [(1, bad)])


def test_a_point_of_the_other_group_is_not_encoded() -> None:
    with pytest.raises(ValueError, match="no G1 point"):
        encode(Curve.BN254, Group.G1, [PARAMS[Curve.BN254].g2])


@pytest.mark.parametrize(("c", "group"), GROUPS)
def test_the_first_point_off_its_curve_is_found(c: Curve, group: Group) -> None:
    good = encode(c, group, [point(c, group, k) for k in range(1, 9)] * 400 + [None])
    assert first_off_curve(c, group, good, threads=2) is None
    for at, limb in ((0, 0), (1500, curve.width(c, group) - 1), (3199, curve.width(c, group) // 2)):
        bad = good.copy()
        bad[at, limb] ^= np.uint64(1)
        bad[3199, 1] ^= np.uint64(1)
        assert first_off_curve(c, group, bad, threads=2) == at


@pytest.mark.parametrize(("c", "group"), GROUPS)
def test_a_coordinate_at_or_above_q_is_off_the_curve(c: Curve, group: Group) -> None:
    array = encode(c, group, [point(c, group, 5)])
    limbs = PARAMS[c].limbs
    for first in range(0, curve.width(c, group), limbs):
        raised = array.copy()
        value = int.from_bytes(raised[0, first : first + limbs].tobytes(), "little") + PARAMS[c].q
        raised[0, first : first + limbs] = np.frombuffer(value.to_bytes(8 * limbs, "little"), dtype="<u8")
        assert first_off_curve(c, group, raised, threads=1) == 0


@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize(("c", "group"), GROUPS)
def test_subgroup_membership_is_being_killed_by_r(build: ModuleType, c: Curve, group: Group) -> None:
    members = [None, *(point(c, group, k) for k in (1, 2, 12345, PARAMS[c].r - 1))]
    others = [outside_subgroup(c, group, seed) for seed in range(8)]
    others += [killed_by_cofactor(c, group, seed) for seed in range(4)]
    for p in [*members, *others]:
        expected = multiply(c, group, p, PARAMS[c].r) is None
        array = encode(c, group, [p])
        outside = build.first_outside_subgroup(c.value, group is Group.G2, array, 1)
        assert (outside is None) == expected, p
        assert build.first_off_curve(c.value, group is Group.G2, array, 1) is None


@pytest.mark.parametrize(("c", "group"), WITH_OUTSIDE)
def test_the_first_point_outside_the_subgroup_is_found(c: Curve, group: Group) -> None:
    array = encode(c, group, [point(c, group, 3)] * 100)
    stranger = encode(c, group, [outside_subgroup(c, group, 1)])
    for at in (0, 15, 16, 99):
        spoiled = array.copy()
        spoiled[at:] = stranger
        assert first_outside_subgroup(c, group, spoiled, threads=2) == at


def test_members_by_arkworks_are_members() -> None:
    for k in (1, 7, 1 << 200):
        x, y = _arkworks_g1(arkworks.G1Point() * arkworks.Scalar(k))
        array = encode(Curve.BLS12_381, Group.G1, [(x, y)])
        assert first_outside_subgroup(Curve.BLS12_381, Group.G1, array, threads=1) is None
        assert (x, y) == point(Curve.BLS12_381, Group.G1, k)


def _arkworks_g1(p: arkworks.G1Point) -> tuple[int, int]:
    data = bytes(p.to_xy_bytes_le())
    return int.from_bytes(data[:48], "little"), int.from_bytes(data[48:], "little")


@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize("secret", [True, False])
@pytest.mark.parametrize(("c", "group"), GROUPS)
def test_combine_is_the_exact_sum(build: ModuleType, c: Curve, group: Group, secret: bool) -> None:
    r = PARAMS[c].r
    ks = [1, 1, r - 1, 5, 0, 9]
    scalars = [3, 3, 6, r - 1, 11, (1 << 256) - 1]
    points = [point(c, group, k) for k in ks]
    out = np.empty((1, curve.width(c, group)), dtype=np.uint64)
    build.combine(
        c.value, group is Group.G2, encode(c, group, points), scalars_from_ints(scalars), out, secret
    )
    total = sum(k * s for k, s in zip(ks, scalars, strict=True)) % r
    assert decode(c, group, out) == [point(c, group, total)]


@pytest.mark.parametrize("secret", [True, False])
@pytest.mark.parametrize(("c", "group"), GROUPS)
def test_combine_finds_infinity(c: Curve, group: Group, secret: bool) -> None:
    g = encode(c, group, [point(c, group, 1)])
    for scalars in ([0], [PARAMS[c].r]):
        assert not combine(c, group, g, scalars_from_ints(scalars), secret=secret).any()
    both = np.concatenate([g, encode(c, group, [point(c, group, PARAMS[c].r - 1)])])
    assert not combine(c, group, both, scalars_from_ints([77, 77]), secret=secret).any()
    assert not combine(c, group, g[:0], scalars_from_ints([]), secret=secret).any()


@pytest.mark.parametrize(("c", "group"), GROUPS)
def test_combine_holds_outside_the_subgroup_too(c: Curve, group: Group) -> None:
    points = [outside_subgroup(c, group, 5), killed_by_cofactor(c, group, 6)]
    scalars = [PARAMS[c].r, 1 << 255 | 12345]
    got = decode(c, group, combine(c, group, encode(c, group, points), scalars_from_ints(scalars)))
    expected = (msm1 if group is Group.G1 else msm2)(c, points, scalars)  # type: ignore[operator]
    assert got == [expected]


def test_wrong_shapes_are_refused() -> None:
    g = encode(Curve.BN254, Group.G1, [(1, 2)])
    with pytest.raises(ValueError, match="G2 points"):
        first_off_curve(Curve.BN254, Group.G2, g, threads=1)
    with pytest.raises(ValueError, match="contiguous"):
        first_off_curve(Curve.BN254, Group.G1, np.repeat(g, 4, axis=0)[::2], threads=1)
    with pytest.raises(ValueError, match="need"):
        combine(Curve.BN254, Group.G1, g, scalars_from_ints([1, 2]))
    with pytest.raises(ValueError, match="below q"):
        combine(Curve.BN254, Group.G1, np.full((1, 8), 2**64 - 1, dtype=np.uint64), scalars_from_ints([1]))
