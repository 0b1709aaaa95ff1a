"""Small witness programs of both interface versions, written by hand; a test may replace their parts."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from wasmtime import wat2wasm

from cuzkd.circom.inputs import name_hash, parse_inputs
from cuzkd.circom.wasm import WitnessProgram

BN254_R = 21888242871839275222246405745257275088548364400416034343698204186575808495617
HERE = Path(__file__).parent


def witness(program: WitnessProgram, inputs: object, log: list[str] | None = None) -> list[int]:
    """The program's witness of inputs, given as JSON text or as what JSON is made of."""
    data = inputs if isinstance(inputs, bytes) else json.dumps(inputs).encode()
    out = np.full(program.num_vars * 32, 0xEE, np.uint8)
    program.calculate(parse_inputs(data), out, log)
    raw = out.tobytes()
    return [int.from_bytes(raw[i : i + 32], "little") for i in range(0, len(raw), 32)]


def escaped(data: bytes) -> str:
    return "".join(f"\\{byte:02x}" for byte in data)


def version_2(**parts: str) -> bytes:
    """A circuit of one input x and the wires 1, x. Its shared words are at 0, the prime at 64, x at 128."""
    code = {
        "imports": "",
        "top": "",
        "memory": '(memory (export "memory") 1)',
        "version": "i32.const 2",
        "words": "i32.const 8",
        "wires": "i32.const 2",
        "init": "",
        "set_input": "(memory.copy (i32.const 128) (i32.const 0) (i32.const 32))",
        "get_witness": """
            (memory.fill (i32.const 0) (i32.const 0) (i32.const 32))
            (if (local.get 0)
              (then (memory.copy (i32.const 0) (i32.const 128) (i32.const 32)))
              (else (i32.store (i32.const 0) (i32.const 1))))""",
        "message_char": "i32.const 0",
        "sizes": '(func (export "getInputSignalSize") (param i32 i32) (result i32) i32.const 1)',
    }
    assert parts.keys() <= code.keys()
    code |= parts
    return bytes(
        wat2wasm(f"""(module
      (import "runtime" "exceptionHandler" (func $exception (param i32)))
      {code["imports"]}
      {code["memory"]}
      (data (i32.const 64) "{escaped(BN254_R.to_bytes(32, "little"))}")
      {code["top"]}
      (func (export "getVersion") (result i32) {code["version"]})
      (func (export "getFieldNumLen32") (result i32) {code["words"]})
      (func (export "getRawPrime") (memory.copy (i32.const 0) (i32.const 64) (i32.const 32)))
      (func (export "getWitnessSize") (result i32) {code["wires"]})
      (func (export "getInputSize") (result i32) i32.const 1)
      {code["sizes"]}
      (func (export "init") (param i32) {code["init"]})
      (func (export "readSharedRWMemory") (param i32) (result i32)
        (i32.load (i32.shl (local.get 0) (i32.const 2))))
      (func (export "writeSharedRWMemory") (param i32 i32)
        (i32.store (i32.shl (local.get 0) (i32.const 2)) (local.get 1)))
      (func (export "setInputSignal") (param i32 i32 i32) {code["set_input"]})
      (func (export "getWitness") (param i32) {code["get_witness"]})
      (func (export "getMessageChar") (result i32) {code["message_char"]}))""")
    )


