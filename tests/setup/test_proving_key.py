"""Keys of our own prove: for every circuit at hand, and for the set-up's own pieces by definition."""

from __future__ import annotations

from pathlib import Path

import pytest
from fixtures import Case, all_cases, each
from oracle import public_inputs
from proving import compiled, prove_files

from cuzkd.formats.r1cs import read_r1cs
from cuzkd.formats.system import constraint_system
from cuzkd.formats.zkey_writer import write_zkey
from cuzkd.kernels.curve import Group, decode
from cuzkd.kernels.field import ints_from_scalars, scalars_from_ints
from cuzkd.kernels.fixed_base import multiples
from cuzkd.kernels.params import PARAMS
from cuzkd.kernels.reference import msm1, msm2
from cuzkd.model import Curve
from cuzkd.setup.proving_key import make_proving_key
from cuzkd.setup.qap import lagrange
from cuzkd.setup.secrets import ToxicWaste


def setup(case: Case, out: Path) -> None:
    with case.r1cs.open("rb") as source:
        system = constraint_system(read_r1cs(source.fileno(), case.r1cs.name))
    with out.open("wb") as target:
        write_zkey(
            target, make_proving_key(system, ToxicWaste.draw(case.curve), threads=2), "for development only"
        )


@each(all_cases())
def test_a_key_made_here_proves_the_circuits_witness(case: Case, tmp_path: Path):
    zkey = tmp_path / "own.zkey"
    setup(case, zkey)
    proof, public, _ = prove_files(zkey, case.witness, tmp_path)
    assert proof.curve is case.curve
    assert public == list(public_inputs(case.zkey.read_bytes(), case.witness.read_bytes()))


@each(all_cases())
def test_a_key_made_here_has_the_sizes_of_snarkjs_key(case: Case, tmp_path: Path):
    """Equal up to the contribution record: the same domain, the same rows, the same number of coefficients."""
    zkey = tmp_path / "own.zkey"
    setup(case, zkey)
    shapes = []
    for path in (zkey, case.zkey):
        circuit = compiled(path, tmp_path)
        shapes.append((circuit.ref.shape, len(circuit.matrix_a.cols), len(circuit.matrix_b.cols)))
    assert shapes[0] == shapes[1]


@pytest.mark.parametrize("group", Group)
@pytest.mark.parametrize("curve", Curve)
def test_fixed_base_multiples_are_multiples_of_the_generator(curve: Curve, group: Group):
    params = PARAMS[curve]
    scalars = [0, 1, 2, 255, 256, params.r - 1, params.r // 3, 1 << 200]
    points = decode(curve, group, multiples(curve, group, scalars_from_ints(scalars), threads=2))
    if group is Group.G1:
        expected = [msm1(curve, [params.g1], [k]) for k in scalars]
    else:
        expected = [msm2(curve, [params.g2], [k]) for k in scalars]
    assert points == expected


@pytest.mark.parametrize("curve", Curve)
def test_lagrange_values_interpolate(curve: Curve):
    """sum_i (w^i)^k·L_i(tau) = tau^k for k below the domain's size."""
    params = PARAMS[curve]
    tau, log_n = 0xC0FFEE << 190, 3
    values = ints_from_scalars(lagrange(curve, tau, log_n, 1, threads=1))
    root = pow(params.root, 1 << (params.two_adicity - log_n), params.r)
    for k in range(1 << log_n):
        total = sum(pow(root, i * k, params.r) * value for i, value in enumerate(values))
        assert total % params.r == pow(tau, k, params.r)
