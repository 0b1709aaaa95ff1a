"""Records are what frozen, slotted dataclasses are, to whoever uses them."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from typing import ClassVar

import pytest

from cuzkd.records import record


class Base:
    __slots__ = ()


@record
class Point(Base):
    """A place."""

    KIND: ClassVar[str] = "place"

    x: int
    y: int = 2

    def sum(self) -> int:
        return self.x + self.y


@record
class Line:
    start: Point
    points: tuple[Point, ...] = ()


@record
class Other:
    x: int
    y: int


def test_fields_are_given_by_position_or_by_name_and_have_defaults() -> None:
    assert (Point(1, 3).x, Point(1, 3).y) == (1, 3)
    assert Point(x=1) == Point(1, y=2) == Point(1)
    assert Point(1).sum() == 3


@pytest.mark.parametrize(
    ("values", "named"), [((), {}), ((1, 2, 3), {}), ((1,), {"x": 1}), ((1,), {"z": 1}), ((), {"y": 1})]
)
def test_a_field_that_is_missing_strange_or_given_twice_is_a_type_error(
    values: tuple[int, ...], named: dict[str, int]
) -> None:
    with pytest.raises(TypeError):
        Point(*values, **named)


def test_records_are_equal_by_class_and_value_and_hash_alike() -> None:
    assert Point(1) == Point(1, 2)
    assert Point(1) != Point(2)
    assert Point(1, 2) != Other(1, 2)
    assert len({Point(1), Point(1, 2), Other(1, 2)}) == 2


def test_nothing_can_be_set_added_or_deleted() -> None:
    point = Point(1)
    for change in (
        lambda: setattr(point, "x", 5),
        lambda: setattr(point, "z", 5),
        lambda: delattr(point, "x"),
    ):
        with pytest.raises(AttributeError):
            change()
    assert not hasattr(point, "__dict__")


def test_the_class_keeps_what_was_written() -> None:
    assert (Point.__name__, Point.__doc__, Point.KIND) == ("Point", "A place.", "place")
    assert (Point.__module__, Point.__qualname__) == (__name__, "Point")
    assert issubclass(Point, Base)


def test_a_record_reads_as_it_is_written() -> None:
    assert repr(Line(Point(1), (Point(3, 4),))) == "Line(start=Point(x=1, y=2), points=(Point(x=3, y=4),))"


def test_records_are_matched_by_position_and_name() -> None:
    match Point(1, 7):
        case Point(1, y=y):
            assert y == 7
        case _:
            raise AssertionError("no match")


def test_copies_are_equal() -> None:
    line = Line(Point(1), (Point(3, 4),))
    assert copy.deepcopy(line) == copy.copy(line) == pickle.loads(pickle.dumps(line)) == line


def test_what_dataclasses_offers_takes_records() -> None:
    line = Line(Point(1), (Point(3, 4),))
    assert dataclasses.is_dataclass(Line)
    assert [field.name for field in dataclasses.fields(Point)] == ["x", "y"]
    assert [field.default for field in dataclasses.fields(Point)] == [dataclasses.MISSING, 2]
    assert dataclasses.replace(line, start=Point(9)) == Line(Point(9), line.points)
    assert dataclasses.asdict(line) == {"start": {"x": 1, "y": 2}, "points": ({"x": 3, "y": 4},)}
