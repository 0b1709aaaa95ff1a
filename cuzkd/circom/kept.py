"""Witness programs that the daemon keeps: each in a directory by its digest, compiled code beside the module."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable
from pathlib import Path

from cuzkd.atomic import NewDirectory
from cuzkd.circom.wasm import WitnessProgram
from cuzkd.circom.wasm_limits import WasmLimits
from cuzkd.errors import BadFile, NotFound, ResourceExhausted

_MODULE = "circuit.wasm"
_ADVICE = "give the .wasm file again"


def keep_program(
    folder: Path, wasm: bytes, limits: WasmLimits, check: Callable[[WitnessProgram], None]
) -> tuple[str, bool]:
    """Load a program, `check` it and keep it: its digest for `open_program`, and whether it had been kept before.

    Nothing is kept when an error is raised: by `check`, by `WitnessProgram.load`, or ResourceExhausted when the
    disk is full.
    """
    digest = hashlib.sha256(wasm).hexdigest()
    with contextlib.suppress(NotFound, BadFile):
        kept = open_program(folder, digest, limits)
        check(kept)
        return digest, True
    with NewDirectory(folder) as new:
        check(WitnessProgram.load(wasm, new.path, limits))
        try:
            (new.path / _MODULE).write_bytes(wasm)
            new.publish(digest)
        except OSError as error:
            raise ResourceExhausted(
                f"the witness program could not be kept: {error.strerror}",
                advice="free space in the state directory",
            ) from error
    return digest, False


def open_program(folder: Path, digest: str, limits: WasmLimits) -> WitnessProgram:
    """Load a kept program; NotFound when there is none of this digest, BadFile when it is damaged."""
    path = folder / digest / _MODULE
    try:
        wasm = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError) as error:
        raise NotFound(f"{path}: no witness program is kept", advice=_ADVICE) from error
    if hashlib.sha256(wasm).hexdigest() != digest:
        raise BadFile(f"{path}: the kept witness program is damaged", advice=_ADVICE)
    return WitnessProgram.load(wasm, path.parent, limits)
