"""The evaluations of a circuit, with its matrix C and without: equal for a good witness, and a bad one is told."""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from fixtures import Case, bundled, bundled_cases, each

from cuzkd.formats.compiled import CompiledCircuit
from cuzkd.formats.constraints import KeptConstraints
from cuzkd.formats.r1cs import read_r1cs
from cuzkd.ingest.compile import compile_zkey
from cuzkd.kernels.field import ints_from_scalars, scalars_from_ints
from cuzkd.kernels.params import PARAMS
from cuzkd.synthesis.evaluate import evaluate_constraints
from cuzkd.synthesis.witness import read_witness
from cuzkd.vectors import Scalars, Vectors


class Subject:
    """A compiled case with its constraints and its witness."""

    def __init__(self, case: Case, folder: Path) -> None:
        fd = os.open(case.zkey, os.O_RDONLY)
        ref, _ = compile_zkey(fd, "key", folder, threads=1)
        os.close(fd)
        self.circuit = CompiledCircuit.open(folder / ref.digest)
        with case.r1cs.open("rb") as file:
            r1cs = read_r1cs(file.fileno(), "r1cs")
        c = r1cs.c.matrix(r1cs.curve, threads=1)
        self.constraints = KeptConstraints(r1cs.curve, r1cs.num_vars, c)
        self.z = np.zeros((ref.shape.num_vars, 4), dtype=np.uint64)
        read_witness(case.witness, "witness", ref.shape, self.z, 1)

    def evaluated(
        self, constraints: KeptConstraints | None, z: Scalars, threads: int = 1
    ) -> tuple[Vectors, int | None]:
        rows = self.circuit.ref.shape.rows
        a, b, c = (np.full((rows, 4), 0xEE, dtype=np.uint64) for _ in range(3))
        vectors = Vectors(a, b, c, z)
        return vectors, evaluate_constraints(self.circuit, vectors, threads, constraints)


@each(bundled_cases())
@pytest.mark.parametrize("threads", [1, 3])
def test_c_of_a_good_witness_is_the_product_of_a_and_b(case: Case, threads: int, tmp_path: Path) -> None:
    subject = Subject(case, tmp_path)
    known, broken = subject.evaluated(subject.constraints, subject.z, threads)
    assert broken is None
    unknown, _ = subject.evaluated(None, subject.z, threads)
    np.testing.assert_array_equal(known.c, unknown.c)


@each(bundled_cases())
@pytest.mark.parametrize("threads", [1, 3])
def test_the_first_broken_constraint_is_the_one_that_plain_integers_give(
    case: Case, threads: int, tmp_path: Path
) -> None:
    """Every wire but the constant one is changed in turn; some are in no constraint."""
    subject = Subject(case, tmp_path)
    r = PARAMS[case.curve].r
    with case.r1cs.open("rb") as file:
        r1cs = read_r1cs(file.fileno(), "r1cs")
    witness = ints_from_scalars(subject.z)
    for wire in range(1, len(witness)):
        changed = witness.copy()
        changed[wire] = (changed[wire] + 1) % r
        sums = []
        for terms in (r1cs.a, r1cs.b, r1cs.c):
            values = ints_from_scalars(terms.values)
            ends = terms.row_ptr.tolist()
            sums.append(
                [
                    sum(values[terms.codes[e]] * changed[terms.cols[e]] for e in range(start, end)) % r
                    for start, end in pairwise(ends)
                ]
            )
        expected = next(
            (row for row, (a, b, c) in enumerate(zip(*sums, strict=True)) if a * b % r != c), None
        )
        assert subject.evaluated(subject.constraints, scalars_from_ints(changed), threads)[1] == expected


def test_without_the_matrix_nothing_is_ever_broken(tmp_path: Path) -> None:
    subject = Subject(bundled("squarings_bn128"), tmp_path)
    subject.z[5] += 1
    assert subject.evaluated(None, subject.z)[1] is None
