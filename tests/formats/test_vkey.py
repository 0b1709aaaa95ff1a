"""verification_key.json: byte for byte as snarkjs writes it, and strictly read."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from fixtures import Case, bundled, each

from cuzkd.errors import BadFile, CuzkdError, Unsupported
from cuzkd.formats.vkey import dump_vkey, load_vkey
from cuzkd.kernels.params import PARAMS
from cuzkd.model import Curve

VKEY = json.loads(bundled("multiplier_bn128").verification_key.read_text())


@each()
def test_a_key_that_snarkjs_wrote_is_written_again_byte_for_byte(case: Case):
    text = case.verification_key.read_bytes()
    vkey = load_vkey(text, "vkey.json")
    assert vkey.curve is case.curve
    assert dump_vkey(vkey).encode() == text


def test_points_at_infinity_survive():
    vkey = load_vkey(json.dumps(VKEY), "v")
    odd = replace(vkey, ic=(None, vkey.ic[1]), delta_g2=None)
    text = dump_vkey(odd)
    assert load_vkey(text, "v") == odd
    written = json.loads(text)
    assert written["IC"][0] == ["0", "1", "0"]
    assert written["vk_delta_2"] == [["0", "0"], ["1", "0"], ["0", "0"]]


def test_a_key_without_alpha_is_not_written():
    with pytest.raises(ValueError, match="infinity"):
        dump_vkey(replace(load_vkey(json.dumps(VKEY), "v"), alpha_g1=None))


@pytest.mark.parametrize("spelling", ["BN128", "bn254", "ALT_BN128", "alt-bn-128"])
def test_every_spelling_of_the_curve_that_snarkjs_knows_is_read(spelling: str):
    assert load_vkey(json.dumps({**VKEY, "curve": spelling}), "v").curve is Curve.BN254


def test_the_pairing_of_alpha_and_beta_need_not_be_there():
    text = json.dumps({key: value for key, value in VKEY.items() if key != "vk_alphabeta_12"})
    assert load_vkey(text, "v") == load_vkey(json.dumps(VKEY), "v")


BAD_FIELDS = [
    ("protocol", "fflonk", Unsupported, "the protocol is 'fflonk'"),
    ("curve", "bls12377", Unsupported, "the curve is 'bls12377'"),
    ("nPublic", 2, BadFile, "IC has 2 points, which is not nPublic . 1"),
    ("nPublic", True, BadFile, "which is not nPublic . 1"),
    ("nPublic", "1", BadFile, "which is not nPublic . 1"),
    ("IC", [], BadFile, "IC is not a list of points"),
    ("IC", {}, BadFile, "IC is not a list of points"),
    ("IC", [VKEY["IC"][0], ["1", "2"]], BadFile, r"IC\[1\]: not a list of 3"),
    ("vk_alpha_1", [str(PARAMS[Curve.BN254].q), "2", "1"], BadFile, "vk_alpha_1: a coordinate is not below"),
    (
        "vk_beta_2",
        [["1", str(PARAMS[Curve.BN254].q)], ["1", "2"], ["1", "0"]],
        BadFile,
        "vk_beta_2: a coordinate is not below",
    ),
    ("vk_gamma_2", None, BadFile, "vk_gamma_2: not a list of 3"),
]


@pytest.mark.parametrize(("key", "value", "error", "says"), BAD_FIELDS)
def test_a_bad_field_is_named(key: str, value: object, error: type[CuzkdError], says: str):
    with pytest.raises(error, match=says):
        load_vkey(json.dumps({**VKEY, key: value}), "v")


@pytest.mark.parametrize("key", [key for key in VKEY if key != "vk_alphabeta_12"])
def test_a_missing_field_is_named(key: str):
    text = json.dumps({found: value for found, value in VKEY.items() if found != key})
    with pytest.raises(BadFile, match=f"v: {key} is missing"):
        load_vkey(text, "v")
