"""Proofs in bellperson's 192 bytes: read and written as bellperson does, any wrong element refused by name."""

from __future__ import annotations

import pytest
from bellperson import BellpersonCase, all_cases, bundled, each

from cuzkd.errors import BadFile, Unsupported
from cuzkd.formats.compress import PROOF_BYTES, dump_proof
from cuzkd.formats.compressed import load_proofs
from cuzkd.kernels.params import PARAMS
from cuzkd.model import Curve, Proof

Q = PARAMS[Curve.BLS12_381].q
ELEMENTS = {"A": (0, 48), "B": (48, 144), "C": (144, 192)}


@each(all_cases())
def test_writing_what_was_read_gives_the_bytes(case: BellpersonCase):
    for kind in ("proof", "proofr"):
        (proof,) = load_proofs(case.proof(kind), kind)
        assert dump_proof(proof) == case.proof(kind)


def test_proofs_of_partitions_follow_each_other():
    data = bundled("cubic").proof("proof"), bundled("cubic").proof("proofr")
    first, second, third = load_proofs(b"".join((*data, data[0])), "proofs")
    assert (dump_proof(first), dump_proof(second)) == data
    assert third == first


@pytest.mark.parametrize("length", [0, 1, 191, 193, 383])
def test_another_length_is_refused(length: int):
    with pytest.raises(BadFile, match=f"{length} bytes; each proof has 192"):
        load_proofs(bytes(length), "proofs")


@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda p: bytes([p[0] & 0x7F]) + p[1:], "does not have the flag of a compressed point"),
        (lambda p: b"\xc0" + bytes(len(p) - 1), "is the identity"),
        (lambda p: b"\xc0" + bytes(len(p) - 2) + b"\x01", "has flags that no point has"),
        (lambda p: b"\xe0" + bytes(len(p) - 1), "has flags that no point has"),
        (lambda p: bytes([0x80 | Q >> 376]) + Q.to_bytes(48, "big")[1:] + p[48:], "not below q"),
    ],
)
def test_a_wrong_element_is_named(element: str, change, says: str):
    good = bundled("cubic").proof("proof")
    begin, end = ELEMENTS[element]
    bad = good[:begin] + change(good[begin:end]) + good[end:]
    with pytest.raises(BadFile, match=f"^proofs: proof 1: {element} .*{says}"):
        load_proofs(good + bad, "proofs")


@pytest.mark.parametrize("element", ELEMENTS)
def test_what_is_off_the_curve_or_its_subgroup_is_refused(element: str):
    good = bundled("cubic").proof("proof")
    begin, end = ELEMENTS[element]
    seen = set()
    for x in range(1, 40):
        bad = good[:begin] + b"\x80" + x.to_bytes(end - begin - 1, "big") + good[end:]
        with pytest.raises(
            BadFile, match=rf"{element} is (not on the curve|outside the subgroup)"
        ) as refusal:
            load_proofs(bad, "proofs")
        seen.add("not on" in str(refusal.value))
    assert seen == {True, False}


def test_the_other_sign_is_the_other_point():
    good = bundled("cubic").proof("proof")
    for begin in (0, 48, 144):
        other = good[:begin] + bytes([good[begin] ^ 0x20]) + good[begin + 1 :]
        (proof,) = load_proofs(other, "proofs")
        assert dump_proof(proof) == other
        assert proof != load_proofs(good, "proofs")[0]


def test_a_proof_over_another_curve_has_no_such_form():
    with pytest.raises(Unsupported, match="bn128"):
        dump_proof(Proof.from_bytes(Curve.BN254, bytes(8 * 32)))
    assert PROOF_BYTES == 192
