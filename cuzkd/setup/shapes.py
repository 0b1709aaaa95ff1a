"""Circuits with the shape of real ones: how many entries a row has, who occurs where, and what values wires take.

A circuit is many copies of one block of rows, each of which defines one wire from wires before it: a free bit
((1 - x)·x = 0), a bit from two others (xor, or, and), or a full-width value (a sum times the one before it). Blocks are
chains of their own, so one row of all blocks is worked out at once. What is measured of real partitions:

                            entries a row in A, B, C   wires in A   in B    zeros  ones in the witness
    porep, snapdeals            2.4    1.0    2.2        99.7 %    25 %     42 %   43 %
    winningpost                 6.9    1.0    1.3          -         -       1 %    -     (nearly all are full width)
"""

from __future__ import annotations

import enum
import random
from dataclasses import dataclass

from cuzkd.kernels.params import PARAMS
from cuzkd.model import Curve

ROWS = 256
"""Rows of a block."""

ONE = -1
"""The constant one, where a term names a wire of the block by its number in it."""

Term = tuple[int, int]
"""A wire of the block and its coefficient, an integer that may be negative."""


class Shape(enum.StrEnum):
    """What a circuit is to look like."""

    DENSE = "dense"
    WINNINGPOST = "winningpost"
    SNAPDEALS = "snapdeals"
    POREP = "porep"


class Kind(enum.Enum):
    """How the wire of a row comes by its value."""

    FREE_BIT = "a random bit"
    XOR = "x + y - 2xy"
    OR = "x + y - xy"
    AND = "xy"
    PRODUCT = "the product of the row's A and B, less what else is in C"


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a block; row i defines wire i + 1, and wire 0 is a random full-width value."""

    kind: Kind
    a: tuple[Term, ...]
    b: tuple[Term, ...]
    c: tuple[Term, ...]


def block_of(shape: Shape, curve: Curve) -> tuple[Row, ...]:
    """The rows that every block of a circuit of this shape repeats: always the same ones."""
    chance = random.Random(str(shape))  # noqa: S311 - data to measure with, not secrets
    if shape is Shape.DENSE:
        return tuple(_squaring(i) for i in range(ROWS))
    if shape is Shape.WINNINGPOST:
        return tuple(_mixing(i, chance, PARAMS[curve].r) for i in range(ROWS))
    return _hashing(chance)


def _squaring(i: int) -> Row:
    return Row(Kind.PRODUCT, ((i, 1),), ((i, 1),), ((i + 1, 1),))


def _mixing(i: int, chance: random.Random, r: int) -> Row:
    """As in an algebraic hash: squarings, now and then a sum of many terms, round constants."""
    a: tuple[Term, ...] = ((i, 1),)
    if i % 7 == 6:
        # one row in seven, and so many terms that rows have 6.9
        some = chance.sample(range(i), min(i, 45))
        a += tuple(sorted({wire: chance.randrange(2, 66) ** 40 % r for wire in some}.items()))
    c: tuple[Term, ...] = ((i + 1, 1),)
    if i % 4 == 3:
        c += ((ONE, chance.randrange(2, 1 << 20)),)
    return Row(Kind.PRODUCT, a, ((i, 1),), c)


_FREE, _XOR, _OR, _AND = 25, 141, 26, 25
_FULL = ROWS - _FREE - _XOR - _OR - _AND
_PACKED = 2.4 * ROWS - 2 * _FREE - (_XOR + _OR + _AND) - _FULL


def _hashing(chance: random.Random) -> tuple[Row, ...]:
    """As in a bitwise hash: mostly bits, packed now and then into numbers that are full width."""
    rows = [Row(Kind.FREE_BIT, ((ONE, 1), (i + 1, -1)), ((i + 1, 1),), ()) for i in range(_FREE)]
    kinds = [Kind.XOR] * _XOR + [Kind.OR] * _OR + [Kind.AND] * _AND
    chance.shuffle(kinds)
    for kind in kinds:
        rows.append(_gate(kind, len(rows) + 1, chance))
    bits = list(range(1, len(rows) + 1))
    chance.shuffle(bits)
    before, taken = 0, 0
    for i in range(_FULL):
        upto = round(_PACKED * (i + 1) / _FULL)
        packed = sorted(bits[k % len(bits)] for k in range(taken, upto))
        taken = upto
        new = len(rows) + 1
        terms = ((before, 1), *((bit, 1 << k) for k, bit in enumerate(packed)))
        rows.append(Row(Kind.PRODUCT, terms, ((before, 1),), ((new, 1),)))
        before = new
    return tuple(rows)


def _gate(kind: Kind, new: int, chance: random.Random) -> Row:
    """A bit from any bit before it and a free one: only free bits and numbers are to occur in B."""
    x = chance.randrange(1, new)
    y = chance.choice([bit for bit in range(1, _FREE + 1) if bit != x])
    if kind is Kind.AND:
        return Row(kind, ((x, 1),), ((y, 1),), ((new, 1),))
    return Row(kind, ((x, 2 if kind is Kind.XOR else 1),), ((y, 1),), ((x, 1), (y, 1), (new, -1)))
