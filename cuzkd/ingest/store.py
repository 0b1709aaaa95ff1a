"""What ingest keeps in the state directory: compiled circuits, witness programs, constraints, each by its digest.

A file is read only if it is not known already. A program or constraint system is kept for a circuit once it was
checked against it; which pairs were checked is remembered as long as the process lives.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from cuzkd.atomic import remove_directory, remove_leftovers
from cuzkd.circom.kept import keep_program
from cuzkd.circom.wasm import WitnessProgram
from cuzkd.circom.wasm_limits import WasmLimits
from cuzkd.circuits import circuits_dir, constraints_dir, open_circuit, programs_dir
from cuzkd.errors import BadFile, CuzkdError, Refused, TooLarge
from cuzkd.formats.binfile import file_size, read_exactly
from cuzkd.formats.compiled import Manifest, find_compiled
from cuzkd.ingest.compile import compile_zkey
from cuzkd.ingest.compile_bellperson import BellpersonFiles, compile_bellperson
from cuzkd.ingest.constraints import keep_constraints
from cuzkd.ingest.known import KnownFiles
from cuzkd.ingest.progress import Report, unreported
from cuzkd.ipc.requests import PointChecks
from cuzkd.kernels.params import PARAMS
from cuzkd.model import CircuitRef

_PAIRS_REMEMBERED = 4096


@dataclass(frozen=True, slots=True)
class Kept:
    """A compiled circuit: its size on disk, what was checked of its points, whether it had been there before."""

    ref: CircuitRef
    size_bytes: int
    points: PointChecks
    found: bool


class Store:
    """Everything that is kept. Making it also removes what a process that was killed left half done."""

    def __init__(
        self,
        state_dir: Path,
        *,
        threads: int,
        limits: WasmLimits | None = None,
        capacity: int = 4096,
        now_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self._state_dir = state_dir
        self._circuits = circuits_dir(state_dir)
        self._programs = programs_dir(state_dir)
        self._constraints = constraints_dir(state_dir)
        for folder in (self._circuits, self._programs, self._constraints):
            remove_leftovers(folder)
        self._threads = threads
        self._limits = limits or WasmLimits()
        self._known = KnownFiles(capacity=capacity, now_ns=now_ns)
        self._checked: dict[tuple[str, str], None] = {}

    def compile(
        self,
        fd: int,
        name: str,
        uid: int,
        points: PointChecks = PointChecks.FULL,
        report: Report = unreported,
    ) -> Kept:
        """Like `compile_zkey`, but a file that is known and unchanged is not read."""

        def find(digest: str) -> Kept | None:
            manifest = find_compiled(self._circuits, digest)
            if manifest is None or not manifest.satisfies(points):
                return None
            return _kept(manifest, found=True)

        def read() -> tuple[str, Kept]:
            ref, found = compile_zkey(
                fd, name, self._circuits, threads=self._threads, points=points, report=report
            )
            manifest = find_compiled(self._circuits, ref.digest)
            if manifest is None:
                raise BadFile(f"{name}: its compiled circuit {ref.digest[:12]} cannot be read back")
            return ref.digest, _kept(manifest, found=found)

        return self._known.recognise(fd, uid, find, read)

    def compile_bellperson(
        self,
        files: BellpersonFiles,
        points: PointChecks = PointChecks.FULL,
        report: Report = unreported,
    ) -> Kept:
        """Like `compile_bellperson`: its files are hashed each time, however well they are known."""
        ref, found = compile_bellperson(
            files, self._circuits, threads=self._threads, points=points, report=report
        )
        manifest = find_compiled(self._circuits, ref.digest)
        if manifest is None:
            raise BadFile(f"{files.params.name}: its compiled circuit {ref.digest[:12]} cannot be read back")
        return _kept(manifest, found=found)

    def keep_program(
        self, fd: int, name: str, uid: int, circuit: CircuitRef, report: Report = unreported
    ) -> tuple[str, bool]:
        """Check that a `.wasm` computes witnesses of the circuit and keep it: its digest, whether it was there."""

        def read() -> tuple[str, tuple[str, bool]]:
            report(f"compiling {name}", 0, 0)
            wasm = _read_whole(fd, name, self._limits.module_bytes)
            with _named(name):
                kept = keep_program(
                    self._programs, wasm, self._limits, lambda program: _check_program(program, circuit)
                )
            return kept[0], kept

        return self._pair(circuit, self._programs, fd, uid, read)

    def keep_constraints(
        self, fd: int, name: str, uid: int, circuit: CircuitRef, report: Report = unreported
    ) -> tuple[str, bool]:
        """Check that an `.r1cs` is the circuit's and keep its C: its digest, whether it was there."""

        def read() -> tuple[str, tuple[str, bool]]:
            report(f"checking {name}", 0, 0)
            compiled = open_circuit(self._state_dir, circuit)
            try:
                kept = keep_constraints(fd, name, compiled, self._constraints, threads=self._threads)
            finally:
                compiled.close()
            return kept[0], kept

        return self._pair(circuit, self._constraints, fd, uid, read)

    def discard(self, circuit: str | None, program: str | None, constraints: str | None) -> None:
        """Delete what is kept under these digests."""
        for folder, digest in (
            (self._circuits, circuit),
            (self._programs, program),
            (self._constraints, constraints),
        ):
            if digest is not None:
                remove_directory(folder, digest)

    def _pair(
        self,
        circuit: CircuitRef,
        folder: Path,
        fd: int,
        uid: int,
        read: Callable[[], tuple[str, tuple[str, bool]]],
    ) -> tuple[str, bool]:
        def find(digest: str) -> tuple[str, bool] | None:
            checked = (circuit.digest, digest) in self._checked and (folder / digest).is_dir()
            return (digest, True) if checked else None

        kept = self._known.recognise(fd, uid, find, read)
        self._checked[circuit.digest, kept[0]] = None
        if len(self._checked) > _PAIRS_REMEMBERED:
            del self._checked[next(iter(self._checked))]
        return kept


def _kept(manifest: Manifest, *, found: bool) -> Kept:
    return Kept(manifest.ref, manifest.size_bytes, manifest.points, found)


def _read_whole(fd: int, name: str, limit_bytes: int) -> bytes:
    size = file_size(fd, name)
    if size > limit_bytes:
        told = f"{name} has more than {limit_bytes} bytes, the limit of a witness program"
        raise TooLarge(f"{told}: it has {size} bytes")
    whole = bytearray(size)
    read_exactly(fd, name, memoryview(whole), 0)
    return bytes(whole)


def _check_program(program: WitnessProgram, circuit: CircuitRef) -> None:
    shape = circuit.shape
    if program.prime != PARAMS[shape.curve].r:
        _not_of_this_key(f"the witness program is over another prime than {shape.curve}'s")
    if program.num_vars != shape.num_vars:
        _not_of_this_key(
            f"the witness program computes {program.num_vars} wires, the circuit has {shape.num_vars}"
        )


def _not_of_this_key(why: str) -> NoReturn:
    raise Refused(why, advice="give the .wasm and the .zkey that were made for one circuit")


@contextmanager
def _named(name: str) -> Iterator[None]:
    """Have errors begin with the file's name."""
    try:
        yield
    except CuzkdError as error:
        raise type(error)(f"{name}: {error.message}", advice=error.advice) from error
