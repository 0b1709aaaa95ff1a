"""A witness arrives in z from a file or from inputs, canonical and of the circuit, or its error names the file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from fixtures import Case, bundled, each

from cuzkd.circom.wasm import WitnessProgram
from cuzkd.errors import BadFile, BadWitness, MissingSignal, ResourceExhausted
from cuzkd.formats.wtns import open_wtns
from cuzkd.model import CircuitShape
from cuzkd.synthesis.witness import compute_witness, read_witness
from cuzkd.vectors import Scalars
from tests.circom.programs import version_2

CASE = bundled("multiplier_bn128")


def shape_of(case: Case) -> CircuitShape:
    """All that reading looks at: curve and number of wires."""
    with case.witness.open("rb") as file:
        witness = open_wtns(file.fileno(), case.name)
    return CircuitShape(witness.curve, 1, witness.count, 0, 1)


def empty(num_vars: int) -> Scalars:
    return np.full((num_vars, 4), 0xEE, dtype=np.uint64)


def read(case: Case) -> Scalars:
    shape = shape_of(case)
    z = empty(shape.num_vars)
    read_witness(case.witness, "w.wtns", shape, z, 1)
    return z


@each()
def test_the_computed_witness_is_the_one_of_the_file(case: Case) -> None:
    z = empty(shape_of(case).num_vars)
    compute_witness(case.input, "input.json", WitnessProgram.load(case.wasm), z)
    np.testing.assert_array_equal(z, read(case))


def test_errors_begin_with_the_files_name(tmp_path: Path) -> None:
    program = WitnessProgram.load(CASE.wasm)
    path = tmp_path / "spooled"
    for text, error in (('{"a": 1}', MissingSignal), ("nothing", BadFile)):
        path.write_text(text)
        with pytest.raises(error, match=r"^mine\.json: "):
            compute_witness(path, "mine.json", program, empty(4))


def test_a_program_whose_wire_0_is_not_one_is_found_out(tmp_path: Path) -> None:
    program = WitnessProgram.load(version_2(get_witness="(i32.store (i32.const 0) (i32.const 2))"))
    path = tmp_path / "input"
    path.write_text('{"x": 5}')
    with pytest.raises(BadWitness, match="wire 0 is not one"):
        compute_witness(path, "input", program, empty(2))


def test_a_witness_that_is_not_in_the_spool_is_told(tmp_path: Path) -> None:
    with pytest.raises(ResourceExhausted, match="cannot be read from the spool"):
        read_witness(tmp_path / "gone", "w.wtns", shape_of(CASE), empty(4), 1)
    (tmp_path / "link").symlink_to(CASE.witness)
    with pytest.raises(ResourceExhausted, match="cannot be read from the spool"):
        read_witness(tmp_path / "link", "w.wtns", shape_of(CASE), empty(4), 1)
