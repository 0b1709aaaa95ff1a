"""The metrics are what Prometheus reads, and say what has happened."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from daemon import Daemon, running, wait_until
from fixtures import bundled

from cuzkd.errors import CuzkdError
from cuzkd.model import Role

CASE = bundled("squarings_bn128")
_SAMPLE = re.compile(
    r'(?P<name>[a-z_]+)(?P<labels>\{[a-z_]+="[^"\n]*"(,[a-z_]+="[^"\n]*")*\})? (?P<value>[-+.0-9e]+)'
)


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    with running(tmp_path / "run") as daemon:
        yield daemon


def samples(daemon: Daemon) -> dict[str, float]:
    """Every sample by its name and labels; fails for text that is not of the format."""
    with daemon.client() as client:
        text = client.metrics()
    assert text.endswith("\n")
    found: dict[str, float] = {}
    families: list[str] = []
    for line in text.splitlines():
        if line.startswith("# "):
            _, kind, name, *rest = line.split(" ", 3)
            assert kind in ("HELP", "TYPE")
            assert rest
            if kind == "HELP":
                families.append(name)
            continue
        sample = _SAMPLE.fullmatch(line)
        assert sample is not None, line
        assert sample["name"].startswith(families[-1])
        key = sample["name"] + (sample["labels"] or "")
        assert key not in found
        found[key] = float(sample["value"])
    assert len(set(families)) == len(families) > 20
    return found


def test_what_has_happened_is_counted(daemon: Daemon, tmp_path: Path) -> None:
    with daemon.client() as client:
        client.prove(CASE.zkey, [CASE.witness] * 5)
        client.cancel(client.submit(CASE.zkey, [CASE.witness] * 900))
        (tmp_path / "bad").write_bytes(b"nothing")
        with pytest.raises(CuzkdError):
            client.prove(CASE.zkey, [tmp_path / "bad"])
        told = samples(daemon)
    assert told['cuzkd_jobs_total{state="done"}'] == 1
    assert told['cuzkd_jobs_total{state="cancelled"}'] == 1
    assert told['cuzkd_jobs_total{state="failed"}'] == 0
    assert told["cuzkd_jobs_refused_total"] == 1
    assert told['cuzkd_failures_total{code="bad_file"}'] == 1
    assert told["cuzkd_proofs_total"] >= 5
    assert told['cuzkd_phase_seconds_count{phase="verify"}'] >= 5
    assert 0 < told['cuzkd_phase_seconds_sum{phase="synthesis"}'] < 60
    assert told['cuzkd_cache_loads_total{cache="circuit"}'] == 1
    assert told['cuzkd_cache_hits_total{cache="circuit"}'] >= 1
    assert told['cuzkd_connections{socket="job"}'] >= 1
    assert told["cuzkd_segments_created_total"] >= 1
    assert told['cuzkd_restarts_total{role="gpu"}'] == 0


def test_what_is_there_now_is_told(daemon: Daemon) -> None:
    with daemon.client() as client:
        job = client.submit(CASE.zkey, [CASE.witness] * 900)
        assert samples(daemon)["cuzkd_jobs_unfinished"] == 1
        client.cancel(job)
        client.drain()
        told = samples(daemon)
    assert (told["cuzkd_jobs_unfinished"], told["cuzkd_draining"]) == (0, 1)


def test_a_replaced_child_is_counted(daemon: Daemon) -> None:
    os.kill(daemon.worker(Role.SYNTHESIS, 0).pid, signal.SIGKILL)
    wait_until(lambda: samples(daemon)['cuzkd_restarts_total{role="synthesis"}'] >= 1, "it is counted")
