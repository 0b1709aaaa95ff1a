"""A proving key in the snarkjs shape, from a constraint system and its secrets: a key relation a line."""

from __future__ import annotations

import numpy as np

from cuzkd.formats.zkey_writer import ProvingKey
from cuzkd.kernels.curve import Group
from cuzkd.kernels.field import scalars_from_ints
from cuzkd.kernels.fixed_base import multiples
from cuzkd.kernels.params import PARAMS
from cuzkd.setup.qap import ConstraintSystem, Scalars, added, at_point, lagrange, scaled, transpose
from cuzkd.setup.secrets import ToxicWaste


def make_proving_key(system: ConstraintSystem, waste: ToxicWaste, threads: int) -> ProvingKey:
    """The key of `system`: its queries are multiples of the generators by the QAP's values at tau.

    Raises ValueError when the curve has no domain of twice the size.
    """
    curve, log_n = system.curve, system.log_domain
    r = PARAMS[curve].r
    if log_n + 1 > PARAMS[curve].two_adicity:
        raise ValueError(f"{curve} has no domain of 2^{log_n + 1} points")
    a, b, c = (transpose(m, system.num_vars) for m in (system.a, system.b, system.c))
    at_tau = lagrange(curve, waste.tau, log_n, 1, threads)
    u = at_point(curve, a, at_tau, threads)
    v = at_point(curve, b, at_tau, threads)
    k = added(added(scaled(curve, a, waste.beta), scaled(curve, b, waste.alpha)), c)
    public = system.num_public + 1
    over_gamma = at_point(curve, scaled(curve, k, pow(waste.gamma, -1, r)), at_tau, threads)[:public]
    over_delta = at_point(curve, scaled(curve, k, pow(waste.delta, -1, r)), at_tau, threads)[public:]
    odd = lagrange(curve, waste.tau, log_n + 1, pow(waste.delta, -1, r), threads)[1::2]

    def g1(scalars: Scalars) -> Scalars:
        return multiples(curve, Group.G1, np.ascontiguousarray(scalars), threads=threads)

    def g2(scalars: Scalars) -> Scalars:
        return multiples(curve, Group.G2, np.ascontiguousarray(scalars), threads=threads)

    in_g1 = g1(scalars_from_ints([waste.alpha, waste.beta, waste.delta]))
    in_g2 = g2(scalars_from_ints([waste.beta, waste.gamma, waste.delta]))
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
        ic=g1(over_gamma),
        a=g1(u),
        b1=g1(v),
        b2=g2(v),
        c=g1(over_delta),
        h=g1(odd),
    )
