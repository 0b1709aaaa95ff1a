"""Writes a proving key as bellperson does (`.params`), and its verifying key (`.vk`), streamed."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import BinaryIO

from cuzkd.formats.bellperson import CURVE, HEADER, QUERIES, Points
from cuzkd.formats.points import PointSource
from cuzkd.kernels.uncompressed import write_points


def write_params(
    out: BinaryIO, header: Mapping[str, Points], queries: Mapping[str, PointSource], *, threads: int
) -> None:
    """Write the six single points, (1, width) each, and the six sections in the file's order."""
    _write_header(out, header, threads)
    for section, _ in QUERIES:
        _write_section(out, section, queries[section], threads)


def write_vk(out: BinaryIO, header: Mapping[str, Points], ic: PointSource, *, threads: int) -> None:
    """Write the single points and ic."""
    _write_header(out, header, threads)
    _write_section(out, "ic", ic, threads)


def _write_header(out: BinaryIO, header: Mapping[str, Points], threads: int) -> None:
    for name, group in HEADER:
        out.write(write_points(CURVE, group, header[name], threads=threads).data)


def _write_section(out: BinaryIO, section: str, points: PointSource, threads: int) -> None:
    group = dict(QUERIES)[section]
    out.write(struct.pack(">I", points.count))
    for piece in points.pieces():
        out.write(write_points(CURVE, group, piece, threads=threads).data)
