"""The secrets of a development key ("toxic waste"): whoever knows them can forge proofs."""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cuzkd.errors import BadFile
from cuzkd.kernels.curve import Group, first_outside_subgroup, width
from cuzkd.kernels.fixed_base import generator
from cuzkd.kernels.params import PARAMS
from cuzkd.kernels.uncompressed import point_bytes, read_points
from cuzkd.model import Curve, Flavour

_NAMES = ("tau", "alpha", "beta", "gamma", "delta")


@dataclass(frozen=True, slots=True, repr=False)
class ToxicWaste:
    """tau, alpha, beta, gamma, delta in Fr, none of them zero. Never printed, never stored."""

    tau: int
    alpha: int
    beta: int
    gamma: int
    delta: int

    @classmethod
    def draw(cls, curve: Curve, flavour: Flavour = Flavour.SNARKJS) -> ToxicWaste:
        """Fresh secrets from the operating system; gamma is 1 in the snarkjs flavour, as snarkjs has it."""
        r = PARAMS[curve].r
        tau, alpha, beta, gamma, delta = (1 + secrets.randbelow(r - 1) for _ in range(5))
        return cls(
            tau=tau, alpha=alpha, beta=beta, gamma=1 if flavour is Flavour.SNARKJS else gamma, delta=delta
        )


@dataclass(frozen=True, slots=True)
class Generators:
    """The points that all others are multiples of, (1, width) affine Montgomery."""

    g1: npt.NDArray[np.uint64]
    g2: npt.NDArray[np.uint64]

    @classmethod
    def standard(cls, curve: Curve) -> Generators:
        """The curve's usual ones."""
        return cls(generator(curve, Group.G1), generator(curve, Group.G2))


def load_secrets(text: str | bytes, name: str, curve: Curve) -> tuple[ToxicWaste, Generators]:
    """Secrets that were written down, so that a test's key can be made again: for tests only.

    JSON with tau, alpha, beta, gamma, delta as decimal strings, and perhaps g1 and g2 as uncompressed points in hex
    (big-endian, BLS12-381 only); all of it may stand under "secrets". BadFile for anything else.
    """
    try:
        document = json.loads(text)
        document = document.get("secrets", document)
        values = {field: int(document[field]) for field in _NAMES}
        written = {group: document.get(group.value) for group in Group}
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise BadFile(f"{name}: no secrets of a set-up: {error!r}") from error
    for field, value in values.items():
        if not 0 < value < PARAMS[curve].r:
            raise BadFile(f"{name}: {field} is not in 1 … r - 1")
    standard = Generators.standard(curve)
    g1, g2 = (
        getattr(standard, group.value)
        if given is None
        else _point(given, f"{name}: {group.value}", curve, group)
        for group, given in written.items()
    )
    return ToxicWaste(**values), Generators(g1, g2)


def _point(text: object, where: str, curve: Curve, group: Group) -> npt.NDArray[np.uint64]:
    try:
        data = bytes.fromhex(text) if isinstance(text, str) else b""
    except ValueError:
        data = b""
    if len(data) != point_bytes(curve, group):
        raise BadFile(f"{where}: not {point_bytes(curve, group)} bytes in hex")
    out = np.empty((1, width(curve, group)), dtype=np.uint64)
    bad = read_points(curve, group, np.frombuffer(data, dtype=np.uint8), out, threads=1)
    if bad is not None or first_outside_subgroup(curve, group, out, threads=1) is not None:
        raise BadFile(f"{where}: no point of the group")
    return out
