"""Recorded matrices (`.pce`): what a bellperson circuit's synthesis left, A, B, C by rows and who occurs in them.

    "PCE\\x02"  u32 version 2  inputs  aux  rows  u64 entries  u32 0      then for each of A, B, C:
    u64 count  u32 row_ptr[count]    u64 count  u32 column[count]    u64 count  value[count] (32 bytes, Montgomery)
    then three bitmaps (aux in A, inputs in B, aux in B):  u64 count  u64 word[count]  u64 bits  u64 ones

All little-endian. Columns are inputs, the constant one first, then aux; the rows that bind the inputs are the last.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cuzkd.errors import BadFile
from cuzkd.formats.binfile import file_size, read_exactly
from cuzkd.formats.system import ConstraintSystem, nonzero_rows, occurring
from cuzkd.kernels.evaluate import Csr
from cuzkd.kernels.field import first_noncanonical, scalars_from_ints, to_montgomery
from cuzkd.kernels.params import PARAMS
from cuzkd.kernels.sparse import Dictionary
from cuzkd.model import Curve

CURVE = Curve.BLS12_381

MAGIC = b"PCE\x02"
VERSION = 2
_HEADER = struct.Struct("<4sIIIIQI")
_VALUES_AT_ONCE = 1 << 20


@dataclass(frozen=True, slots=True)
class RecordedHeader:
    """The first 32 bytes."""

    inputs: int
    aux: int
    rows: int
    entries: int

    @property
    def num_vars(self) -> int:
        """Columns."""
        return self.inputs + self.aux


def read_recorded(fd: int, name: str, *, threads: int = 1) -> ConstraintSystem:
    """Read and check a whole file: BadFile naming the section and the entry that is wrong.

    Every count is held against the file's size before anything is allocated for it, every index against its bound,
    the binding rows against what they must hold, and the bitmaps against the matrices.
    """
    reader = _Reader(fd, name)
    header = reader.header()
    matrices = [_matrix(reader, f"matrix {letter}", header, threads) for letter in "ABC"]
    entries = sum(matrix.entries for matrix in matrices)
    if entries != header.entries:
        raise reader.error("header", f"says {header.entries} entries; the matrices have {entries}")
    a, b, c = matrices
    constraints = header.rows - header.inputs
    _check_binding_rows(reader, a, header)
    for letter, matrix in (("B", b), ("C", c)):
        if int(matrix.row_ptr[constraints]) != matrix.entries:
            raise reader.error(f"matrix {letter}", "has entries in the rows that bind inputs")
    in_a, in_b = (occurring(matrix, header.num_vars) for matrix in (a, b))
    for what, expected in (
        ("bitmap of aux in A", in_a[header.inputs :]),
        ("bitmap of inputs in B", in_b[: header.inputs]),
        ("bitmap of aux in B", in_b[header.inputs :]),
    ):
        _check_bitmap(reader, what, expected)
    reader.finish()
    b, c = (Csr(m.row_ptr[: constraints + 1], m.cols, m.coeffs, m.values) for m in (b, c))
    return ConstraintSystem(CURVE, header.num_vars, header.inputs - 1, constraints, a, b, c)


class _Reader:
    """Takes a file's parts in order; each error names the file and the part."""

    def __init__(self, fd: int, name: str) -> None:
        self._fd = fd
        self._name = name
        self._size = file_size(fd, name)
        self._position = 0

    def error(self, part: str, text: str) -> BadFile:
        return BadFile(f"{self._name}: {part}: {text}")

    def header(self) -> RecordedHeader:
        magic, version, inputs, aux, rows, entries, reserved = _HEADER.unpack(
            self.take("header", _HEADER.size)
        )
        if magic != MAGIC:
            raise self.error("header", f"no recorded matrices: it starts with {magic!r}, not {MAGIC!r}")
        if version != VERSION:
            raise self.error("header", f"version {version}; cuzkd reads version {VERSION}")
        if reserved:
            raise self.error("header", f"the reserved word is {reserved}, not 0")
        if not 0 < inputs <= rows:
            raise self.error("header", f"{inputs} inputs and {rows} rows: there is a row for each input")
        if inputs + aux >= 1 << 32:
            raise self.error("header", f"{inputs} inputs and {aux} aux are too many")
        return RecordedHeader(inputs, aux, rows, entries)

    def take(self, part: str, count: int) -> bytearray:
        """The next bytes."""
        if count > self._size - self._position:
            raise self.error(
                part, f"the file ends at byte {self._size}, {count} bytes from {self._position} needed"
            )
        data = bytearray(count)
        read_exactly(self._fd, self._name, memoryview(data), self._position)
        self._position += count
        return data

    def count(self, part: str, element_bytes: int) -> int:
        """A u64 count whose elements are there."""
        count = int.from_bytes(self.take(part, 8), "little")
        if count > (self._size - self._position) // element_bytes:
            raise self.error(part, f"says {count} elements, more than the file has bytes for")
        return count

    def numbers(self, part: str, dtype: str) -> npt.NDArray[np.unsignedinteger]:
        """A counted array."""
        itemsize = np.dtype(dtype).itemsize
        count = self.count(part, itemsize)
        return np.frombuffer(self.take(part, count * itemsize), dtype=dtype)

    def values(
        self, part: str, expected: int, threads: int
    ) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint64]]:
        """Counted scalars as codes and the values they stand for, as the file has them."""
        count = self.count(part, 32)
        if count != expected:
            raise self.error(part, f"{count} values for {expected} columns")
        codes, dictionary = np.empty(count, dtype=np.uint32), Dictionary()
        for begin in range(0, count, _VALUES_AT_ONCE):
            some = min(_VALUES_AT_ONCE, count - begin)
            piece = np.frombuffer(self.take(part, 32 * some), dtype="<u8").reshape(some, 4)
            known = len(dictionary)
            codes[begin : begin + some] = dictionary.code(piece)
            bad = first_noncanonical(CURVE, dictionary.values(known), threads=threads)
            if bad is not None:
                entry = begin + int((codes[begin : begin + some] == known + bad).argmax())
                raise self.error(part, f"value {entry} is not below r")
        return codes, dictionary.values()

    def finish(self) -> None:
        if self._position != self._size:
            raise self.error("bitmap of aux in B", f"{self._size - self._position} bytes follow it")


