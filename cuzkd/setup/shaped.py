"""A circuit of a shape and a size, as matrices, and witnesses that satisfy it; whole vectors at a time.

Wires: one, the public ones, then block after block, then what fills the domain: free bits. Each public wire is the
last of a block.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cuzkd.errors import Refused
from cuzkd.formats.system import ConstraintSystem, with_binding_rows
from cuzkd.kernels.evaluate import Csr, coefficient_form, evaluate, hadamard
from cuzkd.kernels.field import from_montgomery, scalars_from_ints
from cuzkd.kernels.params import PARAMS
from cuzkd.model import Curve
from cuzkd.setup.shapes import ONE, ROWS, Kind, Row, Shape, Term, block_of

Scalars = npt.NDArray[np.uint64]
Wires = npt.NDArray[np.int64]

PUBLIC = 4
_WIRES = ROWS + 1
LEAST_LOG_N = 9


@dataclass(frozen=True, slots=True)
class ShapedCircuit:
    """`constraints` and the binding rows fill the domain of 2^log_n exactly."""

    curve: Curve
    rows: tuple[Row, ...]
    blocks: int
    fill: int

    @classmethod
    def of(cls, shape: Shape, curve: Curve, log_n: int) -> ShapedCircuit:
        """The circuit of this shape whose domain has 2^log_n points; Refused below 2^9."""
        if log_n < LEAST_LOG_N:
            raise Refused(
                f"a circuit of 2^{log_n} rows is too small to have a shape", advice="take 2^9 or more"
            )
        blocks, fill = divmod((1 << log_n) - (PUBLIC + 1) - PUBLIC, ROWS)
        return cls(curve, block_of(shape, curve), blocks, fill)

    @property
    def constraints(self) -> int:
        """Rows without the binding ones."""
        return self.blocks * ROWS + PUBLIC + self.fill

    @property
    def num_vars(self) -> int:
        """Wires."""
        return 1 + PUBLIC + self.blocks * _WIRES + self.fill

    def _starts(self) -> Wires:
        """The wire that is number 0 of each block."""
        return 1 + PUBLIC + _WIRES * np.arange(self.blocks)

    def _ends(self) -> Wires:
        """The wires that are public by another name."""
        return self._starts()[np.arange(PUBLIC) % self.blocks] + ROWS

    def _filling(self) -> Wires:
        return np.arange(self.num_vars - self.fill, self.num_vars)

    def system(self) -> ConstraintSystem:
        """The matrices."""
        a, b, c = (self._matrix([getattr(row, name) for row in self.rows], name) for name in "abc")
        return ConstraintSystem(
            self.curve,
            self.num_vars,
            PUBLIC,
            self.constraints,
            with_binding_rows(self.curve, a, PUBLIC),
            b,
            c,
        )

    def _matrix(self, terms: list[tuple[Term, ...]], name: str) -> Csr:
        numbers: dict[int, int] = {1: 0, -1: 1}
        for row in terms:
            for _, value in row:
                numbers.setdefault(value, len(numbers))
        local = np.array([wire for row in terms for wire, _ in row], dtype=np.int64)
        code = np.array([numbers[value] for row in terms for _, value in row], dtype=np.uint32)
        lengths = np.tile(np.array([len(row) for row in terms]), self.blocks)
        cols = np.where(local == ONE, 0, local + self._starts()[:, None]).reshape(-1)
        ends, public, filling = self._ends(), np.arange(1, 1 + PUBLIC), self._filling()
        one, zero = np.zeros(PUBLIC, dtype=np.int64), np.zeros(self.fill, dtype=np.int64)
        last = {"a": ends, "b": one, "c": public}[name]
        filled = {"a": np.stack([zero, filling], axis=1).reshape(-1), "b": filling, "c": filling[:0]}[name]
        per_fill = {"a": 2, "b": 1, "c": 0}[name]
        fill_codes = np.tile(np.arange(per_fill, dtype=np.uint32), self.fill)
        row_ptr = np.zeros(self.constraints + 1, dtype=np.uint64)
        np.cumsum(
            np.concatenate([lengths, np.ones(PUBLIC, dtype=np.int64), np.full(self.fill, per_fill)]),
            out=row_ptr[1:],
        )
        return Csr(
            row_ptr,
            np.concatenate([cols, last, filled]).astype(np.uint32),
            np.concatenate([np.tile(code, self.blocks), np.zeros(PUBLIC, dtype=np.uint32), fill_codes]),
            self._values(list(numbers)),
        )

    def _values(self, coefficients: list[int]) -> Scalars:
        r = PARAMS[self.curve].r
        return coefficient_form(self.curve, scalars_from_ints(value % r for value in coefficients), threads=1)

    # ---- witnesses

    def witness(self, seed: int, threads: int) -> Scalars:
        """A witness that satisfies the circuit, (num_vars, 4) canonical; another for each seed."""
        chance = np.random.default_rng(seed)
        z = np.zeros((self.num_vars, 4), dtype=np.uint64)
        starts = self._starts()
        z[0, 0] = 1
        z[self._filling(), 0] = chance.integers(0, 2, self.fill, dtype=np.uint64)
        # below 2^253, and so below either r
        z[starts] = chance.integers(0, 1 << 61, (self.blocks, 4), dtype=np.uint64)
        for number, row in enumerate(self.rows):
            self._define(z, starts, number + 1, row, chance, threads)
        z[1 : 1 + PUBLIC] = z[self._ends()]
        return z

    def _define(
        self, z: Scalars, starts: Wires, number: int, row: Row, chance: np.random.Generator, threads: int
    ) -> None:
        """Give wire `number` of every block its value."""
        new = starts + number
        if row.kind is Kind.PRODUCT:
            z[new] = self._product(z, starts, row, threads)
            return
        if row.kind is Kind.FREE_BIT:
            z[new, 0] = chance.random(self.blocks) < FREE_BIT_IS_ONE
            return
        x, y = (z[starts + terms[0][0], 0] for terms in (row.a, row.b))
        z[new, 0] = {Kind.XOR: x ^ y, Kind.OR: x | y, Kind.AND: x & y}[row.kind]

    def _product(self, z: Scalars, starts: Wires, row: Row, threads: int) -> Scalars:
        a, b = (self._sum(z, starts, terms, threads) for terms in (row.a, row.b))
        product = np.empty_like(a)
        hadamard(self.curve, a, b, product, threads=threads)
        canonical = from_montgomery(self.curve, product, threads=threads)
        rest = [value for wire, value in row.c if wire == ONE]
        if not rest:
            return canonical
        # product - rest, as a row over (one, the products)
        one = scalars_from_ints([1])
        each = np.arange(1, 1 + self.blocks)
        cols = np.stack([each, np.zeros_like(each)], axis=1)
        return self._rows(np.concatenate([one, canonical]), cols, [1, -rest[0]], threads, canonical=True)

    def _sum(self, z: Scalars, starts: Wires, terms: tuple[Term, ...], threads: int) -> Scalars:
        wires = np.array([wire for wire, _ in terms])
        cols = np.where(wires == ONE, 0, wires + starts[:, None])
        return self._rows(z, cols, [value for _, value in terms], threads)

    def _rows(
        self, z: Scalars, cols: Wires, coefficients: list[int], threads: int, *, canonical: bool = False
    ) -> Scalars:
        """For each block the sum of its columns times the coefficients, Montgomery unless `canonical`."""
        width = len(coefficients)
        matrix = Csr(
            np.arange(0, self.blocks * width + 1, width, dtype=np.uint64),
            cols.reshape(-1).astype(np.uint32),
            np.tile(np.arange(width, dtype=np.uint32), self.blocks),
            self._values(coefficients),
        )
        out = np.empty((self.blocks, 4), dtype=np.uint64)
        evaluate(self.curve, matrix, z, out, threads=threads)
        return from_montgomery(self.curve, out, threads=threads) if canonical else out


FREE_BIT_IS_ONE = 0.506
"""So that of all wires 43 % are one and 42 % zero."""
