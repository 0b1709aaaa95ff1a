"""Native field arithmetic in every build against Python integers, at random and at the edges of limbs."""

from __future__ import annotations

import random
from collections.abc import Callable
from types import ModuleType

import numpy as np
import pytest
from field_values import FIELDS, edge_values, modulus_and_limbs

from cuzkd.kernels import _native, field, native
from cuzkd.kernels.params import PARAMS, fp2_inv, fp2_mul
from cuzkd.model import Curve

BUILDS = [pytest.param(_native, id="portable"), pytest.param(native, id=native.arithmetic)]


def rows(values: list[int], limbs: int) -> np.ndarray:
    data = b"".join(v.to_bytes(8 * limbs, "little") for v in values)
    return np.frombuffer(data, dtype="<u8").reshape(-1, limbs).astype(np.uint64)


def integers(array: np.ndarray) -> list[int]:
    return [int.from_bytes(row.astype("<u8").tobytes(), "little") for row in array]


def compute(build: ModuleType, curve: Curve, name: str, operation: str, *operands: np.ndarray) -> np.ndarray:
    out = np.empty_like(operands[0])
    build.elementwise(curve.value, name, operation, operands[0], operands[-1], out)
    return out


@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize(("curve", "name"), FIELDS)
def test_binary_operations_are_integers_modulo_p(build: ModuleType, curve: Curve, name: str) -> None:
    p, limbs = modulus_and_limbs(curve, name)
    values = edge_values(p, limbs)
    left = [a for a in values for _ in values]
    right = [b for _ in values for b in values]
    inverse_radix = pow(1 << (64 * limbs), -1, p)
    expected: dict[str, Callable[[int, int], int]] = {
        "add": lambda a, b: (a + b) % p,
        "sub": lambda a, b: (a - b) % p,
        "mul": lambda a, b: a * b * inverse_radix % p,
    }
    for operation, function in expected.items():
        got = integers(compute(build, curve, name, operation, rows(left, limbs), rows(right, limbs)))
        assert got == [function(a, b) for a, b in zip(left, right, strict=True)], operation


@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize(("curve", "name"), FIELDS)
def test_unary_operations_are_integers_modulo_p(build: ModuleType, curve: Curve, name: str) -> None:
    p, limbs = modulus_and_limbs(curve, name)
    values = edge_values(p, limbs) + [random.Random(7).randrange(p) for _ in range(2000)]
    radix = 1 << (64 * limbs)
    inverse_radix = pow(radix, -1, p)
    expected: dict[str, Callable[[int], int]] = {
        "sqr": lambda a: a * a * inverse_radix % p,
        "neg": lambda a: -a % p,
        "dbl": lambda a: 2 * a % p,
        "to_montgomery": lambda a: a * radix % p,
        "from_montgomery": lambda a: a * inverse_radix % p,
    }
    for operation, function in expected.items():
        got = integers(compute(build, curve, name, operation, rows(values, limbs)))
        assert got == [function(a) for a in values], operation


@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize(("curve", "name"), FIELDS)
def test_inverse_is_the_modular_inverse_and_zero_for_zero(build: ModuleType, curve: Curve, name: str) -> None:
    p, limbs = modulus_and_limbs(curve, name)
    source = random.Random(limbs)
    values = edge_values(p, limbs) + [source.randrange(p) >> source.randrange(250) for _ in range(1000)]
    radix = 1 << (64 * limbs)
    expected = [pow(a, -1, p) * radix * radix % p if a else 0 for a in values]
    for operation in ("inverse", "inverse_fermat"):
        assert integers(compute(build, curve, name, operation, rows(values, limbs))) == expected, operation


@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize("curve", Curve)
def test_the_quadratic_extension_is_pairs_modulo_q(build: ModuleType, curve: Curve) -> None:
    q, limbs = PARAMS[curve].q, PARAMS[curve].limbs
    source = random.Random(11)
    edges = [0, 1, 2, q - 1, q - 2, q // 2, (1 << 64 * (limbs - 1)) - 1]
    values = [(a, b) for a in edges for b in edges]
    values += [(source.randrange(q), source.randrange(q)) for _ in range(20)]
    left = [a for a in values for _ in values]
    right = [b for _ in values for b in values]
    k = pow(1 << (64 * limbs), -1, q)

    def pairs(elements: list[tuple[int, int]]) -> np.ndarray:
        return rows([c for element in elements for c in element], limbs).reshape(-1, 2 * limbs)

    def unpair(array: np.ndarray) -> list[tuple[int, int]]:
        flat = integers(array.reshape(-1, limbs))
        return list(zip(flat[::2], flat[1::2], strict=True))

    product = unpair(compute(build, curve, "fq2", "mul", pairs(left), pairs(right)))
    assert product == [fp2_mul(q, fp2_mul(q, a, b), (k, 0)) for a, b in zip(left, right, strict=True)]
    square = unpair(compute(build, curve, "fq2", "sqr", pairs(values)))
    assert square == [fp2_mul(q, fp2_mul(q, a, a), (k, 0)) for a in values]
    nonzero = [a for a in values if a != (0, 0)]
    inverse = unpair(compute(build, curve, "fq2", "inverse", pairs(nonzero)))
    assert inverse == [fp2_mul(q, fp2_inv(q, a), (pow(k, -2, q), 0)) for a in nonzero]


@pytest.mark.parametrize("curve", Curve)
def test_montgomery_form_and_back_is_the_identity(curve: Curve) -> None:
    r = PARAMS[curve].r
    values = edge_values(r, 4)
    scalars = field.scalars_from_ints(values)
    there = field.to_montgomery(curve, scalars, threads=2)
    assert field.ints_from_scalars(there) == [v * (1 << 256) % r for v in values]
    assert np.array_equal(field.from_montgomery(curve, there, threads=2), scalars)


@pytest.mark.parametrize("curve", Curve)
def test_the_first_noncanonical_scalar_is_found_whatever_the_threads(curve: Curve) -> None:
    r = PARAMS[curve].r
    values = [r - 1 - i for i in range(20000)]
    assert field.first_noncanonical(curve, field.scalars_from_ints(values), threads=3) is None
    for at in (0, 4095, 4096, 19999):
        for bad in (r, r + 1, (1 << 256) - 1):
            spoiled = [*values[:at], bad, *values[at + 1 :]]
            spoiled[-1] = bad
            assert field.first_noncanonical(curve, field.scalars_from_ints(spoiled), threads=3) == at


def test_wrong_shapes_and_types_are_refused() -> None:
    with pytest.raises(ValueError, match="scalars are"):
        field.first_noncanonical(Curve.BN254, np.zeros((3, 5), dtype=np.uint64), threads=1)
    with pytest.raises(ValueError, match="scalars are"):
        field.to_montgomery(Curve.BN254, np.zeros((3, 4), dtype=np.int64), threads=1)  # type: ignore[arg-type]
    with pytest.raises(OverflowError):
        field.scalars_from_ints([1 << 256])
    with pytest.raises(ValueError, match="below the modulus"):
        field.elementwise(
            Curve.BN254,
            "fr",
            "add",
            field.scalars_from_ints([PARAMS[Curve.BN254].r]),
            field.scalars_from_ints([0]),
        )
