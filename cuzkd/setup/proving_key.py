"""A proving key in the snarkjs shape, from a constraint system and its secrets: a key relation a line."""

from __future__ import annotations

from cuzkd.errors import Unsupported
from cuzkd.formats.system import ConstraintSystem
from cuzkd.formats.zkey_writer import ProvingKey
from cuzkd.kernels.curve import Group
from cuzkd.kernels.field import scalars_from_ints
from cuzkd.kernels.fixed_base import multiples
from cuzkd.kernels.params import PARAMS
from cuzkd.model import Curve, Flavour
from cuzkd.setup.multiples import Multiples, Tally
from cuzkd.setup.qap import Qap, Scalars, lagrange
from cuzkd.setup.secrets import Generators, ToxicWaste


def make_proving_key(
    system: ConstraintSystem,
    waste: ToxicWaste,
    threads: int,
    generators: Generators | None = None,
    tally: Tally | None = None,
) -> ProvingKey:
    """The key of `system`: its queries are multiples of the generators by the QAP's values at tau.

    The queries are made as they are written, and told to `tally`. Unsupported when the curve has no domain of
    twice the size.
    """
    curve, log_n = system.curve, system.log_domain
    if log_n + 1 > PARAMS[curve].two_adicity:
        raise Unsupported(f"a domain of 2^{log_n} on {curve} has no odd coset of roots of unity")
    tally = tally or Tally()
    tally.evaluating()
    qap = Qap.at(system, waste.tau, Flavour.SNARKJS, threads)
    split = system.num_public + 1
    over_gamma = qap.combined(waste.alpha, waste.beta, waste.gamma, slice(split), threads)
    over_delta = qap.combined(waste.alpha, waste.beta, waste.delta, slice(split, None), threads)
    inverse_delta = pow(waste.delta, -1, PARAMS[curve].r)
    odd = lagrange(curve, waste.tau, log_n + 1, inverse_delta, threads)[1::2]
    base = generators or Generators.standard(curve)
    tally.expect(3 * system.num_vars + split + len(over_delta) + len(odd))

    def g1(name: str, scalars: Scalars) -> Multiples:
        return Multiples(name, curve, Group.G1, base.g1, scalars, threads, tally)

    in_g1 = _single(curve, Group.G1, base.g1, waste.alpha, waste.beta, waste.delta)
    in_g2 = _single(curve, Group.G2, base.g2, waste.beta, waste.gamma, waste.delta)
    return ProvingKey(
        curve=curve,
        num_vars=system.num_vars,
        num_public=system.num_public,
        log_domain=log_n,
        matrix_a=system.a,
        matrix_b=system.b,
        alpha1=in_g1[0:1],
        beta1=in_g1[1:2],
        delta1=in_g1[2:3],
        beta2=in_g2[0:1],
        gamma2=in_g2[1:2],
        delta2=in_g2[2:3],
        ic=g1("IC", over_gamma),
        a=g1("A", qap.u),
        b1=g1("B1", qap.v),
        b2=Multiples("B2", curve, Group.G2, base.g2, qap.v, threads, tally),
        c=g1("C", over_delta),
        h=g1("H", odd),
    )


def _single(curve: Curve, group: Group, base: Scalars, *scalars: int) -> Scalars:
    return multiples(curve, group, scalars_from_ints(scalars), base=base, threads=1)
