"""Recorded matrices: the same system as the circuit's .r1cs, and any wrong count, index or bit refused by name."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from bellperson import BellpersonCase, bundled, bundled_cases, each
from hypothesis import given, settings
from hypothesis import strategies as st

from cuzkd.errors import BadFile
from cuzkd.formats.r1cs import read_r1cs
from cuzkd.formats.recorded import read_recorded
from cuzkd.formats.system import ConstraintSystem, constraint_system
from cuzkd.kernels.params import PARAMS
from cuzkd.model import Curve

R = PARAMS[Curve.BLS12_381].r


def read(data: bytes, tmp_path: Path) -> ConstraintSystem:
    path = tmp_path / "matrices"
    path.write_bytes(data)
    with path.open("rb") as file:
        return read_recorded(file.fileno(), "matrices")


@dataclass
class Parts:
    """A file's parts in order, each an array that can be changed before it is built again."""

    header: list[int]
    arrays: list[tuple[str, list[int]]]
    tails: dict[int, list[int]]

    @classmethod
    def parse(cls, data: bytes) -> Parts:
        header = list(struct.unpack_from("<IIIIQI", data, 4))
        arrays, tails, at = [], {}, 32
        for index in range(12):
            kind = "IIV"[index % 3] if index < 9 else "Q"
            (count,) = struct.unpack_from("<Q", data, at)
            at += 8
            size = {"I": 4, "V": 32, "Q": 8}[kind]
            pieces = [data[at + size * i : at + size * (i + 1)] for i in range(count)]
            arrays.append((kind, [int.from_bytes(piece, "little") for piece in pieces]))
            at += size * count
            if kind == "Q":
                tails[index] = list(struct.unpack_from("<QQ", data, at))
                at += 16
        assert at == len(data)
        return cls(header, arrays, tails)

    def build(self) -> bytes:
        out = b"PCE\x02" + struct.pack("<IIIIQI", *self.header)
        for index, (kind, values) in enumerate(self.arrays):
            size = {"I": 4, "V": 32, "Q": 8}[kind]
            out += struct.pack("<Q", len(values)) + b"".join(v.to_bytes(size, "little") for v in values)
            out += struct.pack("<QQ", *self.tails[index]) if index in self.tails else b""
        return out


@each(bundled_cases())
def test_it_is_the_system_of_the_r1cs(case: BellpersonCase, tmp_path: Path):
    recorded = read(case.file("pce", tmp_path).read_bytes(), tmp_path)
    with case.file("r1cs", tmp_path).open("rb") as file:
        other = constraint_system(read_r1cs(file.fileno(), "r1cs"))
    assert (recorded.num_vars, recorded.num_public) == (other.num_vars, other.num_public)
    assert recorded.constraints == other.constraints
    for mine, theirs in ((recorded.a, other.a), (recorded.b, other.b), (recorded.c, other.c)):
        assert np.array_equal(mine.row_ptr, theirs.row_ptr)
        assert np.array_equal(mine.cols, theirs.cols)
        assert np.array_equal(mine.values[mine.coeffs], theirs.values[theirs.coeffs])


def _set(index: int, entry: int, value: int) -> Callable[[Parts], None]:
    def change(parts: Parts) -> None:
        parts.arrays[index][1][entry] = value

    return change


def _drop(index: int) -> Callable[[Parts], None]:
    return lambda parts: parts.arrays[index][1].pop()  # type: ignore[return-value]


def _header(index: int, value: int) -> Callable[[Parts], None]:
    def change(parts: Parts) -> None:
        parts.header[index] = value

    return change


def _tail(index: int, entry: int, value: int) -> Callable[[Parts], None]:
    def change(parts: Parts) -> None:
        parts.tails[index][entry] = value

    return change


# cubic: 4 inputs, 3 aux, 8 rows, 6 + 4 + 4 entries of which A's last 4 bind the inputs
CHANGES = {
    "header: version 3": _header(0, 3),
    "header: 0 inputs": _header(1, 0),
    "header: 9 inputs and 8 rows": _header(1, 9),
    "header: 4 inputs and 4294967292 aux": _header(2, 0xFFFFFFFC),
    "header: says 99 entries": _header(4, 99),
    "header: the reserved word is 1": _header(5, 1),
    "matrix A, row pointers: 8 of them for 8 rows": _drop(0),
    "matrix B, row pointers: they run from 1 to": _set(3, 0, 1),
    "matrix C, row pointers: pointer 2 is below": _set(6, 1, 3),
    "matrix A, columns: entry 1: column 7 is not below 7": _set(1, 1, 7),
    "matrix C, columns: entry 0: column 4294967295": _set(7, 0, 0xFFFFFFFF),
    "matrix B, values: 3 values for 4 columns": _drop(5),
    "matrix A, values: value 2 is not below r": _set(2, 2, R),
    "matrix C, values: value 3 is zero": _set(8, 3, 0),
    "matrix A: its last 4 rows do not hold the inputs": _set(1, -1, 2),
    "matrix B: has entries in the rows that bind inputs": _set(3, 4, 3),
    "bitmap of aux in A: bit 0 is 0": _set(9, 0, 6),
    "bitmap of inputs in B: has ones past its end": lambda p: _set(10, 0, p.arrays[10][1][0] | 1 << 60)(p),
    "bitmap of inputs in B: 5 bits in 1 words, for 4": _tail(10, 0, 5),
    "bitmap of aux in B: says 3 ones": _tail(11, 1, 3),
}


@pytest.mark.parametrize("says", CHANGES)
def test_what_is_wrong_is_named(says: str, tmp_path: Path):
    parts = Parts.parse(bundled("cubic").file("pce", tmp_path).read_bytes())
    CHANGES[says](parts)
    with pytest.raises(BadFile, match=f"^matrices: {says}"):
        read(parts.build(), tmp_path)


def test_another_magic_a_cut_and_trailing_bytes_are_refused(tmp_path: Path):
    data = bundled("cubic").file("pce", tmp_path).read_bytes()
    with pytest.raises(BadFile, match="no recorded matrices"):
        read(b"PCE\x01" + data[4:], tmp_path)
    for cut in range(len(data)):
        with pytest.raises(BadFile, match=r"ends at byte|more than the file has"):
            read(data[:cut], tmp_path)
    with pytest.raises(BadFile, match="1 bytes follow"):
        read(data + b"\0", tmp_path)


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_any_changed_byte_is_refused_or_gives_a_sound_system(data: st.DataObject, tmp_path_factory):
    tmp_path = tmp_path_factory.getbasetemp()
    content = bytearray(bundled("duplicates").file("pce", tmp_path).read_bytes())
    at = data.draw(st.integers(0, len(content) - 1))
    content[at] ^= data.draw(st.integers(1, 255))
    try:
        system = read(bytes(content), tmp_path)
    except BadFile:
        return
    for matrix in (system.a, system.b, system.c):
        assert matrix.entries == matrix.row_ptr[-1]
        assert (matrix.cols < system.num_vars).all()
