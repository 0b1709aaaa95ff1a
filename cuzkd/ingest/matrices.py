"""A key's coefficient entries, in any order, become two matrices by rows with dictionary-coded values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cuzkd.errors import BadFile
from cuzkd.formats.zkey import FORMAT, SECTION_COEFFICIENTS, ZkeyHeader, check_coefficients
from cuzkd.kernels.field import first_noncanonical
from cuzkd.kernels.sparse import Dictionary

U32 = npt.NDArray[np.uint32]
U64 = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Rows:
    """One matrix by rows: `row_ptr` (rows + 1,), `cols` and `coeffs` (entries,); coeffs index the values."""

    row_ptr: U64
    cols: U32
    coeffs: U32


class MatrixBuilder:
    """Takes the entries piece by piece, checks each, and gives equal values one number.

    `rows` is how many rows both matrices have: as many as the highest one used, at least one; the domain's others
    are zero. Entries of one row keep their order, repeated ones stay apart.
    """

    def __init__(self, name: str, header: ZkeyHeader, threads: int) -> None:
        self._name = name
        self._header = header
        self._threads = threads
        self._taken = 0
        self._entries: tuple[list[tuple[U32, U32, U32]], ...] = ([], [])
        self._dictionary = Dictionary()
        self.rows = 1

    def add(self, entries: npt.NDArray[np.void]) -> None:
        """Take the next entries (dtype `formats.zkey.COEFFICIENT`); BadFile naming the first bad one."""
        check_coefficients(self._name, self._header, entries, self._taken)
        known = len(self._dictionary)
        codes = self._dictionary.code(np.ascontiguousarray(entries["value"]))
        bad = first_noncanonical(self._header.curve, self._dictionary.values(known), threads=self._threads)
        if bad is not None:
            entry = self._taken + int((codes == known + bad).argmax())
            where = f"{FORMAT.section_name(SECTION_COEFFICIENTS)}, entry {entry}"
            raise BadFile(f"{self._name}: {where}: the value is not below r")
        self.rows = max(self.rows, int(entries["row"].max(initial=0)) + 1)
        for matrix, pieces in enumerate(self._entries):
            chosen = entries["matrix"] == matrix
            pieces.append((entries["row"][chosen], entries["signal"][chosen], codes[chosen]))
        self._taken += len(entries)

    def take(self, matrix: int) -> Rows:
        """Matrix A (0) or B (1), once all entries are there; they are forgotten, as memory for both is dear."""
        pieces = self._entries[matrix]
        columns = zip(*pieces, strict=True) if pieces else [[np.empty(0, dtype=np.uint32)]] * 3
        row, signal, code = (np.concatenate(column) for column in columns)
        pieces.clear()
        return _by_rows(row, signal, code, self.rows)

    def values(self) -> U64:
        """The values that both matrices' coeffs index, (k, 4), as the key stores them."""
        return self._dictionary.values()


def _by_rows(row: U32, signal: U32, code: U32, rows: int) -> Rows:
    if (row[1:] < row[:-1]).any():
        order = np.argsort(row, kind="stable")
        row, signal, code = row[order], signal[order], code[order]
    row_ptr = np.zeros(rows + 1, dtype=np.uint64)
    row_ptr[1:] = np.cumsum(np.bincount(row, minlength=rows))
    return Rows(row_ptr, signal, code)
