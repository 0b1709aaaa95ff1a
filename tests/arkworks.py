"""Groth16 over BLS12-381 by another library: its points, its pairing, bellperson's compressed bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import py_arkworks_bls12381 as arkworks

from cuzkd.model import G1, G2, VerifyingKey


def accepts(vkey: VerifyingKey, public: Sequence[int], proof: bytes) -> bool:
    """Whether the equation holds for a proof of 192 bytes."""
    a, c = (arkworks.G1Point.from_compressed_bytes(proof[at : at + 48]) for at in (0, 144))
    b = arkworks.G2Point.from_compressed_bytes(proof[48:144])
    statement = _point1(vkey.ic[0])
    for value, point in zip(public, vkey.ic[1:], strict=True):
        scalar = arkworks.Scalar.from_le_bytes(value.to_bytes(32, "little"))
        statement = statement + _point1(point) * scalar
    right = arkworks.GT.multi_pairing(
        [_point1(vkey.alpha_g1), statement, c],
        [_point2(vkey.beta_g2), _point2(vkey.gamma_g2), _point2(vkey.delta_g2)],
    )
    return bool(arkworks.GT.pairing(a, b) == right)


def _point1(point: G1) -> Any:
    return arkworks.G1Point.from_xy_bytes_le(b"".join(v.to_bytes(48, "little") for v in point or ()))


def _point2(point: G2) -> Any:
    coordinates = b"".join(v.to_bytes(48, "little") for pair in point or () for v in pair)
    return arkworks.G2Point.from_xy_bytes_le(coordinates)
