"""Brings a partition's witness straight into the segment's z: from a file, or computed from inputs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from cuzkd.circom.inputs import InputLimits, parse_inputs
from cuzkd.circom.wasm import WitnessProgram
from cuzkd.errors import BadWitness, CuzkdError, ResourceExhausted
from cuzkd.formats.assignment import Assignment
from cuzkd.formats.binfile import read_exactly
from cuzkd.formats.payload import open_payload
from cuzkd.formats.wtns import Wtns
from cuzkd.kernels.evaluate import first_broken
from cuzkd.kernels.field import first_noncanonical
from cuzkd.model import SCALAR_BYTES, CircuitShape
from cuzkd.vectors import LIMBS, Scalars, Vectors

_VALUES_AT_ONCE = 1 << 15


def read_partition(path: Path, name: str, shape: CircuitShape, vectors: Vectors, threads: int) -> bool:
    """Fill z, and a, b, c too where the file has them (True), from the file at `path`, in whichever form it is.

    `BadFile` for a damaged file, `BadWitness` for one of another circuit, curve or length, whose wire 0 is
    not one, with a value that is not below the field's order, or whose a, b, c break a constraint.
    """
    with _opened(path, name) as fd:
        payload = open_payload(fd, name, shape)
        if not isinstance(payload, Assignment):
            offset = payload.offset if isinstance(payload, Wtns) else 0
            _read_values(fd, name, offset, vectors.z, shape, "wire", threads)
            return False
        parts = (("wire", vectors.z), ("a: row", vectors.a), ("b: row", vectors.b), ("c: row", vectors.c))
        for (what, values), offset in zip(parts, payload.offsets, strict=True):
            _read_values(fd, name, offset, values, shape, what, threads)
    broken = first_broken(shape.curve, vectors.a, vectors.b, vectors.c, threads=threads)
    if broken is not None:
        raise BadWitness(f"{name}: constraint {broken} is not satisfied: c is not the product of a and b")
    return True


def read_witness(path: Path, name: str, shape: CircuitShape, z: Scalars, threads: int) -> None:
    """Fill `z`, (num_vars, 4) canonical, from a file that is no synthesized partition; errors as `read_partition`."""
    none = np.empty((0, LIMBS), dtype=np.uint64)
    if read_partition(path, name, shape, Vectors(none, none, none, z), threads):
        raise BadWitness(f"{name}: a synthesized partition is no witness")


def _read_values(
    fd: int, name: str, offset: int, out: Scalars, shape: CircuitShape, what: str, threads: int
) -> None:
    """Fill `out` from byte `offset`, every value checked while it is in cache, several pieces at a time."""

    def read(begin: int) -> int | None:
        piece = out[begin : begin + _VALUES_AT_ONCE]
        read_exactly(fd, name, piece.data, offset + begin * SCALAR_BYTES)
        bad = first_noncanonical(shape.curve, piece, threads=1)
        return None if bad is None else begin + bad

    begins = range(0, len(out), _VALUES_AT_ONCE)
    if len(begins) <= 1 or threads == 1:
        found = [read(begin) for begin in begins]
    else:
        with ThreadPoolExecutor(threads) as pool:
            found = list(pool.map(read, begins))
    bad = next((index for index in found if index is not None), None)
    if bad is not None:
        raise BadWitness(f"{name}: {what} {bad} is not below the order of {shape.curve}")
    if what == "wire" and out[0].tolist() != [1, 0, 0, 0]:
        raise BadWitness(f"{name}: wire 0 is not one")


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
