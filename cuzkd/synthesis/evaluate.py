"""From the witness to the constraint evaluations: a = A·z, b = B·z and c, written in place."""

from __future__ import annotations

import numpy as np

from cuzkd.formats.compiled import CompiledCircuit
from cuzkd.formats.constraints import KeptConstraints
from cuzkd.kernels.evaluate import evaluate, hadamard
from cuzkd.vectors import LIMBS, Vectors

_ROWS_AT_ONCE = 1 << 16


def evaluate_constraints(
    circuit: CompiledCircuit, vectors: Vectors, threads: int, constraints: KeptConstraints | None = None
) -> int | None:
    """Fill a, b and c (rows, 4) in Montgomery form from z; the first constraint that z breaks, if any.

    With the matrix C, the circuit's own or of `constraints`, c is C·z, and a constraint is broken where that is
    not a∘b. Without it c is a∘b, what a satisfied constraint makes of it, and none is ever found broken: that is
    seen when the proof is verified.
    """
    curve = circuit.ref.shape.curve
    evaluate(curve, circuit.matrix_a, vectors.z, vectors.a, threads=threads)
    evaluate(curve, circuit.matrix_b, vectors.z, vectors.b, threads=threads)
    if circuit.matrix_c is not None:
        evaluate(curve, circuit.matrix_c, vectors.z, vectors.c, threads=threads)
        return _first_broken(circuit, vectors, threads)
    if constraints is None:
        hadamard(curve, vectors.a, vectors.b, vectors.c, threads=threads)
        return None
    rows = constraints.c.rows
    if rows:
        evaluate(curve, constraints.c, vectors.z, vectors.c[:rows], threads=threads)
    # the rows that bind public wires have nothing in B
    vectors.c[rows:] = 0
    return _first_broken(circuit, vectors, threads)


def _first_broken(circuit: CompiledCircuit, vectors: Vectors, threads: int) -> int | None:
    """The first row where a∘b is not c, found in pieces so that no fourth vector is needed."""
    product = np.empty((min(_ROWS_AT_ONCE, len(vectors.a)), LIMBS), dtype=np.uint64)
    for start in range(0, len(vectors.a), _ROWS_AT_ONCE):
        a, b, c = (vector[start : start + _ROWS_AT_ONCE] for vector in (vectors.a, vectors.b, vectors.c))
        piece = product[: len(a)]
        hadamard(circuit.ref.shape.curve, a, b, piece, threads=threads)
        if not np.array_equal(piece, c):
            return start + int((piece != c).any(axis=1).argmax())
    return None
