"""Compiled circuits: written whole or not at all, and believed only as far as they agree with themselves."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

import numpy as np
import pytest
from fixtures import bundled

from cuzkd.atomic import remove_leftovers
from cuzkd.errors import BadFile, NotFound, ResourceExhausted
from cuzkd.formats.compiled import (
    ARRAYS,
    MANIFEST,
    CompiledCircuit,
    find_compiled,
    has_key_of_size,
    read_manifest,
)
from cuzkd.formats.compiled_writer import CompiledWriter
from cuzkd.ingest.compile import compile_zkey
from cuzkd.ipc.requests import PointChecks
from cuzkd.model import CircuitRef


@pytest.fixture
def circuit(tmp_path: Path) -> Path:
    """The directory of a compiled circuit, of the bundled key `publics_bn128`."""
    with bundled("publics_bn128").zkey.open("rb") as key:
        ref, _ = compile_zkey(key.fileno(), "key", tmp_path, threads=1)
    return tmp_path / ref.digest


def names_in(circuits: Path) -> list[str]:
    """What lies in a directory of circuits, the writers' lock aside."""
    return [path.name for path in circuits.iterdir() if path.name != ".lock"]


def edit_manifest(path: Path, change) -> None:
    document = json.loads((path / MANIFEST).read_text())
    change(document)
    (path / MANIFEST).write_text(json.dumps(document))


def write_into(path: Path, array: str, index: int, value: int) -> None:
    place = read_manifest(path).arrays[array]
    stored = np.memmap(path / ARRAYS, dtype=place.dtype, mode="r+", offset=place.offset, shape=place.shape)
    stored.reshape(-1)[index] = value
    stored.flush()


def test_arrays_are_read_only_and_on_page_boundaries(circuit: Path):
    opened = CompiledCircuit.open(circuit)
    for array in (
        opened.a,
        opened.b1,
        opened.b2,
        opened.c,
        opened.h,
        opened.ic,
        opened.alpha1,
        opened.delta2,
    ):
        assert array.ctypes.data % 4096 == 0
        assert array.flags.c_contiguous
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_an_array_outlives_the_closing_of_its_circuit(circuit: Path):
    opened = CompiledCircuit.open(circuit)
    kept, copy = opened.h, opened.h.copy()
    opened.close()
    assert (kept == copy).all()


def test_there_is_nothing_in_an_empty_directory(tmp_path: Path):
    with pytest.raises(NotFound):
        CompiledCircuit.open(tmp_path / "none")
    assert find_compiled(tmp_path, "none") is None


BAD_MANIFESTS = {
    "another version": lambda d: d.update(format=1),
    "no shape": lambda d: d.pop("shape"),
    "another curve": lambda d: d["shape"].update(curve="bls12381"),
    "unknown curve": lambda d: d["shape"].update(curve="secp256k1"),
    "more wires": lambda d: d["shape"].update(num_vars=d["shape"]["num_vars"] + 1),
    "more public": lambda d: d["shape"].update(num_public=d["shape"]["num_vars"]),
    "more rows": lambda d: d["shape"].update(rows=d["shape"]["rows"] + 1),
    "rows beyond the domain": lambda d: d["shape"].update(rows=9),
    "a larger domain": lambda d: d["shape"].update(log_domain=4),
    "a boolean": lambda d: d["shape"].update(log_domain=True),
    "no h": lambda d: d["arrays"].pop("h"),
    "an array too many": lambda d: d["arrays"].update(extra=d["arrays"]["h"]),
    "another dtype": lambda d: d["arrays"]["a"].update(dtype="<u4"),
    "dtype of objects": lambda d: d["arrays"]["a"].update(dtype="O"),
    "beyond the file": lambda d: d["arrays"]["h"].update(offset=1 << 30),
    "off a page": lambda d: d["arrays"]["h"].update(offset=8),
    "negative": lambda d: d["arrays"]["h"].update(offset=-4096),
    "cols and coeffs differ": lambda d: d["arrays"]["a.cols"].update(shape=[1]),
    "huge": lambda d: d["arrays"]["values"].update(shape=[1 << 40, 4]),
    "other checks": lambda d: d.update(points="none"),
    "no arrays": lambda d: d.update(arrays=[]),
}


@pytest.mark.parametrize("change", BAD_MANIFESTS.values(), ids=BAD_MANIFESTS.keys())
def test_a_manifest_that_disagrees_is_refused(circuit: Path, change):
    edit_manifest(circuit, change)
    with pytest.raises(BadFile, match="damaged compiled circuit"):
        CompiledCircuit.open(circuit)
    assert find_compiled(circuit.parent, circuit.name) is None


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", "null"])
def test_a_manifest_that_is_none_is_refused(circuit: Path, text: str):
    (circuit / MANIFEST).write_text(text)
    with pytest.raises(BadFile):
        CompiledCircuit.open(circuit)


def test_arrays_that_were_cut_are_refused(circuit: Path):
    os.truncate(circuit / ARRAYS, 8192)
    with pytest.raises(BadFile, match="does not lie within"):
        CompiledCircuit.open(circuit)
    (circuit / ARRAYS).unlink()
    with pytest.raises(BadFile):
        CompiledCircuit.open(circuit)


