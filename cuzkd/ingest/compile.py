"""A proving key file becomes a compiled circuit: read once, hashed, checked in full, written atomically.

The file is read in one pass from start to end, every byte hashed as it is copied; only copies are looked at.
So a circuit can never stand under the digest of another file, even if its owner changes the file meanwhile.
Each piece is checked while the next one is read.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from cuzkd.formats.binfile import BinFile, Section, Stream
from cuzkd.formats.compiled import Array, find_compiled, has_key_of_size, point_shapes
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
from cuzkd.ingest.behind import Behind
from cuzkd.ingest.matrices import MatrixBuilder, Rows
from cuzkd.ingest.progress import Report, unreported
from cuzkd.ipc.requests import PointChecks
from cuzkd.kernels.curve import Group, first_off_curve
from cuzkd.kernels.subgroup import POINTS_AT_ONCE, first_outside
from cuzkd.model import CircuitRef, CircuitShape

_ENTRIES_AT_ONCE = 1 << 17
_HASHED_AT_ONCE = 1 << 26

_ARRAY_OF_SECTION = {
    SECTION_IC: "ic",
    SECTION_A: "a",
    SECTION_B1: "b1",
    SECTION_B2: "b2",
    SECTION_C: "c",
    SECTION_H: "h",
}
_IN_G2 = frozenset(("b2", "beta2", "gamma2", "delta2"))
_BYTES_OF_ENTRY = 8
"""A column and the number of a coefficient."""


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

    `name` is for errors and stages only; `threads` defaults to all cores. A circuit that is there is made again if
    less was checked of its points than `points` asks for. `report` gets bytes of the file. Raises BadFile,
    Unsupported or TooLarge for a key that cannot be proved with, naming section and entry, and ResourceExhausted
    when the disk is full; then nothing is left behind.
    """
    zkey = open_zkey(fd, name)
    if has_key_of_size(circuits_dir, zkey.file.size):
        found = find_compiled(circuits_dir, _digest(zkey.file, report))
        if found is not None and found.satisfies(points):
            return found.ref, True
    with CompiledWriter(circuits_dir) as writer:
        compilation = _Compilation(zkey, writer, threads or len(os.sched_getaffinity(0)), points, report)
        return compilation.run(), False


def _digest(file: BinFile, report: Report) -> str:
    stream = Stream(file.fd, file.name, file.size)
    while stream.position < file.size:
        report(f"reading {file.name}", stream.position, file.size)
        stream.skip(min(_HASHED_AT_ONCE, file.size - stream.position))
    return stream.finish()


class _Compilation:
    """One key on its way into a writer."""

    def __init__(
        self, zkey: Zkey, writer: CompiledWriter, threads: int, points: PointChecks, report: Report
    ) -> None:
        self._zkey = zkey
        self._file = zkey.file
        self._writer = writer
        self._threads = threads
        self._points = points
        self._report = report
        self._stream = Stream(zkey.file.fd, zkey.file.name, zkey.file.size)
        self._matrices = MatrixBuilder(zkey.file.name, zkey.header, zkey.coefficients, threads)

    def run(self) -> CircuitRef:
        header = self._zkey.header
        arrays = self._allocate()
        for name, data in header.points.items():
            arrays[name][0] = np.frombuffer(data, dtype="<u8")
            self._check_points(f"{FORMAT.section_name(SECTION_HEADER)}: {name}: the", name, arrays[name])
        digest = self._read_once(arrays)

        self._report(f"writing {self._file.name}", self._file.size, self._file.size)
        rows = self._store_matrices()
        shape = CircuitShape(header.curve, rows, header.num_vars, header.num_public, header.log_domain)
        ref = CircuitRef(digest, shape)
        self._writer.publish(ref, self._file.size, self._points)
        return ref

    def _allocate(self) -> dict[str, Array]:
        # Rows are known only once the coefficients are read; the sizes of the points do not depend on them.
        header = self._zkey.header
        bound = CircuitShape(
            header.curve, header.domain_size, header.num_vars, header.num_public, header.log_domain
        )
        shapes = point_shapes(bound)
        of_points = sum(8 * count * limbs for count, limbs in shapes.values())
        self._writer.expect(of_points + _BYTES_OF_ENTRY * self._zkey.coefficients)
        return {name: self._writer.allocate(name, "<u8", shape) for name, shape in shapes.items()}

    def _read_once(self, arrays: dict[str, Array]) -> str:
        """Read the whole file in order: points into `arrays`, entries into the matrices; its SHA-256."""
        stream = self._stream
        stream.expect(self._file.preamble)
        with Behind() as behind:
            for section in self._file.sections:
                stream.expect(section.header_bytes)
                if section.type == SECTION_PROTOCOL:
                    stream.expect(self._zkey.protocol_bytes)
                elif section.type == SECTION_HEADER:
                    stream.expect(self._zkey.header_bytes)
                elif section.type == SECTION_COEFFICIENTS:
                    stream.expect(self._zkey.coefficients.to_bytes(4, "little"))
                    self._read_entries(section, behind)
                elif section.type in _ARRAY_OF_SECTION:
                    name = _ARRAY_OF_SECTION[section.type]
                    self._read_points(section, name, arrays[name], behind)
                else:
                    stream.skip(section.size)
            behind.wait()
        return stream.finish()

    def _read_entries(self, section: Section, behind: Behind) -> None:
        for start in range(0, self._zkey.coefficients, _ENTRIES_AT_ONCE):
            self._tell(f"reading {FORMAT.section_name(section.type)}")
            piece = np.empty(min(_ENTRIES_AT_ONCE, self._zkey.coefficients - start), dtype=COEFFICIENT)
            self._stream.fill(piece.view(np.uint8).data)
            behind.run(self._matrices.add, piece)

    def _read_points(self, section: Section, name: str, points: Array, behind: Behind) -> None:
        place = FORMAT.section_name(section.type)
        for start in range(0, len(points), POINTS_AT_ONCE):
            self._tell(f"checking points of {place}")
            piece = points[start : start + POINTS_AT_ONCE]
            self._stream.fill(piece.data)
            behind.run(self._check_points, f"{place}:", name, piece, start)

    def _tell(self, stage: str) -> None:
        self._report(stage, self._stream.position, self._file.size)

    def _check_points(self, place: str, name: str, points: Array, first: int | None = None) -> None:
        """BadFile naming the first point that is off its curve or, if that is to be checked, not of order r."""
        curve, group = self._zkey.header.curve, Group.G2 if name in _IN_G2 else Group.G1
        check = first_outside if self._points is PointChecks.FULL else first_off_curve
        at = check(curve, group, points, threads=self._threads)
        if at is None:
            return
        off = first_off_curve(curve, group, points[at : at + 1], threads=1) is not None
        fault = "not on the curve" if off else "not in the subgroup of order r"
        which = "point" if first is None else f"point {first + at}"
        raise self._file.error(f"{place} {which} is {fault}")

    def _store_matrices(self) -> int:
        """Put the matrices into the writer; how many rows they have."""
        self._writer.store("values", self._matrices.values())
        for number, matrix in enumerate("ab"):
            self._store_rows(matrix, self._matrices.matrix(number))
        return self._matrices.rows

    def _store_rows(self, matrix: str, rows: Rows) -> None:
        self._writer.store(f"{matrix}.row_ptr", rows.row_ptr)
        self._writer.store(f"{matrix}.cols", rows.cols)
        self._writer.store(f"{matrix}.coeffs", rows.coeffs)
