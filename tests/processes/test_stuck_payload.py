"""The spool's file system may refuse to remove a payload: the log says so, and nothing else comes of it."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from daemon import running, wait_until
from fixtures import bundled

from cuzkd.model import Role

CASE = bundled("multiplier_bn128")


def test_a_payload_that_cannot_be_removed_costs_no_job(tmp_path: Path) -> None:
    """A directory in its place stands for whatever keeps it there, such as a disk that became read-only."""
    with running(tmp_path / "run") as daemon, daemon.client() as client:
        client.prove(CASE.zkey, [CASE.witness])
        gpu = daemon.worker(Role.GPU).pid
        os.kill(gpu, signal.SIGSTOP)
        job = client.submit(CASE.zkey, [CASE.witness])
        wait_until(lambda: f"[{job}.0] synthesized in" in daemon.log(), "the witness was read")
        payload = daemon.spool / f"{job}.0.wtns"
        payload.unlink()
        payload.mkdir()
        os.kill(gpu, signal.SIGCONT)
        assert len(client.wait(job).proofs) == 1
        wait_until(lambda: f"{payload} cannot be removed" in daemon.log(), "the log says so")
        assert len(client.prove(CASE.zkey, [CASE.witness]).proofs) == 1
