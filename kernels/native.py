"""The native module in the build that suits this processor; everything else imports it from here.

The sources in `native/` are compiled twice on x86-64: once for any processor, and once with the instructions
BMI2 and ADX, which halve the time of a product, and AVX2 and FMA, which take a third off sums of many points.
`arithmetic` says which one was taken.
"""

from __future__ import annotations

from pathlib import Path


def _cpu_flags() -> frozenset[str]:
    """The processor's features as Linux lists them; empty where it lists none."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace")
    except OSError:
        return frozenset()
    line = next((line for line in text.splitlines() if line.startswith("flags")), "")
    return frozenset(line.partition(":")[2].split())


if {"bmi2", "adx", "avx2", "fma"} <= _cpu_flags():
    from cuzkd.kernels._native_adx import *  # noqa: F403 - this module stands for either build
else:
    from cuzkd.kernels._native import *  # noqa: F403 - this module stands for either build
