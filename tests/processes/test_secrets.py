"""Witnesses are secret: nobody else can read what holds them, and nothing that is left behind does."""

from __future__ import annotations

import os
import resource
import signal
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from daemon import Daemon
from fixtures import bundled

from cuzkd.config import SHM_DIR
from cuzkd.errors import CuzkdError
from cuzkd.model import Role

CASE = bundled("squarings_bn128")


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    """A daemon that was started with core files allowed, by somebody whose umask hides nothing."""
    soft, hard = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))
    before = os.umask(0)
    try:
        daemon = Daemon(tmp_path / "run")
    finally:
        os.umask(before)
        resource.setrlimit(resource.RLIMIT_CORE, (soft, hard))
    yield daemon.wait_ready()
    daemon.stop()


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_process_that_crashes_leaves_no_core_file(daemon: Daemon) -> None:
    for pid in (daemon.process.pid, *daemon.children()):
        assert resource.prlimit(pid, resource.RLIMIT_CORE) == (0, 0)


def test_payloads_segments_and_circuits_are_the_daemons_alone(daemon: Daemon) -> None:
    gpu = daemon.worker(Role.GPU).pid
    with daemon.client() as client:
        client.prove(CASE.zkey, [CASE.witness])
        os.kill(gpu, signal.SIGSTOP)
        job = client.submit(CASE.zkey, [CASE.witness] * 3)
        spooled = list(daemon.spool.iterdir())
        segments = [SHM_DIR / name for name in daemon.segments()]
        compiled = [path for path in (daemon.runtime_dir / "state").rglob("*") if path.is_file()]
        assert len(spooled) == 3
        assert segments
        assert compiled
        assert {mode(path) for path in (*spooled, *segments, *compiled)} == {0o600}
        assert mode(daemon.spool) == 0o700
        assert mode(daemon.socket) == 0o660
        os.kill(gpu, signal.SIGCONT)
        client.wait(job)


def test_a_witness_that_is_refused_is_not_quoted(daemon: Daemon, tmp_path: Path) -> None:
    """Neither the log nor the answer has a value of it, in decimal or in hex."""
    secret = 0x1F2E3D4C5B6A79880123456789ABCDEF
    data = bytearray(CASE.witness.read_bytes())
    data[-32:] = secret.to_bytes(32, "little")
    (tmp_path / "wrong.wtns").write_bytes(data)
    with daemon.client() as client:
        with pytest.raises(CuzkdError) as refused:
            client.prove(CASE.zkey, [tmp_path / "wrong.wtns"])
        assert daemon.stop() == 0
    told = f"{refused.value}\n{daemon.log()}".lower()
    assert str(secret) not in told
    assert f"{secret:x}" not in told
