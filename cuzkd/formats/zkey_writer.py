"""Writes a Groth16 `.zkey` that snarkjs proves with: sections 1 to 10, streamed in rising order."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from cuzkd.formats.points import PointSource
from cuzkd.formats.zkey import (
    COEFFICIENT,
    FORMAT,
    GROTH16,
    SECTION_A,
    SECTION_B1,
    SECTION_B2,
    SECTION_C,
    SECTION_COEFFICIENTS,
    SECTION_CONTRIBUTIONS,
    SECTION_H,
    SECTION_HEADER,
    SECTION_IC,
    SECTION_PROTOCOL,
)
from cuzkd.kernels.evaluate import Csr
from cuzkd.kernels.params import PARAMS
from cuzkd.model import SCALAR_BYTES, Curve

Points = npt.NDArray[np.uint64]

_ROWS_AT_ONCE = 1 << 18


@dataclass(frozen=True, slots=True)
class ProvingKey:
    """A Groth16 key: points affine Montgomery, (n, 2L) uint64 in G1 and (n, 4L) in G2; matrices by rows.

    `matrix_a` includes the binding rows. Single points have shape (1, …); queries come piece by piece.
    """

    curve: Curve
    num_vars: int
    num_public: int
    log_domain: int
    matrix_a: Csr
    matrix_b: Csr
    alpha1: Points
    beta1: Points
    delta1: Points
    beta2: Points
    gamma2: Points
    delta2: Points
    ic: PointSource
    a: PointSource
    b1: PointSource
    b2: PointSource
    c: PointSource
    h: PointSource


def _header(key: ProvingKey) -> bytes:
    params = PARAMS[key.curve]
    coordinate = key.curve.coordinate_bytes
    return b"".join(
        [
            struct.pack("<I", coordinate),
            params.q.to_bytes(coordinate, "little"),
            struct.pack("<I", SCALAR_BYTES),
            params.r.to_bytes(SCALAR_BYTES, "little"),
            struct.pack("<III", key.num_vars, key.num_public, 1 << key.log_domain),
            *(p.tobytes() for p in (key.alpha1, key.beta1, key.beta2, key.gamma2, key.delta1, key.delta2)),
        ]
    )


def _entries(number: int, matrix: Csr, begin: int, end: int) -> npt.NDArray[np.void]:
    ptr = matrix.row_ptr[begin : end + 1].astype(np.int64)
    out = np.empty(int(ptr[-1] - ptr[0]), dtype=COEFFICIENT)
    out["matrix"] = number
    out["row"] = np.repeat(np.arange(begin, end, dtype=np.uint32), np.diff(ptr))
    out["signal"] = matrix.cols[ptr[0] : ptr[-1]]
    out["value"] = matrix.values[matrix.coeffs[ptr[0] : ptr[-1]]]
    return out


def _coefficients(key: ProvingKey) -> Iterator[bytes]:
    matrices = (key.matrix_a, key.matrix_b)
    rows = [len(m.row_ptr) - 1 for m in matrices]
    yield struct.pack("<I", sum(len(m.cols) for m in matrices))
    for begin in range(0, max(rows), _ROWS_AT_ONCE):
        parts = [
            _entries(number, m, begin, min(begin + _ROWS_AT_ONCE, n))
            for number, (m, n) in enumerate(zip(matrices, rows, strict=True))
            if begin < n
        ]
        together = np.concatenate(parts)
        yield together[np.argsort(together["row"], kind="stable")].tobytes()


def _contributions(key: ProvingKey, note: str) -> bytes:
    """No circuit hash and one record, whose name says what the key is good for."""
    name = note.encode()[:255]
    point1, point2 = key.delta1.tobytes(), key.delta2.tobytes()
    parameters = bytes([1, len(name)]) + name
    record = point1 * 3 + point2 + bytes(64) + struct.pack("<II", 0, len(parameters)) + parameters
    return bytes(64) + struct.pack("<I", 1) + record


def write_zkey(out: BinaryIO, key: ProvingKey, note: str) -> None:
    """Write the key, with one contribution record named `note`."""
    out.write(struct.pack("<4sII", FORMAT.magic, FORMAT.version, len(FORMAT.names)))
    coefficients_bytes = 4 + COEFFICIENT.itemsize * (len(key.matrix_a.cols) + len(key.matrix_b.cols))
    _section(out, SECTION_PROTOCOL, struct.pack("<I", GROTH16))
    _section(out, SECTION_HEADER, _header(key))
    _query(out, SECTION_IC, key.ic, key.alpha1.nbytes)
    out.write(struct.pack("<IQ", SECTION_COEFFICIENTS, coefficients_bytes))
    for chunk in _coefficients(key):
        out.write(chunk)
    g1, g2 = key.alpha1.nbytes, key.beta2.nbytes
    _query(out, SECTION_A, key.a, g1)
    _query(out, SECTION_B1, key.b1, g1)
    _query(out, SECTION_B2, key.b2, g2)
    _query(out, SECTION_C, key.c, g1)
    _query(out, SECTION_H, key.h, g1)
    _section(out, SECTION_CONTRIBUTIONS, _contributions(key, note))


def _query(out: BinaryIO, number: int, points: PointSource, point_bytes: int) -> None:
    out.write(struct.pack("<IQ", number, points.count * point_bytes))
    for piece in points.pieces():
        out.write(piece.data if piece.size else b"")


def _section(out: BinaryIO, number: int, payload: bytes) -> None:
    out.write(struct.pack("<IQ", number, len(payload)) + payload)
