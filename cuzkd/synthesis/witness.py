"""Reads a spooled witness straight into the segment's z, and refuses one that is not the circuit's."""

from __future__ import annotations

import os
from pathlib import Path

from cuzkd.errors import BadWitness, ResourceExhausted
from cuzkd.formats.wtns import open_wtns
from cuzkd.kernels.field import first_noncanonical
from cuzkd.model import CircuitShape
from cuzkd.vectors import Scalars


def read_witness(path: Path, name: str, shape: CircuitShape, z: Scalars, threads: int) -> None:
    """Fill `z`, (num_vars, 4) canonical, from the `.wtns` file at `path`.

    `BadFile` for a damaged file, `BadWitness` for one of another circuit, curve or length, whose wire 0 is
    not one, or with a value that is not below the field's order.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError as error:
        raise ResourceExhausted(f"{name} cannot be read from the spool: {error.strerror}") from error
    try:
        witness = open_wtns(fd, name)
        witness.check_belongs_to(shape)
        witness.read_into(z)
    finally:
        os.close(fd)
    wire = first_noncanonical(shape.curve, z, threads=threads)
    if wire is not None:
        raise BadWitness(f"{name}: wire {wire} is not below the order of {shape.curve}")
