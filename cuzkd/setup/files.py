"""From a constraint system to the files of a key, in either flavour."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import BinaryIO

from cuzkd.formats.system import ConstraintSystem
from cuzkd.formats.zkey_writer import write_zkey
from cuzkd.model import Flavour
from cuzkd.setup.bellperson_key import make_bellperson_key
from cuzkd.setup.multiples import Report, Tally, unreported
from cuzkd.setup.proving_key import make_proving_key
from cuzkd.setup.secrets import Generators, ToxicWaste


@dataclass(frozen=True, slots=True)
class Made:
    """What a set-up did."""

    points: int
    seconds: float


def make_key(
    system: ConstraintSystem,
    flavour: Flavour,
    waste: ToxicWaste,
    generators: Generators,
    files: Sequence[BinaryIO],
    note: str,
    threads: int,
    report: Report = unreported,
) -> Made:
    """Write a key: a `.zkey` into the one file, or `.params` and `.vk` into the two."""
    begin = time.monotonic()
    tally = Tally(report)
    if flavour is Flavour.SNARKJS:
        (zkey,) = files
        write_zkey(zkey, make_proving_key(system, waste, threads, generators, tally), note)
    else:
        params, vk = files
        make_bellperson_key(system, waste, threads, generators, tally).write(params, vk)
    return Made(tally.total, time.monotonic() - begin)
