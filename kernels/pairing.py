"""The pairing e: G1 × G2 → Fq12, to the value that snarkjs writes, and products of pairings.

Optimal ate with the final power (q¹² - 1)/r times 2x·(6x² + 3x + 1) on BN254, times 3 on BLS12-381; sources in
`native/pairing.hpp`.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from cuzkd.kernels import native
from cuzkd.kernels.curve import Group, encode
from cuzkd.kernels.params import PARAMS
from cuzkd.model import G1, G2, Curve


def pairing(curve: Curve, p: G1, q: G2) -> list[list[list[int]]]:
    """e(p, q), canonical, nested [w^i][v^j][u^k] (2 × 3 × 2) as vk_alphabeta_12 in snarkjs' verification key.

    The value 1 when p or q is infinity. ValueError for a point off its curve; subgroups are the caller's to check.
    """
    params = PARAMS[curve]
    out = np.empty((6, 2 * params.limbs), dtype=np.uint64)
    native.pairing(curve.value, encode(curve, Group.G1, [p]), encode(curve, Group.G2, [q]), out)
    data = out.astype("<u8").tobytes()
    size = 8 * params.limbs
    c = [int.from_bytes(data[i : i + size], "little") for i in range(0, len(data), size)]
    return [[[c[6 * i + 2 * j], c[6 * i + 2 * j + 1]] for j in range(3)] for i in range(2)]


def product_is_one(curve: Curve, pairs: Iterable[tuple[G1, G2]]) -> bool:
    """Whether the product of e(p, q) over the pairs is 1; terms with a point at infinity are 1.

    ValueError for a point off its curve; subgroups are the caller's to check.
    """
    terms = list(pairs)
    p = encode(curve, Group.G1, [term[0] for term in terms])
    q = encode(curve, Group.G2, [term[1] for term in terms])
    return native.product_is_one(curve.value, p, q)
