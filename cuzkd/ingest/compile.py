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
from cuzkd.ingest.progress import Report, unreported
from cuzkd.ipc.messages import PointChecks
from cuzkd.kernels.curve import Group, first_off_curve, first_outside_subgroup
from cuzkd.model import CircuitRef, CircuitShape, Curve

_ENTRIES_AT_ONCE = 1 << 17
_POINTS_AT_ONCE = 1 << 14

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
    fd: int,
    name: str,
    circuits_dir: Path,
    *,
    threads: int | None = None,
    points: PointChecks = PointChecks.FULL,
    report: Report = unreported,
) -> tuple[CircuitRef, bool]:
    """Validate the key file `fd` and write its compiled circuit; True with it when it was there before.

    `name` is for errors and progress only; `threads` defaults to all cores. With `points` CURVE the subgroup
    test is left out, and the circuit's manifest says so; a circuit that was checked less than is asked for is
    made again. Raises BadFile, Unsupported or TooLarge for a key that cannot be proved with, naming section
    and entry, and ResourceExhausted when the disk is full; then nothing is left behind.
    """
    threads = threads or len(os.sched_getaffinity(0))
    zkey = open_zkey(fd, name)
    wanted = Checks(on_curve=True, in_subgroup=points is PointChecks.FULL)
    if has_key_of_size(circuits_dir, zkey.file.size):
        digest = Stream(fd, name, zkey.file.size).finish()
        found = find_compiled(circuits_dir, digest)
        if found is not None and found.checks.cover(wanted):
            return found.ref, True
    with CompiledWriter(circuits_dir) as writer:
        ref = _compile(zkey, writer, wanted, threads, report)
    return ref, False


def _compile(zkey: Zkey, writer: CompiledWriter, wanted: Checks, threads: int, report: Report) -> CircuitRef:
    header = zkey.header
    # Rows are known only once the coefficients are read; the sizes of the points do not depend on them.
    bound = CircuitShape(
        header.curve, header.domain_size, header.num_vars, header.num_public, header.log_domain
    )
    arrays = {name: writer.allocate(name, "<u8", shape) for name, shape in point_shapes(bound).items()}
    for name, data in header.points.items():
        arrays[name][0] = np.frombuffer(data, dtype="<u8")
    builder = MatrixBuilder(zkey.file.name, header, threads)
    digest = _read_once(zkey, arrays, builder, report)
    _check_points(zkey, arrays, wanted, threads, report)

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
    writer.publish(ref, zkey.file.size, wanted)
    return ref


def _read_once(zkey: Zkey, arrays: dict[str, Array], builder: MatrixBuilder, report: Report) -> str:
    """Read the whole file in order: points into `arrays`, entries into `builder`; its SHA-256."""
    file = zkey.file
    stream = Stream(file.fd, file.name, file.size)
    stream.expect(file.preamble)
    for section in file.sections:
        report(f"reading {file.name}", stream.position, file.size)
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


def _check_points(zkey: Zkey, arrays: dict[str, Array], wanted: Checks, threads: int, report: Report) -> None:
    """BadFile naming the first point that is off its curve or, if wanted, outside the subgroup of order r."""
    places = {name: FORMAT.section_name(SECTION_HEADER) + f": {name}" for name in zkey.header.points}
    places |= {name: FORMAT.section_name(type_) for type_, name in _ARRAY_OF_SECTION.items()}
    curve = zkey.header.curve
    for name, place in places.items():
        group = Group.G2 if name in _IN_G2 else Group.G1
        # Every point of BN254's G1 is in the subgroup.
        subgroup = wanted.in_subgroup and (curve, group) != (Curve.BN254, Group.G1)
        stage = f"checking points of {place}"
        for begin in range(0, len(arrays[name]), _POINTS_AT_ONCE):
            report(stage, begin, len(arrays[name]))
            points = arrays[name][begin : begin + _POINTS_AT_ONCE]
            fault, at = "not on the curve", first_off_curve(curve, group, points, threads=threads)
            if at is None and subgroup:
                fault = "not in the subgroup of order r"
                at = first_outside_subgroup(curve, group, points, threads=threads)
            if at is not None:
                which = "the point" if name in zkey.header.points else f"point {begin + at}"
                raise zkey.file.error(f"{place}: {which} is {fault}")
