;; Moves values between this module's memory and a circom 2 witness program, which takes and gives one 32-bit
;; word a call: 32-byte little-endian values, the first at address 0, at most 65536 at a time.
(module
  (import "program" "getWitness" (func $get_witness (param i32)))
  (import "program" "readSharedRWMemory" (func $read (param i32) (result i32)))
  (import "program" "writeSharedRWMemory" (func $write (param i32 i32)))
  (import "program" "setInputSignal" (func $set_input (param i32 i32 i32)))
  (memory (export "memory") 32 32)

  ;; The values of the wires first .. first + count - 1.
  (func (export "drain") (param $first i32) (param $count i32)
    (local $address i32) (local $word i32)
    (block $done
      (loop $wire
        (br_if $done (i32.eqz (local.get $count)))
        (call $get_witness (local.get $first))
        (local.set $word (i32.const 0))
        (loop $next
          (i32.store (local.get $address) (call $read (local.get $word)))
          (local.set $address (i32.add (local.get $address) (i32.const 4)))
          (local.set $word (i32.add (local.get $word) (i32.const 1)))
          (br_if $next (i32.lt_u (local.get $word) (i32.const 8))))
        (local.set $first (i32.add (local.get $first) (i32.const 1)))
        (local.set $count (i32.sub (local.get $count) (i32.const 1)))
        (br $wire))))

  ;; Sets the cells first .. first + count - 1 of the input signal with this hash.
  (func (export "feed") (param $high i32) (param $low i32) (param $first i32) (param $count i32)
    (local $address i32) (local $word i32)
    (block $done
      (loop $cell
        (br_if $done (i32.eqz (local.get $count)))
        (local.set $word (i32.const 0))
        (loop $next
          (call $write (local.get $word) (i32.load (local.get $address)))
          (local.set $address (i32.add (local.get $address) (i32.const 4)))
          (local.set $word (i32.add (local.get $word) (i32.const 1)))
          (br_if $next (i32.lt_u (local.get $word) (i32.const 8))))
        (call $set_input (local.get $high) (local.get $low) (local.get $first))
        (local.set $first (i32.add (local.get $first) (i32.const 1)))
        (local.set $count (i32.sub (local.get $count) (i32.const 1)))
        (br $cell)))))