def version_1(**parts: str) -> bytes:
    """A circuit `x[2], y -> out` with x[0] === x[1] and out <== y: the wires 1, out, x[0], x[1], y.

    Signals are 40-byte elements from 1024, their flags "is set" words from 512, the witness is at 2048.
    """
    low = {name: name_hash(name) & 0xFFFFFFFF for name in ("out", "x", "y")}
    montgomery_one = bytes(4) + bytes([0, 0, 0, 0xC0]) + (2**256 % BN254_R).to_bytes(32, "little")
    code = {
        "memory": '(import "env" "memory" (memory 1))',
        "element_bytes": "i32.const 40",
        "wires": "i32.const 5",
        "heap": escaped((8192).to_bytes(4, "little")),
        "run": "",
    } | parts
    return bytes(
        wat2wasm(f"""(module
      {code["memory"]}
      (import "runtime" "error" (func $error (param i32 i32 i32 i32 i32 i32)))
      (import "runtime" "log" (func $log (param i32)))
      (import "runtime" "logSetSignal" (func $set_logged (param i32 i32)))
      (import "runtime" "logStartComponent" (func $started (param i32)))
      (global $left (mut i32) (i32.const 0))
      (data (i32.const 0) "{code["heap"]}")
      (data (i32.const 64) "{escaped(BN254_R.to_bytes(32, "little"))}")
      (data (i32.const 128) "Constraint doesn't match\\00")
      (data (i32.const 192) "circuit.circom:7:4\\00")
      (data (i32.const 256) "{escaped(montgomery_one)}")
      (func $cell (param i32) (result i32)
        (i32.add (i32.const 1024) (i32.mul (local.get 0) (i32.const 40))))
      (func $fail (param $code i32)
        (call $error (local.get $code) (i32.const 128)
                     (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)))
      (func (export "getFrLen") (result i32) {code["element_bytes"]})
      (func (export "getPRawPrime") (result i32) i32.const 64)
      (func (export "getNVars") (result i32) {code["wires"]})
      (func (export "init") (param $checks i32)
        (if (i32.eqz (local.get $checks)) (then unreachable))
        (global.set $left (i32.const 3))
        (i32.store (call $cell (i32.const 0)) (i32.const 1)))
      (func (export "getSignalOffset32") (param $result i32) (param i32 i32) (param $low i32)
        (i32.store (local.get $result) (block $found (result i32)
          (drop (br_if $found (i32.const 1) (i32.eq (local.get $low) (i32.const {low["out"]}))))
          (drop (br_if $found (i32.const 2) (i32.eq (local.get $low) (i32.const {low["x"]}))))
          (drop (br_if $found (i32.const 4) (i32.eq (local.get $low) (i32.const {low["y"]}))))
          (call $fail (i32.const 3))
          unreachable)))
      (func $set (export "setSignal") (param i32 i32) (param $signal i32) (param $value i32)
        (local $flag i32)
        (local.set $flag (i32.add (i32.const 512) (i32.shl (local.get $signal) (i32.const 2))))
        (call $set_logged (local.get $signal) (local.get $value))
        (if (i32.load (local.get $flag)) (then (call $fail (i32.const 6))))
        (i32.store (local.get $flag) (i32.const 1))
        (memory.copy (call $cell (local.get $signal)) (local.get $value) (i32.const 40))
        (if (i32.ge_u (local.get $signal) (i32.const 2)) (then
          (global.set $left (i32.sub (global.get $left) (i32.const 1)))
          (if (i32.eqz (global.get $left)) (then (call $main))))))
      (func $main
        (local $word i32)
        (call $started (i32.const 0))
        {code["run"]}
        (loop $next
          (if (i32.ne (i32.load (i32.add (call $cell (i32.const 2)) (local.get $word)))
                      (i32.load (i32.add (call $cell (i32.const 3)) (local.get $word))))
            (then (call $error (i32.const 7) (i32.const 128) (i32.const 0) (call $cell (i32.const 2))
                               (call $cell (i32.const 3)) (i32.const 192))))
          (br_if $next (i32.lt_u (local.tee $word (i32.add (local.get $word) (i32.const 4))) (i32.const 40))))
        (call $log (call $cell (i32.const 2)))
        (call $log (i32.const 256))
        (call $set (i32.const 0) (i32.const 0) (i32.const 1) (call $cell (i32.const 4))))
      (func (export "getWitnessBuffer") (result i32)
        (local $wire i32)
        (loop $next
          (call $canonical (call $cell (local.get $wire))
                           (i32.add (i32.const 2048) (i32.shl (local.get $wire) (i32.const 5))))
          (br_if $next (i32.lt_u (local.tee $wire (i32.add (local.get $wire) (i32.const 1))) (i32.const 5))))
        i32.const 2048)
      (func $canonical (param $from i32) (param $to i32)
        (local $sum i64) (local $word i32)
        (if (i32.load offset=4 (local.get $from)) (then
          (memory.copy (local.get $to) (i32.add (local.get $from) (i32.const 8)) (i32.const 32))
          return))
        (local.set $sum (i64.load32_s (local.get $from)))
        (if (i64.ge_s (local.get $sum) (i64.const 0)) (then
          (i64.store (local.get $to) (local.get $sum))
          return))
        (loop $next  ;; the prime plus the negative value, word by word with a signed carry
          (local.set $sum (i64.add (local.get $sum) (i64.load32_u offset=64 (local.get $word))))
          (i64.store32 (i32.add (local.get $to) (local.get $word)) (local.get $sum))
          (local.set $sum (i64.shr_s (local.get $sum) (i64.const 32)))
          (local.set $word (i32.add (local.get $word) (i32.const 4)))
          (br_if $next (i32.lt_u (local.get $word) (i32.const 32))))))
      """)
    )
