"""Sparse matrices on their way in: walking an R1CS section, and dictionary-coding coefficients. Native and checked."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cuzkd.kernels import native

_MATRICES = "ABC"
_FAULTS = {
    1: "constraint {i}, matrix {m}: the section ends within it",
    2: "constraint {i}, matrix {m}: a wire is not below {wires}",
    3: "{i} constraints end before the section does",
    4: "constraint {i}, matrix {m}: a coefficient is not below the field's prime",
}

Matrix = tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint32], npt.NDArray[np.uint64]]


def walk_r1cs(
    section: npt.NDArray[np.uint8], constraints: int, wires: int, modulus: int
) -> tuple[Matrix, Matrix, Matrix] | str:
    """A, B, C of section 2's payload as (row_ptr (constraints + 1,), cols (nnz,), values (nnz, 4) plain).

    Returns a description of the first fault instead when the bytes are not such a section.
    """
    row_ptr = np.zeros((3, constraints + 1), dtype=np.uint64)
    limbs = np.frombuffer(modulus.to_bytes(32, "little"), dtype=np.uint64)
    kind, constraint, matrix = native.r1cs_count(section, constraints, wires, limbs, row_ptr)
    if kind:
        return _FAULTS[kind].format(i=constraint, m=_MATRICES[matrix], wires=wires)
    cols = [np.empty(int(ptr[-1]), dtype=np.uint32) for ptr in row_ptr]
    values = [np.empty((int(ptr[-1]), 4), dtype=np.uint64) for ptr in row_ptr]
    native.r1cs_fill(section, constraints, wires, cols[0], cols[1], cols[2], values[0], values[1], values[2])
    a, b, c = ((row_ptr[m], cols[m], values[m]) for m in range(3))
    return a, b, c


class Dictionary:
    """Numbers values of four limbs by their first appearance."""

    def __init__(self) -> None:
        self._native = native.dictionary_new()
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def code(self, values: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint32]:
        """The number of each of the values (n, 4); those not seen before get the next ones."""
        codes = np.empty(len(values), dtype=np.uint32)
        self._size = native.dictionary_code(self._native, values, codes)
        return codes

    def values(self, first: int = 0) -> npt.NDArray[np.uint64]:
        """The values from number `first` on, (k, 4), in the order of their numbers."""
        out = np.empty((self._size - first, 4), dtype=np.uint64)
        native.dictionary_values(self._native, first, out)
        return out


def dictionary_code(values: npt.NDArray[np.uint64]) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint64]]:
    """`codes` (n,) and `table` (k, 4) with table[codes[i]] == values[i], k least; codes by first appearance."""
    dictionary = Dictionary()
    codes = dictionary.code(values)
    return codes, dictionary.values()
