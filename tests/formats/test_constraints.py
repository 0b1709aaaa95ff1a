"""Kept constraints come back as they were written, and damaged ones not at all."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from fixtures import Case, bundled, bundled_cases, each

from cuzkd.atomic import NewDirectory
from cuzkd.errors import BadFile, NotFound
from cuzkd.formats.constraints import KeptConstraints, has_constraints, open_constraints, write_constraints
from cuzkd.formats.r1cs import read_r1cs

DIGEST = "ab" * 32
ARRAYS = ("row_ptr", "cols", "coeffs", "values")


def kept_of(case: Case) -> KeptConstraints:
    with case.r1cs.open("rb") as file:
        r1cs = read_r1cs(file.fileno(), case.name)
    return KeptConstraints(r1cs.curve, r1cs.num_vars, r1cs.c.matrix(r1cs.curve, threads=1))


def keep(folder: Path, kept: KeptConstraints) -> None:
    with NewDirectory(folder) as new:
        write_constraints(new, kept, DIGEST)


@each(bundled_cases())
def test_what_is_kept_is_read_back(tmp_path: Path, case: Case) -> None:
    kept = kept_of(case)
    keep(tmp_path, kept)
    found = open_constraints(tmp_path, DIGEST)
    assert (found.curve, found.num_vars) == (kept.curve, kept.num_vars)
    for name in ARRAYS:
        array = getattr(found.c, name)
        np.testing.assert_array_equal(array, getattr(kept.c, name))
        assert not array.flags.writeable
    assert has_constraints(tmp_path, DIGEST)


def test_nothing_is_found_where_nothing_is_kept(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        open_constraints(tmp_path, DIGEST)
    assert not has_constraints(tmp_path, DIGEST)


@pytest.mark.parametrize("change", ["format", "curve", "num_vars"])
def test_a_manifest_of_something_else_is_refused(tmp_path: Path, change: str) -> None:
    keep(tmp_path, kept_of(bundled("multiplier_bn128")))
    path = tmp_path / DIGEST / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {change: 0}))
    with pytest.raises(BadFile, match="damaged constraints"):
        open_constraints(tmp_path, DIGEST)


@pytest.mark.parametrize("name", ARRAYS)
def test_an_array_that_is_cut_or_missing_is_refused(tmp_path: Path, name: str) -> None:
    keep(tmp_path, kept_of(bundled("squarings_bn128")))
    path = tmp_path / DIGEST / f"{name}.npy"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(BadFile, match="damaged constraints"):
        open_constraints(tmp_path, DIGEST)
    path.unlink()
    with pytest.raises(BadFile, match="damaged constraints"):
        open_constraints(tmp_path, DIGEST)


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("cols", 2**32 - 1, r"cols\[0\]"),
        ("coeffs", 2**32 - 1, r"coeffs\[0\]"),
        ("row_ptr", 5, r"row_ptr\[0\]"),
        ("values", 2**64 - 1, r"values\[0\]"),
    ],
)
def test_an_index_out_of_bounds_is_refused(tmp_path: Path, name: str, value: int, says: str) -> None:
    keep(tmp_path, kept_of(bundled("squarings_bn128")))
    path = tmp_path / DIGEST / f"{name}.npy"
    array = np.load(path)
    array[0] = value
    np.save(path, array)
    with pytest.raises(BadFile, match=says):
        open_constraints(tmp_path, DIGEST)


def test_an_array_of_python_objects_is_refused(tmp_path: Path) -> None:
    """Loading such an array would run code."""
    keep(tmp_path, kept_of(bundled("squarings_bn128")))
    np.save(tmp_path / DIGEST / "cols.npy", np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(BadFile, match="damaged constraints"):
        open_constraints(tmp_path, DIGEST)
