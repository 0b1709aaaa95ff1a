"""`verification_key.json`, as `snarkjs zkey export verificationkey` writes it."""

from __future__ import annotations

from cuzkd.errors import BadFile
from cuzkd.formats import jsontext
from cuzkd.kernels.pairing import pairing
from cuzkd.kernels.params import PARAMS
from cuzkd.model import G1, G2, Curve, VerifyingKey


def dump_vkey(vkey: VerifyingKey) -> str:
    """The text of verification_key.json, the pairing of alpha and beta included.

    ValueError when alpha or beta is at infinity: no setup makes such a key.
    """
    if vkey.alpha_g1 is None or vkey.beta_g2 is None:
        raise ValueError("alpha or beta is at infinity")
    alpha_beta = pairing(vkey.curve, vkey.alpha_g1, vkey.beta_g2)
    return jsontext.dump(
        {
            "protocol": "groth16",
            "curve": str(vkey.curve),
            "nPublic": vkey.num_public,
            "vk_alpha_1": jsontext.dump_g1(vkey.alpha_g1),
            "vk_beta_2": jsontext.dump_g2(vkey.beta_g2),
            "vk_gamma_2": jsontext.dump_g2(vkey.gamma_g2),
            "vk_delta_2": jsontext.dump_g2(vkey.delta_g2),
            "vk_alphabeta_12": [[[str(c) for c in pair] for pair in half] for half in alpha_beta],
            "IC": [jsontext.dump_g1(point) for point in vkey.ic],
        }
    )


def load_vkey(text: str | bytes, name: str) -> VerifyingKey:
    """Read verification_key.json, with any spelling of the curve that snarkjs accepts.

    vk_alphabeta_12 follows from the other points and is not read. BadFile when a field is missing or wrong or
    a coordinate is not below q, Unsupported for another protocol or curve. Whether the points are on the
    curve is the verifier's to say.
    """
    document = jsontext.load_object(text, name)
    jsontext.check_protocol(document, name)
    curve = jsontext.curve_named(jsontext.field(document, "curve", name), name)
    points = jsontext.field(document, "IC", name)
    if not isinstance(points, list) or not points:
        raise BadFile(f"{name}: IC is not a list of points")
    num_public = jsontext.field(document, "nPublic", name)
    if type(num_public) is not int or num_public != len(points) - 1:
        raise BadFile(f"{name}: IC has {len(points)} points, which is not nPublic + 1")

    def g1(value: object, field: str) -> G1:
        return _below_q(jsontext.load_g1(value, curve, f"{name}: {field}"), curve, f"{name}: {field}")

    def g2(field: str) -> G2:
        where = f"{name}: {field}"
        point = jsontext.load_g2(jsontext.field(document, field, name), curve, where)
        for half in point or ():
            _below_q(half, curve, where)
        return point

    return VerifyingKey(
        curve,
        alpha_g1=g1(jsontext.field(document, "vk_alpha_1", name), "vk_alpha_1"),
        beta_g2=g2("vk_beta_2"),
        gamma_g2=g2("vk_gamma_2"),
        delta_g2=g2("vk_delta_2"),
        ic=tuple(g1(point, f"IC[{index}]") for index, point in enumerate(points)),
    )


def _below_q(pair: tuple[int, int] | None, curve: Curve, where: str) -> tuple[int, int] | None:
    if pair is not None and max(pair) >= PARAMS[curve].q:
        raise BadFile(f"{where}: a coordinate is not below the curve's prime")
    return pair
