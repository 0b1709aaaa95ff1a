"""Products in lanes of doubles are products modulo q, at random and where carries go wrong first."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from field_values import edge_values

from cuzkd.kernels.params import PARAMS
from cuzkd.model import Curve

HERE = Path(__file__).resolve().parent
KERNELS = HERE.parents[1] / "kernels"
COMPILER = shutil.which("g++") or shutil.which("clang++")
LIMB_BITS = 52


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    cpu = Path("/proc/cpuinfo").read_text()
    if COMPILER is None or not all(f" {flag} " in cpu for flag in ("avx2", "fma")):
        pytest.skip("needs a C++ compiler and a processor with AVX2 and FMA")
    path = tmp_path_factory.mktemp("lanes") / "lanes"
    flags = ["-std=c++17", "-O2", "-Wall", "-Wextra", "-Werror", "-mavx2", "-mfma", "-mbmi2", "-madx"]
    includes = [f"-I{KERNELS / 'include'}", f"-I{KERNELS / 'native'}"]
    subprocess.run([COMPILER, *flags, *includes, str(HERE / "lanes.cpp"), "-o", str(path)], check=True)
    return path


def text_of(value: int, limbs: int) -> str:
    return ",".join(f"{value >> (64 * i) & 0xFFFFFFFFFFFFFFFF:x}" for i in range(limbs))


@pytest.mark.parametrize("curve", Curve)
def test_operations_are_integers_modulo_q(program: Path, curve: Curve) -> None:
    q, limbs = PARAMS[curve].q, PARAMS[curve].limbs
    # Products are taken to be without the factor 2^(52·N), N limbs of 52 bits.
    radix = 1 << LIMB_BITS * (5 if limbs == 4 else 8)
    k = pow(radix, -1, q)
    values = edge_values(q, limbs)
    values += [(1 << LIMB_BITS * i) + d for i in range(1, 5) for d in (-1, 0, 1)]
    asked, expected = [], []
    for shift in (0, 1, 7):
        for a, b in zip(values, (values[shift:] + values[:shift])[::-1], strict=True):
            asked.append(f"{curve.value} {text_of(a, limbs)} {text_of(b, limbs)}")
            results = [b - a, a * b * k, a * b * k]
            expected += [text_of(value % q, limbs) + "," for value in results]
            expected += ["".join(text_of(value % q, limbs) + "," for value in (0, (a * a + b * b) * k))]
            expected += [f"{a == 0:d}{a == b:d}"]
    output = subprocess.run(
        [str(program)], input="\n".join(asked), capture_output=True, text=True, check=True
    ).stdout
    assert output.split() == expected
