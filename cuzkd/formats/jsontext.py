"""JSON as snarkjs writes it, and strict reading of it: plain Python, for `cuzkctl` uses it too."""

from __future__ import annotations

import re

from cuzkd.errors import BadFile, Unsupported
from cuzkd.model import G1, G2, Curve

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_DECIMAL = re.compile(r"[0-9]{1,160}")
_SPELLINGS = {
    "BN128": Curve.BN254,
    "BN254": Curve.BN254,
    "ALTBN128": Curve.BN254,
    "BLS12381": Curve.BLS12_381,
}


def dump(value: object, depth: int = 0) -> str:
    """One space of indent, no newline at the end: byte for byte what snarkjs' command line writes.

    Takes numbers, lists, dicts, and strings that need no escape.
    """
    # Its writer breaks the line in an empty list too.
    if isinstance(value, list):
        return _block("[", "]", [dump(item, depth + 1) for item in value], depth)
    if isinstance(value, dict):
        return _block("{", "}", [f'"{key}": {dump(item, depth + 1)}' for key, item in value.items()], depth)
    return f'"{value}"' if isinstance(value, str) else str(value)


def _block(left: str, right: str, items: list[str], depth: int) -> str:
    inside = ",".join("\n" + " " * (depth + 1) + item for item in items)
    return f"{left}{inside}\n{' ' * depth}{right}"


def load(text: str | bytes, name: str) -> Any:
    """Parse JSON; BadFile when it is not JSON, nested absurdly, or repeats a key."""
    import json  # whoever only writes has no use for it

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            raise BadFile(f"{name}: a key occurs twice in one object")
        return found

    try:
        return json.loads(text, object_pairs_hook=unique)
    except (ValueError, RecursionError) as error:
        raise BadFile(f"{name}: not JSON: {error}") from error


def load_object(text: str | bytes, name: str) -> dict[str, Any]:
    """Parse a JSON object; BadFile for anything else."""
    value = load(text, name)
    if not isinstance(value, dict):
        raise BadFile(f"{name}: not a JSON object")
    return value


def field(document: dict[str, Any], key: str, name: str) -> Any:
    """A field that must be there."""
    if key not in document:
        raise BadFile(f"{name}: {key} is missing")
    return document[key]


def check_protocol(document: dict[str, Any], name: str) -> None:
    """Unsupported unless the document says it is Groth16's."""
    protocol = field(document, "protocol", name)
    if protocol != "groth16":
        raise Unsupported(f"{name}: the protocol is {protocol!r}, not 'groth16'")


def curve_named(spelling: object, name: str) -> Curve:
    """The curve of a spelling that snarkjs accepts: any case and punctuation, `BN254` as well as `bn128`."""
    normal = "".join(re.findall(r"[A-Za-z0-9]+", spelling)).upper() if isinstance(spelling, str) else ""
    if normal not in _SPELLINGS:
        raise Unsupported(f"{name}: the curve is {spelling!r}, neither bn128 nor bls12381")
    return _SPELLINGS[normal]


def decimal(value: object, where: str) -> int:
    """A non-negative integer written as a string of decimal digits; `where` names file and field."""
    if not isinstance(value, str) or not _DECIMAL.fullmatch(value):
        raise BadFile(f"{where}: not a string of decimal digits")
    return int(value)


def dump_g1(point: G1) -> list[str]:
    """[x, y, 1] as decimal strings; infinity is [0, 1, 0]."""
    if point is None:
        return ["0", "1", "0"]
    return [str(point[0]), str(point[1]), "1"]


def dump_g2(point: G2) -> list[list[str]]:
    """[[x.c0, x.c1], [y.c0, y.c1], [1, 0]]; infinity is [[0, 0], [1, 0], [0, 0]]."""
    if point is None:
        return [["0", "0"], ["1", "0"], ["0", "0"]]
    (x0, x1), (y0, y1) = point
    return [[str(x0), str(x1)], [str(y0), str(y1)], ["1", "0"]]


def load_g1(value: object, curve: Curve, where: str) -> G1:
    """The inverse of `dump_g1`; BadFile unless it is such a list and its coordinates fit the curve."""
    x, y, z = _coordinates(value, 3, curve, where)
    if (x, y, z) == (0, 1, 0):
        return None
    if z != 1:
        raise BadFile(f"{where}: the point is not affine: its third coordinate is not 1")
    return x, y


def load_g2(value: object, curve: Curve, where: str) -> G2:
    """The inverse of `dump_g2`; BadFile like `load_g1`."""
    if not isinstance(value, list) or len(value) != 3:
        raise BadFile(f"{where}: not a list of 3")
    (x0, x1), (y0, y1), z = (
        _coordinates(pair, 2, curve, f"{where}[{index}]") for index, pair in enumerate(value)
    )
    if (x0, x1, y0, y1, *z) == (0, 0, 1, 0, 0, 0):
        return None
    if z != [1, 0]:
        raise BadFile(f"{where}: the point is not affine: its third coordinate is not 1")
    return (x0, x1), (y0, y1)


def _coordinates(value: object, count: int, curve: Curve, where: str) -> list[int]:
    if not isinstance(value, list) or len(value) != count:
        raise BadFile(f"{where}: not a list of {count}")
    numbers = [decimal(item, f"{where}[{index}]") for index, item in enumerate(value)]
    if any(number >> (8 * curve.coordinate_bytes) for number in numbers):
        raise BadFile(f"{where}: a coordinate is too large for {curve}")
    return numbers
