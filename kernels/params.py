"""The one home of every curve and field constant; run as a program it prints `include/params.cuh`.

Primary constants are the curve families' integer parameters and the standard generators; everything else
is derived here with Python integers, so that a slip in one constant cannot survive the tests.

Sources: BN254 (`alt_bn128`) is EIP-196/197; BLS12-381 is draft-irtf-cfrg-pairing-friendly-curves, section 4.2.1.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from cuzkd.model import Curve

Fp2 = tuple[int, int]

SCALAR_LIMBS = 4
"""64-bit limbs of a scalar, on both curves."""

BELLPERSON_NON_RESIDUE = 7
"""What bellperson's roots of unity and cosets are powers of."""


@dataclass(frozen=True, slots=True)
class CurveParams:
    """One pairing curve y² = x³ + b over Fq, its twist y² = x³ + b2 over Fq2 = Fq[u]/(u² + 1), and Fr.

    The tower is Fq6 = Fq2[v]/(v³ - xi), Fq12 = Fq6[w]/(w² - v). `twist_is_d` tells b2 = b / xi (D) from b·xi (M).
    Integers are canonical; `root` is `non_residue` to the power (r - 1) / 2^two_adicity, as snarkjs has it, and
    `bellperson_root` is 7 to that power: the same domains in another order.
    """

    name: str
    x: int
    q: int
    r: int
    limbs: int
    b: int
    b2: Fp2
    xi: Fp2
    twist_is_d: bool
    g1: tuple[int, int]
    g2: tuple[Fp2, Fp2]
    cofactor1: int
    cofactor2: int
    ate_loop: int
    two_adicity: int
    non_residue: int
    root: int
    bellperson_root: int

    @property
    def radix_q(self) -> int:
        """R of Fq's Montgomery form, 2^(64·limbs)."""
        return 1 << (64 * self.limbs)


def fp2_mul(q: int, a: Fp2, b: Fp2) -> Fp2:
    """a·b in Fq[u]/(u² + 1)."""
    return (a[0] * b[0] - a[1] * b[1]) % q, (a[0] * b[1] + a[1] * b[0]) % q


def fp2_inv(q: int, a: Fp2) -> Fp2:
    """1/a in Fq[u]/(u² + 1); ValueError for zero."""
    norm = pow(a[0] * a[0] + a[1] * a[1], -1, q)
    return a[0] * norm % q, -a[1] * norm % q


def fp2_pow(q: int, a: Fp2, e: int) -> Fp2:
    """a^e in Fq[u]/(u² + 1), e ≥ 0."""
    result = (1, 0)
    while e:
        if e & 1:
            result = fp2_mul(q, result, a)
        a = fp2_mul(q, a, a)
        e >>= 1
    return result


def _root_of_unity(r: int, non_residue: int) -> tuple[int, int]:
    two_adicity = ((r - 1) & (1 - r)).bit_length() - 1
    return two_adicity, pow(non_residue, (r - 1) >> two_adicity, r)


def _bn254() -> CurveParams:
    x = 4965661367192848881
    q = 36 * x**4 + 36 * x**3 + 24 * x**2 + 6 * x + 1
    r = 36 * x**4 + 36 * x**3 + 18 * x**2 + 6 * x + 1
    xi = (9, 1)
    two_adicity, root = _root_of_unity(r, 5)
    return CurveParams(
        name="Bn254",
        x=x,
        q=q,
        r=r,
        limbs=4,
        b=3,
        b2=fp2_mul(q, (3, 0), fp2_inv(q, xi)),
        xi=xi,
        twist_is_d=True,
        g1=(1, 2),
        g2=(
            (
                10857046999023057135944570762232829481370756359578518086990519993285655852781,
                11559732032986387107991004021392285783925812861821192530917403151452391805634,
            ),
            (
                8495653923123431417604973247489272438418190587263600148770280649306958101930,
                4082367875863433681332203403145435568316851327593401208105741076214120093531,
            ),
        ),
        cofactor1=1,
        cofactor2=2 * q - r,
        ate_loop=6 * x + 2,
        two_adicity=two_adicity,
        non_residue=5,
        root=root,
        bellperson_root=_root_of_unity(r, BELLPERSON_NON_RESIDUE)[1],
    )


