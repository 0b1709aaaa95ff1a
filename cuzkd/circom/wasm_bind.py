"""What a witness program asks of its host and offers to it, checked by name and type before it runs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import resources

from wasmtime import Func, FuncType, ImportType, Instance, Module, wat2wasm

from cuzkd.circom.inputs import shown
from cuzkd.circom.wasm_limits import Sandbox, engine
from cuzkd.errors import BadFile

Signature = tuple[int, int]
"""How many i32 parameters and how many i32 results; the programs know no other type."""

_UNPRINTABLE = re.compile(r"[^\x20-\x7e]+")
_MAX_TEXT = 4096


def check_exports(
    module: Module, required: Mapping[str, Signature], optional: Mapping[str, Signature] | None = None
) -> None:
    """Raise BadFile unless the required functions are exported and no known one has another type."""
    optional = optional or {}
    offered = {export.name: export.type for export in module.exports}
    for name, signature in {**required, **optional}.items():
        kind = offered.get(name)
        if kind is None and name in optional:
            continue
        if not isinstance(kind, FuncType) or _signature(kind) != signature:
            raise BadFile(f"the witness program does not export the function {name} as circom's do")


def check_hosts(imports: Iterable[ImportType], known: Mapping[str, int]) -> None:
    """Raise BadFile unless every import is a function `runtime.NAME` of `known`, with so many parameters."""
    for item in imports:
        arity = known.get(item.name or "")
        if item.module != "runtime" or arity is None:
            raise unknown_import(item)
        if not isinstance(item.type, FuncType) or _signature(item.type) != (arity, 0):
            raise unknown_import(item)


def functions(sandbox: Sandbox, instance: Instance) -> dict[str, Func]:
    """An instance's exported functions by name."""
    exports = instance.exports(sandbox.store)
    return {name: item for name, item in exports.items() if isinstance(item, Func)}


def unknown_import(item: ImportType) -> BadFile:
    """The error for an import that circom's programs do not have, or not with this type."""
    name = f"{item.module}.{item.name}"
    return BadFile(f"the witness program asks its host for {shown(name)}, which no circom program does")


def _signature(kind: FuncType) -> Signature | None:
    if any(str(value) != "i32" for value in (*kind.params, *kind.results)):
        return None
    return len(kind.params), len(kind.results)


@cache
def helper(name: str) -> Module:
    """One of the small modules that lie beside this file, compiled."""
    text = resources.files(__package__).joinpath(f"{name}.wat").read_text(encoding="utf-8")
    return Module(engine(), bytes(wat2wasm(text)))


def printable(text: str) -> str:
    """A program's text as messages may show it: one line of printable ASCII, of bounded length."""
    return _UNPRINTABLE.sub(" ", text[:_MAX_TEXT]).strip()


class BoundedLog:
    """Collects what a circuit's `log()` writes, at most `limit` lines; they show wires and so are secret."""

    def __init__(self, lines: list[str] | None, limit: int) -> None:
        self._lines = lines
        self._left = limit
        self._pieces: list[str] = []

    def piece(self, text: str) -> None:
        """Add to the current line."""
        if self._lines is not None and self._left > 0 and sum(map(len, self._pieces)) < _MAX_TEXT:
            self._pieces.append(text)

    def end_line(self) -> None:
        """Close the current line; lines beyond the limit are dropped."""
        if self._lines is not None and self._left > 0:
            self._left -= 1
            self._lines.append(printable(" ".join(self._pieces)))
        self._pieces.clear()
