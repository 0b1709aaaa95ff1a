"""Writes proofs as bellperson does: A (48 bytes), B (96) and C (48), compressed; a job's proofs follow each other.

A compressed point is its x, big-endian (in Fq2 c1 before c0), with three flags in the top bits: 0x80 always, 0x40 for
infinity, 0x20 when y is the larger of its two values (in Fq2 by c1 first). Plain Python, for `cuzkctl` uses it too.
"""

from __future__ import annotations

from cuzkd.errors import Unsupported
from cuzkd.kernels.params import PARAMS, Fp2
from cuzkd.model import G1, G2, Curve, Proof

CURVE = Curve.BLS12_381
PROOF_BYTES = 192

COMPRESSED, INFINITY, LARGER = 0x80, 0x40, 0x20
"""The flags of a point's first byte."""

_Q = PARAMS[CURVE].q
_SIZE = CURVE.coordinate_bytes


def dump_proof(proof: Proof) -> bytes:
    """192 bytes. Unsupported for a proof over another curve than BLS12-381."""
    if proof.curve is not CURVE:
        raise Unsupported(f"bellperson's proofs are over {CURVE}; this one is over {proof.curve}")
    return dump_elements(proof.a, proof.b, proof.c)


def dump_elements(a: G1, b: G2, c: G1) -> bytes:
    """The same of a proof's elements, of which one may be infinity, as in bellperson's proof of nothing unblinded."""
    return _dump_g1(a) + _dump_g2(b) + _dump_g1(c)


def is_larger(y: int) -> bool:
    """Whether y, not 0, is the larger of itself and its negative."""
    return y > (_Q - 1) // 2


def is_larger2(y: Fp2) -> bool:
    """The same in Fq2."""
    return is_larger(y[1]) if y[1] else is_larger(y[0])


def _flagged(data: bytes, larger: bool) -> bytes:
    return bytes([data[0] | COMPRESSED | (LARGER if larger else 0)]) + data[1:]


def _infinity(size: int) -> bytes:
    return bytes([COMPRESSED | INFINITY]) + bytes(size - 1)


def _dump_g1(point: G1) -> bytes:
    if point is None:
        return _infinity(_SIZE)
    x, y = point
    return _flagged(x.to_bytes(_SIZE, "big"), is_larger(y))


def _dump_g2(point: G2) -> bytes:
    if point is None:
        return _infinity(2 * _SIZE)
    (x0, x1), y = point
    return _flagged(x1.to_bytes(_SIZE, "big") + x0.to_bytes(_SIZE, "big"), is_larger2(y))
