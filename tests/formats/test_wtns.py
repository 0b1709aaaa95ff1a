"""Witness files: sizes agree, the curve is known, wire 0 is one, or the file is refused by name."""

from __future__ import annotations

import json
import os
import struct
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from containers import Container, patch
from fixtures import Case, bundled, bundled_cases, each

from cuzkd.errors import BadFile, BadWitness, CuzkdError, Unsupported
from cuzkd.formats.wtns import open_wtns
from cuzkd.kernels.field import first_noncanonical, scalars_from_ints
from cuzkd.kernels.params import PARAMS
from cuzkd.model import CircuitShape, Curve

SHAPE = CircuitShape(Curve.BN254, rows=3, num_vars=4, num_public=1, log_domain=2)


def values_of(path: Path, shape: CircuitShape | None = None) -> list[int]:
    fd = os.open(path, os.O_RDONLY)
    try:
        witness = open_wtns(fd, "w")
        if shape is not None:
            witness.check_belongs_to(shape)
        out = np.zeros((witness.count, 4), dtype=np.uint64)
        witness.read_into(out)
    finally:
        os.close(fd)
    return [int.from_bytes(row.tobytes(), "little") for row in out]


@each()
def test_the_values_are_the_files_and_begin_with_the_public_ones(case: Case):
    values = values_of(case.witness)
    public = [int(text) for text in json.loads(case.public.read_text())]
    assert values[0] == 1
    assert values[1 : 1 + len(public)] == public
    payload = Container.parse(case.witness.read_bytes()).section(2)
    assert b"".join(value.to_bytes(32, "little") for value in values) == payload


def on_parts(change):
    return lambda data: change(Container.parse(data)).build()


def header_with(offset: int, new: bytes):
    return on_parts(lambda parts: parts.with_section(1, patch(parts.section(1), offset, new)))


REFUSED = [
    ("empty", lambda _: b"", BadFile, "the file is empty"),
    ("bad magic", lambda data: b"wtnz" + data[4:], BadFile, "not a wtns file"),
    ("a zkey", lambda _: bundled("multiplier_bn128").zkey.read_bytes(), BadFile, "not a wtns file.*zkey"),
    ("version 1", on_parts(lambda parts: replace(parts, version=1)), BadFile, "wtns version 1"),
    ("cut", lambda data: data[:-40], BadFile, r"section 2 \(values\) says"),
    (
        "a value short",
        on_parts(lambda p: p.with_section(2, p.section(2)[:-32])),
        BadFile,
        r"section 2.*4 values",
    ),
    (
        "half a value more",
        on_parts(lambda p: p.with_section(2, p.section(2) + bytes(16))),
        BadFile,
        "section 2",
    ),
    ("count + 1", header_with(36, struct.pack("<I", 5)), BadFile, r"section 2 .* says 5 values"),
    ("count 2^32 - 1", header_with(36, b"\xff" * 4), BadFile, "4294967295 values"),
    ("no values", on_parts(lambda p: p.with_section(1, p.section(1)[:36] + bytes(4))), BadFile, "no values"),
    ("n8 48", header_with(0, struct.pack("<I", 48)), BadFile, "section 1 .* 48 bytes a value"),
    ("another prime", header_with(4, b"\x03"), Unsupported, "section 1 .*prime"),
    ("no section 1", on_parts(lambda parts: parts.without(1)), BadFile, "section 1 .* is missing"),
    ("no section 2", on_parts(lambda parts: parts.without(2)), BadFile, "section 2 .* is missing"),
    (
        "a short header",
        on_parts(lambda p: p.with_section(1, b"\x20\0\0\0")),
        BadFile,
        "section 1 .* has 4 bytes",
    ),
    (
        "wire 0 is 2",
        on_parts(lambda p: p.with_section(2, patch(p.section(2), 0, b"\2"))),
        BadWitness,
        "wire 0",
    ),
]


@pytest.mark.parametrize(("change", "error", "says"), [r[1:] for r in REFUSED], ids=[r[0] for r in REFUSED])
def test_what_disagrees_is_refused_by_name(change, error: type[CuzkdError], says: str, tmp_path: Path):
    path = tmp_path / "w"
    path.write_bytes(change(bundled("multiplier_bn128").witness.read_bytes()))
    with pytest.raises(error, match=says) as refusal:
        values_of(path)
    assert str(refusal.value).startswith("w: ")


def test_a_witness_of_another_curve_is_refused():
    with pytest.raises(BadWitness, match="a witness over bls12381; the key is over bn128"):
        values_of(bundled("multiplier_bls12381").witness, SHAPE)


def test_a_witness_of_another_length_is_refused():
    with pytest.raises(BadWitness, match="32 values, but the circuit has 4 wires"):
        values_of(bundled("squarings_bn128").witness, SHAPE)


@pytest.mark.parametrize("wire", [1, 2, 3])
@each([bundled("multiplier_bn128"), bundled("multiplier_bls12381")])
def test_a_value_of_the_same_residue_above_r_is_found_by_its_readers_check(
    case: Case, wire: int, tmp_path: Path
):
    """The other provers take it: public values then stand unreduced in public.json."""
    parts, r = Container.parse(case.witness.read_bytes()), PARAMS[case.curve].r
    value = int.from_bytes(parts.section(2)[32 * wire : 32 * wire + 32], "little") + r
    path = tmp_path / "w"
    path.write_bytes(
        parts.with_section(2, patch(parts.section(2), 32 * wire, value.to_bytes(32, "little"))).build()
    )
    values = scalars_from_ints(values_of(path))
    assert first_noncanonical(case.curve, values, threads=1) == wire
    assert first_noncanonical(case.curve, scalars_from_ints(values_of(case.witness)), threads=1) is None


@each(bundled_cases())
def test_sections_in_another_order_are_read(case: Case, tmp_path: Path):
    parts = Container.parse(case.witness.read_bytes())
    path = tmp_path / "w"
    path.write_bytes(replace(parts, sections=((9, b"?"), *parts.sections[::-1])).build())
    assert values_of(path) == values_of(case.witness)


def test_the_array_for_the_values_must_fit():
    fd = os.open(bundled("multiplier_bn128").witness, os.O_RDONLY)
    try:
        with pytest.raises(ValueError, match=r"shape \(4, 4\)"):
            open_wtns(fd, "w").read_into(np.zeros((5, 4), dtype=np.uint64))
    finally:
        os.close(fd)


def large_witness(path: Path, count: int, length: int) -> Path:
    """A BN254 witness of `count` values that are a hole in the file; section 2 claims `length` bytes."""
    header = Container.parse(bundled("multiplier_bn128").witness.read_bytes()).section(1)[:36]
    parts = Container(b"wtns", 2, ((1, header + struct.pack("<I", count)),), count=2)
    path.write_bytes(parts.build() + struct.pack("<IQ", 2, length))
    os.truncate(path, path.stat().st_size + 32 * count)
    return path


def count_of(path: Path) -> int:
    fd = os.open(path, os.O_RDONLY)
    try:
        return open_wtns(fd, "w").count
    finally:
        os.close(fd)


def test_a_witness_beyond_4_gib_is_read_also_with_the_length_that_circom_runtime_writes(tmp_path: Path):
    count = (1 << 27) + 3
    miswritten = int(f"{32 * count:x}"[:8], 16)
    assert count_of(large_witness(tmp_path / "right", count, 32 * count)) == count
    assert count_of(large_witness(tmp_path / "miswritten", count, miswritten)) == count
    with pytest.raises(BadFile, match="section 2"):
        count_of(large_witness(tmp_path / "wrong", count, miswritten + 32))
