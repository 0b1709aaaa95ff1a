"""Random small circuits with a witness each, as strategies of hypothesis, and their `.r1cs` files."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from hypothesis import strategies as st

from cuzkd.kernels.params import PARAMS
from cuzkd.model import Curve

Combination = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Circuit:
    """Rows (A, B, C) of (wire, coefficient) pairs, and a witness that satisfies them."""

    curve: Curve
    num_public: int
    rows: tuple[tuple[Combination, Combination, Combination], ...]
    witness: tuple[int, ...]

    def satisfied_by(self, witness: tuple[int, ...]) -> bool:
        r = PARAMS[self.curve].r

        def value(terms: Combination) -> int:
            return sum(coefficient * witness[wire] for wire, coefficient in terms)

        return all((value(a) * value(b) - value(c)) % r == 0 for a, b, c in self.rows)


@st.composite
def circuits(draw: st.DrawFn, curves: tuple[Curve, ...] = tuple(Curve), every_wire: bool = False) -> Circuit:
    """Any A and B over random values; C is a random combination, put right by a multiple of the one wire.

    With `every_wire` there is a row more, which all wires are in.
    """
    curve = draw(st.sampled_from(curves))
    r = PARAMS[curve].r
    scalars = st.one_of(st.integers(0, 3), st.integers(r - 3, r - 1), st.integers(0, r - 1))
    witness = (1, *draw(st.lists(scalars, min_size=1, max_size=9)))
    combination = st.lists(st.tuples(st.integers(0, len(witness) - 1), scalars), max_size=4)

    def value(terms: list[tuple[int, int]]) -> int:
        return sum(coefficient * witness[wire] for wire, coefficient in terms)

    rows = []
    for _ in range(draw(st.integers(0, 9))):
        a, b, c = draw(combination), draw(combination), draw(combination)
        c.append((0, (value(a) * value(b) - value(c)) % r))
        rows.append((tuple(a), tuple(b), tuple(c)))
    if every_wire:
        rows.append((tuple((wire, 1) for wire in range(len(witness))), ((0, 1),), ((0, sum(witness) % r),)))
    return Circuit(curve, draw(st.integers(0, len(witness) - 1)), tuple(rows), witness)


def r1cs_bytes(circuit: Circuit) -> bytes:
    r = PARAMS[circuit.curve].r
    header = struct.pack("<I", 32) + r.to_bytes(32, "little")
    header += struct.pack("<IIIIQI", len(circuit.witness), circuit.num_public, 0, 0, 0, len(circuit.rows))
    body = bytearray()
    for row in circuit.rows:
        for terms in row:
            body += struct.pack("<I", len(terms))
            for wire, coefficient in terms:
                body += struct.pack("<I", wire) + coefficient.to_bytes(32, "little")
    sections = struct.pack("<IQ", 1, len(header)) + header + struct.pack("<IQ", 2, len(body)) + bytes(body)
    return b"r1cs" + struct.pack("<II", 1, 2) + sections