def _bls12_381() -> CurveParams:
    x = -0xD201000000010000
    r = x**4 - x**2 + 1
    q = (x - 1) ** 2 * r // 3 + x
    xi = (1, 1)
    two_adicity, root = _root_of_unity(r, 5)
    return CurveParams(
        name="Bls12381",
        x=x,
        q=q,
        r=r,
        limbs=6,
        b=4,
        b2=fp2_mul(q, (4, 0), xi),
        xi=xi,
        twist_is_d=False,
        g1=(
            0x17F1D3A73197D7942695638C4FA9AC0FC3688C4F9774B905A14E3A3F171BAC586C55E83FF97A1AEFFB3AF00ADB22C6BB,
            0x08B3F481E3AAA0F1A09E30ED741D8AE4FCF5E095D5D00AF600DB18CB2C04B3EDD03CC744A2888AE40CAA232946C5E7E1,
        ),
        g2=(
            (
                0x024AA2B2F08F0A91260805272DC51051C6E47AD4FA403B02B4510B647AE3D1770BAC0326A805BBEFD48056C8C121BDB8,
                0x13E02B6052719F607DACD3A088274F65596BD0D09920B61AB5DA61BBDC7F5049334CF11213945D57E5AC7D055D042B7E,
            ),
            (
                0x0CE5D527727D6E118CC9CDC6DA2E351AADFD9BAA8CBDD3A76D429A695160D12C923AC9CC3BACA289E193548608B82801,
                0x0606C4A02EA734CC32ACD2B02BC28B99CB3E287E85A763AF267492AB572E99AB3F370D275CEC1DA1AAA9075FF05F79BE,
            ),
        ),
        cofactor1=(x - 1) ** 2 // 3,
        cofactor2=(x**8 - 4 * x**7 + 5 * x**6 - 4 * x**4 + 6 * x**3 - 4 * x**2 - 4 * x + 13) // 9,
        ate_loop=abs(x),
        two_adicity=two_adicity,
        non_residue=5,
        root=root,
        bellperson_root=_root_of_unity(r, BELLPERSON_NON_RESIDUE)[1],
    )


PARAMS: Mapping[Curve, CurveParams] = MappingProxyType({Curve.BN254: _bn254(), Curve.BLS12_381: _bls12_381()})


def limbs_of(value: int, count: int) -> list[int]:
    """`value` as `count` little-endian 64-bit limbs; OverflowError when it does not fit."""
    data = value.to_bytes(8 * count, "little")
    return [int.from_bytes(data[i : i + 8], "little") for i in range(0, len(data), 8)]


