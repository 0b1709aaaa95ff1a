"""The oracle itself: its proofs verify, for any blinding, and only with the right witness."""

from __future__ import annotations

import json

import pytest
from containers import Container, patch
from fixtures import Case, bundled, bundled_cases, each
from oracle import prove, public_inputs, verifying_key

from cuzkd.formats.vkey import load_vkey
from cuzkd.kernels.params import PARAMS
from cuzkd.kernels.verify import verify
from cuzkd.model import Curve


@each(bundled_cases())
def test_the_oracles_proof_verifies_with_the_key_that_snarkjs_exported(case: Case):
    zkey, wtns = case.zkey.read_bytes(), case.witness.read_bytes()
    vkey = load_vkey(case.verification_key.read_bytes(), "vkey")
    assert verifying_key(zkey) == vkey
    public = public_inputs(zkey, wtns)
    assert public == tuple(int(text) for text in json.loads(case.public.read_text()))
    r = PARAMS[case.curve].r
    assert verify(vkey, public, prove(zkey, wtns, r - 1, 1 << 200))
    assert verify(vkey, public, prove(zkey, wtns, 0, 1))


@pytest.mark.parametrize("curve", Curve)
def test_the_oracles_proof_of_a_wrong_witness_does_not_verify(curve: Curve):
    case = bundled(f"multiplier_{curve}")
    zkey, parts = case.zkey.read_bytes(), Container.parse(case.witness.read_bytes())
    wrong = parts.with_section(2, patch(parts.section(2), 2 * 32, b"\x05")).build()
    vkey = load_vkey(case.verification_key.read_bytes(), "vkey")
    assert not verify(vkey, public_inputs(zkey, wrong), prove(zkey, wrong, 7, 9))
