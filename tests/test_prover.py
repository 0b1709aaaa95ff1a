"""From key and witness files to the proof, stage by stage on the host: the oracle's proof or none."""

from __future__ import annotations

from pathlib import Path

import pytest
from containers import Container, patch
from fixtures import Case, all_cases, bundled, each
from oracle import prove as oracle_prove
from oracle import public_inputs
from proving import prove_files

from cuzkd.errors import WrongProof
from cuzkd.gpu.prover import Blinding
from cuzkd.kernels.params import PARAMS
from cuzkd.model import Curve

SMALL = [case for case in all_cases() if case.zkey.stat().st_size < 50_000]


@each(SMALL)
def test_the_host_gives_the_oracles_proof_for_the_same_blinding(case: Case, tmp_path: Path):
    r, s = PARAMS[case.curve].r - 5, 0x1234567890ABCDEF << 180
    proof, public, _ = prove_files(case.zkey, case.witness, tmp_path, Blinding(r, s))
    zkey, wtns = case.zkey.read_bytes(), case.witness.read_bytes()
    assert public == list(public_inputs(zkey, wtns))
    assert proof == oracle_prove(zkey, wtns, r, s)


@each([case for case in all_cases() if case not in SMALL])
def test_larger_circuits_prove_and_verify(case: Case, tmp_path: Path):
    proof, public, _ = prove_files(case.zkey, case.witness, tmp_path, Blinding.draw(case.curve))
    assert proof.curve is case.curve
    assert public == list(public_inputs(case.zkey.read_bytes(), case.witness.read_bytes()))


@pytest.mark.parametrize("wire", [1, 2, 3])
@pytest.mark.parametrize("curve", Curve)
def test_a_witness_with_one_wire_wrong_gives_no_proof(curve: Curve, wire: int, tmp_path: Path):
    case, path = bundled(f"multiplier_{curve}"), tmp_path / "wrong"
    parts = Container.parse(case.witness.read_bytes())
    path.write_bytes(parts.with_section(2, patch(parts.section(2), 32 * wire + 5, b"\x01")).build())
    with pytest.raises(WrongProof):
        prove_files(case.zkey, path, tmp_path, Blinding.draw(curve))
