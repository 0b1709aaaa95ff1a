"""A proving key file becomes a compiled circuit: read once, hashed, checked in full, written atomically.

The file is read in one pass from start to end, every byte hashed as it is copied; only copies are looked at.
So a circuit can never stand under the digest of another file, even if its owner changes the file meanwhile.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from cuzkd.formats.binfile import Stream
from cuzkd.formats.compiled import Array, Checks, find_compiled, has_key_of_size, point_shapes
from cuzkd.formats.compiled_writer import CompiledWriter
from cuzkd.formats.zkey import (
    COEFFICIENT,
    FORMAT,
    SECTION_A,
    SECTION_B1,
    SECTION_B2,
    SECTION_C,
    SECTION_COEFFICIENTS,
    SECTION_H,
    SECTION_HEADER,
    SECTION_IC,
    SECTION_PROTOCOL,
    Zkey,
    open_zkey,
)
from cuzkd.ingest.matrices import MatrixBuilder
from cuzkd.kernels.curve import Group, first_off_curve, first_outside_subgroup
from cuzkd.model import CircuitRef, CircuitShape, Curve

_ENTRIES_AT_ONCE = 1 << 17

_ARRAY_OF_SECTION = {
    SECTION_IC: "ic",
    SECTION_A: "a",
    SECTION_B1: "b1",
    SECTION_B2: "b2",
    SECTION_C: "c",
    SECTION_H: "h",
}
_IN_G2 = frozenset(("b2", "beta2", "gamma2", "delta2"))


def compile_zkey(
    fd: int, name: str, circuits_dir: Path, *, threads: int | None = None
) -> tuple[CircuitRef, bool]:
    """Validate the key file `fd` and write its compiled circuit; True with it when it was there before.

    `name` is for errors only; `threads` defaults to all cores. Raises BadFile, Unsupported or TooLarge for a
    key that cannot be proved with, naming section and entry, and ResourceExhausted when the disk is full;
    then nothing is left behind.
    """
    threads = threads or len(os.sched_getaffinity(0))
    zkey = open_zkey(fd, name)
    if has_key_of_size(circuits_dir, zkey.file.size):
        digest = Stream(fd, name, zkey.file.size).finish()
        found = find_compiled(circuits_dir, digest)
        if found is not None:
            return found.ref, True
    with CompiledWriter(circuits_dir) as writer:
        ref = _compile(zkey, writer, threads)
    return ref, False


def _compile(zkey: Zkey, writer: CompiledWriter, threads: int) -> CircuitRef:
    header = zkey.header
    # Rows are known only once the coefficients are read; the sizes of the points do not depend on them.
    bound = CircuitShape(
        header.curve, header.domain_size, header.num_vars, header.num_public, header.log_domain
    )
    arrays = {name: writer.allocate(name, "<u8", shape) for name, shape in point_shapes(bound).items()}
    for name, data in header.points.items():
        arrays[name][0] = np.frombuffer(data, dtype="<u8")
    builder = MatrixBuilder(zkey.file.name, header, threads)
    digest = _read_once(zkey, arrays, builder)
    _check_points(zkey, arrays, threads)

    a, b, values = builder.finish()
    writer.store("values", values)
    for matrix, rows in (("a", a), ("b", b)):
        writer.store(f"{matrix}.row_ptr", rows.row_ptr)
        writer.store(f"{matrix}.cols", rows.cols)
        writer.store(f"{matrix}.coeffs", rows.coeffs)
    shape = CircuitShape(
        header.curve, len(a.row_ptr) - 1, header.num_vars, header.num_public, header.log_domain
    )
    ref = CircuitRef(digest, shape)
    writer.publish(ref, zkey.file.size, Checks(on_curve=True, in_subgroup=True))
    return ref


def _read_once(zkey: Zkey, arrays: dict[str, Array], builder: MatrixBuilder) -> str:
    """Read the whole file in order: points into `arrays`, entries into `builder`; its SHA-256."""
    file = zkey.file
    stream = Stream(file.fd, file.name, file.size)
    stream.expect(file.preamble)
    for section in file.sections:
        stream.expect(section.header_bytes)
        if section.type == SECTION_PROTOCOL:
            stream.expect(zkey.protocol_bytes)
        elif section.type == SECTION_HEADER:
            stream.expect(zkey.header_bytes)
        elif section.type == SECTION_COEFFICIENTS:
            stream.expect(zkey.coefficients.to_bytes(4, "little"))
            _read_entries(stream, zkey.coefficients, builder)
        elif section.type in _ARRAY_OF_SECTION:
            stream.fill(arrays[_ARRAY_OF_SECTION[section.type]].data)
        else:
            stream.skip(section.size)
    return stream.finish()


def _read_entries(stream: Stream, count: int, builder: MatrixBuilder) -> None:
    buffer = np.empty(min(count, _ENTRIES_AT_ONCE), dtype=COEFFICIENT)
    for start in range(0, count, _ENTRIES_AT_ONCE):
        piece = buffer[: count - start]
        stream.fill(piece.view(np.uint8).data)
        builder.add(piece)


def _check_points(zkey: Zkey, arrays: dict[str, Array], threads: int) -> None:
    """BadFile naming the first point that is off its curve or outside the subgroup of order r."""
    places = {name: FORMAT.section_name(SECTION_HEADER) + f": {name}" for name in zkey.header.points}
    places |= {name: FORMAT.section_name(type_) for type_, name in _ARRAY_OF_SECTION.items()}
    curve = zkey.header.curve
    for name, place in places.items():
        group = Group.G2 if name in _IN_G2 else Group.G1
        fault, at = "not on the curve", first_off_curve(curve, group, arrays[name], threads=threads)
        # Every point of BN254's G1 is in the subgroup.
        if at is None and (curve, group) != (Curve.BN254, Group.G1):
            fault, at = (
                "not in the subgroup of order r",
                first_outside_subgroup(curve, group, arrays[name], threads=threads),
            )
        if at is not None:
            which = "the point" if name in zkey.header.points else f"point {at}"
            raise zkey.file.error(f"{place}: {which} is {fault}")
