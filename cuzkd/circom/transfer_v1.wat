;; Sets the signals offset .. offset + count - 1 of a circom 0.5 witness program's main component from
;; consecutive 40-byte field elements in the program's own memory.
(module
  (import "program" "setSignal" (func $set_signal (param i32 i32 i32 i32)))
  (func (export "feed") (param $source i32) (param $offset i32) (param $count i32)
    (block $done
      (loop $cell
        (br_if $done (i32.eqz (local.get $count)))
        (call $set_signal (i32.const 0) (i32.const 0) (local.get $offset) (local.get $source))
        (local.set $source (i32.add (local.get $source) (i32.const 40)))
        (local.set $offset (i32.add (local.get $offset) (i32.const 1)))
        (local.set $count (i32.sub (local.get $count) (i32.const 1)))
        (br $cell)))))
