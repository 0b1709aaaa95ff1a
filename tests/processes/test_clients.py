"""Clients that wait, leave, or belong to somebody else: what a job is to each of them."""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from daemon import Daemon, connected_as, running, wait_until
from fixtures import bundled

from cuzkd.errors import Busy, DaemonUnreachable, NotFound, WaitTimeout
from cuzkd.model import JobState, Role

CASE = bundled("squarings_bn128")
NOBODY = 65534


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    config = "[synthesis]\nworkers = 1\nthreads = 1\n[jobs]\nmax_queued = 2\nmax_queued_per_uid = 2\n"
    with running(tmp_path / "run", config) as daemon:
        yield daemon


def spool(daemon: Daemon) -> list[Path]:
    return list((daemon.runtime_dir / "spool").iterdir())


def test_a_wait_ends_in_time_and_the_job_goes_on(daemon: Daemon) -> None:
    with daemon.client() as client:
        job = client.submit(CASE.zkey, [CASE.witness] * 300)
        with pytest.raises(WaitTimeout):
            client.wait(job, 0.05)
        assert len(client.wait(job).proofs) == 300
        assert len(client.wait(job, 0).proofs) == 300


def test_a_job_goes_on_when_its_client_leaves_after_acceptance(daemon: Daemon) -> None:
    with daemon.client() as client:
        job = client.submit(CASE.zkey, [CASE.witness] * 20)
    wait_until(lambda: daemon.status().jobs_done == 1, "the job is done")
    with daemon.client() as client:
        assert len(client.wait(job).proofs) == 20
    assert spool(daemon) == []


def test_a_client_that_leaves_before_acceptance_leaves_nothing(daemon: Daemon) -> None:
    ingest = daemon.worker(Role.INGEST).pid
    os.kill(ingest, signal.SIGSTOP)
    with ThreadPoolExecutor(1) as pool, daemon.client() as client:
        submitting = pool.submit(client.submit, CASE.zkey, [CASE.witness] * 8)
        wait_until(lambda: "8 witnesses" in daemon.log(), "the job is submitted")
        assert client._daemon._channel is not None
        client._daemon._channel._sock.shutdown(2)
        assert submitting.exception() is not None
    os.kill(ingest, signal.SIGCONT)
    with daemon.client() as client:
        client.prove(CASE.zkey, [CASE.witness])
    wait_until(lambda: spool(daemon) == [], "the spool is empty")
    status = daemon.status()
    assert [job.state for job in status.jobs] == [JobState.DONE]


def test_the_queue_is_bounded_and_says_so(daemon: Daemon) -> None:
    ingest = daemon.worker(Role.INGEST).pid
    os.kill(ingest, signal.SIGSTOP)
    with ThreadPoolExecutor(2) as pool, daemon.client() as one, daemon.client() as two:
        jobs = [pool.submit(client.prove, CASE.zkey, [CASE.witness]) for client in (one, two)]
        wait_until(lambda: "job 2 of uid" in daemon.log(), "both jobs are submitted")
        with daemon.client() as third, pytest.raises(Busy) as refused:
            third.prove(CASE.zkey, [CASE.witness])
        assert refused.value.retryable
        os.kill(ingest, signal.SIGCONT)
        assert [len(job.result().proofs) for job in jobs] == [1, 1]


def test_a_job_that_never_was_is_not_found(daemon: Daemon) -> None:
    with daemon.client() as client, pytest.raises(NotFound):
        client.wait(12345)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be two users")
def test_another_user_sees_nothing_of_a_job() -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        with running(Path(folder) / "run") as daemon:
            with daemon.client() as client:
                job = client.submit(CASE.zkey, [CASE.witness])
                client.wait(job)
            with pytest.raises(DaemonUnreachable, match="Permission denied"):
                connected_as(NOBODY, daemon)
            daemon.socket.chmod(0o666)
            with connected_as(NOBODY, daemon) as stranger:
                assert stranger.status().jobs == ()
                with pytest.raises(NotFound):
                    stranger.wait(job)
            assert daemon.stop() == 0
