"""Random circuits, witnesses and corruptions: what satisfies is proved, all else is refused, no wrong proof leaves."""

from __future__ import annotations

import io
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from proving import prove_files
from random_circuits import Circuit, circuits, r1cs_bytes

from cuzkd.errors import CuzkdError, WrongProof
from cuzkd.formats.r1cs import read_r1cs
from cuzkd.formats.system import constraint_system
from cuzkd.formats.wtns_writer import write_wtns
from cuzkd.formats.zkey_writer import write_zkey
from cuzkd.kernels.field import scalars_from_ints
from cuzkd.kernels.params import PARAMS
from cuzkd.kernels.reference import verify as verify_by_definition
from cuzkd.setup.proving_key import make_proving_key
from cuzkd.setup.secrets import ToxicWaste


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
