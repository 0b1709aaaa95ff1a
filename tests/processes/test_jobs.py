"""Accepted jobs: shown, listed, fetched, cancelled, and numbered once and for all."""

from __future__ import annotations

import random
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from daemon import Daemon, running, wait_until
from fixtures import bundled

from cuzkd.client import Client, Result
from cuzkd.errors import Cancelled, CuzkdError, NotDone, NotFound, Restarted
from cuzkd.formats.vkey import load_vkey
from cuzkd.kernels.verify import verify
from cuzkd.model import JobState

CASE = bundled("squarings_bn128")
LONG = 2000  # partitions of a job that is not done before it is cancelled
CONFIG = '[synthesis]\nworkers = 2\nthreads = 1\n[pool]\nlimit = "256MiB"\n[jobs]\nmax_partitions = 4000\n'


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    with running(tmp_path / "run", CONFIG) as daemon:
        yield daemon


def nothing_held(daemon: Daemon) -> bool:
    """Whether no lease and no payload is left."""
    return daemon.status().pool.leased == 0 and not list(daemon.spool.iterdir())


def test_a_job_is_shown_as_it_goes_and_as_it_ended(daemon: Daemon) -> None:
    with daemon.client() as client:
        job = client.submit(CASE.zkey, [CASE.witness] * 100)
        wait_until(lambda: client.show_job(job).status.done > 0, "some partitions are done")
        running_job = client.show_job(job)
        assert running_job.status.state is JobState.RUNNING
        assert running_job.status.stage
        assert running_job.failure is None
        client.wait(job)
        ended = client.show_job(job).status
        assert (ended.state, ended.done, ended.partitions, ended.stage) == (JobState.DONE, 100, 100, "")
        assert ended.seconds is not None
        assert ended.seconds > 0


def test_a_failed_job_is_shown_with_its_error(daemon: Daemon, tmp_path: Path) -> None:
    bad = tmp_path / "bad.wtns"
    data = bytearray(CASE.witness.read_bytes())
    data[-32] ^= 1
    bad.write_bytes(data)
    with daemon.client() as client:
        job = client.submit(CASE.zkey, [bad], r1cs=CASE.r1cs)
        with pytest.raises(CuzkdError) as failed:
            client.wait(job)
        info = client.show_job(job)
    assert info.status.state is JobState.FAILED
    assert info.failure is not None
    assert (info.failure.code, info.status.error) == (failed.value.code, failed.value.code)
    assert info.failure.error().message == failed.value.message


def test_unfinished_jobs_are_listed_before_the_latest_that_ended(daemon: Daemon) -> None:
    with daemon.client() as client:
        for _ in range(2):
            client.prove(CASE.zkey, [CASE.witness])
        job = client.submit(CASE.zkey, [CASE.witness] * LONG)
        listing = client.jobs()
        assert [status.job for status in listing.jobs] == [3, 2, 1]
        assert not listing.more
        client.cancel(job)


def test_a_result_is_fetched_when_there_is_one_and_not_waited_for(daemon: Daemon) -> None:
    with daemon.client() as client:
        job = client.submit(CASE.zkey, [CASE.witness] * LONG)
        with pytest.raises(NotDone):
            client.fetch(job)
        client.cancel(job)
        with pytest.raises(Cancelled):
            client.fetch(job)
        done = client.prove(CASE.zkey, [CASE.witness])
        assert client.fetch(done.job) == done


def test_a_running_job_is_cancelled_at_once_and_gives_everything_back(daemon: Daemon) -> None:
    with daemon.client() as client, daemon.client() as waiting:
        job = client.submit(CASE.zkey, [CASE.witness] * LONG)
        outcomes: list[CuzkdError] = []

        def wait() -> None:
            with pytest.raises(CuzkdError) as error:
                waiting.wait(job)
            outcomes.append(error.value)

        thread = threading.Thread(target=wait)
        thread.start()
        wait_until(lambda: client.show_job(job).status.done > 3, "the job runs")
        assert client.cancel(job).status.state is JobState.CANCELLED
        thread.join(10)
        assert [type(error) for error in outcomes] == [Cancelled]
        assert client.cancel(job).status.state is JobState.CANCELLED
        wait_until(lambda: nothing_held(daemon), "the leases and payloads are given back")
        assert len(client.prove(CASE.zkey, [CASE.witness]).proofs) == 1
        assert client.status().jobs_cancelled == 1


def test_fault_17_a_cancel_that_races_with_the_end_leaves_one_end(daemon: Daemon) -> None:
    """What waits, what cancels and what asks later are told the same, and a proof that is told verifies."""
    vkey = load_vkey(CASE.verification_key.read_text(), CASE.name)
    randomness = random.Random(17)
    ends = set()
    with daemon.client() as client, daemon.client() as other:
        took_s = client.prove(CASE.zkey, [CASE.witness]).seconds
        for _ in range(40):
            job = client.submit(CASE.zkey, [CASE.witness])
            cancelling = threading.Timer(randomness.uniform(0, 2 * took_s), other.cancel, [job])
            cancelling.start()
            outcome = waited(client, job)
            cancelling.join()
            info = client.show_job(job)
            ends.add(info.status.state)
            if isinstance(outcome, Cancelled):
                assert info.status.state is JobState.CANCELLED
            else:
                assert isinstance(outcome, Result)
                assert info.status.state is JobState.DONE
                assert verify(vkey, outcome.publics[0], outcome.proofs[0])
        status = client.status()
        assert status.jobs_done + status.jobs_cancelled == 41
        assert status.jobs_failed == 0
    assert ends <= {JobState.DONE, JobState.CANCELLED}
    wait_until(lambda: nothing_held(daemon), "the leases and payloads are given back")


def waited(client: Client, job: int) -> Result | CuzkdError:
    try:
        return client.wait(job)
    except CuzkdError as error:
        return error


def test_a_finished_job_is_not_cancelled(daemon: Daemon) -> None:
    with daemon.client() as client:
        done = client.prove(CASE.zkey, [CASE.witness])
        assert client.cancel(done.job).status.state is JobState.DONE
        assert client.fetch(done.job) == done


def test_fault_11_a_job_of_an_earlier_life_is_told_to_be_lost(daemon: Daemon) -> None:
    with daemon.client() as client:
        job = client.submit(CASE.zkey, [CASE.witness] * LONG)
    assert daemon.stop(signal.SIGKILL) == -signal.SIGKILL
    daemon.start()
    daemon.wait_ready()
    with daemon.client() as client:
        with pytest.raises(Restarted) as lost:
            client.wait(job)
        assert lost.value.retryable
        again = client.prove(CASE.zkey, [CASE.witness]).job
        assert again > job
        with pytest.raises(NotFound):
            client.show_job(again + 1)


def test_numbers_go_on_where_a_daemon_that_was_stopped_left_off(daemon: Daemon) -> None:
    with daemon.client() as client:
        first = client.prove(CASE.zkey, [CASE.witness]).job
    assert daemon.stop() == 0
    daemon.start()
    daemon.wait_ready()
    with daemon.client() as client:
        assert client.prove(CASE.zkey, [CASE.witness]).job == first + 1
        with pytest.raises(Restarted):
            client.fetch(first)
