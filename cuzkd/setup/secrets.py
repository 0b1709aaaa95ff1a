"""The secrets of a development key ("toxic waste"): whoever knows them can forge proofs."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from cuzkd.kernels.params import PARAMS
from cuzkd.model import Curve


@dataclass(frozen=True, slots=True, repr=False)
class ToxicWaste:
    """tau, alpha, beta, gamma, delta in Fr, none of them zero. Never printed, never stored."""

    tau: int
    alpha: int
    beta: int
    gamma: int
    delta: int

    @classmethod
    def draw(cls, curve: Curve) -> ToxicWaste:
        """Fresh secrets from the operating system; gamma is 1, as snarkjs has it."""
        r = PARAMS[curve].r
        tau, alpha, beta, delta = (1 + secrets.randbelow(r - 1) for _ in range(4))
        return cls(tau=tau, alpha=alpha, beta=beta, gamma=1, delta=delta)
