"""A point that is on its curve but not of order r is refused: sums over it would mean nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from containers import Container, patch
from fixtures import bundled
from points import of_smallest_order, outside_subgroup

from cuzkd.errors import BadFile
from cuzkd.formats.compiled import CompiledCircuit, find_compiled
from cuzkd.formats.zkey_writer import write_zkey
from cuzkd.ingest.compile import compile_zkey
from cuzkd.ipc.requests import PointChecks
from cuzkd.kernels.curve import Group, encode
from cuzkd.model import CircuitRef, Curve
from cuzkd.setup.proving_key import make_proving_key
from cuzkd.setup.secrets import ToxicWaste
from cuzkd.setup.workloads import Workload, make_instance

BLS = Curve.BLS12_381
HEADER_BETA2 = 2
"""beta2 stands behind two G1 points in section 2."""


def compile_with(
    curve: Curve,
    type_: int,
    offset: int,
    group: Group,
    tmp_path: Path,
    points: PointChecks = PointChecks.FULL,
) -> tuple[CircuitRef, bool]:
    """Compile the multiplier's key with one point of a section replaced by one outside the subgroup."""
    point = outside_subgroup(curve, group, seed=1)
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


@pytest.mark.parametrize(
    ("curve", "type_", "group"), [(c, 7, Group.G2) for c in Curve] + [(BLS, 9, Group.G1)]
)
def test_one_of_a_thousand_points_is_named(curve: Curve, type_: int, group: Group, tmp_path: Path):
    system = make_instance(curve, Workload.DENSE, 10).system
    with (tmp_path / "key").open("w+b") as key:
        write_zkey(key, make_proving_key(system, ToxicWaste.draw(curve), 1), "made by a test")
        key.seek(0)
        compile_zkey(key.fileno(), "key", tmp_path / "circuits", threads=2)
        parts = Container.parse(key.read())
    stranger = encode(curve, group, [of_smallest_order(curve, group)]).tobytes()
    payload = patch(parts.section(type_), 777 * len(stranger), stranger)
    (tmp_path / "bad").write_bytes(parts.with_section(type_, payload).build())
    with (
        (tmp_path / "bad").open("rb") as key,
        pytest.raises(BadFile, match=rf"{type_} .*: point 777 is not in"),
    ):
        compile_zkey(key.fileno(), "bad", tmp_path / "circuits", threads=2)


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


def test_the_subgroup_is_not_looked_at_on_demand_and_the_circuit_says_so(tmp_path: Path):
    ref, _ = compile_with(Curve.BN254, 7, 2 * 4 * 32, Group.G2, tmp_path, PointChecks.CURVE)
    assert CompiledCircuit.open(tmp_path / "circuits" / ref.digest).points is PointChecks.CURVE
    with pytest.raises(BadFile, match=r"section 7 \(B2\): point 2 is not in the subgroup"):
        compile_with(Curve.BN254, 7, 2 * 4 * 32, Group.G2, tmp_path, PointChecks.FULL)


def test_a_circuit_is_made_again_only_when_more_is_to_be_checked(tmp_path: Path):
    def compiled(points: PointChecks) -> tuple[bool, PointChecks]:
        with bundled("multiplier_bn128").zkey.open("rb") as key:
            ref, found = compile_zkey(key.fileno(), "key", tmp_path, threads=1, points=points)
        manifest = find_compiled(tmp_path, ref.digest)
        assert manifest is not None
        return found, manifest.points

    assert compiled(PointChecks.CURVE) == (False, PointChecks.CURVE)
    assert compiled(PointChecks.CURVE) == (True, PointChecks.CURVE)
    assert compiled(PointChecks.FULL) == (False, PointChecks.FULL)
    assert compiled(PointChecks.CURVE) == (True, PointChecks.FULL)