def frobenius_coefficients(p: CurveParams) -> list[Fp2]:
    """xi^(i·(q - 1)/6) for i = 1…5: w^i under the q-power Frobenius is this times w^i."""
    gamma = fp2_pow(p.q, p.xi, (p.q - 1) // 6)
    powers = [gamma]
    while len(powers) < 5:
        powers.append(fp2_mul(p.q, powers[-1], gamma))
    return powers


def twist_frobenius(p: CurveParams) -> tuple[Fp2, Fp2]:
    """(cx, cy) with psi(x, y) = (cx·conj(x), cy·conj(y)) the untwist-Frobenius-twist map on the twist."""
    gamma = frobenius_coefficients(p)
    cx, cy = gamma[1], gamma[2]
    return (cx, cy) if p.twist_is_d else (fp2_inv(p.q, cx), fp2_inv(p.q, cy))


def cube_root_of_one(p: CurveParams) -> int:
    """The beta of Fq for which (beta·x, y) = -[x²](x, y) on BLS12-381's G1; any primitive one on BN254."""
    root = pow(next(g for g in range(2, 50) if pow(g, (p.q - 1) // 3, p.q) != 1), (p.q - 1) // 3, p.q)
    if p.limbs == 4:
        return root
    # Both primitive roots act on G1 as a cube root of one modulo r; -x² is one of them: take the matching beta.
    lam = -(p.x**2) % p.r
    return root if _g1_multiple_x(p, lam) == root * p.g1[0] % p.q else root * root % p.q


def _g1_multiple_x(p: CurveParams, k: int) -> int:
    """The x coordinate of k·g1 by double and add, k ≥ 2 and no intermediate infinity."""
    acc = p.g1
    for bit in bin(k)[3:]:
        acc = _g1_add(p.q, acc, acc)
        if bit == "1":
            acc = _g1_add(p.q, acc, p.g1)
    return acc[0]


def _g1_add(q: int, a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
    slope = (3 * a[0] ** 2 * pow(2 * a[1], -1, q)) if a == b else (b[1] - a[1]) * pow(b[0] - a[0], -1, q)
    x = (slope**2 - a[0] - b[0]) % q
    return x, (slope * (a[0] - x) - a[1]) % q


def _function(name: str, values: list[int]) -> str:
    body = ", ".join(f"{v:#018x}ull" for v in values)
    return (
        f"    static HD constexpr u64 {name}(unsigned i) {{\n"
        f"        constexpr u64 limb[{len(values)}] = {{{body}}};\n"
        f"        return limb[i];\n"
        f"    }}\n"
    )


def _field_struct(name: str, modulus: int, limbs: int, roots: tuple[int, int, int] | None) -> Iterator[str]:
    radix = 1 << (64 * limbs)
    yield f"struct {name} {{\n"
    yield f"    static constexpr unsigned LIMBS32 = {2 * limbs};\n"
    yield f"    static constexpr unsigned SPARE_BITS = {64 * limbs - modulus.bit_length()};\n"
    yield f"    static constexpr u64 INV = {-pow(modulus, -1, 1 << 64) % (1 << 64):#018x}ull;\n"
    yield _function("modulus", limbs_of(modulus, limbs))
    yield _function("one", limbs_of(radix % modulus, limbs))
    yield _function("r_squared", limbs_of(radix * radix % modulus, limbs))
    if roots is not None:
        yield f"    static constexpr unsigned TWO_ADICITY = {roots[0]};\n"
        yield _function("root", limbs_of(roots[1] * radix % modulus, limbs))
        yield _function("bellperson_root", limbs_of(roots[2] * radix % modulus, limbs))
    yield "};\n\n"


def _curve_struct(p: CurveParams) -> Iterator[str]:
    def montgomery(*values: int) -> list[int]:
        return [limb for v in values for limb in limbs_of(v * p.radix_q % p.q, p.limbs)]

    cx, cy = twist_frobenius(p)
    gammas = [c for gamma in frobenius_coefficients(p) for c in gamma]
    yield f"struct {p.name}Constants {{\n"
    yield f"    static constexpr u64 X_ABS = {abs(p.x):#018x}ull;\n"
    yield f"    static constexpr bool X_NEGATIVE = {'true' if p.x < 0 else 'false'};\n"
    yield f"    static constexpr unsigned XI_0 = {p.xi[0]};\n"
    yield f"    static constexpr bool TWIST_IS_D = {'true' if p.twist_is_d else 'false'};\n"
    yield f"    static constexpr unsigned ATE_LOOP_BITS = {p.ate_loop.bit_length()};\n"
    yield _function("ate_loop", limbs_of(p.ate_loop, 2))
    yield _function("b", montgomery(p.b))
    yield _function("b2", montgomery(*p.b2))
    yield _function("g1", montgomery(*p.g1))
    yield _function("g2", montgomery(*p.g2[0], *p.g2[1]))
    yield _function("beta", montgomery(cube_root_of_one(p)))
    yield _function("psi_x", montgomery(*cx))
    yield _function("psi_y", montgomery(*cy))
    yield _function("frobenius", montgomery(*gammas))
    yield "};\n\n"


def header() -> str:
    """The text of `include/params.cuh`: field and curve constants as functions that fold at compile time."""
    parts = [
        "// The constants of fields and curves, all elements in Montgomery form, limbs of 64 bits, least first.\n",
        "// Generated by `python -m cuzkd.kernels.params > kernels/include/params.cuh`; do not edit.\n",
        "#pragma once\n",
        '#include "limbs.cuh"\n\n',
        "namespace cuzkd {\n\n",
    ]
    for p in PARAMS.values():
        parts += _field_struct(f"{p.name}FqParams", p.q, p.limbs, None)
        parts += _field_struct(
            f"{p.name}FrParams", p.r, SCALAR_LIMBS, (p.two_adicity, p.root, p.bellperson_root)
        )
        parts += _curve_struct(p)
    parts.append("}  // namespace cuzkd\n")
    return "".join(parts)


if __name__ == "__main__":
    sys.stdout.write(header())
