"""Circuits for measuring: constraint systems of a chosen size with a witness that satisfies them.

`dense` is a chain of squarings: every value is full width. `bits` is what hash functions look like to a
prover: 85 % of the rows say that a wire is a bit, the rest is a chain of squarings.
"""

from __future__ import annotations

import enum
import random
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cuzkd.formats.system import ConstraintSystem
from cuzkd.kernels.evaluate import Csr, coefficient_form
from cuzkd.kernels.field import scalars_from_ints
from cuzkd.kernels.params import PARAMS
from cuzkd.model import Curve
from cuzkd.setup.qap import Scalars

BIT_SHARE = 0.85


class Workload(enum.StrEnum):
    """The kinds of circuit."""

    DENSE = "dense"
    BITS = "bits"


@dataclass(frozen=True, slots=True)
class Instance:
    """A circuit and one witness, (num_vars, 4) uint64 canonical."""

    system: ConstraintSystem
    witness: Scalars


def make_instance(curve: Curve, workload: Workload, log_n: int, seed: int = 1) -> Instance:
    """A circuit that fills the domain of 2^log_n exactly, with one public output: the end of the chain.

    Wires: one, the output, the chain from its start to the last but one, then the bits.
    """
    constraints = (1 << log_n) - 2
    bits = int(constraints * BIT_SHARE) if workload is Workload.BITS else 0
    chain = constraints - bits
    r = PARAMS[curve].r
    generator = random.Random(seed)  # noqa: S311 - data to measure with, not secrets
    values = [generator.randrange(r)]
    for _ in range(chain):
        values.append(values[-1] * values[-1] % r)
    witness = [1, values[chain], *values[:chain], *(generator.getrandbits(1) for _ in range(bits))]
    source = np.arange(2, 2 + constraints, dtype=np.uint32)
    target = source.copy()
    target[: chain - 1] = source[1:chain]
    target[chain - 1] = 1
    return Instance(
        ConstraintSystem(
            curve=curve,
            num_vars=len(witness),
            num_public=1,
            constraints=constraints,
            a=_ones(curve, np.concatenate([source, np.array([0, 1], dtype=np.uint32)])),
            b=_ones(curve, source),
            c=_ones(curve, target),
        ),
        scalars_from_ints(witness),
    )


def _ones(curve: Curve, wires: npt.NDArray[np.uint32]) -> Csr:
    """The matrix whose row i has the entry one in column wires[i]."""
    return Csr(
        np.arange(len(wires) + 1, dtype=np.uint64),
        wires,
        np.zeros(len(wires), dtype=np.uint32),
        coefficient_form(curve, scalars_from_ints([1]), threads=1),
    )
