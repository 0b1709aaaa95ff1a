"""The Groth16 prover: a stage a function, in the terms of Groth's paper (Eurocrypt 2016), as snarkjs has it.

With the proving key's queries over the witness z and the quotient's values p at the odd coset:

    π_A  = α + Σ z_s A_s + r δ                           in G1
    π_B  = β + Σ z_s B_s + s δ                           in G2, and π_B1 the same in G1
    π_C  = Σ z_s C_s + Σ p_i H_i + s π_A + r π_B1 - r s δ   in G1, the first sum over private wires

The device makes the five sums; what is left is a handful of point operations.

With a bellperson key the p_i are the quotient's coefficients, their H_i go with the powers of tau, and A and B have no
bases for wires whose polynomials are zero: the sums, and so the equations, are the same.
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import numpy as np

from cuzkd.errors import WrongProof
from cuzkd.formats.compiled import CompiledCircuit
from cuzkd.gpu.device import LoadedKey, Point, Query, Upload
from cuzkd.kernels.curve import Group, combine, decode
from cuzkd.kernels.field import scalars_from_ints
from cuzkd.kernels.params import PARAMS
from cuzkd.kernels.verify import verify
from cuzkd.model import G1, G2, SCALAR_BYTES, Curve, Phase, Proof
from cuzkd.pulse import PULSE
from cuzkd.vectors import Vectors

Stage = Callable[[Phase], contextlib.AbstractContextManager[None]]


@dataclass(frozen=True, slots=True)
class Blinding:
    """The prover's randomness, which makes the proof zero-knowledge: a secret, never stored or logged."""

    r: int
    s: int

    @classmethod
    def draw(cls, curve: Curve) -> Blinding:
        """Uniform scalars from the operating system's generator."""
        order = PARAMS[curve].r
        return cls(secrets.randbelow(order), secrets.randbelow(order))

    def __repr__(self) -> str:
        return "Blinding(r=…, s=…)"


@dataclass(frozen=True, slots=True)
class Sums:
    """The five multi-scalar sums, named for their queries."""

    a: Point
    b1: Point
    b2: Point
    c: Point
    h: Point


def prove(
    key: LoadedKey,
    vectors: Vectors,
    blinding: Blinding,
    *,
    segment_read: Callable[[], None] = lambda: None,
    stage: Stage = lambda _: contextlib.nullcontext(),
) -> tuple[Proof, bytes]:
    """A verified proof and its public inputs (32 bytes each, little-endian).

    `segment_read` is called once, as soon as the vectors are not needed any more, even after a failure.
    `WrongProof` when what was made does not verify.
    """
    circuit = key.circuit
    public = vectors.public_bytes(circuit.ref.shape)
    with stage(Phase.UPLOAD):
        upload = key.upload(vectors, segment_read)
    try:
        with stage(Phase.QUOTIENT):
            upload.quotient()
        with stage(Phase.MSM):
            sums = multi_scalar_sums(upload)
    finally:
        upload.close()
    with stage(Phase.FINISH):
        proof = assemble(circuit, sums, blinding)
    with stage(Phase.VERIFY):
        check(circuit, proof, public)
    return proof, public


def multi_scalar_sums(upload: Upload) -> Sums:
    """The sums over z first, so that the segment is free before the sum over the quotient begins."""

    def sum_over(query: Query) -> Point:
        point = upload.msm(query)
        PULSE.step()
        return point

    return Sums(
        a=sum_over(Query.A),
        b1=sum_over(Query.B1),
        b2=sum_over(Query.B2),
        c=sum_over(Query.C),
        h=sum_over(Query.H),
    )


def assemble(circuit: CompiledCircuit, sums: Sums, blinding: Blinding) -> Proof:
    """The proof that the sums make; `WrongProof` when one of its elements is infinity, which no verifier takes.

    For random r and s that has no chance to happen.
    """
    pi_a, pi_b, pi_c = elements(circuit, sums, blinding)
    if pi_a is None or pi_b is None or pi_c is None:
        raise WrongProof("a point of the proof is the point at infinity")
    return Proof(circuit.ref.shape.curve, pi_a, pi_b, pi_c)


def elements(circuit: CompiledCircuit, sums: Sums, blinding: Blinding) -> tuple[G1, G2, G1]:
    """Join the sums with the key's constants and the blinding; the equations are at the top of the module."""
    curve, r, s = circuit.ref.shape.curve, blinding.r, blinding.s
    order = PARAMS[curve].r
    pi_a = _sum(curve, Group.G1, (circuit.alpha1, 1), (sums.a, 1), (circuit.delta1, r))
    pi_b = _sum(curve, Group.G2, (circuit.beta2, 1), (sums.b2, 1), (circuit.delta2, s))
    pi_b1 = _sum(curve, Group.G1, (circuit.beta1, 1), (sums.b1, 1), (circuit.delta1, s))
    pi_c = _sum(
        curve, Group.G1, (sums.c, 1), (sums.h, 1), (pi_a, s), (pi_b1, r), (circuit.delta1, -r * s % order)
    )
    return (
        cast(G1, decode(curve, Group.G1, pi_a)[0]),
        cast(G2, decode(curve, Group.G2, pi_b)[0]),
        cast(G1, decode(curve, Group.G1, pi_c)[0]),
    )


def _sum(curve: Curve, group: Group, *terms: tuple[Point, int]) -> Point:
    """Sum of scalar · point, in time that does not depend on the scalars: r and s are secrets."""
    points = np.concatenate([point for point, _ in terms])
    return combine(curve, group, points, scalars_from_ints(scalar for _, scalar in terms))


def check(circuit: CompiledCircuit, proof: Proof, public: bytes) -> None:
    """Verify the proof as any verifier would; `WrongProof` if it does not hold."""
    inputs = [
        int.from_bytes(public[at : at + SCALAR_BYTES], "little") for at in range(0, len(public), SCALAR_BYTES)
    ]
    if not verify(circuit.vkey, inputs, proof):
        raise WrongProof(
            "the proof does not verify: the witness does not satisfy the circuit, or the device erred"
        )
