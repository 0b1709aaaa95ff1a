"""`cuzkd bench`: circuits with the shape of real ones, their keys and witnesses, and what synthesis takes over them."""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from cuzkd import parsing, shell, streams
from cuzkd.cli_setup import NOTE, WARNING, add_threads, new_files, opened, outputs, shown
from cuzkd.errors import BadRequest, BadWitness
from cuzkd.model import CircuitShape, Curve, Flavour
from cuzkd.progress import add_argument

if TYPE_CHECKING:
    from cuzkd.formats.system import ConstraintSystem
    from cuzkd.setup.shaped import ShapedCircuit

SHAPES = ("dense", "winningpost", "snapdeals", "porep")

_MAKE = f"""\
Write a circuit of a chosen shape and size with a key and witnesses into DIR:
circuit.r1cs, circuit.params and circuit.vk (or circuit.zkey), witness-0.wtns ...
The key is {WARNING}.
"""

_SYNTHESIS = """\
Measure synthesis over what `cuzkd bench make` wrote into DIR: a witness is read
and the constraints are evaluated, into memory that is there already, as in a
segment of the pool. Prints the best of some runs for each number of threads.
"""


def add(commands: argparse._SubParsersAction[parsing.Parser]) -> None:
    """Add the subcommand."""
    bench = commands.add_parser("bench", help="make circuits to measure with, and measure")
    actions = bench.add_subparsers(metavar="ACTION", required=True)
    raw = argparse.RawDescriptionHelpFormatter
    make = actions.add_parser(
        "make", help="write a circuit, a key and witnesses", description=_MAKE, formatter_class=raw
    )
    make.add_argument("--shape", required=True, choices=SHAPES, help="what the circuit is to look like")
    make.add_argument("--log-n", required=True, type=int, metavar="K", help="its domain has 2^K points")
    make.add_argument("-o", "--output", required=True, metavar="DIR", type=Path, help="where to write")
    make.add_argument("--witnesses", metavar="M", type=int, default=1, help="how many (default: 1)")
    make.add_argument("--curve", choices=[str(c) for c in Curve], default=str(Curve.BLS12_381))
    make.add_argument(
        "--flavour",
        choices=[*map(str, Flavour), "none"],
        help="whose kind of key (default: bellperson on bls12381, snarkjs on bn128; none: no key)",
    )
    add_threads(make)
    add_argument(make)
    make.set_defaults(run=_make)
    synthesis = actions.add_parser(
        "synthesis", help="measure synthesis", description=_SYNTHESIS, formatter_class=raw
    )
    synthesis.add_argument("directory", metavar="DIR", type=Path, help="what `bench make` wrote")
    synthesis.add_argument("--runs", metavar="N", type=int, default=10, help="default: 10")
    add_threads(synthesis)
    shell.add_json(synthesis)
    synthesis.set_defaults(run=_synthesis)


# ---- make


def _make(arguments: argparse.Namespace) -> int:
    from cuzkd.setup.shaped import ShapedCircuit
    from cuzkd.setup.shapes import Shape

    curve = Curve(arguments.curve)
    circuit = ShapedCircuit.of(Shape(arguments.shape), curve, arguments.log_n)
    folder: Path = arguments.output
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise shell.UsageError(f"{folder}: {error.strerror}") from error
    streams.complain(f"cuzkd bench: its key is {WARNING}")
    _make_circuit(arguments, circuit, _flavour(arguments.flavour, curve))
    for number in range(arguments.witnesses):
        _make_witness(folder / f"witness-{number}.wtns", circuit, number, arguments.threads)
    return shell.ExitCode.DONE


def _flavour(wanted: str | None, curve: Curve) -> Flavour | None:
    if wanted == "none":
        return None
    if wanted is not None:
        return Flavour(wanted)
    return Flavour.BELLPERSON if curve is Curve.BLS12_381 else Flavour.SNARKJS


def _make_circuit(arguments: argparse.Namespace, circuit: ShapedCircuit, flavour: Flavour | None) -> None:
    from cuzkd.formats.r1cs_writer import write_r1cs

    folder: Path = arguments.output
    begin = time.monotonic()
    system = circuit.system()
    with new_files([folder / "circuit.r1cs"]) as (file,):
        write_r1cs(file, system)
    _say(folder / "circuit.r1cs", begin)
    if flavour is not None:
        _make_key(arguments, system, flavour)


