"""Programs that attack their host: each is refused or stopped, by name, within the limits."""

from __future__ import annotations

import gc
import resource
import time
from dataclasses import replace

import pytest

from cuzkd.circom.wasm import WitnessProgram
from cuzkd.circom.wasm_limits import Sandbox, WasmLimits
from cuzkd.errors import (
    AssertionFailed,
    BadFile,
    BadWitness,
    CuzkdError,
    TooLarge,
    UnknownSignal,
    Unsupported,
    WitnessOutOfMemory,
    WitnessOutOfTime,
    WrongValueCount,
)
from tests.circom.programs import BN254_R, escaped, version_2, witness

LIMITS = WasmLimits(memory_bytes=4 << 20)
SHORT = replace(LIMITS, seconds=0.5)
LOOP = "(loop $for_ever (br $for_ever))"
PRINT = '(import "runtime" "printErrorMessage" (func $print_error))'
LOG = '(import "runtime" "writeBufferMessage" (func $log))'


def load(limits: WasmLimits = LIMITS, **parts: str) -> WitnessProgram:
    return WitnessProgram.load(version_2(**parts), limits=limits)


def test_the_program_that_the_attacks_vary_is_sound() -> None:
    assert witness(load(), {"x": -3}) == [1, BN254_R - 3]


@pytest.mark.parametrize("place", ["set_input", "init", "get_witness"])
def test_a_run_without_end_is_out_of_time(place: str) -> None:
    program = load(SHORT, **{place: LOOP})
    begun = time.monotonic()
    with pytest.raises(WitnessOutOfTime, match=r"longer than 0\.5 s"):
        witness(program, {"x": 1})
    assert time.monotonic() - begun >= SHORT.seconds


@pytest.mark.parametrize(
    "parts", [{"wires": f"{LOOP} unreachable"}, {"top": f"(func $start {LOOP}) (start $start)"}]
)
def test_loading_is_bounded_in_time_too(parts: dict[str, str]) -> None:
    with pytest.raises(WitnessOutOfTime):
        load(SHORT, **parts)


def test_a_message_for_ever_repeated_is_out_of_time_and_its_log_bounded() -> None:
    program = load(
        SHORT,
        imports=LOG,
        set_input="(loop $for_ever (call $log) (br $for_ever))",
        message_char="i32.const 0",
    )
    log: list[str] = []
    with pytest.raises(WitnessOutOfTime):
        witness(program, {"x": 1}, log)
    assert len(log) <= LIMITS.log_lines


def test_a_program_that_grows_is_stopped_at_the_limit() -> None:
    grow = """(loop $more
        (memory.fill (i32.const 0) (i32.const 1) (i32.const 65536))
        (br_if $more (i32.ne (memory.grow (i32.const 1)) (i32.const -1))))
        unreachable"""
    program = load(set_input=grow)
    with pytest.raises(WitnessOutOfMemory, match="at least 4259840 bytes of memory; the limit is 4194304"):
        witness(program, {"x": 1})


def test_a_memory_declared_above_the_limit_is_refused_before_it_is_made() -> None:
    with pytest.raises(WitnessOutOfMemory, match="65536000 bytes"):
        load(memory='(memory (export "memory") 1000)')
    with pytest.raises(BadFile, match="does not start"):
        load(memory="(memory 1000)")


