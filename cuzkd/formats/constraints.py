"""The matrix C of a constraint system, kept by the digest of its `.r1cs`: what a witness is held to, row by row.

A circom key has A and B only. With C at hand, the first row where (A·z)(B·z) is not C·z names the constraint that
a witness breaks, before any proof is begun.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cuzkd.atomic import NewDirectory
from cuzkd.errors import BadFile, NotFound
from cuzkd.formats import jsontext
from cuzkd.kernels.evaluate import Csr, check_csr
from cuzkd.model import Curve

FORMAT_VERSION = 1
_MANIFEST = "manifest.json"
_ARRAYS = ("row_ptr", "cols", "coeffs", "values")
_MAX_MANIFEST_BYTES = 4096


@dataclass(frozen=True, slots=True)
class KeptConstraints:
    """C by rows, one row a constraint, over the wires of a circuit; its arrays are mapped and read-only."""

    curve: Curve
    num_vars: int
    c: Csr


def write_constraints(new: NewDirectory, kept: KeptConstraints, digest: str) -> None:
    """Fill the directory and publish it under `digest`."""
    for name in _ARRAYS:
        np.save(new.path / f"{name}.npy", getattr(kept.c, name))
    facts = {"format": FORMAT_VERSION, "curve": kept.curve, "num_vars": kept.num_vars}
    (new.path / _MANIFEST).write_text(json.dumps(facts), encoding="utf-8")
    new.publish(digest)


def open_constraints(folder: Path, digest: str) -> KeptConstraints:
    """Map what is kept under `digest`; NotFound when there is nothing, BadFile when it is damaged."""
    path = folder / digest
    try:
        with (path / _MANIFEST).open("rb") as file:
            text = file.read(_MAX_MANIFEST_BYTES)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise NotFound(f"{path}: no constraints are kept") from error
    try:
        curve, num_vars = _facts(jsontext.load_object(text, str(path / _MANIFEST)))
        c = Csr(*(np.asarray(np.load(path / f"{name}.npy", mmap_mode="r")) for name in _ARRAYS))
        fault = check_csr(curve, c, num_vars, threads=1)
    except (LookupError, OSError, TypeError, ValueError) as error:
        raise _damaged(path, repr(error)) from error
    if fault is not None:
        raise _damaged(path, f"{fault.array}[{fault.index}] is out of bounds")
    return KeptConstraints(curve, num_vars, c)


def has_constraints(folder: Path, digest: str) -> bool:
    """Whether usable constraints are kept under `digest`."""
    try:
        open_constraints(folder, digest)
    except (NotFound, BadFile):
        return False
    return True


def _facts(document: dict[str, Any]) -> tuple[Curve, int]:
    if document["format"] != FORMAT_VERSION:
        raise ValueError(f"format {document['format']!r}, not {FORMAT_VERSION}")
    num_vars = document["num_vars"]
    if type(num_vars) is not int or not 0 < num_vars < 1 << 32:
        raise ValueError(f"{num_vars!r} wires")
    return Curve(document["curve"]), num_vars


def _damaged(path: Path, text: str) -> BadFile:
    return BadFile(
        f"{path}: damaged constraints: {text}",
        advice="remove the directory and give the .r1cs file again",
    )
