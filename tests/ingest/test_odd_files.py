"""Sparse files cost their owner nothing and are refused before they cost others anything; so is what is no file."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from fixtures import bundled

from cuzkd.errors import BadFile, TooLarge
from cuzkd.ingest.store import Store

CASE = bundled("multiplier_bn128")
SPARSE_BYTES = 1 << 42


def kept(tmp_path: Path, take: Callable[[Store], Callable[..., object]], fd: int) -> None:
    store = Store(tmp_path / "state", threads=1)
    with CASE.zkey.open("rb") as zkey:
        ref = store.compile(zkey.fileno(), "key", 1000).ref
    try:
        take(store)(fd, "odd", 1000, ref)
    finally:
        os.close(fd)
        assert not list((tmp_path / "state").glob("*/.writing-*"))


@pytest.mark.parametrize("kind", ["program", "constraints"])
def test_a_sparse_file_is_refused_unread(tmp_path: Path, kind: str) -> None:
    odd = tmp_path / "odd"
    odd.write_bytes((CASE.wasm if kind == "program" else CASE.r1cs).read_bytes())
    os.truncate(odd, SPARSE_BYTES)
    with pytest.raises(TooLarge, match=f"{SPARSE_BYTES} bytes"):
        kept(tmp_path, lambda store: getattr(store, f"keep_{kind}"), os.open(odd, os.O_RDONLY))


def test_sparse_constraints_of_nothing_are_refused_by_their_first_bytes(tmp_path: Path) -> None:
    odd = tmp_path / "odd"
    odd.touch()
    os.truncate(odd, SPARSE_BYTES)
    with pytest.raises(BadFile, match="not a r1cs file"):
        kept(tmp_path, lambda store: store.keep_constraints, os.open(odd, os.O_RDONLY))


@pytest.mark.parametrize("path", ["/", "/dev/zero"])
@pytest.mark.parametrize("kind", ["program", "constraints"])
def test_what_is_no_regular_file_is_refused(tmp_path: Path, kind: str, path: str) -> None:
    with pytest.raises(BadFile, match="not a regular file"):
        kept(tmp_path, lambda store: getattr(store, f"keep_{kind}"), os.open(path, os.O_RDONLY))
