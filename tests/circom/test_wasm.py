"""Witness programs that circom wrote: the bundled ones, and the larger set's when present."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import fixtures
import numpy as np
import pytest

from cuzkd.circom.inputs import parse_inputs
from cuzkd.circom.wasm import WitnessProgram
from cuzkd.errors import AssertionFailed, CuzkdError, MissingSignal, UnknownSignal, WrongValueCount, from_wire
from tests.circom.programs import BN254_R, HERE, witness

_WTNS_PREAMBLE_BYTES = 76

GOOD: dict[str, object] = {
    "p": [{"x": 1, "y": ["2", 3]}, {"x": "0x4", "y": [5, 6]}],
    "q": {"x": 1, "y": [2, 3]},
    "m": [[7, 8, 9], [1, 2, 49]],
    "k": "-7",
}
DIGITS = sum(value * 10**index for index, value in enumerate([1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 49, 1, 2, 3]))


@pytest.fixture(scope="module")
def signals() -> WitnessProgram:
    return WitnessProgram.load(HERE / "data" / "signals.wasm")


@fixtures.each(fixtures.all_cases())
def test_a_circuits_inputs_give_exactly_its_witness(case: fixtures.Case) -> None:
    program = WitnessProgram.load(case.wasm)
    expected = case.witness.read_bytes()[_WTNS_PREAMBLE_BYTES:]
    assert program.num_vars * 32 == len(expected)
    segment = memoryview(bytearray(len(expected) + 64))
    program.calculate(parse_inputs(case.input.read_bytes()), segment[32:-32])
    assert segment[32:-32] == expected
    assert not any(segment[:32])
    assert not any(segment[-32:])


BAD = [case for case in fixtures.all_cases() if (case.path / "input.bad.json").exists()]


@pytest.mark.skipif(not BAD, reason="the larger set is not here")
@fixtures.each(BAD)
def test_inputs_that_break_an_assertion_name_its_template_and_line(case: fixtures.Case) -> None:
    program = WitnessProgram.load(case.wasm)
    with pytest.raises(AssertionFailed, match=r"template MerkleProof_\d+ line: 26"):
        witness(program, (case.path / "input.bad.json").read_bytes())


def test_buses_matrices_and_negative_numbers_reach_their_cells(signals: WitnessProgram) -> None:
    assert signals.abi_version == 2
    assert signals.prime == BN254_R
    assert witness(signals, GOOD)[:3] == [1, DIGITS, 3]


def test_a_bus_may_be_given_by_its_paths_too(signals: WitnessProgram) -> None:
    flat = {"p": [1, 2, 3, 4, 5, 6], "q.x": 1, "q.y": [2, 3], "m": GOOD["m"], "k": 7}
    assert witness(signals, flat)[1] == DIGITS


def test_values_are_reduced_by_the_prime(signals: WitnessProgram) -> None:
    shifted = GOOD | {"q": {"x": 1 + 5 * BN254_R, "y": [2 - BN254_R, str(3 - 10**500 * BN254_R)]}}
    assert witness(signals, shifted) == witness(signals, GOOD)


def test_what_the_circuit_logs_is_collected_by_line(signals: WitnessProgram) -> None:
    log: list[str] = []
    witness(signals, GOOD, log)
    assert log == ["product 3 of two"]


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"zz": 1}, UnknownSignal, ["zz"]),
        ({"digits": 1}, UnknownSignal, ["digits"]),
        ({"p": [{"x": 1, "y": [2, 3]}, {"x": 4, "z": [5, 6]}]}, UnknownSignal, ["p[1].z"]),
        ({"k": None}, MissingSignal, ["1 of", "16"]),
        ({"p": [{"x": 1, "y": [2, 3]}]}, MissingSignal, ["3 of", "16"]),
        ({"m": [[1, 2, 3]]}, WrongValueCount, ["m ", "6", "3"]),
        ({"k": [7, 8]}, WrongValueCount, ["k ", "1", "2"]),
        ({"k": []}, WrongValueCount, ["k ", "1", "0"]),
        ({"p[0].x": 1}, WrongValueCount, ["17", "16"]),
        ({"k": 6}, AssertionFailed, ["Signals", "line: 17"]),
    ],
)
def test_wrong_inputs_have_an_error_of_their_own(
    signals: WitnessProgram, change: dict[str, object], error: type[CuzkdError], words: list[str]
) -> None:
    inputs = {name: value for name, value in (GOOD | change).items() if value is not None}
    if "p[0].x" in change:
        inputs["p"] = [1, 2, 3, 4, 5, 6]
    with pytest.raises(error) as caught:
        witness(signals, inputs)
    assert [word for word in words if word not in caught.value.message] == []
    assert type(from_wire(caught.value.code, caught.value.message, "")) is error


def test_a_program_goes_on_after_a_failed_run(signals: WitnessProgram) -> None:
    with pytest.raises(AssertionFailed):
        witness(signals, GOOD | {"k": 6})
    assert witness(signals, GOOD)[1] == DIGITS


def test_runs_in_threads_keep_their_own_results_and_errors(signals: WitnessProgram) -> None:
    def run(number: int) -> object:
        change = [{"k": 7}, {"k": 6}, {"zz": 1}, {"p": [number % 100, 0, 0, 0, 0, 0]}][number % 4]
        try:
            return witness(signals, GOOD | change)[1]
        except CuzkdError as error:
            return type(error)

    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(run, range(80)))
    assert results[0::4] == [DIGITS] * 20
    assert results[1::4] == [AssertionFailed] * 20
    assert results[2::4] == [UnknownSignal] * 20
    assert results[3::4] == [DIGITS - 654321 + number % 100 for number in range(3, 80, 4)]


@pytest.mark.parametrize("wrong", ["short", "long", "read-only", "strided"])
def test_the_output_must_be_a_writable_buffer_of_the_witness_size(
    signals: WitnessProgram, wrong: str
) -> None:
    size = signals.num_vars * 32
    out = {
        "short": np.zeros(size - 32, np.uint8),
        "long": np.zeros(size + 32, np.uint8),
        "read-only": np.frombuffer(bytes(size), np.uint8),
        "strided": np.zeros(2 * size, np.uint8)[::2],
    }[wrong]
    with pytest.raises(ValueError, match="writable contiguous buffer"):
        signals.calculate(parse_inputs(json.dumps(GOOD).encode()), out)


def test_limb_arrays_are_filled_in_place(signals: WitnessProgram) -> None:
    out = np.zeros((signals.num_vars, 4), np.uint64)
    signals.calculate(parse_inputs(json.dumps(GOOD).encode()), out)
    assert out[:3].tolist() == [[1, 0, 0, 0], [DIGITS, 0, 0, 0], [3, 0, 0, 0]]


def test_the_output_buffer_is_let_go_after_the_run(signals: WitnessProgram) -> None:
    buffer = bytearray(signals.num_vars * 32)
    with memoryview(buffer) as view:
        signals.calculate(parse_inputs(json.dumps(GOOD).encode()), view)
    buffer.append(0)  # a BufferError while anything still looks at it
    assert buffer[:2] == b"\1\0"
