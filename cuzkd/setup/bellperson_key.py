"""A proving key in the bellperson shape, from a constraint system and its secrets: a key relation a line.

Against the snarkjs shape: H in the monomial basis and one point shorter, bases of zero polynomials left out of A and B,
and every variable that is not public must occur somewhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import BinaryIO

import numpy as np

from cuzkd.errors import Refused, Unsupported
from cuzkd.formats.bellperson import CURVE
from cuzkd.formats.bellperson_writer import write_params, write_vk
from cuzkd.formats.system import ConstraintSystem, nonzero_rows
from cuzkd.kernels.curve import Group
from cuzkd.kernels.field import from_montgomery, scalars_from_ints
from cuzkd.kernels.fixed_base import multiples
from cuzkd.kernels.params import PARAMS
from cuzkd.model import Flavour
from cuzkd.setup.multiples import Multiples, Tally
from cuzkd.setup.qap import Qap, Scalars, powers
from cuzkd.setup.secrets import Generators, ToxicWaste


@dataclass(frozen=True, slots=True)
class BellpersonKey:
    """A key ready to be written: single points by name, (1, width), and queries that are made on the way."""

    header: dict[str, Scalars]
    queries: dict[str, Multiples]
    threads: int

    def write(self, params: BinaryIO, vk: BinaryIO) -> None:
        """Write both files."""
        write_vk(vk, self.header, self.queries["ic"], threads=self.threads)
        write_params(params, self.header, self.queries, threads=self.threads)


def make_bellperson_key(
    system: ConstraintSystem,
    waste: ToxicWaste,
    threads: int,
    generators: Generators | None = None,
    tally: Tally | None = None,
) -> BellpersonKey:
    """The key of `system`; its queries are made as it is written, and told to `tally`.

    Unsupported for another curve than BLS12-381, Refused where a variable is in no constraint, as bellperson does.
    """
    if system.curve is not CURVE:
        raise Unsupported(f"bellperson's keys are over {CURVE}; the circuit is over {system.curve}")
    if system.rows < 2:
        raise Unsupported("bellperson has no domain for a circuit without constraints and public inputs")
    base = generators or Generators.standard(CURVE)
    tally = tally or Tally()
    tally.evaluating()
    qap = Qap.at(system, waste.tau, Flavour.BELLPERSON, threads)
    split = system.num_public + 1
    over_gamma = qap.combined(waste.alpha, waste.beta, waste.gamma, slice(split), threads)
    over_delta = qap.combined(waste.alpha, waste.beta, waste.delta, slice(split, None), threads)
    _require_used(over_delta, split)
    dense_in_a = nonzero_rows(qap.u)
    dense_in_a[:split] = True
    in_b = np.ascontiguousarray(qap.v[nonzero_rows(qap.v)])
    scalars = {
        "ic": over_gamma,
        "h": _vanishing_powers(system, waste, threads),
        "l": over_delta,
        "a": np.ascontiguousarray(qap.u[dense_in_a]),
        "b_g1": in_b,
    }
    tally.expect(sum(map(len, scalars.values())) + len(scalars["ic"]) + len(in_b))
    queries = {
        name: Multiples(name, CURVE, Group.G1, base.g1, values, threads, tally)
        for name, values in scalars.items()
    }
    queries["b_g2"] = Multiples("b_g2", CURVE, Group.G2, base.g2, in_b, threads, tally)
    return BellpersonKey(_header(waste, base), queries, threads)


def _vanishing_powers(system: ConstraintSystem, waste: ToxicWaste, threads: int) -> Scalars:
    """tau^j·t(tau)/delta for j < m - 1, canonical; t(X) = X^m - 1."""
    r, m = PARAMS[CURVE].r, 1 << system.log_domain
    first = (pow(waste.tau, m, r) - 1) * pow(waste.delta, -1, r) % r
    return from_montgomery(CURVE, powers(CURVE, first, waste.tau, m, threads)[: m - 1], threads=threads)


def _require_used(over_delta: Scalars, split: int) -> None:
    unused = ~nonzero_rows(over_delta)
    if unused.any():
        raise Refused(
            f"wire {split + int(unused.argmax())} is in no constraint, which bellperson's keys have no point for",
            advice="remove the wire from the circuit, or constrain it",
        )


def _header(waste: ToxicWaste, base: Generators) -> dict[str, Scalars]:
    g1 = multiples(
        CURVE, Group.G1, scalars_from_ints([waste.alpha, waste.beta, waste.delta]), base=base.g1, threads=1
    )
    g2 = multiples(
        CURVE, Group.G2, scalars_from_ints([waste.beta, waste.gamma, waste.delta]), base=base.g2, threads=1
    )
    names1, names2 = ("alpha1", "beta1", "delta1"), ("beta2", "gamma2", "delta2")
    return {
        **{name: g1[i : i + 1] for i, name in enumerate(names1)},
        **{name: g2[i : i + 1] for i, name in enumerate(names2)},
    }