def _make_key(arguments: argparse.Namespace, system: ConstraintSystem, flavour: Flavour) -> None:
    from cuzkd.setup.files import make_key
    from cuzkd.setup.secrets import Generators, ToxicWaste

    begin = time.monotonic()
    name = "circuit.zkey" if flavour is Flavour.SNARKJS else "circuit.params"
    targets = outputs(str(arguments.output / name), flavour)
    waste, generators = ToxicWaste.draw(system.curve, flavour), Generators.standard(system.curve)
    with shown(arguments) as report, new_files(targets) as files:
        make_key(system, flavour, waste, generators, files, NOTE, arguments.threads, report)
    _say(targets[0], begin)


def _make_witness(target: Path, circuit: ShapedCircuit, number: int, threads: int) -> None:
    from cuzkd.formats.wtns_writer import write_wtns

    begin = time.monotonic()
    with new_files([target]) as (file,):
        write_wtns(file, circuit.curve, circuit.witness(number, threads))
    _say(target, begin)


def _say(written: Path, begin: float) -> None:
    streams.say(f"{written}: {written.stat().st_size} bytes in {time.monotonic() - begin:.1f} s", flush=True)


# ---- synthesis


def _synthesis(arguments: argparse.Namespace) -> int:
    from cuzkd.formats.r1cs import read_r1cs
    from cuzkd.formats.system import constraint_system

    name = str(arguments.directory / "circuit.r1cs")
    with opened(name) as file:
        system = constraint_system(read_r1cs(file.fileno(), name), threads=arguments.threads)
    if arguments.runs < 1:
        raise BadRequest("a measurement takes one run or more")
    found = {}
    counts = sorted({1 << k for k in range(arguments.threads.bit_length())} | {arguments.threads})
    for threads in (n for n in counts if n <= arguments.threads):
        found[threads] = _best(system, arguments.directory / "witness-0.wtns", arguments.runs, threads)
    _tell(arguments, system, found)
    return shell.ExitCode.DONE


def _best(system: ConstraintSystem, witness: Path, runs: int, threads: int) -> tuple[float, float]:
    """Seconds of the best run: for the witness, and for the evaluations."""
    import numpy as np

    from cuzkd.formats.system import with_empty_rows
    from cuzkd.kernels.evaluate import evaluate_constraints
    from cuzkd.synthesis.witness import read_partition
    from cuzkd.vectors import LIMBS, Vectors

    shape = CircuitShape(system.curve, system.rows, system.num_vars, system.num_public, system.log_domain)
    b, c = (with_empty_rows(matrix, system.rows) for matrix in (system.b, system.c))
    # touched, as a segment is before it is lent
    lengths = (system.rows, system.rows, system.rows, system.num_vars)
    of_a, of_b, of_c, z = (np.full((length, LIMBS), 1, dtype=np.uint64) for length in lengths)
    vectors = Vectors(of_a, of_b, of_c, z)
    best = (float("inf"), float("inf"))
    for _ in range(runs):
        begin = time.perf_counter()
        read_partition(witness, witness.name, shape, vectors, threads)
        read = time.perf_counter()
        broken = evaluate_constraints(
            system.curve, system.a, b, c, vectors.z, (vectors.a, vectors.b, vectors.c), threads=threads
        )
        end = time.perf_counter()
        if broken is not None:
            raise BadWitness(f"{witness}: constraint {broken} is not satisfied")
        best = min(best, (read - begin, end - read), key=sum)
    return best


def _tell(
    arguments: argparse.Namespace, system: ConstraintSystem, found: dict[int, tuple[float, float]]
) -> None:
    entries = system.a.entries + system.b.entries + system.c.entries
    alone = sum(found[1])
    rows = [
        {
            "threads": threads,
            "witness_s": round(witness_s, 4),
            "evaluate_s": round(evaluate_s, 4),
            "total_s": round(witness_s + evaluate_s, 4),
            "ns_per_non_zero": round(1e9 * evaluate_s / entries, 2),
            "scaling": round(alone / threads / (witness_s + evaluate_s), 3),
        }
        for threads, (witness_s, evaluate_s) in found.items()
    ]
    if arguments.json:
        shell.print_json({"rows": system.rows, "non_zeros": entries, "cores": os.cpu_count(), "runs": rows})
        return
    streams.say(f"{system.rows} rows, {entries} non-zeros, {system.num_vars} wires")
    streams.say("threads  witness  evaluate    total  ns a non-zero  scaling")
    for row in rows:
        streams.say(
            f"{row['threads']:7}  {row['witness_s']:7.4f}  {row['evaluate_s']:8.4f}  {row['total_s']:7.4f}"
            f"  {row['ns_per_non_zero']:13.2f}  {100 * row['scaling']:6.0f} %"
        )
