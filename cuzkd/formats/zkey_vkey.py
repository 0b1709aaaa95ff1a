"""The verification key inside a proving key file, each of its points checked."""

from __future__ import annotations

import numpy as np

from cuzkd.errors import BadFile
from cuzkd.formats.compiled import Array, verifying_key
from cuzkd.formats.zkey import FORMAT, SECTION_HEADER, SECTION_IC, open_zkey
from cuzkd.kernels.curve import Group, first_off_curve
from cuzkd.kernels.subgroup import first_outside
from cuzkd.model import Curve, VerifyingKey

_OF_HEADER = {"alpha1": Group.G1, "beta2": Group.G2, "gamma2": Group.G2, "delta2": Group.G2}


def read_vkey(fd: int, name: str) -> VerifyingKey:
    """The verifying key of an open zkey file.

    BadFile when a point of it is not on the curve or not of order r, and what `open_zkey` raises.
    """
    key = open_zkey(fd, name)
    header = key.header
    points = {which: _points(header.points[which]) for which in _OF_HEADER}
    section = key.file.require(SECTION_IC)
    ic = np.frombuffer(key.file.read(section, section.size), "<u8").reshape(-1, header.g1_bytes // 8)
    for which, group in _OF_HEADER.items():
        where = f"{name}: {FORMAT.section_name(SECTION_HEADER)}: {which}: the point"
        _check(header.curve, group, points[which], where)
    _check(header.curve, Group.G1, ic, f"{name}: {FORMAT.section_name(SECTION_IC)}: point", numbered=True)
    return verifying_key(header.curve, **points, ic=ic)


def _points(data: bytes) -> Array:
    return np.frombuffer(data, "<u8").reshape(1, -1)


def _check(curve: Curve, group: Group, points: Array, where: str, *, numbered: bool = False) -> None:
    at = first_outside(curve, group, points, threads=1)
    if at is None:
        return
    off = first_off_curve(curve, group, points[at : at + 1], threads=1) is not None
    which = f"{where} {at}" if numbered else where
    raise BadFile(f"{which} is {'not on the curve' if off else 'not in the subgroup of order r'}")
