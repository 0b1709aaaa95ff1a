"""From the witness to the constraint evaluations: a = A·z, b = B·z and c, written in place."""

from __future__ import annotations

from cuzkd.formats.compiled import CompiledCircuit
from cuzkd.formats.constraints import KeptConstraints
from cuzkd.kernels.evaluate import evaluate_constraints as kernel
from cuzkd.pulse import PULSE
from cuzkd.vectors import Vectors


def evaluate_constraints(
    circuit: CompiledCircuit, vectors: Vectors, threads: int, constraints: KeptConstraints | None = None
) -> int | None:
    """Fill a, b and c (rows, 4) in Montgomery form from z; the first constraint that z breaks, if any.

    With the matrix C, the circuit's own or of `constraints`, c is C·z, and a constraint is broken where that is
    not a∘b. Without it c is a∘b, what a satisfied constraint makes of it, and none is ever found broken: that is
    seen when the proof is verified.
    """
    of_c = circuit.matrix_c if constraints is None else constraints.c
    PULSE.step()
    return kernel(
        circuit.ref.shape.curve,
        circuit.matrix_a,
        circuit.matrix_b,
        of_c,
        vectors.z,
        (vectors.a, vectors.b, vectors.c),
        threads=threads,
    )