@pytest.mark.parametrize("wires", [-1, 0x7FFFFFFF, 1 << 27, (4 << 20) // 32 + 1, 0])
def test_a_lie_about_the_witness_size_allocates_nothing(wires: int) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(TooLarge, match="claims"):
        load(wires=f"i32.const {wires}")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 << 10  # KiB


@pytest.mark.parametrize(
    ("parts", "named"),
    [
        ({"imports": '(import "runtime" "readFile" (func))'}, "runtime.readFile"),
        (
            {"imports": '(import "wasi_snapshot_preview1" "fd_write" (func))'},
            "wasi_snapshot_preview1.fd_write",
        ),
        ({"imports": '(import "env" "printErrorMessage" (func))'}, "env.printErrorMessage"),
        (
            {"imports": '(import "runtime" "printErrorMessage" (func (param i64)))'},
            "runtime.printErrorMessage",
        ),
        (
            {"imports": '(import "runtime" "printErrorMessage" (func (result i32)))'},
            "runtime.printErrorMessage",
        ),
        ({"imports": '(import "runtime" "showSharedRWMemory" (global i32))'}, "runtime.showSharedRWMemory"),
        ({"imports": '(import "env" "memory" (memory 1))', "memory": ""}, "env.memory"),
        (
            {"sizes": '(func (export "getInputSignalSize") (param i32) (result i32) i32.const 1)'},
            "getInputSignalSize",
        ),
    ],
)
def test_what_circoms_programs_do_not_have_is_refused_by_name(parts: dict[str, str], named: str) -> None:
    with pytest.raises(BadFile) as caught:
        load(**parts)
    assert named in caught.value.message


def test_a_missing_export_is_refused_by_name() -> None:
    wasm = version_2()
    for name in (b"getWitness", b"setInputSignal", b"getRawPrime", b"getMessageChar", b"getInputSize"):
        assert wasm.count(bytes([len(name)]) + name) == 1
        renamed = wasm.replace(bytes([len(name)]) + name, bytes([len(name)]) + b"X" + name[1:])
        with pytest.raises(BadFile, match=name.decode()):
            WitnessProgram.load(renamed)


@pytest.mark.parametrize(
    "data", [b"", b"(module)", b"\0asm", b"\0asm\x01\0\0\0", b"\0asm\x01\0\0\0\xff", version_2()[:-9]]
)
def test_other_files_and_cut_ones_are_refused(data: bytes) -> None:
    with pytest.raises(BadFile):
        WitnessProgram.load(data)


def test_other_interfaces_fields_and_sizes_are_refused() -> None:
    with pytest.raises(Unsupported, match="version 3"):
        load(version="i32.const 3")
    with pytest.raises(Unsupported, match="256-bit"):
        load(words="i32.const 12")
    with pytest.raises(BadFile, match="prime"):
        load(top='(data (i32.const 64) "' + "\\00" * 32 + '")')
    with pytest.raises(TooLarge, match="limit is 100"):
        WitnessProgram.load(version_2(), limits=WasmLimits(module_bytes=100))


def test_features_that_circom_does_not_use_are_off() -> None:
    for top in ("(memory 1)", "(func (v128.store (i32.const 0) (v128.const i64x2 0 0)))", "(memory i64 1)"):
        with pytest.raises(BadFile, match="no valid WebAssembly"):
            load(top=top)


def test_a_value_that_is_not_below_the_prime_is_refused_with_its_wire() -> None:
    for number in (BN254_R, 2**256 - 1, BN254_R + 2**192, BN254_R + (1 << 64)):
        code = f'(data (i32.const 128) "{escaped(number.to_bytes(32, "little"))}")'
        with pytest.raises(BadWitness, match="wire 1 "):
            witness(load(top=code, set_input=""), {"x": 1})
    largest = f'(data (i32.const 128) "{escaped((BN254_R - 1).to_bytes(32, "little"))}")'
    assert witness(load(top=largest, set_input=""), {"x": 1}) == [1, BN254_R - 1]


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"set_input": "unreachable"}, "unreachable"),
        ({"set_input": "(i32.store (i32.const -4) (i32.const 0))"}, "memory out of bounds"),
        ({"top": "(func $deep (call $deep))", "set_input": "(call $deep)"}, "stack overflow"),
        ({"imports": PRINT, "set_input": "(call $print_error)", "message_char": "i32.const 65"}, "no end"),
        (
            {
                "imports": PRINT,
                "set_input": "(call $print_error)",
                "message_char": "(call $print_error) i32.const 0",
            },
            "host",
        ),
    ],
)
def test_a_program_that_crashes_or_confuses_its_host_is_stopped(parts: dict[str, str], words: str) -> None:
    program = load(**parts)
    with pytest.raises(BadFile, match=words):
        witness(program, {"x": 1})


def test_a_host_function_called_before_the_program_is_ready_is_refused() -> None:
    with pytest.raises(BadFile, match="host"):
        load(imports=PRINT, top="(func $start (call $print_error)) (start $start)")


def test_a_table_beyond_measure_is_not_made() -> None:
    with pytest.raises(BadFile, match="does not start"):
        load(top="(table 100000000 funcref)")


@pytest.mark.parametrize(
    ("code", "error"),
    [
        (1, UnknownSignal),
        (2, WrongValueCount),
        (3, WrongValueCount),
        (4, AssertionFailed),
        (5, WitnessOutOfMemory),
        (6, WrongValueCount),
        (99, BadWitness),
    ],
)
def test_every_code_of_the_exception_handler_has_its_error(code: int, error: type[CuzkdError]) -> None:
    program = load(set_input=f"(call $exception (i32.const {code}))")
    with pytest.raises(error) as caught:
        witness(program, {"x": 1})
    assert type(caught.value) is error


def test_a_program_that_goes_on_after_its_exception_is_stopped_all_the_same() -> None:
    program = load(set_input=f"(call $exception (i32.const 4)) {LOOP}")
    with pytest.raises(AssertionFailed):
        witness(program, {"x": 1})


def test_nothing_of_a_run_is_left_after_it() -> None:
    good, bad = load(), load(set_input="(call $exception (i32.const 4))")
    for _ in range(5):
        witness(good, {"x": 1})
        with pytest.raises(AssertionFailed):
            witness(bad, {"x": 1})
    gc.collect()
    assert [item for item in gc.get_objects() if isinstance(item, Sandbox)] == []
