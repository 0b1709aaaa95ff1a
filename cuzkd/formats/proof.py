"""`proof.json` and `public.json`, as snarkjs writes and reads them: plain Python, for `cuzkctl` uses it too.

Whether numbers are below their primes, and points on the curve, is the verifier's to say.
"""

from __future__ import annotations

from collections.abc import Sequence

from cuzkd.errors import BadFile
from cuzkd.formats import jsontext
from cuzkd.model import SCALAR_BYTES, Curve, Proof


def dump_proof(proof: Proof) -> str:
    """The text of proof.json."""
    return jsontext.dump(
        {
            "pi_a": jsontext.dump_g1(proof.a),
            "pi_b": jsontext.dump_g2(proof.b),
            "pi_c": jsontext.dump_g1(proof.c),
            "protocol": "groth16",
            "curve": str(proof.curve),
        }
    )


def load_proof(text: str | bytes, name: str, *, default_curve: Curve | None = None) -> Proof:
    """Read proof.json. Some provers leave out the curve: then `default_curve` is taken, if given.

    BadFile when it is not such a file or has a point at infinity, Unsupported for another protocol or curve.
    """
    document = jsontext.load_object(text, name)
    jsontext.check_protocol(document, name)
    if "curve" not in document and default_curve is not None:
        curve = default_curve
    else:
        curve = jsontext.curve_named(jsontext.field(document, "curve", name), name)
    a = jsontext.load_g1(jsontext.field(document, "pi_a", name), curve, f"{name}: pi_a")
    b = jsontext.load_g2(jsontext.field(document, "pi_b", name), curve, f"{name}: pi_b")
    c = jsontext.load_g1(jsontext.field(document, "pi_c", name), curve, f"{name}: pi_c")
    if a is None or b is None or c is None:
        raise BadFile(f"{name}: a point of the proof is at infinity")
    return Proof(curve, a, b, c)


def dump_public(values: Sequence[int]) -> str:
    """The text of public.json."""
    return jsontext.dump([str(value) for value in values])


def load_public(text: str | bytes, name: str) -> tuple[int, ...]:
    """Read public.json: a list of decimal strings of at most 32 bytes; BadFile otherwise."""
    values = jsontext.load(text, name)
    if not isinstance(values, list):
        raise BadFile(f"{name}: not a JSON list")
    numbers = tuple(jsontext.decimal(value, f"{name}[{index}]") for index, value in enumerate(values))
    for index, number in enumerate(numbers):
        if number >> (8 * SCALAR_BYTES):
            raise BadFile(f"{name}[{index}]: too large for a public input")
    return numbers
