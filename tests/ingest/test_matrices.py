"""The matrices do not depend on how the entries were cut into pieces, and errors count over all pieces."""

from __future__ import annotations

import os

import numpy as np
import pytest
from containers import Container
from fixtures import Case, bundled, bundled_cases, each

from cuzkd.errors import BadFile
from cuzkd.formats.zkey import COEFFICIENT, ZkeyHeader, open_zkey
from cuzkd.ingest.matrices import MatrixBuilder
from cuzkd.kernels.params import PARAMS


def header_of(case: Case) -> ZkeyHeader:
    fd = os.open(case.zkey, os.O_RDONLY)
    try:
        return open_zkey(fd, "key").header
    finally:
        os.close(fd)


def entries_of(case: Case) -> np.ndarray:
    payload = Container.parse(case.zkey.read_bytes()).section(4)
    return np.frombuffer(payload, dtype=COEFFICIENT, offset=4).copy()


def built(case: Case, entries: np.ndarray, piece: int):
    builder = MatrixBuilder("key", header_of(case), threads=1)
    for start in range(0, len(entries), piece):
        builder.add(entries[start : start + piece])
    return builder.take(0), builder.take(1), builder.values()


@each(bundled_cases())
@pytest.mark.parametrize("piece", [1, 2, 7])
def test_the_pieces_do_not_matter(case: Case, piece: int):
    entries = entries_of(case)
    whole_a, whole_b, whole_values = built(case, entries, len(entries))
    a, b, values = built(case, entries, piece)
    for one, other in ((whole_a, a), (whole_b, b)):
        assert (one.row_ptr == other.row_ptr).all()
        assert (one.cols == other.cols).all()
        assert (whole_values[one.coeffs] == values[other.coeffs]).all()
    assert len(values) == len(whole_values)


def test_entries_of_a_row_keep_their_order_when_rows_come_mixed():
    case = bundled("publics_bn128")
    entries = entries_of(case)
    entries["matrix"] = 0
    entries["row"] = np.arange(len(entries)) % 2
    a, b, _ = built(case, entries, 3)
    expected = [*entries["signal"][0::2], *entries["signal"][1::2]]
    assert a.cols.tolist() == expected
    assert a.row_ptr.tolist() == [0, len(entries[0::2]), len(entries)]
    assert b.row_ptr.tolist() == [0, 0, 0]


@pytest.mark.parametrize("field", ["matrix", "row", "signal", "value"])
def test_an_error_names_the_entry_by_its_number_in_the_file(field: str):
    case = bundled("squarings_bls12381")
    entries = entries_of(case)
    too_large = np.frombuffer(PARAMS[case.curve].r.to_bytes(32, "little"), dtype="<u8")
    entries[field][41] = too_large if field == "value" else 32
    with pytest.raises(BadFile, match=f"key: section 4 .coefficients., entry 41: .*{field}"):
        built(case, entries, 10)
