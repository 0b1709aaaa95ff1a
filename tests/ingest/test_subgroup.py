"""A point that is on its curve but not of order r is refused: sums over it would mean nothing."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest
from containers import Container, patch
from fixtures import bundled

from cuzkd.errors import BadFile
from cuzkd.formats.compiled import read_manifest
from cuzkd.ingest.compile import compile_zkey
from cuzkd.ipc.messages import PointChecks
from cuzkd.kernels.curve import Group, encode
from cuzkd.kernels.params import PARAMS, fp2_mul, fp2_pow
from cuzkd.model import G1, G2, CircuitRef, Curve

HEADER_BETA2 = 2
"""beta2 stands behind two G1 points in section 2."""


def some_g1(curve: Curve) -> G1:
    """The first point of y² = x³ + b with x ≥ 1: of order r by a negligible chance only, unless all are."""
    q, b = PARAMS[curve].q, PARAMS[curve].b
    squares = ((x, (x**3 + b) % q) for x in count(1))
    roots = ((x, square, pow(square, (q + 1) // 4, q)) for x, square in squares)
    return next((x, y) for x, square, y in roots if y * y % q == square)


def some_g2(curve: Curve) -> G2:
    """The first point of the twist with x = n + u."""
    q, b2 = PARAMS[curve].q, PARAMS[curve].b2
    cubes = ((x, fp2_mul(q, x, fp2_mul(q, x, x))) for x in ((n, 1) for n in count(1)))
    squares = ((x, ((cube[0] + b2[0]) % q, (cube[1] + b2[1]) % q)) for x, cube in cubes)
    roots = ((x, square, root_if_any(q, square)) for x, square in squares)
    return next((x, y) for x, square, y in roots if fp2_mul(q, y, y) == square)


def root_if_any(q: int, square: tuple[int, int]) -> tuple[int, int]:
    """A root in Fq2 if there is one, else anything: Adj and Rodríguez-Henríquez, eprint 2012/685."""
    half = fp2_pow(q, square, (q - 3) // 4)
    root = fp2_mul(q, half, square)
    alpha = fp2_mul(q, half, root)
    if alpha == (q - 1, 0):
        return fp2_mul(q, (0, 1), root)
    return fp2_mul(q, fp2_pow(q, ((1 + alpha[0]) % q, alpha[1]), (q - 1) // 2), root)


def compile_with(
    curve: Curve,
    type_: int,
    offset: int,
    group: Group,
    tmp_path: Path,
    points: PointChecks = PointChecks.FULL,
) -> tuple[CircuitRef, bool]:
    """Compile the multiplier's key with one point of a section replaced."""
    point = some_g1(curve) if group is Group.G1 else some_g2(curve)
    parts = Container.parse(bundled(f"multiplier_{curve}").zkey.read_bytes())
    payload = patch(parts.section(type_), offset, encode(curve, group, [point]).tobytes())
    path = tmp_path / "key"
    path.write_bytes(parts.with_section(type_, payload).build())
    with path.open("rb") as key:
        return compile_zkey(key.fileno(), "key", tmp_path / "circuits", threads=1, points=points)


@pytest.mark.parametrize("curve", Curve)
def test_g2_of_both_curves_is_checked(curve: Curve, tmp_path: Path):
    with pytest.raises(BadFile, match=r"section 7 \(B2\): point 2 is not in the subgroup of order r"):
        compile_with(curve, 7, 2 * 4 * curve.coordinate_bytes, Group.G2, tmp_path)


@pytest.mark.parametrize("type_", [3, 5, 6, 8, 9])
def test_g1_of_bls12_381_is_checked_in_every_section(type_: int, tmp_path: Path):
    with pytest.raises(BadFile, match=rf"section {type_} .*: point 1 is not in the subgroup of order r"):
        compile_with(Curve.BLS12_381, type_, 2 * 48, Group.G1, tmp_path)


def test_every_point_of_g1_of_bn254_is_of_order_r(tmp_path: Path):
    compile_with(Curve.BN254, 5, 2 * 32, Group.G1, tmp_path)


@pytest.mark.parametrize("curve", Curve)
def test_the_headers_points_are_checked(curve: Curve, tmp_path: Path):
    size = curve.coordinate_bytes
    offset = 8 + size + 32 + 12 + HEADER_BETA2 * 2 * size
    with pytest.raises(
        BadFile, match=r"section 2 \(Groth16 header\): beta2: the point is not in the subgroup"
    ):
        compile_with(curve, 2, offset, Group.G2, tmp_path)


def test_a_circuit_checked_for_the_curve_alone_is_made_again_when_more_is_asked_for(tmp_path: Path):
    """A key whose points are sound: CURVE compiles and says so, FULL compiles again, then CURVE finds that."""
    zkey, circuits = bundled("multiplier_bls12381").zkey, tmp_path / "circuits"

    def compile_checked(points: PointChecks) -> tuple[bool, bool]:
        with zkey.open("rb") as key:
            ref, found = compile_zkey(key.fileno(), "key", circuits, threads=1, points=points)
        return found, read_manifest(circuits / ref.digest).checks.in_subgroup

    assert compile_checked(PointChecks.CURVE) == (False, False)
    assert compile_checked(PointChecks.CURVE) == (True, False)
    assert compile_checked(PointChecks.FULL) == (False, True)
    assert compile_checked(PointChecks.CURVE) == (True, True)


def test_a_point_outside_the_subgroup_is_let_in_only_when_asked_for(tmp_path: Path):
    place = (Curve.BN254, 7, 2 * 4 * 32, Group.G2, tmp_path)
    _, found = compile_with(*place, points=PointChecks.CURVE)
    assert not found
    with pytest.raises(BadFile, match="not in the subgroup"):
        compile_with(*place)


def test_a_long_compilation_tells_what_it_does(tmp_path: Path):
    told: list[tuple[str, int, int]] = []
    with bundled("multiplier_bn128").zkey.open("rb") as key:
        compile_zkey(key.fileno(), "key", tmp_path, threads=1, report=lambda *progress: told.append(progress))
    stages = [stage for stage, _, _ in told]
    assert "reading key" in stages
    assert "checking points of section 7 (B2)" in stages
    assert all(0 <= done <= total for _, done, total in told)
