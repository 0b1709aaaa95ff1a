"""The circuits that tests run over: the bundled ones always, and a larger set of the same form when present.

The larger set is the folder that the environment variable CUZKD_FIXTURES names. Tests import this as `fixtures`:
pytest puts tests/ on the path.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from cuzkd.model import Curve

DATA = Path(__file__).resolve().parent / "data"


@dataclass(frozen=True, slots=True)
class Case:
    """One circuit on one curve, as a folder of files that circom and snarkjs wrote."""

    path: Path

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def curve(self) -> Curve:
        return Curve(self.path.name.rpartition("_")[2])

    @property
    def zkey(self) -> Path:
        return self.path / "circuit.zkey"

    @property
    def witness(self) -> Path:
        return self.path / "witness.wtns"

    @property
    def r1cs(self) -> Path:
        return self.path / "circuit.r1cs"

    @property
    def verification_key(self) -> Path:
        return self.path / "verification_key.json"

    @property
    def public(self) -> Path:
        return self.path / "public.json"

    @property
    def proof(self) -> Path:
        return self.path / "proof.json"

    @property
    def input(self) -> Path:
        return self.path / "input.json"

    @property
    def bad_input(self) -> Path | None:
        """Inputs that an assertion of the circuit refuses; few cases have them."""
        path = self.path / "input.bad.json"
        return path if path.exists() else None

    @property
    def wasm(self) -> Path:
        """The witness calculator."""
        return self.path / "circuit.wasm"


def larger_set() -> Path | None:
    """The folder of the larger set; None when the environment names none."""
    named = os.environ.get("CUZKD_FIXTURES")
    return Path(named) if named else None


def _cases_in(folder: Path) -> list[Case]:
    return [Case(path.parent) for path in sorted(folder.glob("*/circuit.zkey"))]


@cache
def bundled_cases() -> tuple[Case, ...]:
    """The cases of tests/data: all are tiny."""
    return tuple(_cases_in(DATA))


@cache
def all_cases() -> tuple[Case, ...]:
    """The bundled cases, then those of the larger set."""
    larger = larger_set()
    return bundled_cases() + (tuple(_cases_in(larger)) if larger else ())


def bundled(name: str) -> Case:
    """A bundled case by its folder's name, such as `multiplier_bn128`."""
    return Case(DATA / name)


def refused_keys() -> list[Path]:
    """Keys of other proof systems (PLONK, FFLONK) in the larger set; empty without it."""
    larger = larger_set()
    return sorted(larger.glob("refuse/*.zkey")) if larger else []


def each(cases: Iterable[Case] | None = None) -> pytest.MarkDecorator:
    """Parametrise a test's argument `case` over the given cases, by default over all of them."""
    chosen = all_cases() if cases is None else tuple(cases)
    return pytest.mark.parametrize("case", chosen, ids=[_label(case) for case in chosen])


def _label(case: Case) -> str:
    return case.name if case.path.parent == DATA else f"larger/{case.name}"
