"""A bellperson key and its matrices, either kind, prove as bellperson does; whatever does not fit is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from bellperson import BellpersonCase, all_cases, bundled, compile_files, compiled, each, sums_of, synthesized
from fixtures import bundled as circom

from cuzkd.errors import Refused, Unsupported
from cuzkd.formats.compiled import find_compiled
from cuzkd.formats.compress import dump_elements
from cuzkd.formats.compressed import load_proofs
from cuzkd.gpu.prover import Blinding, elements
from cuzkd.ipc.requests import PointChecks
from cuzkd.kernels.verify import verify
from cuzkd.model import Flavour
from cuzkd.synthesis.evaluate import evaluate_constraints


@each(all_cases())
@pytest.mark.parametrize("matrices", ["r1cs", "pce"])
def test_the_proof_is_bellpersons_for_its_blinding_and_unblinded(
    case: BellpersonCase, matrices: str, tmp_path: Path
):
    circuit = compiled(case, matrices, tmp_path)
    sums = sums_of(circuit, synthesized(circuit, case.witness(tmp_path)))
    assert dump_elements(*elements(circuit, sums, case.blinding)) == case.proof("proof")
    assert dump_elements(*elements(circuit, sums, Blinding(0, 0))) == case.proof("proof0")
    for kind in ("proof", "proofr"):
        assert verify(circuit.vkey, case.public, *load_proofs(case.proof(kind), kind))


@each(all_cases())
def test_both_kinds_of_matrices_give_one_circuit(case: BellpersonCase, tmp_path: Path):
    one, other = (compiled(case, matrices, tmp_path) for matrices in ("r1cs", "pce"))
    assert one.ref.digest != other.ref.digest
    assert one.flavour is Flavour.BELLPERSON
    assert one.a_wires is not None
    for name in ("a_wires", "b_wires", "ic", "a", "b1", "b2", "c", "h"):
        assert np.array_equal(getattr(one, name), getattr(other, name))
    witness = case.witness(tmp_path)
    mine, theirs = synthesized(one, witness), synthesized(other, witness)
    for vector in ("a", "b", "c"):
        assert np.array_equal(getattr(mine, vector), getattr(theirs, vector))


def test_variables_are_one_then_inputs_then_aux(tmp_path: Path):
    """The witness's order is the columns' order; bases of A are for inputs first, then for aux in rising order."""
    case = bundled("cubic")
    circuit = compiled(case, "pce", tmp_path)
    shape, witness = circuit.ref.shape, case.witness(tmp_path)
    assert witness[0].tolist() == [1, 0, 0, 0]
    assert [int(v) for v in witness[1 : 1 + shape.num_public, 0]] == case.public
    assert circuit.a_wires is not None
    assert circuit.b_wires is not None
    assert circuit.a_wires[: 1 + shape.num_public].tolist() == list(range(1 + shape.num_public))
    for wires in (circuit.a_wires, circuit.b_wires):
        assert (np.diff(wires.astype(np.int64)) > 0).all()


def test_the_same_files_are_found_again(tmp_path: Path):
    case = bundled("cubic")
    digest = compiled(case, "pce", tmp_path).ref.digest
    made = (tmp_path / "circuits" / digest).stat().st_ino
    assert compiled(case, "pce", tmp_path).ref.digest == digest
    assert (tmp_path / "circuits" / digest).stat().st_ino == made
    manifest = find_compiled(tmp_path / "circuits", digest)
    assert manifest is not None
    assert (manifest.ref.flavour, manifest.points) == (Flavour.BELLPERSON, PointChecks.FULL)


@pytest.mark.parametrize("name", ["cubic", "duplicates", "multiplier", "nopublic"])
def test_a_wrong_witness_names_its_constraint(name: str, tmp_path: Path):
    case = bundled(name)
    circuit = compiled(case, "r1cs", tmp_path)
    vectors = synthesized(circuit, case.witness(tmp_path))
    vectors.z[-1, 0] ^= np.uint64(1)
    broken = evaluate_constraints(circuit, vectors, 1)
    assert broken is not None
    assert broken < circuit.ref.shape.rows - circuit.ref.shape.num_public - 1


def test_a_key_of_another_circuit_is_refused_with_every_count(tmp_path: Path):
    key, matrices = bundled("cubic"), bundled("multiplier")
    with pytest.raises(Refused, match=r"not the key of .*section ic has 4 points, not 2; section h has 7"):
        compile_files(
            key.file("params", tmp_path), key.file("vk", tmp_path), matrices.file("pce", tmp_path), tmp_path
        )


def test_a_verifying_key_of_another_key_is_refused_by_the_point_that_differs(tmp_path: Path):
    case = bundled("cubic")
    vk = bytearray(case.file("vk", tmp_path).read_bytes())
    vk[868 + 96 + 5] ^= 1
    (tmp_path / "other.vk").write_bytes(vk)
    with pytest.raises(Refused, match=r"key\.vk is not the verifying key of .*section ic: point 1 differs"):
        compile_files(
            case.file("params", tmp_path),
            tmp_path / "other.vk",
            case.file("pce", tmp_path),
            tmp_path / "made",
        )
    assert not [path for path in (tmp_path / "made").iterdir() if not path.name.startswith(".lock")]


def test_an_r1cs_over_another_curve_is_refused(tmp_path: Path):
    case = bundled("multiplier")
    r1cs = circom("multiplier_bn128").r1cs
    with pytest.raises(Unsupported, match="bn128"):
        compile_files(case.file("params", tmp_path), case.file("vk", tmp_path), r1cs, tmp_path)
