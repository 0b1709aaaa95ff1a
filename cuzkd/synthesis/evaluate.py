"""From the witness to the constraint evaluations: a = A·z, b = B·z, c = a∘b, written in place."""

from __future__ import annotations

from cuzkd.formats.compiled import CompiledCircuit
from cuzkd.kernels.evaluate import evaluate, hadamard
from cuzkd.vectors import Vectors


def evaluate_constraints(circuit: CompiledCircuit, vectors: Vectors, threads: int) -> None:
    """Fill a, b and c (rows, 4) in Montgomery form from z.

    A circom key has no matrix C, so c is what a satisfied constraint makes of it; a witness that does not
    satisfy the circuit is seen when the proof is verified.
    """
    curve = circuit.ref.shape.curve
    evaluate(curve, circuit.matrix_a, vectors.z, vectors.a, threads=threads)
    evaluate(curve, circuit.matrix_b, vectors.z, vectors.b, threads=threads)
    hadamard(curve, vectors.a, vectors.b, vectors.c, threads=threads)
