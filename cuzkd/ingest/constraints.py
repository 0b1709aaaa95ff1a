"""An `.r1cs` becomes the kept matrix C of a circuit, once it is certain that it is the circuit's own.

It is the circuit's own if it has the key's curve, wires and public wires, and matrices A and B that give what the
key's give at a random point: different ones would agree there with a probability of one in r.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NoReturn

import numpy as np

from cuzkd.atomic import NewDirectory
from cuzkd.errors import Refused, ResourceExhausted, TooLarge
from cuzkd.formats.binfile import file_size
from cuzkd.formats.compiled import CompiledCircuit, read_manifest
from cuzkd.formats.constraints import KeptConstraints, has_constraints, write_constraints
from cuzkd.formats.r1cs import R1cs, R1csHeader, Terms, read_header, read_r1cs
from cuzkd.ingest.spool import copy_payload
from cuzkd.kernels.evaluate import evaluate
from cuzkd.kernels.field import to_montgomery
from cuzkd.model import CircuitShape
from cuzkd.vectors import LIMBS, Scalars

_COPY = "circuit.r1cs"
_TIMES_THE_KEY = 4
_AND_MORE_BYTES = 64 << 20
_ADVICE = "give the .r1cs and the .zkey that were made for one circuit"


def keep_constraints(
    fd: int, name: str, circuit: CompiledCircuit, folder: Path, *, threads: int
) -> tuple[str, bool]:
    """Check the `.r1cs` file `fd` against the circuit and keep its C in `folder`: its digest, whether it was there.

    What is kept is read from a private copy only, so what is kept under a digest is of the file that has it. Raises
    BadFile or Unsupported for a file that is no such file or has custom gates, Refused for another circuit's, TooLarge
    for one that is far larger than the key, and ResourceExhausted when the disk is full; then nothing is left behind.
    """
    _check_header(read_header(fd, name), circuit.ref.shape, name)
    most_bytes = require_size_for_key(fd, name, read_manifest(circuit.path).key_bytes)
    with NewDirectory(folder) as new:
        digest = copy_payload(fd, name, new.path / _COPY, most_bytes).digest
        copy = os.open(new.path / _COPY, os.O_RDONLY | os.O_CLOEXEC)
        try:
            (new.path / _COPY).unlink()
            _check_header(read_header(copy, name), circuit.ref.shape, name)
            r1cs = read_r1cs(copy, name)
        finally:
            os.close(copy)
        check_matrices(r1cs, circuit, name, threads)
        if has_constraints(folder, digest):
            return digest, True
        c = r1cs.c.matrix(r1cs.curve, threads=threads)
        try:
            write_constraints(new, KeptConstraints(r1cs.curve, r1cs.num_vars, c), digest)
        except OSError as error:
            raise ResourceExhausted(
                f"the constraints of {name} could not be kept: {error.strerror}"
            ) from error
    return digest, False


def require_size_for_key(fd: int, name: str, key_bytes: int) -> int:
    """`TooLarge` for matrices far larger than their key: in practice they are smaller. Returns the most bytes allowed.

    A sparse file would cost its owner nothing, and its copy all the disk.
    """
    most_bytes = _TIMES_THE_KEY * key_bytes + _AND_MORE_BYTES
    if (size := file_size(fd, name)) > most_bytes:
        raise TooLarge(f"{name} has {size} bytes; for a key of this size {most_bytes} are the most")
    return most_bytes


def check_matrices(r1cs: R1cs, circuit: CompiledCircuit, name: str, threads: int) -> None:
    """Refused unless A and B of both give the same at a random point."""
    z = random_point(r1cs.num_vars)
    for terms, matrix, bound in ((r1cs.a, circuit.matrix_a, True), (r1cs.b, circuit.matrix_b, False)):
        ours, keys = (np.zeros((circuit.ref.shape.rows, LIMBS), dtype=np.uint64) for _ in range(2))
        evaluate(r1cs.curve, matrix, z, keys, threads=threads)
        _evaluate_rows(r1cs, terms, z, ours, threads)
        if bound:
            ours[r1cs.constraints :] = to_montgomery(r1cs.curve, z[: r1cs.num_public + 1], threads=threads)
        row = first_difference(ours, keys)
        if row is not None:
            letter = "A" if bound else "B"
            _not_of_this_key(name, f"row {row} of its matrix {letter} is not that of the key")


def random_point(num_vars: int) -> Scalars:
    """A value for each wire, (num_vars, 4), uniform below 2^253 and so canonical on either curve."""
    z = np.frombuffer(bytearray(os.urandom(num_vars * LIMBS * 8)), dtype=np.uint64).reshape(num_vars, LIMBS)
    z[:, LIMBS - 1] >>= np.uint64(3)
    return z


def first_difference(one: Scalars, other: Scalars) -> int | None:
    """The first row in which two (n, 4) arrays differ."""
    differ = (one != other).any(axis=1)
    return int(differ.argmax()) if differ.any() else None


def _check_header(header: R1csHeader, shape: CircuitShape, name: str) -> None:
    if header.curve is not shape.curve:
        _not_of_this_key(name, f"it is over {header.curve}, the key over {shape.curve}")
    rows = header.constraints + header.num_public + 1
    for what, of_r1cs, of_key in (
        ("wires", header.num_vars, shape.num_vars),
        ("public wires", header.num_public, shape.num_public),
        ("constraints and wires to bind", rows, shape.rows),
    ):
        if of_r1cs != of_key:
            _not_of_this_key(name, f"it has {of_r1cs} {what}, the key {of_key}")


def _evaluate_rows(r1cs: R1cs, terms: Terms, z: Scalars, out: Scalars, threads: int) -> None:
    if r1cs.constraints:
        matrix = terms.matrix(r1cs.curve, threads=threads)
        evaluate(r1cs.curve, matrix, z, out[: r1cs.constraints], threads=threads)


def _not_of_this_key(name: str, why: str) -> NoReturn:
    raise Refused(f"{name} is not the constraint system of this key: {why}", advice=_ADVICE)
