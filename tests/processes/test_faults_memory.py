"""Shared memory that is full or too small: told with both numbers, never a signal; jobs go on when there is some."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from daemon import Daemon, running, wait_until
from fixtures import bundled
from namespaces import can_mount

from cuzkd.errors import ResourceExhausted

CASE = bundled("multiplier_bn128")
MIB = 1 << 20
TINY = "[synthesis]\nworkers = 1\nthreads = 1\n"


pytestmark = pytest.mark.skipif(not can_mount(), reason="mounting a small tmpfs needs root")


@contextmanager
def with_memory(folder: Path, monkeypatch: pytest.MonkeyPatch, prepare: str, config: str) -> Iterator[Daemon]:
    """A daemon that has a /dev/shm of 32 MiB for itself, `prepare` having been done in it before."""
    python = folder / "python"
    program = f'mount -t tmpfs -o size=32m tmpfs /dev/shm; {prepare}; exec {shlex.quote(sys.executable)} "$@"'
    python.write_text(f'#!/bin/sh\nexec unshare -m sh -ec {shlex.quote(program)} sh "$@"\n')
    python.chmod(0o755)
    with ExitStack() as stack:
        with monkeypatch.context() as patch:
            patch.setattr("daemon.sys.executable", str(python))
            daemon = stack.enter_context(running(folder / "run", config))
        yield daemon


def shm(daemon: Daemon) -> Path:
    return Path(f"/proc/{daemon.process.pid}/root/dev/shm")


def test_fault_13_a_full_shared_memory_is_told_and_jobs_are_refused_until_there_is_some(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill = "head -c 33554432 /dev/zero > /dev/shm/filler"
    with with_memory(tmp_path, monkeypatch, fill, TINY) as daemon, daemon.client() as client:
        [told] = client.status().degraded
        assert f"pool.limit is {16 * MIB} bytes" in told
        assert "has only 0 bytes free" in told
        with pytest.raises(ResourceExhausted, match=r"wants \d+ bytes, /dev/shm has 0 free"):
            client.prove(CASE.zkey, [CASE.witness])
        (shm(daemon) / "filler").unlink()
        assert len(client.prove(CASE.zkey, [CASE.witness]).proofs) == 1
        wait_until(lambda: client.status().degraded == (), "all is well again")
        assert sum(worker.restarts for worker in client.status().workers) == 0
        assert daemon.stop() == 0


def test_fault_13_a_pool_that_cannot_become_as_large_as_configured_is_told_and_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = TINY + '[pool]\nlimit = "256MiB"\n'
    with with_memory(tmp_path, monkeypatch, "true", config) as daemon, daemon.client() as client:
        [told] = client.status().degraded
        assert f"pool.limit is {256 * MIB} bytes" in told
        assert f"has only {32 * MIB} bytes free" in told
        assert len(client.prove(CASE.zkey, [CASE.witness] * 3).proofs) == 3
