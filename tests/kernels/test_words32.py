"""The headers give the same numbers over 32-bit words, as a device sees them, compiled without a warning."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from field_values import FIELDS, edge_values, modulus_and_limbs

HERE = Path(__file__).resolve().parent
INCLUDE = HERE.parents[1] / "kernels" / "include"
COMPILER = shutil.which("g++") or shutil.which("clang++")


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if COMPILER is None:
        pytest.skip("no C++ compiler")
    path = tmp_path_factory.mktemp("words32") / "words32"
    flags = ["-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", "-DCUZKD_WORD32", f"-I{INCLUDE}"]
    subprocess.run([COMPILER, *flags, str(HERE / "words32.cpp"), "-o", str(path)], check=True)
    return path


def text_of(value: int, limbs: int) -> str:
    return ",".join(f"{value >> (64 * i) & 0xFFFFFFFFFFFFFFFF:x}" for i in range(limbs))


def test_operations_are_integers_modulo_p(program: Path) -> None:
    asked, expected = [], []
    for curve, name in FIELDS:
        p, limbs = modulus_and_limbs(curve, name)
        radix = 1 << (64 * limbs)
        k = pow(radix, -1, p)
        values = edge_values(p, limbs)
        for a, b in zip(values, reversed(values), strict=True):
            asked.append(f"{curve}.{name} {text_of(a, limbs)} {text_of(b, limbs)}")
            results = [a + b, a - b, a * b * k, a * a * k, pow(a, -1, p) * radix**2 if a else 0]
            if 4 * p < radix:
                results.append((a * b - b * 2 * a) * k)
            expected += [text_of(value % p, limbs) + "," for value in results]
    output = subprocess.run(
        [str(program)], input="\n".join(asked), capture_output=True, text=True, check=True
    ).stdout
    assert output.split() == expected
