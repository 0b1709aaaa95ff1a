"""Descriptors run out: jobs are refused with the reason, and when there are some again, all goes on as before."""

from __future__ import annotations

import os
import resource
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from daemon import Daemon, running, wait_until
from fixtures import bundled

from cuzkd.errors import ResourceExhausted
from cuzkd.model import Role

CASE = bundled("multiplier_bn128")


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    with running(tmp_path / "run") as daemon:
        with daemon.client() as client:
            client.prove(CASE.zkey, [CASE.witness])
        yield daemon


def open_files(daemon: Daemon) -> int:
    return len(os.listdir(f"/proc/{daemon.process.pid}/fd"))


def limit_files(daemon: Daemon, spare: int) -> None:
    """Leave the supervisor room for so many more descriptors (whatever holes there are below the highest)."""
    _, hard = resource.prlimit(daemon.process.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(daemon.process.pid, resource.RLIMIT_NOFILE, (open_files(daemon) + spare, hard))


def test_fault_33_a_child_is_replaced_as_soon_as_there_are_descriptors_for_it(daemon: Daemon) -> None:
    with daemon.client() as client:
        pid = next(worker.pid for worker in client.status().workers if worker.role is Role.SYNTHESIS)
        limit_files(daemon, spare=0)
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: "cannot be replaced for now" in daemon.log(), "the shortage is told")
        wait_until(lambda: "synthesis 0" in str(client.status().degraded), "status shows it")
        limit_files(daemon, spare=500)
        wait_until(lambda: not client.status().degraded, "it is replaced")
        assert len(client.prove(CASE.zkey, [CASE.witness]).proofs) == 1
    assert daemon.worker(Role.SYNTHESIS).restarts == 1
    assert daemon.log().count("cannot be replaced for now") == 1


@pytest.mark.parametrize("spare", range(1, 8))
def test_fault_33_a_job_that_there_are_no_descriptors_for_is_refused_and_no_process_ends(
    daemon: Daemon, spare: int
) -> None:
    """Wherever they run out, between the client's files and the orders that pass them on."""
    with daemon.client() as client, suppress(ResourceExhausted):
        client.status()
        limit_files(daemon, spare)
        client.prove(CASE.zkey, [CASE.witness] * 2)
        assert spare >= 4
    limit_files(daemon, spare=500)
    with daemon.client() as client:
        assert len(client.prove(CASE.zkey, [CASE.witness]).proofs) == 1
    assert [worker.restarts for worker in daemon.status().workers] == [0] * 4
