"""Circuits with the shape of real ones: their witnesses satisfy them, their numbers are those of the real ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from bellperson import compile_files, sums_of, synthesized
from proving import prove_files

from cuzkd import cli
from cuzkd.errors import Refused
from cuzkd.formats.r1cs import read_r1cs
from cuzkd.formats.r1cs_writer import write_r1cs
from cuzkd.formats.system import constraint_system, occurring, with_empty_rows
from cuzkd.gpu.prover import Blinding, assemble, check
from cuzkd.kernels.evaluate import Csr, evaluate_constraints
from cuzkd.kernels.params import PARAMS
from cuzkd.model import Curve
from cuzkd.setup.shaped import ShapedCircuit
from cuzkd.setup.shapes import Shape


def entries_a_row(matrix: Csr, rows: int) -> float:
    return int(matrix.row_ptr[rows]) / rows


def shares(witness: np.ndarray) -> tuple[float, float]:
    """The shares of zeros and ones."""
    small = (witness[:, 1:] == 0).all(axis=1)
    return tuple(float((small & (witness[:, 0] == value)).mean()) for value in (0, 1))  # type: ignore[return-value]


@pytest.mark.parametrize("curve", Curve)
@pytest.mark.parametrize("shape", Shape)
@pytest.mark.parametrize("log_n", [9, 12])
def test_its_witnesses_satisfy_it_and_it_fills_its_domain(shape: Shape, curve: Curve, log_n: int):
    circuit = ShapedCircuit.of(shape, curve, log_n)
    system = circuit.system()
    assert system.rows == 1 << log_n == 1 << system.log_domain
    b, c = (with_empty_rows(matrix, system.rows) for matrix in (system.b, system.c))
    witnesses = [circuit.witness(seed, 2) for seed in (0, 1)]
    assert not np.array_equal(*witnesses)
    for witness in witnesses:
        out = tuple(np.empty((system.rows, 4), dtype=np.uint64) for _ in range(3))
        assert evaluate_constraints(curve, system.a, b, c, witness, out, threads=2) is None
    np.testing.assert_array_equal(circuit.witness(1, 1), witnesses[1])


@pytest.mark.parametrize("shape", [Shape.POREP, Shape.SNAPDEALS])
def test_hashing_circuits_have_the_numbers_of_filecoins(shape: Shape):
    circuit = ShapedCircuit.of(shape, Curve.BLS12_381, 16)
    system = circuit.system()
    rows = system.constraints
    assert entries_a_row(system.a, rows) == pytest.approx(2.4, abs=0.05)
    assert entries_a_row(system.b, rows) == pytest.approx(1.0, abs=0.01)
    assert entries_a_row(system.c, rows) == pytest.approx(2.2, abs=0.05)
    assert occurring(system.a, system.num_vars).mean() == pytest.approx(0.997, abs=0.002)
    assert occurring(system.b, system.num_vars).mean() == pytest.approx(0.25, abs=0.01)
    zeros, ones = shares(circuit.witness(0, 2))
    assert zeros == pytest.approx(0.42, abs=0.02)
    assert ones == pytest.approx(0.43, abs=0.02)


@pytest.mark.parametrize("shape", [Shape.POREP, Shape.SNAPDEALS])
def test_most_coefficients_are_units_or_powers_of_two(shape: Shape):
    system = ShapedCircuit.of(shape, Curve.BLS12_381, 12).system()
    r = PARAMS[Curve.BLS12_381].r
    unscale = pow(1 << 512, -1, r)
    units = 0
    for matrix in (system.a, system.b, system.c):
        for row in matrix.values:
            value = int.from_bytes(row.tobytes(), "little") * unscale % r
            assert value == r - 1 or value & (value - 1) == 0
        units += int(np.isin(matrix.coeffs, (0, 1)).sum())
    assert units > 0.6 * (system.a.entries + system.b.entries + system.c.entries)


def test_other_shapes_are_full_width():
    for shape, entries in ((Shape.DENSE, (1.0, 1.0, 1.0)), (Shape.WINNINGPOST, (6.9, 1.0, 1.25))):
        circuit = ShapedCircuit.of(shape, Curve.BLS12_381, 16)
        system = circuit.system()
        found = [entries_a_row(m, system.constraints) for m in (system.a, system.b, system.c)]
        assert found == pytest.approx(entries, rel=0.03)
        assert sum(shares(circuit.witness(0, 2))) < 0.01


def test_a_circuit_too_small_for_a_shape_is_refused():
    with pytest.raises(Refused, match="too small"):
        ShapedCircuit.of(Shape.POREP, Curve.BLS12_381, 8)


@pytest.mark.parametrize("shape", Shape)
def test_an_r1cs_that_was_written_is_read_back(shape: Shape, tmp_path: Path):
    system = ShapedCircuit.of(shape, Curve.BN254, 15).system()
    with (tmp_path / "r1cs").open("wb") as out:
        write_r1cs(out, system)
    with (tmp_path / "r1cs").open("rb") as file:
        again = constraint_system(read_r1cs(file.fileno(), "r1cs"))
    assert (again.num_vars, again.num_public) == (system.num_vars, system.num_public)
    for mine, theirs in ((system.a, again.a), (system.b, again.b), (system.c, again.c)):
        assert np.array_equal(mine.row_ptr, theirs.row_ptr)
        assert np.array_equal(mine.cols, theirs.cols)
        assert np.array_equal(mine.values[mine.coeffs], theirs.values[theirs.coeffs])


@pytest.mark.parametrize("shape", Shape)
def test_what_bench_makes_proves(shape: Shape, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    made = ("bench", "make", "--shape", str(shape), "--log-n", "10", "--witnesses", "2")
    assert cli.main([*made, "-o", str(tmp_path / "b")]) == 0
    assert cli.main([*made, "-o", str(tmp_path / "s"), "--curve", "bn128"]) == 0
    assert "for development only" in capsys.readouterr().err
    folder = tmp_path / "b"
    circuit = compile_files(
        folder / "circuit.params", folder / "circuit.vk", folder / "circuit.r1cs", tmp_path / "circuits"
    )
    for number in range(2):
        witness = np.fromfile(folder / f"witness-{number}.wtns", dtype="<u8", offset=76).reshape(-1, 4)
        vectors = synthesized(circuit, witness)
        proof = assemble(circuit, sums_of(circuit, vectors), Blinding.draw(Curve.BLS12_381))
        check(circuit, proof, vectors.public_bytes(circuit.ref.shape))
        prove_files(tmp_path / "s" / "circuit.zkey", tmp_path / "s" / f"witness-{number}.wtns", tmp_path)


def test_synthesis_is_measured_for_each_number_of_threads(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    made = (
        "bench",
        "make",
        "--shape",
        "snapdeals",
        "--log-n",
        "12",
        "--flavour",
        "none",
        "-o",
        str(tmp_path),
    )
    assert cli.main(made) == 0
    assert not (tmp_path / "circuit.params").exists()
    capsys.readouterr()
    assert cli.main(["bench", "synthesis", str(tmp_path), "--threads", "3", "--runs", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("4096 rows, ")
    assert [line.split()[0] for line in lines[2:]] == ["1", "2", "3"]