def _matrix(reader: _Reader, part: str, header: RecordedHeader, threads: int) -> Csr:
    row_ptr = reader.numbers(f"{part}, row pointers", "<u4").astype(np.uint64)
    if len(row_ptr) != header.rows + 1:
        raise reader.error(f"{part}, row pointers", f"{len(row_ptr)} of them for {header.rows} rows")
    cols = np.array(reader.numbers(f"{part}, columns", "<u4"), dtype=np.uint32)
    if row_ptr[0] != 0 or int(row_ptr[-1]) != len(cols):
        raise reader.error(
            f"{part}, row pointers", f"they run from {row_ptr[0]} to {row_ptr[-1]}, not from 0 to {len(cols)}"
        )
    falling = row_ptr[1:] < row_ptr[:-1]
    if falling.any():
        raise reader.error(
            f"{part}, row pointers", f"pointer {1 + int(falling.argmax())} is below the one before"
        )
    outside = cols >= header.num_vars
    if outside.any():
        entry = int(outside.argmax())
        raise reader.error(
            f"{part}, columns", f"entry {entry}: column {cols[entry]} is not below {header.num_vars}"
        )
    codes, values = reader.values(f"{part}, values", len(cols), threads)
    zero = ~nonzero_rows(values)
    if zero.any():
        entry = int((codes == int(zero.argmax())).argmax())
        raise reader.error(f"{part}, values", f"value {entry} is zero, which is not recorded")
    return Csr(row_ptr, cols, codes, to_montgomery(CURVE, values, threads=threads))


def _check_binding_rows(reader: _Reader, a: Csr, header: RecordedHeader) -> None:
    first = header.rows - header.inputs
    begin = int(a.row_ptr[first])
    one = scalars_from_ints([(1 << 512) % PARAMS[CURVE].r])[0]
    ends = a.row_ptr[first:] - a.row_ptr[first]
    right = (
        np.array_equal(ends, np.arange(header.inputs + 1))
        and np.array_equal(a.cols[begin:], np.arange(header.inputs))
        and bool((a.values[a.coeffs[begin:]] == one).all())
    )
    if not right:
        raise reader.error("matrix A", f"its last {header.inputs} rows do not hold the inputs, one each")


def _check_bitmap(reader: _Reader, part: str, expected: npt.NDArray[np.bool_]) -> None:
    words = reader.numbers(part, "<u8")
    bits, ones = struct.unpack("<QQ", reader.take(part, 16))
    if bits != len(expected) or len(words) != -(-bits // 64):
        raise reader.error(part, f"{bits} bits in {len(words)} words, for {len(expected)} variables")
    found = np.unpackbits(np.ascontiguousarray(words).view(np.uint8), bitorder="little")
    if found[bits:].any():
        raise reader.error(part, "has ones past its end")
    differ = found[:bits] != expected
    if differ.any():
        index = int(differ.argmax())
        raise reader.error(part, f"bit {index} is {found[index]}, which the matrix does not say")
    if ones != int(expected.sum()):
        raise reader.error(part, f"says {ones} ones; it has {int(expected.sum())}")
