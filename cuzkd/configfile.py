"""A configuration file as dotted keys and, for what is wrong in it, the line where a key is set."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cuzkd.errors import BadConfig

_MOST_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """What a file sets: values by dotted key. `tables` are the tables that there may be."""

    path: Path
    text: str
    values: Mapping[str, Any]
    tables: Collection[str]

    def place(self, key: str) -> str:
        """`FILE:LINE` of where `key` is set."""
        line = self._line(key)
        return str(self.path) if line is None else f"{self.path}:{line}"

    def _line(self, key: str) -> int | None:
        """The line on which the shortest beginning of the file that sets the key goes on from one that does not.

        The parser itself is asked, so that strings, arrays and inline tables over several lines are no matter.
        """
        lines = self.text.splitlines(keepends=True)
        last_whole = 0
        for count in range(1, len(lines) + 1):
            try:
                found = flatten(tomllib.loads("".join(lines[:count])), self.tables)
            except tomllib.TOMLDecodeError:
                continue
            if key in found:
                return last_whole + 1
            last_whole = count
        return None


def read_config_file(path: Path, tables: Collection[str]) -> ConfigFile:
    """Read a file; `BadConfig` names it, and the line if it is no TOML."""
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
        if len(data) > _MOST_BYTES:
            raise BadConfig(f"{path}: more than {_MOST_BYTES} bytes are no configuration")
        text = data.decode()
        values = flatten(tomllib.loads(text), tables)
    except OSError as error:
        raise BadConfig(f"{path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadConfig(f"{path}: {error}") from None
    return ConfigFile(path, text, values, tables)


def flatten(document: Mapping[str, Any], tables: Collection[str]) -> dict[str, Any]:
    """`{"pool": {"limit": …}}` as `{"pool.limit": …}`, for these tables; the rest stays as it is."""
    flat: dict[str, Any] = {}
    for name, value in document.items():
        if name in tables and isinstance(value, dict):
            flat.update({f"{name}.{inner}": item for inner, item in value.items()})
        else:
            flat[name] = value
    return flat
