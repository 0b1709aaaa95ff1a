"""proof.json and public.json: byte for byte as snarkjs writes them, and strictly read."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from fixtures import Case, bundled, each
from hypothesis import given
from hypothesis import strategies as st

from cuzkd.errors import BadFile, CuzkdError, Unsupported
from cuzkd.formats.proof import dump_proof, dump_public, load_proof, load_public
from cuzkd.model import Curve

PROOF = json.loads(bundled("multiplier_bn128").proof.read_text())


@each()
def test_a_proof_that_snarkjs_wrote_is_written_again_byte_for_byte(case: Case):
    text = case.proof.read_bytes()
    proof = load_proof(text, "proof.json")
    assert proof.curve is case.curve
    assert dump_proof(proof).encode() == text


@each()
def test_public_inputs_that_snarkjs_wrote_are_written_again_byte_for_byte(case: Case):
    text = case.public.read_bytes()
    assert dump_public(load_public(text, "public.json")).encode() == text


def test_no_public_inputs_are_an_empty_list():
    assert json.loads(dump_public(())) == []
    assert load_public("[]", "public.json") == ()


@pytest.mark.parametrize("spelling", ["bn128", "BN254", "alt_bn128", "Alt-BN128"])
def test_every_spelling_of_the_curve_that_snarkjs_knows_is_read(spelling: str):
    assert load_proof(json.dumps({**PROOF, "curve": spelling}), "p").curve is Curve.BN254


def test_a_proof_without_its_curve_takes_the_one_that_is_given():
    text = json.dumps({key: value for key, value in PROOF.items() if key != "curve"})
    assert load_proof(text, "p", default_curve=Curve.BN254).curve is Curve.BN254
    with pytest.raises(BadFile, match="p: curve is missing"):
        load_proof(text, "p")


G1_INFINITY = ["0", "1", "0"]
G2_INFINITY = [["0", "0"], ["1", "0"], ["0", "0"]]
BAD_FIELDS = [
    ("pi_a", G1_INFINITY, BadFile, "infinity"),
    ("pi_b", G2_INFINITY, BadFile, "infinity"),
    ("pi_a", ["1", "2", "3"], BadFile, "pi_a: the point is not affine"),
    ("pi_a", ["1", "2"], BadFile, "pi_a: not a list of 3"),
    ("pi_a", "12", BadFile, "pi_a: not a list of 3"),
    ("pi_a", ["1", 2, "1"], BadFile, r"pi_a\[1\]: not a string of decimal digits"),
    ("pi_a", ["-1", "2", "1"], BadFile, r"pi_a\[0\]: not a string"),
    ("pi_a", ["0x1", "2", "1"], BadFile, r"pi_a\[0\]: not a string"),
    ("pi_a", ["1 ", "2", "1"], BadFile, r"pi_a\[0\]: not a string"),
    ("pi_a", ["١", "2", "1"], BadFile, r"pi_a\[0\]: not a string"),
    ("pi_a", ["9" * 5000, "2", "1"], BadFile, r"pi_a\[0\]: not a string"),
    ("pi_c", [str(1 << 256), "2", "1"], BadFile, "pi_c: a coordinate is too large for bn128"),
    ("pi_b", [["1", "2"], ["3", "4"], ["1", "1"]], BadFile, "pi_b: the point is not affine"),
    ("pi_b", [["1", "2"], ["3", "4"]], BadFile, "pi_b: not a list of 3"),
    ("pi_b", [["1", "2"], ["3"], ["1", "0"]], BadFile, r"pi_b\[1\]: not a list of 2"),
    ("protocol", "plonk", Unsupported, "the protocol is 'plonk'"),
    ("curve", "secp256k1", Unsupported, "the curve is 'secp256k1'"),
    ("curve", 7, Unsupported, "the curve is 7"),
]


@pytest.mark.parametrize(("key", "value", "error", "says"), BAD_FIELDS)
def test_a_bad_field_is_named(key: str, value: object, error: type[CuzkdError], says: str):
    with pytest.raises(error, match=says):
        load_proof(json.dumps({**PROOF, key: value}), "p")


@pytest.mark.parametrize("key", ["pi_a", "pi_b", "pi_c", "protocol"])
def test_a_missing_field_is_named(key: str):
    text = json.dumps({found: value for found, value in PROOF.items() if found != key})
    with pytest.raises(BadFile, match=f"p: {key} is missing"):
        load_proof(text, "p")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        ("[]", "not a JSON object"),
        ("[" * 100_000, "not JSON"),
        (b"\xff\xfe\x00", "not JSON"),
        ("1" * 10_000, "not JSON"),
        ('{"a": 1, "a": 2}', "a key occurs twice"),
    ],
)
def test_what_is_not_such_json_is_refused(text: str | bytes, says: str):
    with pytest.raises(BadFile, match=f"p: {says}"):
        load_proof(text, "p")


@pytest.mark.parametrize("text", ['{"0": "1"}', "[1]", '["1", null]', '["1.5"]', f'["{1 << 256}"]'])
def test_public_inputs_are_a_list_of_decimal_strings(text: str):
    with pytest.raises(BadFile, match="p"):
        load_public(text, "p")


@given(st.binary(max_size=200))
def test_arbitrary_bytes_are_no_proof(data: bytes):
    with pytest.raises(CuzkdError):
        load_proof(data, "p")


def test_proofs_are_read_and_written_without_numpy_or_native_code():
    code = (
        "import sys, cuzkd.formats.proof; print([m for m in sys.modules if 'numpy' in m or 'kernels' in m])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
