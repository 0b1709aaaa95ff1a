"""bellperson's own circuits, for tests: the bundled ones always, larger ones where the machine has them."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from fixtures import DATA, larger_set
from proving import empty_vectors

from cuzkd.formats.compiled import CompiledCircuit
from cuzkd.gpu.host import HostDevice
from cuzkd.gpu.prover import Blinding, Sums, multi_scalar_sums
from cuzkd.ingest.compile_bellperson import BellpersonFiles, Source, compile_bellperson
from cuzkd.synthesis.evaluate import evaluate_constraints
from cuzkd.vectors import Scalars, Vectors


@dataclass(frozen=True, slots=True)
class BellpersonCase:
    """One circuit: files of one stem. `key` is the stem of its key's files where that is another one."""

    path: Path
    key: Path

    @property
    def name(self) -> str:
        return self.path.name

    def file(self, kind: str, scratch: Path) -> Path:
        """The file of this kind, unpacked into `scratch` where it is compressed; skips the test without zstd."""
        stem = self.key if kind in ("params", "vk") else self.path
        path = stem.with_name(f"{stem.name}.{kind}")
        if path.exists():
            return path
        packed = path.with_name(f"{path.name}.zst")
        if not packed.exists() or shutil.which("zstd") is None:
            pytest.skip(f"{path.name} is not on this machine")
        subprocess.run(["zstd", "-qdf", "--long=27", packed, "-o", scratch / path.name], check=True)
        return scratch / path.name

    @property
    def blinding(self) -> Blinding:
        proof = json.loads(self.path.with_name(f"{self.name}.json").read_text())["proof"]
        return Blinding(int(proof["r"]), int(proof["s"]))

    @property
    def secrets(self) -> Path:
        return self.key.with_name(f"{self.key.name}.json")

    def proof(self, kind: str) -> bytes:
        """`proof`, `proof0` or `proofr`."""
        return self.path.with_name(f"{self.name}.{kind}").read_bytes()

    @property
    def public(self) -> list[int]:
        return [int(v) for v in json.loads(self.path.with_name(f"{self.name}.public.json").read_text())]

    def witness(self, scratch: Path) -> Scalars:
        return np.fromfile(self.file("raw", scratch), dtype="<u8").reshape(-1, 4)


def _cases_in(folder: Path) -> list[BellpersonCase]:
    stems = [path.with_suffix("") for path in sorted(folder.glob("*.raw"))]
    return [BellpersonCase(stem, stem.with_name(stem.name.removesuffix("-0"))) for stem in stems]


def bundled_cases() -> list[BellpersonCase]:
    return _cases_in(DATA / "bellperson")


def all_cases() -> list[BellpersonCase]:
    """The bundled cases, then the larger ones, a WindowPoSt partition among them."""
    larger = larger_set()
    cases = bundled_cases()
    known = {case.name for case in cases}
    if larger is not None:
        for folder in ("bellperson", "filecoin"):
            cases += [case for case in _cases_in(larger.parent / folder) if case.name not in known]
    return cases


def bundled(name: str) -> BellpersonCase:
    stem = DATA / "bellperson" / name
    return BellpersonCase(stem, stem)


def each(cases: Iterable[BellpersonCase]) -> pytest.MarkDecorator:
    """Run a test over these cases, as its argument `case`."""
    return pytest.mark.parametrize("case", cases, ids=lambda case: case.name)


def compile_files(
    params: Path, vk: Path, matrices: Path, circuits: Path, *, name: str = "key"
) -> CompiledCircuit:
    """The compiled circuit of these files; a `.pce` is taken as recorded matrices."""
    with params.open("rb") as key, vk.open("rb") as small, matrices.open("rb") as rows:
        files = BellpersonFiles(
            Source(key.fileno(), f"{name}.params"),
            Source(small.fileno(), f"{name}.vk"),
            Source(rows.fileno(), matrices.name),
            recorded=matrices.suffix == ".pce",
        )
        ref, _ = compile_bellperson(files, circuits, threads=2)
    return CompiledCircuit.open(circuits / ref.digest)


def compiled(case: BellpersonCase, matrices: str, scratch: Path) -> CompiledCircuit:
    return compile_files(
        case.file("params", scratch),
        case.file("vk", scratch),
        case.file(matrices, scratch),
        scratch / "circuits",
    )


def synthesized(circuit: CompiledCircuit, witness: Scalars) -> Vectors:
    """The vectors of a witness that satisfies the circuit."""
    vectors = empty_vectors(circuit.ref.shape)
    vectors.z[:] = witness
    assert evaluate_constraints(circuit, vectors, 2) is None
    return vectors


def sums_of(circuit: CompiledCircuit, vectors: Vectors) -> Sums:
    """The five sums of a partition on the host."""
    upload = HostDevice(2).load(circuit).upload(vectors, lambda: None)
    try:
        upload.quotient()
        return multi_scalar_sums(upload)
    finally:
        upload.close()
