"""One circuit, keys of both flavours, the same r and s: each gives its oracle's proof, and arkworks accepts it."""

from __future__ import annotations

import tempfile
from pathlib import Path

import arkworks
import numpy as np
from bellperson import compile_files, sums_of, synthesized
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import prove as snarkjs_oracle
from oracle_bellperson import R
from oracle_bellperson import prove as bellperson_oracle
from proving import compiled
from random_circuits import Circuit, circuits, r1cs_bytes

from cuzkd import cli
from cuzkd.formats.compiled import CompiledCircuit
from cuzkd.formats.compress import dump_proof
from cuzkd.formats.wtns_writer import write_wtns
from cuzkd.gpu.prover import Blinding, assemble, check
from cuzkd.kernels.field import scalars_from_ints
from cuzkd.model import Curve, Flavour, Proof


def set_up(circuit: Circuit, flavour: Flavour, folder: Path) -> CompiledCircuit:
    """A key by the program itself, compiled."""
    r1cs, out = folder / "circuit.r1cs", folder / f"key.{flavour}"
    r1cs.write_bytes(r1cs_bytes(circuit))
    assert cli.main(["setup", "--r1cs", str(r1cs), "--flavour", str(flavour), "-o", str(out)]) == 0
    if flavour is Flavour.SNARKJS:
        return compiled(out, folder / "circuits")
    return compile_files(Path(f"{out}.params"), Path(f"{out}.vk"), r1cs, folder / "circuits")


def prove(circuit: CompiledCircuit, witness: tuple[int, ...], blinding: Blinding) -> Proof:
    vectors = synthesized(circuit, scalars_from_ints(witness))
    proof = assemble(circuit, sums_of(circuit, vectors), blinding)
    check(circuit, proof, vectors.public_bytes(circuit.ref.shape))
    return proof


@settings(max_examples=50, deadline=None)
@given(
    circuit=circuits((Curve.BLS12_381,), every_wire=True),
    blinding=st.builds(Blinding, st.integers(1, R - 1), st.integers(1, R - 1)),
)
def test_both_flavours_give_their_oracles_proof(circuit: Circuit, blinding: Blinding):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        r, s, public = blinding.r, blinding.s, circuit.witness[1 : circuit.num_public + 1]
        of_snarkjs = set_up(circuit, Flavour.SNARKJS, folder)
        of_bellperson = set_up(circuit, Flavour.BELLPERSON, folder)

        proof = prove(of_snarkjs, circuit.witness, blinding)
        with (folder / "wtns").open("wb") as out:
            write_wtns(out, circuit.curve, scalars_from_ints(circuit.witness))
        zkey = (folder / f"key.{Flavour.SNARKJS}").read_bytes()
        assert proof == snarkjs_oracle(zkey, (folder / "wtns").read_bytes(), r, s)
        assert arkworks.accepts(of_snarkjs.vkey, public, dump_proof(proof))

        proof = prove(of_bellperson, circuit.witness, blinding)
        params = Path(folder / f"key.{Flavour.BELLPERSON}.params").read_bytes()
        expected = bellperson_oracle(params, circuit.rows, 1 + circuit.num_public, circuit.witness, r, s)
        assert (proof.a, proof.b, proof.c) == expected
        assert arkworks.accepts(of_bellperson.vkey, public, dump_proof(proof))
        wrong = (*public[:-1], (public[-1] + 1) % R) if public else ()
        assert not wrong or not arkworks.accepts(of_bellperson.vkey, wrong, dump_proof(proof))


@settings(max_examples=50, deadline=None)
@given(circuit=circuits(every_wire=True))
def test_snarkjs_keys_of_random_circuits_prove(circuit: Circuit):
    with tempfile.TemporaryDirectory() as name:
        made = set_up(circuit, Flavour.SNARKJS, Path(name))
        prove(made, circuit.witness, Blinding.draw(circuit.curve))
        assert np.array_equal(made.matrix_a.row_ptr[-1:], [made.matrix_a.entries])
