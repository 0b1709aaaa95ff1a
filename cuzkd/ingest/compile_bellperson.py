"""A bellperson key and its circuit's matrices become a compiled circuit: read once, hashed, checked, kept whole.

A key knows how many wires have a base, the matrices which ones: both must agree. Only private copies of the matrices
are looked at, and of the key what is used is what was hashed, so a circuit never stands under another's digest.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from cuzkd.atomic import NewDirectory
from cuzkd.errors import Refused, Unsupported
from cuzkd.formats.bellperson import CURVE, HEADER, QUERIES, BellpersonKey, PointReader, open_params, open_vk
from cuzkd.formats.binfile import Stream
from cuzkd.formats.compiled import Array, Density, find_compiled, has_key_of_size, point_shapes
from cuzkd.formats.compiled_writer import CompiledWriter
from cuzkd.formats.r1cs import read_r1cs
from cuzkd.formats.recorded import read_recorded
from cuzkd.formats.system import ConstraintSystem, constraint_system, occurring, with_empty_rows
from cuzkd.ingest.behind import Behind
from cuzkd.ingest.constraints import require_size_for_key
from cuzkd.ingest.progress import Report, unreported
from cuzkd.ingest.spool import copy_payload
from cuzkd.ipc.requests import PointChecks
from cuzkd.kernels.subgroup import POINTS_AT_ONCE
from cuzkd.kernels.uncompressed import point_bytes
from cuzkd.model import CircuitRef, CircuitShape, Flavour

_ARRAY_OF_SECTION = {"ic": "ic", "h": "h", "l": "c", "a": "a", "b_g1": "b1", "b_g2": "b2"}
_ADVICE = "give the key and the matrices that were made for one circuit"
_BYTES_OF_ENTRY = 8
"""A column and the number of a coefficient."""


@dataclass(frozen=True, slots=True)
class Source:
    """An open file and how errors call it."""

    fd: int
    name: str


@dataclass(frozen=True, slots=True)
class BellpersonFiles:
    """What a bellperson circuit is added from: `recorded` says whether matrices are a `.pce` rather than an `.r1cs`."""

    params: Source
    vk: Source
    matrices: Source
    recorded: bool


def compile_bellperson(
    files: BellpersonFiles,
    circuits_dir: Path,
    *,
    threads: int | None = None,
    points: PointChecks = PointChecks.FULL,
    report: Report = unreported,
) -> tuple[CircuitRef, bool]:
    """Validate the files and write the compiled circuit; True with it when it was there before.

    The circuit's digest is that of the three files' digests. `report` gets bytes of the key. Raises BadFile,
    Unsupported or TooLarge for a file that is no such file, naming section and entry; Refused for files that are not
    of one circuit; ResourceExhausted when the disk is full. Then nothing is left behind.
    """
    key = open_params(files.params.fd, files.params.name)
    vk = open_vk(files.vk.fd, files.vk.name)
    most_bytes = require_size_for_key(files.matrices.fd, files.matrices.name, key.size)
    with NewDirectory(circuits_dir) as private:
        copy = private.path / "matrices"
        copied = copy_payload(files.matrices.fd, files.matrices.name, copy, most_bytes)
        of_vk = _read_vk(files.vk, vk)
        key_bytes = key.size + vk.size + copied.size_bytes
        if has_key_of_size(circuits_dir, key_bytes):
            found = find_compiled(
                circuits_dir, _digest(_hash(files.params, key.size, report), of_vk, copied.digest)
            )
            if found is not None and found.satisfies(points):
                return found.ref, True
        cores = threads or len(os.sched_getaffinity(0))
        report(f"reading {files.matrices.name}", 0, 0)
        system = _read_system(copy, files, cores)
    with CompiledWriter(circuits_dir) as writer:
        compilation = _Compilation(files, key, system, writer, cores, points, report)
        return compilation.run(of_vk, copied.digest, key_bytes), False


def _read_vk(source: Source, vk: BellpersonKey) -> bytes:
    """The whole file; it is bounded by the number of public inputs that a key may have."""
    data = bytearray(vk.size)
    Stream(source.fd, source.name, vk.size).fill(memoryview(data))
    return bytes(data)


def _hash(source: Source, size: int, report: Report) -> str:
    stream = Stream(source.fd, source.name, size)
    while stream.position < size:
        report(f"reading {source.name}", stream.position, size)
        stream.skip(min(1 << 26, size - stream.position))
    return stream.finish()


def _digest(params: str, vk: bytes, matrices: str) -> str:
    parts = (Flavour.BELLPERSON, params, hashlib.sha256(vk).hexdigest(), matrices)
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _read_system(copy: Path, files: BellpersonFiles, threads: int) -> ConstraintSystem:
    name = files.matrices.name
    with copy.open("rb") as file:
        if files.recorded:
            return read_recorded(file.fileno(), name, threads=threads).merged()
        r1cs = read_r1cs(file.fileno(), name)
    if r1cs.curve is not CURVE:
        raise Unsupported(f"{name}: it is over {r1cs.curve}, and bellperson's keys are over {CURVE}")
    return constraint_system(r1cs, threads=threads).merged()


@dataclass(frozen=True, slots=True)
class Dense:
    """The wires that have a base, (n,) uint32, rising."""

    a: npt.NDArray[np.uint32]
    b: npt.NDArray[np.uint32]

    @classmethod
    def of(cls, system: ConstraintSystem) -> Dense:
        """All inputs and the aux of A; the inputs and aux of B."""
        in_a = occurring(system.a, system.num_vars)  # the binding rows have every input
        in_b = occurring(system.b, system.num_vars)
        return cls(*(np.flatnonzero(which).astype(np.uint32) for which in (in_a, in_b)))

    @property
    def counts(self) -> Density:
        """How many there are."""
        return Density(len(self.a), len(self.b))


def check_counts(key: BellpersonKey, system: ConstraintSystem, dense: Dense, matrices: str) -> None:
    """Refused unless every section has as many points as the matrices ask for."""
    expected = {
        "ic": system.num_public + 1,
        "h": (1 << system.log_domain) - 1,
        "l": system.aux,
        "a": len(dense.a),
        "b_g1": len(dense.b),
        "b_g2": len(dense.b),
    }
    wrong = [
        f"section {section} has {key.count(section)} points, not {count}"
        for section, count in expected.items()
        if key.count(section) != count
    ]
    if wrong:
        raise Refused(f"{key.name} is not the key of {matrices}: " + "; ".join(wrong), advice=_ADVICE)


class _Compilation:
    """One key on its way into a writer."""

    def __init__(
        self,
        files: BellpersonFiles,
        key: BellpersonKey,
        system: ConstraintSystem,
        writer: CompiledWriter,
        threads: int,
        points: PointChecks,
        report: Report,
    ) -> None:
        self._files = files
        self._key = key
        self._system = system
        self._writer = writer
        self._points = points
        self._report = report
        self._stream = Stream(files.params.fd, files.params.name, key.size)
        full = points is PointChecks.FULL
        self._reader = PointReader(key, self._stream, subgroup=full, threads=threads)
        self._dense = Dense.of(system)

    def run(self, vk: bytes, matrices_digest: str, key_bytes: int) -> CircuitRef:
        system = self._system
        check_counts(self._key, system, self._dense, self._files.matrices.name)
        if system.rows < 2:
            raise Unsupported(
                f"{self._key.name}: a circuit without constraints and public inputs has no domain"
            )
        shape = CircuitShape(CURVE, system.rows, system.num_vars, system.num_public, system.log_domain)
        self._check_vk(vk)
        arrays = self._allocate(shape)
        digest = _digest(self._read_points(arrays, vk), vk, matrices_digest)
        self._report(f"writing {self._key.name}", self._key.size, self._key.size)
        self._store_matrices()
        ref = CircuitRef(digest, shape, Flavour.BELLPERSON)
        self._writer.publish(ref, key_bytes, self._points)
        return ref

    def _allocate(self, shape: CircuitShape) -> dict[str, Array]:
        shapes = point_shapes(shape, self._dense.counts)
        entries = sum(matrix.entries for matrix in (self._system.a, self._system.b, self._system.c))
        self._writer.expect(8 * sum(n * limbs for n, limbs in shapes.values()) + _BYTES_OF_ENTRY * entries)
        return {name: self._writer.allocate(name, "<u8", extents) for name, extents in shapes.items()}

    def _check_vk(self, vk: bytes) -> None:
        """Refused unless the verifying key is the beginning of the proving key, byte for byte."""
        beginning = bytearray(len(vk))
        Stream(self._files.params.fd, self._key.name, self._key.size).fill(memoryview(beginning))
        if beginning != vk:
            at = next(i for i, (x, y) in enumerate(zip(beginning, vk, strict=True)) if x != y)
            section, index = self._place(at)
            raise Refused(
                f"{self._files.vk.name} is not the verifying key of {self._key.name}: "
                f"section {section}: point {index} differs",
                advice=_ADVICE,
            )

    def _place(self, byte: int) -> tuple[str, int]:
        for section, at in self._key.sections.items():
            if byte < at.end:
                return section, max(0, byte - at.offset) // point_bytes(CURVE, at.group)
        raise AssertionError("a byte of the verifying key lies in a section of the proving key")

    def _read_points(self, arrays: dict[str, Array], vk: bytes) -> str:
        """Read the whole key in order, every point into its array; its SHA-256."""
        self._stream.expect(vk)
        for section in (*(name for name, _ in HEADER), "ic"):
            at = self._key.sections[section]
            data = np.frombuffer(vk, dtype=np.uint8, count=at.size, offset=at.offset)
            self._reader.decode(section, data, arrays[section], 0)
        with Behind() as behind:
            for section, group in QUERIES[1:]:
                self._reader.start(section)
                points = arrays[_ARRAY_OF_SECTION[section]]
                for first in range(0, len(points), POINTS_AT_ONCE):
                    self._report(
                        f"checking points of section {section}", self._stream.position, self._key.size
                    )
                    piece = points[first : first + POINTS_AT_ONCE]
                    data = np.empty(len(piece) * point_bytes(CURVE, group), dtype=np.uint8)
                    self._stream.fill(data.data)
                    behind.run(self._reader.decode, section, data, piece, first)
            behind.wait()
        return self._stream.finish()

    def _store_matrices(self) -> None:
        """Put matrices into the writer, their values in one dictionary, and the wires that have a base."""
        system, start = self._system, 0
        matrices = {"a": system.a, "b": system.b, "c": system.c}
        self._writer.store("values", np.concatenate([matrix.values for matrix in matrices.values()]))
        for name, matrix in matrices.items():
            self._writer.store(f"{name}.row_ptr", with_empty_rows(matrix, system.rows).row_ptr)
            self._writer.store(f"{name}.cols", matrix.cols)
            self._writer.store(f"{name}.coeffs", matrix.coeffs + np.uint32(start))
            start += len(matrix.values)
        self._writer.store("a.wires", self._dense.a)
        self._writer.store("b.wires", self._dense.b)
