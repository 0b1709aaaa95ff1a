"""Equal values get one number, whichever call brings them."""

from __future__ import annotations

import random

import numpy as np
import pytest

from cuzkd.kernels import native
from cuzkd.kernels.sparse import Dictionary, dictionary_code


def values_of(numbers: list[int]) -> np.ndarray:
    """A value of four limbs for each number; those of neighbours differ in one bit of one limb."""
    values = np.zeros((len(numbers), 4), dtype=np.uint64)
    for row, number in enumerate(numbers):
        values[row, number % 4] = number
    return values


def test_numbers_go_by_first_appearance_over_all_calls() -> None:
    source = random.Random(1)
    numbers = [source.randrange(1, 3000) for _ in range(10_000)]
    distinct = list(dict.fromkeys(numbers))
    expected = [distinct.index(number) for number in numbers]
    dictionary = Dictionary()
    codes: list[int] = []
    for start in range(0, len(numbers), 999):
        known = len(dictionary)
        codes += dictionary.code(values_of(numbers[start : start + 999])).tolist()
        assert (dictionary.values(known) == dictionary.values()[known:]).all()
    assert codes == expected
    assert len(dictionary) == len(distinct)
    assert (dictionary.values() == values_of(distinct)).all()


def test_one_call_is_a_dictionary_of_its_own() -> None:
    values = values_of([9, 4, 9, 9, 1])
    codes, table = dictionary_code(values)
    assert codes.tolist() == [0, 1, 0, 0, 2]
    assert (table[codes] == values).all()


def test_nothing_has_no_values() -> None:
    codes, table = dictionary_code(values_of([]))
    assert (codes.shape, table.shape) == ((0,), (0, 4))


def test_shapes_that_disagree_and_what_is_no_dictionary_are_refused() -> None:
    dictionary = native.dictionary_new()
    with pytest.raises(ValueError, match=r"values are \(n, 4\)"):
        native.dictionary_code(dictionary, values_of([1, 2]), np.empty(1, dtype=np.uint32))
    with pytest.raises(ValueError, match="known values"):
        native.dictionary_values(dictionary, 0, np.empty((1, 4), dtype=np.uint64))
    with pytest.raises(ValueError, match="known values"):
        native.dictionary_values(dictionary, 1, np.empty((0, 4), dtype=np.uint64))
    with pytest.raises((TypeError, ValueError)):
        native.dictionary_values(object(), 0, np.empty((0, 4), dtype=np.uint64))
