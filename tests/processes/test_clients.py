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
    return list(daemon.spool.iterdir())


def test_a_wait_ends_in_time_and_the_job_goes_on(daemon: Daemon) -> None:
    with daemon.client() as client:
        job = client.submit(CASE.zkey, [CASE.witness] * 300)
        with pytest.raises(WaitTimeout):
            client.wait(job, 0.05)
        assert len(client.wait(job).proofs) == 300
        assert len(client.wait(job, 0).proofs) == 300


def test_fault_16_a_job_goes_on_when_its_client_leaves_after_acceptance(daemon: Daemon) -> None:
    with daemon.client() as client:
        job = client.submit(CASE.zkey, [CASE.witness] * 20)
    wait_until(lambda: daemon.status().jobs_done == 1, "the job is done")
    with daemon.client() as client:
        assert len(client.wait(job).proofs) == 20
    assert spool(daemon) == []


def test_fault_16_a_client_that_leaves_before_acceptance_leaves_nothing(daemon: Daemon) -> None:
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


@pytest.mark.parametrize("partitions", [1, 800])
def test_fault_16_a_job_that_goes_with_its_client_is_cancelled_when_that_leaves(
    daemon: Daemon, partitions: int
) -> None:
    """In the queue behind another job, or while it is proved: everything comes back."""
    with daemon.client() as other, daemon.client() as client:
        first = other.submit(CASE.zkey, [CASE.witness] * 800) if partitions == 1 else None
        job = client.submit(CASE.zkey, [CASE.witness] * partitions, cancel_on_disconnect=True)
        if first is None:
            wait_until(lambda: other.show_job(job).status.done > 0, "the job is proved")
        client.close()
        wait_until(lambda: other.show_job(job).status.state is JobState.CANCELLED, "the job is cancelled")
        if first is not None:
            assert other.cancel(first).status.state is JobState.CANCELLED
        wait_until(lambda: daemon.status().pool.leased == 0 and spool(daemon) == [], "all is given back")
        assert len(other.prove(CASE.zkey, [CASE.witness]).proofs) == 1


def test_fault_16_a_job_that_is_done_when_its_client_leaves_stays_done(daemon: Daemon) -> None:
    with daemon.client() as client, daemon.client() as other:
        job = client.prove(CASE.zkey, [CASE.witness], cancel_on_disconnect=True).job
        client.close()
        assert other.show_job(job).status.state is JobState.DONE
        assert daemon.status().jobs_cancelled == 0


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
