"""Shared-memory names that somebody else has taken: never opened, never removed while the daemon runs, stepped over."""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path

from daemon import running
from fixtures import bundled

CASE = bundled("squarings_bn128")
SHM = Path("/dev/shm")
TAKEN = 3


def test_fault_30_taken_names_of_segments_are_stepped_over(tmp_path: Path) -> None:
    with running(tmp_path / "run") as daemon:
        tag = sha256(os.fsencode(daemon.runtime_dir.resolve())).hexdigest()[:8]
        squatters = [SHM / f"cuzkd-{tag}-{number}" for number in range(TAKEN + 1)]
        try:
            for path in squatters:
                path.write_text("precious")
            with daemon.client() as client:
                assert len(client.prove(CASE.zkey, [CASE.witness] * 3).proofs) == 3
            assert daemon.status().degraded == ()
            assert [path.read_text() for path in squatters] == ["precious"] * len(squatters)
            assert len(daemon.segments()) > len(squatters)
        finally:
            for path in squatters:
                path.unlink(missing_ok=True)
