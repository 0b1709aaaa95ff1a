"""Keys in bellperson's form: read as they are, and refused by section and point when anything is wrong."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import numpy as np
import pytest
from bellperson import BellpersonCase, all_cases, bundled, bundled_cases, each

from cuzkd.errors import BadFile, TooLarge
from cuzkd.formats.bellperson import CURVE, HEADER, QUERIES, open_params, open_vk, read_all
from cuzkd.kernels.curve import Group, encode
from cuzkd.kernels.params import PARAMS
from cuzkd.kernels.reference import group1
from cuzkd.kernels.uncompressed import point_bytes, write_points

Q = PARAMS[CURVE].q


def read(data: bytes, tmp_path: Path, opener=open_params):
    path = tmp_path / "key"
    path.write_bytes(data)
    fd = os.open(path, os.O_RDONLY)
    try:
        return read_all(fd, opener(fd, "key"), threads=1)
    finally:
        os.close(fd)


def places(data: bytes) -> list[tuple[str, int, int, int]]:
    """(section, offset of its points, bytes of one, count), by walking the bytes plainly."""
    found, at = [], 0
    for name, group in HEADER:
        size = 96 if group is Group.G1 else 192
        found.append((name, at, size, 1))
        at += size
    for name, group in QUERIES:
        if at == len(data):
            break
        size = 96 if group is Group.G1 else 192
        (count,) = struct.unpack_from(">I", data, at)
        found.append((name, at + 4, size, count))
        at += 4 + size * count
    assert at == len(data)
    return found


@each(all_cases())
def test_reading_and_writing_gives_the_file(case: BellpersonCase, tmp_path: Path):
    data = case.file("params", tmp_path).read_bytes()
    points = read(data, tmp_path)
    again = b"".join(write_points(CURVE, g, points[name], threads=2).tobytes() for name, g in HEADER)
    for name, group in QUERIES:
        again += struct.pack(">I", len(points[name]))
        again += write_points(CURVE, group, points[name], threads=2).tobytes()
    assert again == data
    vk = read(case.file("vk", tmp_path).read_bytes(), tmp_path, open_vk)
    assert all(np.array_equal(vk[name], points[name]) for name in vk)


@each(bundled_cases())
def test_a_file_cut_anywhere_in_a_section_names_it(case: BellpersonCase, tmp_path: Path):
    data = case.file("params", tmp_path).read_bytes()
    for name, offset, size, count in places(data):
        cuts = {offset - 1, offset, offset + size * count - 1} if count else {offset - 1}
        for cut in cuts:
            inside = cut if cut >= offset or name in dict(HEADER) else offset - 4
            if inside < 0 or cut < 0:
                continue
            with pytest.raises(BadFile, match=r"^key: section "):
                read(data[:cut], tmp_path)
        with pytest.raises(BadFile, match=f"section {name}: .*ends at byte"):
            read(data[: offset + size * count - 1] if count else data[: offset - 1], tmp_path)


@each(bundled_cases())
def test_bytes_after_the_last_section_are_refused(case: BellpersonCase, tmp_path: Path):
    data = case.file("params", tmp_path).read_bytes()
    with pytest.raises(BadFile, match="1 bytes follow section b_g2"):
        read(data + b"\0", tmp_path)
    with pytest.raises(BadFile, match="bytes follow section ic"):
        read(case.file("vk", tmp_path).read_bytes() + bytes(96), tmp_path, open_vk)


def _off_subgroup() -> bytes:
    """A point of the curve whose order is not r."""
    group = group1(CURVE)
    for x in range(1, 100):
        point = group.lift((x, 0))
        if point is not None and point[1][1] == 0 and group.multiply(point, PARAMS[CURVE].r) is not None:
            return x.to_bytes(48, "big") + point[1][0].to_bytes(48, "big")
    raise AssertionError("no such point is that small")


BAD_POINTS = {
    "is the identity": lambda p: b"\x40" + bytes(len(p) - 1),
    "has flags that no finite point has": lambda p: bytes([p[0] | 0x20]) + p[1:],
    "has the flag of a compressed point": lambda p: bytes([p[0] | 0x80]) + p[1:],
    "has a coordinate that is not below q": lambda p: Q.to_bytes(48, "big") + p[48:],
    "is not on the curve": lambda p: p[:-1] + bytes([p[-1] ^ 1]),
}


@pytest.mark.parametrize("says", BAD_POINTS)
def test_a_bad_point_is_refused_by_section_and_index(says: str, tmp_path: Path):
    data = bundled("cubic").file("params", tmp_path).read_bytes()
    for name, offset, size, count in places(data):
        index = count - 1
        at = offset + size * index
        changed = data[:at] + BAD_POINTS[says](data[at : at + size]) + data[at + size :]
        with pytest.raises(BadFile, match=f"^key: section {name}: point {index} {says}$"):
            read(changed, tmp_path)


def test_a_point_outside_the_subgroup_is_refused(tmp_path: Path):
    data = bundled("cubic").file("params", tmp_path).read_bytes()
    bad = _off_subgroup()
    for name, offset, size, count in places(data):
        if size == 96:
            at = offset + size * (count - 1)
            with pytest.raises(BadFile, match=f"section {name}: point {count - 1} is outside the subgroup"):
                read(data[:at] + bad + data[at + size :], tmp_path)


def test_counts_that_cannot_be_are_refused(tmp_path: Path):
    data = bundled("multiplier").file("params", tmp_path).read_bytes()
    for name, offset, _, _ in places(data)[len(HEADER) :]:
        with pytest.raises(BadFile, match=f"section {name}: 4294967295 points"):
            read(data[: offset - 4] + b"\xff" * 4 + data[offset:], tmp_path)
    no_inputs = data[:864] + bytes(4) + data[868 + 96 * 2 :]
    with pytest.raises(BadFile, match="section ic is empty"):
        read(no_inputs, tmp_path)
    last = places(data)[-1]
    fewer = data[: last[1] - 4] + struct.pack(">I", last[3] - 1) + data[last[1] + last[2] :]
    with pytest.raises(BadFile, match=r"section b_g2 has .* they go together"):
        read(fewer, tmp_path)


def test_more_inputs_than_a_reply_carries_are_too_large(tmp_path: Path):
    vk = bundled("multiplier").file("vk", tmp_path).read_bytes()
    many = vk[:864] + struct.pack(">I", 40_000) + vk[868:964] * 40_000
    with pytest.raises(TooLarge, match="39999 public inputs"):
        read(many, tmp_path, open_vk)


def test_infinity_is_written_as_the_flag_alone():
    written = write_points(CURVE, Group.G2, encode(CURVE, Group.G2, [None]), threads=1).tobytes()
    assert written == b"\x40" + bytes(point_bytes(CURVE, Group.G2) - 1)
