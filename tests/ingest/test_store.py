"""Programs and constraints are kept once they fit a circuit, found again unread, and gone when they are discarded."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from fixtures import Case, bundled

from cuzkd.circom.wasm_limits import WasmLimits
from cuzkd.errors import BadFile, Refused, TooLarge
from cuzkd.ingest.progress import Meter
from cuzkd.ingest.store import Kept, Store

HOUR_NS = 3_600_000_000_000
CASE = bundled("multiplier_bn128")
OTHER = bundled("publics_bn128")
KINDS = ("program", "constraints")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path, threads=1, now_ns=lambda: time.time_ns() + HOUR_NS)


@pytest.fixture
def circuit(store: Store) -> Iterator[Kept]:
    fd = os.open(CASE.zkey, os.O_RDONLY)
    yield store.compile(fd, "key", 1000)
    os.close(fd)


def keep(store: Store, kind: str, path: Path, circuit: Kept, uid: int = 1000) -> tuple[str, bool]:
    fd = os.open(path, os.O_RDONLY)
    try:
        take = store.keep_program if kind == "program" else store.keep_constraints
        return take(fd, path.name, uid, circuit.ref)
    finally:
        os.close(fd)


def file_of(kind: str, case: Case = CASE) -> Path:
    return case.wasm if kind == "program" else case.r1cs


def folder(tmp_path: Path, kind: str) -> Path:
    return tmp_path / ("programs" if kind == "program" else "constraints")


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_kept_is_found_by_whoever_brings_it(
    store: Store, circuit: Kept, tmp_path: Path, kind: str
) -> None:
    digest, found = keep(store, kind, file_of(kind), circuit)
    assert not found
    assert (folder(tmp_path, kind) / digest).is_dir()
    assert keep(store, kind, file_of(kind), circuit) == (digest, True)
    assert keep(store, kind, file_of(kind), circuit, uid=1001) == (digest, True)
    assert keep(Store(tmp_path, threads=1), kind, file_of(kind), circuit) == (digest, True)


@pytest.mark.parametrize("kind", KINDS)
def test_a_known_file_is_not_read_again(store: Store, circuit: Kept, tmp_path: Path, kind: str) -> None:
    """Its bytes change behind an unchanged identity: nobody notices, for nobody looks."""
    path = tmp_path / "file"
    path.write_bytes(file_of(kind).read_bytes())
    before = path.stat()
    kept = keep(store, kind, path, circuit)
    read: list[int] = []
    preadv = os.preadv
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "preadv", lambda *a: read.append(1) or preadv(*a))
        assert keep(store, kind, path, circuit) == (kept[0], True)
        assert read == []
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        assert keep(store, kind, path, circuit) == (kept[0], True)
        assert read != []


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_of_another_circuit_is_refused_and_leaves_nothing(
    store: Store, circuit: Kept, tmp_path: Path, kind: str
) -> None:
    for _ in range(2):
        with pytest.raises(Refused, match=r"circuit\.(wasm|r1cs)"):
            keep(store, kind, file_of(kind, OTHER), circuit)
    assert {path.name for path in folder(tmp_path, kind).glob("*")} <= {".lock"}


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_that_fits_one_circuit_is_checked_anew_for_another(
    store: Store, circuit: Kept, kind: str
) -> None:
    keep(store, kind, file_of(kind), circuit)
    fd = os.open(OTHER.zkey, os.O_RDONLY)
    other = store.compile(fd, "key", 1000)
    os.close(fd)
    with pytest.raises(Refused):
        keep(store, kind, file_of(kind), other)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_discarded_is_made_again(store: Store, circuit: Kept, tmp_path: Path, kind: str) -> None:
    digest, _ = keep(store, kind, file_of(kind), circuit)
    store.discard(None, digest, digest)
    assert not (folder(tmp_path, kind) / digest).exists()
    assert keep(store, kind, file_of(kind), circuit) == (digest, False)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_kept_but_damaged_is_made_again(
    store: Store, circuit: Kept, tmp_path: Path, kind: str
) -> None:
    digest, _ = keep(store, kind, file_of(kind), circuit)
    for path in (folder(tmp_path, kind) / digest).iterdir():
        path.write_bytes(b"damaged")
    assert keep(Store(tmp_path, threads=1), kind, file_of(kind), circuit) == (digest, False)
    assert keep(Store(tmp_path, threads=1), kind, file_of(kind), circuit) == (digest, True)


def test_a_program_over_the_limit_is_refused(circuit: Kept, tmp_path: Path) -> None:
    small = Store(tmp_path, threads=1, limits=WasmLimits(module_bytes=1000))
    with pytest.raises(TooLarge, match=r"circuit\.wasm has more than 1000 bytes"):
        keep(small, "program", file_of("program"), circuit)


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_of_another_kind_is_refused(store: Store, circuit: Kept, kind: str) -> None:
    with pytest.raises(BadFile, match=r"circuit\.zkey"):
        keep(store, kind, CASE.zkey, circuit)


def test_a_meter_passes_every_stages_begin_and_thins_the_rest() -> None:
    told: list[tuple[str, int, int]] = []
    now = 0.0
    meter = Meter(lambda *word: told.append(word), every_s=1.0, clock=lambda: now)
    for stage in ("one", "two"):
        for done in range(30):
            meter(stage, done, 30)
            now += 0.1
    assert [word for word in told if word[1] == 0] == [("one", 0, 30), ("two", 0, 30)]
    assert 6 <= len(told) <= 8
