"""Random circuits, witnesses and corruptions: what satisfies is proved, all else is refused, no wrong proof leaves."""

from __future__ import annotations

import io
import struct
import tempfile
from dataclasses import dataclass
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from proving import prove_files

from cuzkd.errors import CuzkdError, WrongProof
from cuzkd.formats.r1cs import read_r1cs
from cuzkd.formats.system import constraint_system
from cuzkd.formats.wtns_writer import write_wtns
from cuzkd.formats.zkey_writer import write_zkey
from cuzkd.kernels.field import scalars_from_ints
from cuzkd.kernels.params import PARAMS
from cuzkd.kernels.reference import verify as verify_by_definition
from cuzkd.model import Curve
from cuzkd.setup.proving_key import make_proving_key
from cuzkd.setup.secrets import ToxicWaste

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
def circuits(draw: st.DrawFn) -> Circuit:
    """Any A and B over random values; C is a random combination, put right by a multiple of the one wire."""
    curve = draw(st.sampled_from(Curve))
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


def write_files(circuit: Circuit, witness: tuple[int, ...], folder: Path) -> tuple[Path, Path]:
    zkey, wtns, r1cs = folder / "key.zkey", folder / "witness.wtns", folder / "circuit.r1cs"
    r1cs.write_bytes(r1cs_bytes(circuit))
    with r1cs.open("rb") as source:
        system = constraint_system(read_r1cs(source.fileno(), "circuit.r1cs"))
    key = make_proving_key(system, ToxicWaste.draw(circuit.curve), threads=1)
    buffer = io.BytesIO()
    write_zkey(buffer, key, "for tests only")
    zkey.write_bytes(buffer.getvalue())
    with wtns.open("wb") as out:
        write_wtns(out, circuit.curve, scalars_from_ints(witness))
    return zkey, wtns


@settings(max_examples=60, deadline=None)
@given(circuit=circuits(), data=st.data())
def test_a_witness_is_proved_if_and_only_if_it_satisfies(circuit: Circuit, data: st.DataObject):
    witness = list(circuit.witness)
    if data.draw(st.booleans(), "change a wire"):
        wire = data.draw(st.integers(1, len(witness) - 1))
        witness[wire] = data.draw(st.integers(0, PARAMS[circuit.curve].r - 1))
    with tempfile.TemporaryDirectory() as folder:
        zkey, wtns = write_files(circuit, tuple(witness), Path(folder))
        try:
            _, public, _ = prove_files(zkey, wtns, Path(folder))
        except WrongProof:
            assert not circuit.satisfied_by(tuple(witness))
        else:
            assert circuit.satisfied_by(tuple(witness))
            assert public == witness[1 : circuit.num_public + 1]


@settings(max_examples=40, deadline=None)
@given(circuit=circuits(), data=st.data())
def test_a_damaged_file_gives_an_error_or_a_right_proof(circuit: Circuit, data: st.DataObject):
    """Right by the plain oracle and by the key as it was before the damage."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        zkey, wtns = write_files(circuit, circuit.witness, folder)
        _, _, vkey = prove_files(zkey, wtns, folder)
        victim = data.draw(st.sampled_from([zkey, wtns]))
        content = bytearray(victim.read_bytes())
        at = data.draw(st.integers(0, len(content) - 1))
        content[at] ^= data.draw(st.integers(1, 255))
        victim.write_bytes(content)
        try:
            proof, public, _ = prove_files(zkey, wtns, folder)
        except CuzkdError:
            return
        assert verify_by_definition(vkey, public, proof)
