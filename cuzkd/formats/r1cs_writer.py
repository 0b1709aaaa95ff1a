"""Writes a constraint system as circom does (`.r1cs`), some rows at a time; binding rows are left out."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from cuzkd.formats.system import ConstraintSystem
from cuzkd.kernels.evaluate import Csr
from cuzkd.kernels.field import from_montgomery
from cuzkd.kernels.params import PARAMS
from cuzkd.model import SCALAR_BYTES, Curve

_TERM = np.dtype([("wire", "<u4"), ("value", "<u8", (4,))])
_ROWS_AT_ONCE = 1 << 14


def write_r1cs(out: BinaryIO, system: ConstraintSystem) -> None:
    """Write header, constraints and labels (wire i is signal i); all public wires count as inputs."""
    curve, constraints = system.curve, system.constraints
    header = struct.pack("<I", SCALAR_BYTES) + PARAMS[curve].r.to_bytes(SCALAR_BYTES, "little")
    header += struct.pack(
        "<IIIIQI", system.num_vars, 0, system.num_public, system.aux, system.num_vars, constraints
    )
    out.write(struct.pack("<4sII", b"r1cs", 1, 3) + struct.pack("<IQ", 1, len(header)) + header)
    matrices = (system.a, system.b, system.c)
    entries = sum(int(matrix.row_ptr[constraints]) for matrix in matrices)
    out.write(struct.pack("<IQ", 2, 12 * constraints + _TERM.itemsize * entries))
    plain = [_plain(curve, matrix) for matrix in matrices]
    for begin in range(0, constraints, _ROWS_AT_ONCE):
        out.write(_rows(matrices, plain, begin, min(begin + _ROWS_AT_ONCE, constraints)).data)
    out.write(struct.pack("<IQ", 3, 8 * system.num_vars))
    for labels in _labels(system.num_vars):
        out.write(labels.data)


def _plain(curve: Curve, matrix: Csr) -> npt.NDArray[np.uint64]:
    """The dictionary's values as plain integers."""
    return from_montgomery(curve, from_montgomery(curve, matrix.values, threads=1), threads=1)


def _rows(
    matrices: tuple[Csr, ...], plain: list[npt.NDArray[np.uint64]], begin: int, end: int
) -> npt.NDArray[np.uint8]:
    """The bytes of some constraints."""
    ends = [matrix.row_ptr[begin : end + 1].astype(np.int64) for matrix in matrices]
    lengths = np.stack([e[1:] - e[:-1] for e in ends], axis=1)
    sizes = 4 + _TERM.itemsize * lengths
    starts = np.concatenate([[0], np.cumsum(sizes.reshape(-1))])
    data = np.empty(int(starts[-1]), dtype=np.uint8)
    places = starts[:-1].reshape(-1, 3)
    counts = lengths.astype("<u4").reshape(-1)
    data[starts[:-1, None] + np.arange(4)] = counts.view(np.uint8).reshape(-1, 4)
    for k, (matrix, values) in enumerate(zip(matrices, plain, strict=True)):
        entries = slice(ends[k][0], ends[k][-1])
        terms = np.empty(entries.stop - entries.start, dtype=_TERM)
        terms["wire"] = matrix.cols[entries]
        terms["value"] = values[matrix.coeffs[entries]]
        within = np.arange(len(terms)) - np.repeat(ends[k][:-1] - ends[k][0], lengths[:, k])
        at = np.repeat(places[:, k] + 4, lengths[:, k]) + _TERM.itemsize * within
        data[at[:, None] + np.arange(_TERM.itemsize)] = terms.view(np.uint8).reshape(-1, _TERM.itemsize)
    return data


def _labels(count: int) -> Iterator[npt.NDArray[np.uint64]]:
    for begin in range(0, count, 1 << 20):
        yield np.arange(begin, min(begin + (1 << 20), count), dtype="<u8")
