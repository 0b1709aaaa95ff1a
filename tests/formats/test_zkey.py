"""Keys: what snarkjs wrote is read, and whatever disagrees with itself is refused by name."""

from __future__ import annotations

import os
import resource
import struct
import time
from pathlib import Path

import pytest
from containers import Container, KeyFields
from fixtures import Case, bundled, bundled_cases, each, refused_keys
from key_mutations import ACCEPTED, EXTREME, MUTATIONS, Mutation, key_of_zeros

from cuzkd.errors import Unsupported
from cuzkd.formats.zkey import Zkey, open_zkey
from cuzkd.model import Curve

BASES = [bundled(f"{name}_{curve}") for name in ("multiplier", "publics", "squarings") for curve in Curve]


def read(path: Path) -> Zkey:
    fd = os.open(path, os.O_RDONLY)
    try:
        return open_zkey(fd, "key")
    finally:
        os.close(fd)


def read_bytes(data: bytes, tmp_path: Path) -> Zkey:
    path = tmp_path / "key"
    path.write_bytes(data)
    return read(path)


@each()
def test_a_key_says_what_its_files_say(case: Case):
    key = read(case.zkey)
    fields = KeyFields.of(Container.parse(case.zkey.read_bytes()))
    header = key.header
    assert header.curve is case.curve
    assert (header.num_vars, header.num_public) == (fields.num_vars, fields.num_public)
    assert header.domain_size == fields.domain_size
    assert 44 * key.coefficients + 4 == key.file.require(4).size


@each(BASES)
@pytest.mark.parametrize("mutation", [m for m in MUTATIONS if m.structural], ids=lambda m: m.name)
def test_what_disagrees_is_refused_by_name(case: Case, mutation: Mutation, tmp_path: Path):
    data = mutation.apply(case.zkey.read_bytes())
    started = time.perf_counter()
    with pytest.raises(mutation.error, match=mutation.says) as refusal:
        read_bytes(data, tmp_path)
    assert time.perf_counter() - started < 0.5
    assert str(refusal.value).startswith("key: ")


@pytest.mark.parametrize("mutation", EXTREME, ids=lambda m: m.name)
def test_extremes_are_refused_by_name(mutation: Mutation, tmp_path: Path):
    with pytest.raises(mutation.error, match=mutation.says):
        read_bytes(mutation.apply(b""), tmp_path)


@each(bundled_cases())
@pytest.mark.parametrize("change", [row[1] for row in ACCEPTED], ids=[row[0] for row in ACCEPTED])
def test_what_is_merely_odd_is_read_all_the_same(case: Case, change, tmp_path: Path):
    data = case.zkey.read_bytes()
    odd, plain = read_bytes(change(data), tmp_path), read(case.zkey)
    assert (odd.header, odd.coefficients) == (plain.header, plain.coefficients)


@pytest.mark.parametrize("path", refused_keys(), ids=lambda path: path.stem)
def test_a_key_of_another_proof_system_is_named(path: Path):
    with pytest.raises(Unsupported, match=f"{path.stem.upper()} key"):
        read(path)


def sparse_key(path: Path, log_domain: int) -> Path:
    """A BN254 key whose H section is a hole of 64 · 2^log_domain bytes."""
    small = Container.parse(key_of_zeros(Curve.BN254, num_vars=2, num_public=0, log_domain=1))
    header = small.section(2)
    at = KeyFields.of(small).counts_offset + 8
    header = header[:at] + struct.pack("<I", 1 << log_domain) + header[at + 4 :]
    data = small.with_section(2, header).without(9).build()
    length = 64 << log_domain
    path.write_bytes(struct.pack("<4sII", b"zkey", 1, 9) + data[12:] + struct.pack("<IQ", 9, length))
    os.truncate(path, path.stat().st_size + length)
    return path


def test_a_section_beyond_4_gib_needs_no_memory(tmp_path: Path):
    path = sparse_key(tmp_path / "key", 27)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    key = read(path)
    assert key.file.require(9).size == 64 << 27
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 10_000  # KiB


def test_the_largest_domain_of_bn254_is_refused_for_want_of_a_root(tmp_path: Path):
    with pytest.raises(Unsupported, match=r"domain of 2\^28 on bn128"):
        read(sparse_key(tmp_path / "key", 28))
