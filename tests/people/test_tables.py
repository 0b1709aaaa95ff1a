"""How numbers, times and tables look, to the letter."""

from __future__ import annotations

import pytest
from people.jobs import FAILED_INFO

from cuzkd import tables


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [(0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (1_610_612_736, "1.5 GiB"), (1 << 60, "1024.0 PiB")],
)
def test_sizes_take_the_largest_unit_that_leaves_one(size_bytes: int, text: str) -> None:
    assert tables.size(size_bytes) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-0.1, "0.00 s"),
        (0.254, "0.25 s"),
        (41.4, "41 s"),
        (59.7, "1 min 0 s"),
        (185, "3 min 5 s"),
        (7260, "2 h 1 min"),
        (187_200, "2 d 4 h"),
    ],
)
def test_durations_take_the_two_units_that_matter(seconds: float, text: str) -> None:
    assert tables.duration(seconds) == text


def test_table_columns_line_up_and_no_line_ends_in_blanks() -> None:
    lines = tables.table(("A", "LONGER"), [("wide cell", "x"), ("y", "")]).splitlines()
    assert lines == ["A          LONGER", "wide cell  x", "y"]


def test_a_record_is_a_document_of_its_fields_down_to_the_last() -> None:
    document = tables.document(FAILED_INFO)
    assert isinstance(document, dict)
    assert document["status"]["state"] == "failed"
    assert document["failure"]["code"] == "wrong_proof"
    assert tables.document((FAILED_INFO,)) == [document]


def test_text_of_others_moves_no_cursor() -> None:
    assert tables.printable("a\x1b[2J\r\nb") == "a?[2J??b"
