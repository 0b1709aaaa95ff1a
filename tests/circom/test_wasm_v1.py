"""Version 1 of the interface, by a program written by hand: circom 0.5 is too old to be built in tests."""

from __future__ import annotations

import pytest

from cuzkd.circom.wasm import WitnessProgram
from cuzkd.circom.wasm_limits import WasmLimits
from cuzkd.errors import (
    AssertionFailed,
    BadFile,
    CuzkdError,
    MissingSignal,
    TooLarge,
    UnknownSignal,
    Unsupported,
    WitnessOutOfMemory,
    WitnessOutOfTime,
    WrongValueCount,
)
from tests.circom.programs import BN254_R, version_1, witness


@pytest.fixture(scope="module")
def program() -> WitnessProgram:
    return WitnessProgram.load(version_1())


@pytest.mark.parametrize(
    "value",
    [
        0,
        5,
        2**31 - 1,
        2**31,
        2**32,
        -1,
        -(2**31),
        -(2**31) - 1,
        2**250,
        BN254_R - 2**31,
        BN254_R,
        3 * BN254_R - 2,
    ],
)
def test_values_of_every_size_pass_through_the_programs_field_elements(
    program: WitnessProgram, value: int
) -> None:
    assert program.abi_version == 1
    assert program.prime == BN254_R
    reduced = value % BN254_R
    assert witness(program, {"y": value, "x": [value, value]}) == [1, reduced, reduced, reduced, reduced]


def test_logged_values_are_decoded_from_every_form(program: WitnessProgram) -> None:
    for value in (7, -7, 2**200):
        log: list[str] = []
        witness(program, {"x": [value, value], "y": 0}, log)
        assert log == [str(value % BN254_R), "1"]  # the program logs one of its own in Montgomery form


@pytest.mark.parametrize(
    ("inputs", "error", "words"),
    [
        ({"x": [5, 5], "y": 1, "nope": 2}, UnknownSignal, "nope"),
        ({"x": [5, 5]}, MissingSignal, "more than the 2"),
        ({"x": [5], "y": 1}, MissingSignal, "more than the 2"),
        ({"x": [5, 5, 5], "y": 1}, WrongValueCount, "x takes at most 2 values, 3"),
        ({"x": [5, 5], "y": 1, "out": 1}, WrongValueCount, "computes"),
        ({"x": [5, 6], "y": 1}, AssertionFailed, "circuit.circom:7:4"),
    ],
)
def test_wrong_inputs_have_an_error_of_their_own(
    program: WitnessProgram, inputs: object, error: type[CuzkdError], words: str
) -> None:
    with pytest.raises(error) as caught:
        witness(program, inputs)
    assert words in caught.value.message


def test_a_failed_constraint_does_not_show_its_values(program: WitnessProgram) -> None:
    with pytest.raises(AssertionFailed) as caught:
        witness(program, {"x": [987654321, 123456789], "y": 1})
    assert "987654321" not in caught.value.message
    assert "123456789" not in caught.value.message


def test_many_values_are_fed_in_pieces_within_the_lent_memory() -> None:
    program = WitnessProgram.load(version_1())
    with pytest.raises(WrongValueCount, match="takes at most 2 values, 1000"):
        witness(program, {"x": [1] * 1000, "y": 1})
    with pytest.raises(CuzkdError):
        witness(program, {"x": [1, 1], "y": [1] * 1000})


def test_the_memory_is_what_the_limit_allows() -> None:
    grown = version_1(run="(if (i32.ne (memory.size) (i32.const 32)) (then unreachable))")
    assert witness(WitnessProgram.load(grown, limits=WasmLimits(memory_bytes=2 << 20)), {"x": [1, 1], "y": 1})
    with pytest.raises(WitnessOutOfMemory, match="131072000 bytes of memory; the limit is 1048576"):
        WitnessProgram.load(
            version_1(memory='(import "env" "memory" (memory 2000))'), limits=WasmLimits(memory_bytes=1 << 20)
        )


def test_a_memory_with_a_maximum_of_its_own_is_given_no_more() -> None:
    bounded = version_1(
        memory='(import "env" "memory" (memory 1 3))',
        run="(if (i32.ne (memory.size) (i32.const 3)) (then unreachable))",
    )
    assert witness(WitnessProgram.load(bounded), {"x": [1, 1], "y": 1})[0] == 1


@pytest.mark.parametrize(
    ("parts", "error"),
    [
        ({"element_bytes": "i32.const 56"}, Unsupported),
        ({"wires": "i32.const -1"}, TooLarge),
        ({"memory": '(import "env" "store" (memory 1))'}, BadFile),
        ({"memory": '(import "env" "memory" (memory 1)) (import "env" "now" (func (result i32)))'}, BadFile),
    ],
)
def test_a_program_that_is_not_circoms_is_refused(parts: dict[str, str], error: type[CuzkdError]) -> None:
    with pytest.raises(error):
        WitnessProgram.load(version_1(**parts))


@pytest.mark.parametrize(
    ("parts", "error"),
    [
        ({"run": "(loop $for_ever (br $for_ever))"}, WitnessOutOfTime),
        ({"heap": "\\f0\\ff\\ff\\ff"}, BadFile),
        ({"run": "unreachable"}, BadFile),
        ({"wires": "i32.const 65526"}, BadFile),
    ],
)
def test_a_program_that_misbehaves_is_stopped(parts: dict[str, str], error: type[CuzkdError]) -> None:
    program = WitnessProgram.load(version_1(**parts), limits=WasmLimits(memory_bytes=2 << 20, seconds=0.3))
    with pytest.raises(error):
        witness(program, {"x": [1, 1], "y": 1})
