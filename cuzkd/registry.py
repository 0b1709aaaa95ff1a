"""The names of circuits: what each user's name stands for, kept in one file that survives the daemon.

Names are a user's own. `find` takes a name as people write it: plain, or `UID/NAME` for another user's, which only
operators may use; their plain name is also found when exactly one other user has it. Root is one always.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cuzkd.errors import BadConfig, BadFile, NotFound, Refused
from cuzkd.formats import jsontext
from cuzkd.ipc.requests import PointChecks
from cuzkd.model import CircuitRef, CircuitShape, Curve, Flavour
from cuzkd.records import record

FORMAT_VERSION = 1
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", re.ASCII)
_OF_USER = re.compile(r"(?P<uid>[0-9]{1,10})/(?P<name>.+)", re.ASCII)
_DIGEST = re.compile(r"[0-9a-f]{64}", re.ASCII)
_ROOT_UID = 0


@record
class Artefacts:
    """What a job or a name needs of the state directory, by digest; None where it has none."""

    circuit: str
    program: str | None
    constraints: str | None

    @property
    def digests(self) -> set[str]:
        """All that there are; no two files of different kinds have one digest."""
        return {digest for digest in (self.circuit, self.program, self.constraints) if digest is not None}


@record
class Named:
    """A named circuit; `size_bytes` is the compiled key's on disk, `points` what was checked of it."""

    name: str
    uid: int
    circuit: CircuitRef
    size_bytes: int
    points: PointChecks
    program: str | None
    constraints: str | None

    @property
    def artefacts(self) -> Artefacts:
        """The digests that the name stands for."""
        return Artefacts(self.circuit.digest, self.program, self.constraints)

    @property
    def checks_witnesses(self) -> bool:
        """Whether witnesses are held to every constraint: a bellperson circuit has all matrices in it."""
        return self.constraints is not None or self.circuit.flavour is Flavour.BELLPERSON


class Registry:
    """All names, in memory; `to_bytes` is what the file holds."""

    def __init__(self, entries: Sequence[Named] = ()) -> None:
        self._entries = {(entry.uid, entry.name): entry for entry in entries}

    @classmethod
    def load(cls, path: Path) -> Registry:
        """The registry of a file, an empty one when there is no file. `BadConfig` when the file is damaged."""
        try:
            text = path.read_bytes()
        except FileNotFoundError:
            return cls()
        except OSError as error:
            raise BadConfig(f"{path} cannot be read: {error.strerror}") from error
        try:
            return cls(_parse(jsontext.load_object(text, path.name)))
        except (BadFile, AttributeError, LookupError, TypeError, ValueError) as error:
            raise BadConfig(
                f"{path} is no registry of circuits: {error!r}",
                advice="move the file away and add the circuits again: they are found compiled",
            ) from error

    def to_bytes(self) -> bytes:
        """The file's text; `load` inverts it."""
        entries = [_document(entry) for _, entry in sorted(self._entries.items())]
        return json.dumps({"format": FORMAT_VERSION, "circuits": entries}, indent=1).encode()

    def __len__(self) -> int:
        return len(self._entries)

    def put(self, entry: Named) -> None:
        """Give a circuit a name, in place of what the name stood for."""
        self._entries[entry.uid, entry.name] = entry

    def drop(self, entry: Named) -> None:
        """Forget a name."""
        del self._entries[entry.uid, entry.name]

    def get(self, uid: int, name: str) -> Named | None:
        """What the name stands for to its owner."""
        return self._entries.get((uid, name))

    def find(self, uid: int, written: str, *, operator: bool = False) -> Named:
        """The circuit that the user means; `NotFound` when there is none that the user may use."""
        operator = operator or uid == _ROOT_UID
        match = _OF_USER.fullmatch(written)
        owner, name = (int(match["uid"]), match["name"]) if match else (uid, written)
        entry = self._entries.get((owner, name)) if uid == owner or operator else None
        if entry is None and match is None and operator:
            entry = self._only(name)
        if entry is None:
            raise NotFound(
                f"there is no circuit {written!r}", advice="`cuzkctl circuit list` shows what there is"
            )
        return entry

    def visible_to(self, uid: int, *, operator: bool = False) -> list[Named]:
        """The user's circuits by name; for operators everybody's, by uid and name."""
        everybody = operator or uid == _ROOT_UID
        return [entry for _, entry in sorted(self._entries.items()) if everybody or uid == entry.uid]

    @property
    def digests(self) -> set[str]:
        """Everything that a name stands for."""
        return {digest for entry in self._entries.values() for digest in entry.artefacts.digests}

    def _only(self, name: str) -> Named | None:
        found = [entry for (_, other), entry in sorted(self._entries.items()) if other == name]
        if len(found) > 1:
            users = ", ".join(f"{entry.uid}/{name}" for entry in found)
            raise Refused(f"{name!r} may be {users}", advice="name one of them, with its uid")
        return found[0] if found else None


def check_name(name: str) -> None:
    """`Refused` unless this may be a circuit's name."""
    if not _NAME.fullmatch(name):
        raise Refused(
            f"{name[:100]!r} is no name for a circuit",
            advice="take up to 100 letters, digits, '.', '_' and '-', the first a letter or digit",
        )


def _document(entry: Named) -> dict[str, Any]:
    shape = entry.circuit.shape
    return {
        "name": entry.name,
        "uid": entry.uid,
        "circuit": entry.circuit.digest,
        "flavour": entry.circuit.flavour,
        "curve": shape.curve,
        "rows": shape.rows,
        "num_vars": shape.num_vars,
        "num_public": shape.num_public,
        "log_domain": shape.log_domain,
        "size_bytes": entry.size_bytes,
        "points": entry.points,
        "program": entry.program,
        "constraints": entry.constraints,
    }


def _parse(document: dict[str, Any]) -> list[Named]:
    """Raises AttributeError, LookupError, TypeError or ValueError for what `to_bytes` did not write."""
    if document["format"] != FORMAT_VERSION:
        raise ValueError(f"format {document['format']!r}, not {FORMAT_VERSION}")
    return [_entry(each) for each in document["circuits"]]


def _entry(document: dict[str, Any]) -> Named:
    if not _NAME.fullmatch(document["name"]):
        raise ValueError(f"the name {document['name']!r}")
    sizes = ("uid", "rows", "num_vars", "num_public", "log_domain", "size_bytes")
    if any(type(document[field]) is not int or not 0 <= document[field] < 1 << 62 for field in sizes):
        raise ValueError(f"a number of the circuit {document['name']}")
    shape = CircuitShape(
        Curve(document["curve"]),
        document["rows"],
        document["num_vars"],
        document["num_public"],
        document["log_domain"],
    )
    return Named(
        document["name"],
        document["uid"],
        CircuitRef(_digest(document["circuit"]), shape, Flavour(document.get("flavour", Flavour.SNARKJS))),
        document["size_bytes"],
        PointChecks(document["points"]),
        None if document["program"] is None else _digest(document["program"]),
        None if document["constraints"] is None else _digest(document["constraints"]),
    )


def _digest(text: str) -> str:
    if not _DIGEST.fullmatch(text):
        raise ValueError(f"the digest {text!r}")
    return text
