"""Brings a partition's witness straight into the segment's z: from a `.wtns` file, or computed from inputs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cuzkd.circom.inputs import InputLimits, parse_inputs
from cuzkd.circom.wasm import WitnessProgram
from cuzkd.errors import BadWitness, CuzkdError, ResourceExhausted
from cuzkd.formats.wtns import open_wtns
from cuzkd.kernels.field import first_noncanonical
from cuzkd.model import CircuitShape
from cuzkd.vectors import Scalars


def read_witness(path: Path, name: str, shape: CircuitShape, z: Scalars, threads: int) -> None:
    """Fill `z`, (num_vars, 4) canonical, from the `.wtns` file at `path`.

    `BadFile` for a damaged file, `BadWitness` for one of another circuit, curve or length, whose wire 0 is
    not one, or with a value that is not below the field's order.
    """
    with _opened(path, name) as fd:
        witness = open_wtns(fd, name)
        witness.check_belongs_to(shape)
        witness.read_into(z)
    wire = first_noncanonical(shape.curve, z, threads=threads)
    if wire is not None:
        raise BadWitness(f"{name}: wire {wire} is not below the order of {shape.curve}")


def compute_witness(path: Path, name: str, program: WitnessProgram, z: Scalars) -> None:
    """Fill `z`, (num_vars, 4) canonical, with the program's witness of the JSON inputs at `path`.

    The program has the circuit's prime and number of wires. Raises what `parse_inputs` and
    `WitnessProgram.calculate` raise, which name signals but never values.
    """
    limits = InputLimits()
    with _opened(path, name) as fd, open(fd, "rb", closefd=False) as file:
        data = file.read(limits.size_bytes + 1)
    try:
        program.calculate(parse_inputs(data, limits), z)
    except CuzkdError as error:
        raise type(error)(f"{name}: {error.message}", advice=error.advice) from error
    if z[0].tolist() != [1, 0, 0, 0]:
        raise BadWitness(f"{name}: the witness program's wire 0 is not one")


@contextmanager
def _opened(path: Path, name: str) -> Iterator[int]:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError as error:
        raise ResourceExhausted(f"{name} cannot be read from the spool: {error.strerror}") from error
    try:
        yield fd
    finally:
        os.close(fd)