@pytest.mark.parametrize(
    ("array", "index", "value"),
    [
        ("a.row_ptr", 0, 1),
        ("a.row_ptr", 1, 1 << 40),
        ("a.row_ptr", -1, 1),
        ("a.cols", 2, 0xFFFFFFFF),
        ("a.coeffs", 0, 0xFFFFFFFF),
    ],
)
def test_an_index_out_of_bounds_never_reaches_the_kernels(circuit: Path, array: str, index: int, value: int):
    write_into(circuit, array, index, value)
    opened = CompiledCircuit.open(circuit)
    with pytest.raises(BadFile, match=rf"{array}.* is out of bounds"):
        opened.matrix_a  # noqa: B018 - reading it checks it


def test_sizes_of_keys_are_remembered(circuit: Path):
    size = bundled("publics_bn128").zkey.stat().st_size
    assert has_key_of_size(circuit.parent, size)
    assert not has_key_of_size(circuit.parent, size + 1)


def written(
    circuits: Path, circuit: Path, *, publish: bool, points: PointChecks = PointChecks.FULL
) -> CircuitRef:
    """Write the circuit at `circuit` again into `circuits`, by the writer alone."""
    manifest, opened = read_manifest(circuit), CompiledCircuit.open(circuit)
    with CompiledWriter(circuits) as writer:
        for name in manifest.arrays:
            writer.store(name, opened._arrays[name])
        if publish:
            writer.publish(manifest.ref, manifest.key_bytes, points)
    return manifest.ref


def test_a_writer_that_gives_up_leaves_nothing(circuit: Path, tmp_path: Path):
    written(tmp_path / "other", circuit, publish=False)
    assert names_in(tmp_path / "other") == []


def test_who_comes_second_accepts_the_first_ones_circuit(circuit: Path):
    before = (circuit / ARRAYS).stat().st_ino
    ref = written(circuit.parent, circuit, publish=True)
    assert (circuit / ARRAYS).stat().st_ino == before
    assert names_in(circuit.parent) == [ref.digest]


def test_a_circuit_of_which_more_was_checked_takes_the_place_and_not_the_reverse(
    circuit: Path, tmp_path: Path
):
    for points, kept in (
        (PointChecks.CURVE, PointChecks.CURVE),
        (PointChecks.FULL, PointChecks.FULL),
        (PointChecks.CURVE, PointChecks.FULL),
    ):
        ref = written(tmp_path / "other", circuit, publish=True, points=points)
        assert CompiledCircuit.open(tmp_path / "other" / ref.digest).points is kept
        assert names_in(tmp_path / "other") == [ref.digest]


def test_a_manifest_knows_the_size_of_its_circuit(circuit: Path):
    size = (circuit / ARRAYS).stat().st_size
    manifest = read_manifest(circuit)
    pages = 4096 * len(manifest.arrays)
    assert size - pages < manifest.size_bytes <= size


def test_a_circuit_larger_than_the_free_disk_is_refused_with_both_numbers(tmp_path: Path):
    free = os.statvfs(tmp_path).f_bavail * os.statvfs(tmp_path).f_frsize
    with CompiledWriter(tmp_path) as writer:
        writer.expect(0)
        with pytest.raises(ResourceExhausted, match=rf"{2 * free + 1} bytes does not fit into the \d+ that"):
            writer.expect(2 * free + 1)


@pytest.mark.parametrize("step", ["open", "fsync", "rename"])
def test_a_disk_that_is_full_at_any_step_is_told_as_such_and_nothing_is_left(
    circuit: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
):
    def full(*_: object, **__: object) -> NoReturn:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    (tmp_path / "other").mkdir()
    with monkeypatch.context() as patched:
        patched.setattr(os, step, full)
        with pytest.raises(ResourceExhausted, match="no room for"):
            written(tmp_path / "other", circuit, publish=True)
    assert names_in(tmp_path / "other") == []


def test_a_damaged_circuit_is_replaced_by_a_sound_one(circuit: Path, tmp_path: Path):
    written(tmp_path / "copy", circuit, publish=True)
    edit_manifest(circuit, lambda document: document.update(format=0))
    ref = written(circuit.parent, tmp_path / "copy" / circuit.name, publish=True)
    found = find_compiled(circuit.parent, ref.digest)
    assert found is not None
    assert found.ref == ref


def test_what_a_dead_writer_left_is_removed_and_circuits_are_not(circuit: Path):
    code = (
        "import os, pathlib, sys; from cuzkd.formats.compiled_writer import CompiledWriter;"
        "CompiledWriter(pathlib.Path(sys.argv[1])).allocate('a', '<u8', (4096,)); os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", code, circuit.parent], check=True)
    assert len(names_in(circuit.parent)) == 2
    remove_leftovers(circuit.parent)
    assert names_in(circuit.parent) == [circuit.name]


def test_what_a_living_writer_writes_is_not_removed(circuit: Path):
    with CompiledWriter(circuit.parent):
        remove_leftovers(circuit.parent)
        assert len(names_in(circuit.parent)) == 2
    assert names_in(circuit.parent) == [circuit.name]
