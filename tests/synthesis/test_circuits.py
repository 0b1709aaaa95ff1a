"""A synthesis process keeps a few things open, the latest ones, and lets go of what is deleted."""

from __future__ import annotations

from pathlib import Path

import pytest
from fixtures import bundled

from cuzkd.circuits import programs_dir
from cuzkd.errors import BadFile, InternalError, NotFound
from cuzkd.ingest.store import Store
from cuzkd.model import CircuitRef
from cuzkd.recent import Recent
from cuzkd.synthesis.circuits import OpenCircuits

CASE = bundled("multiplier_bn128")
OTHER = bundled("publics_bn128")


def test_the_least_recently_used_is_dropped_first() -> None:
    dropped: list[str] = []
    recent = Recent(dropped.append, capacity=2)
    for name in ("a", "b", "a", "c", "a"):
        assert recent.get(name, name.upper) == name.upper()
    assert dropped == ["B"]
    recent.forget("a")
    recent.forget("b")
    recent.forget(None)
    assert dropped == ["B", "A"]
    assert "c" in recent


@pytest.fixture
def kept(tmp_path: Path) -> tuple[CircuitRef, str, str]:
    """The circuit, and the digests of its program and constraints."""
    store = Store(tmp_path, threads=1)
    with CASE.zkey.open("rb") as zkey, CASE.wasm.open("rb") as wasm, CASE.r1cs.open("rb") as r1cs:
        ref = store.compile(zkey.fileno(), "zkey", 0).ref
        program, _ = store.keep_program(wasm.fileno(), "wasm", 0, ref)
        constraints, _ = store.keep_constraints(r1cs.fileno(), "r1cs", 0, ref)
    return ref, program, constraints


def test_everything_is_opened_once_until_it_is_forgotten(
    tmp_path: Path, kept: tuple[CircuitRef, str, str]
) -> None:
    ref, program, constraints = kept
    circuits = OpenCircuits(tmp_path)
    once = (circuits.circuit(ref), circuits.program(program, ref)[0], circuits.constraints(constraints, ref))
    again = (circuits.circuit(ref), circuits.program(program, ref)[0], circuits.constraints(constraints, ref))
    assert all(one is other for one, other in zip(once, again, strict=True))
    circuits.forget(ref.digest, program, constraints)
    Store(tmp_path, threads=1).discard(ref.digest, program, constraints)
    for get in (
        lambda: circuits.circuit(ref),
        lambda: circuits.program(program, ref),
        lambda: circuits.constraints(constraints, ref),
    ):
        with pytest.raises(NotFound):
            get()


def test_a_kept_program_needs_no_compiling(tmp_path: Path, kept: tuple[CircuitRef, str, str]) -> None:
    ref, program, _ = kept
    circuits = OpenCircuits(tmp_path)
    assert circuits.program(program, ref)[1]
    assert circuits.program(program, ref)[1]
    for compiled in (programs_dir(tmp_path) / program).glob("*.cwasm"):
        compiled.unlink()
    assert circuits.program(program, ref)[1]
    assert not OpenCircuits(tmp_path).program(program, ref)[1]


def test_a_kept_program_that_is_not_what_its_digest_says_is_refused(
    tmp_path: Path, kept: tuple[CircuitRef, str, str]
) -> None:
    ref, program, _ = kept
    (programs_dir(tmp_path) / program / "circuit.wasm").write_bytes(OTHER.wasm.read_bytes())
    with pytest.raises(BadFile, match="damaged"):
        OpenCircuits(tmp_path).program(program, ref)


def test_what_is_kept_for_another_circuit_is_not_given(
    tmp_path: Path, kept: tuple[CircuitRef, str, str]
) -> None:
    _, program, constraints = kept
    with OTHER.zkey.open("rb") as zkey:
        other = Store(tmp_path, threads=1).compile(zkey.fileno(), "zkey", 0).ref
    circuits = OpenCircuits(tmp_path)
    with pytest.raises(InternalError):
        circuits.program(program, other)
    with pytest.raises(InternalError):
        circuits.constraints(constraints, other)
