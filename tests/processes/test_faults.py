"""Any child may be killed at any moment: it is replaced at once, and clients get their proofs."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from daemon import Daemon, running, wait_until
from fixtures import bundled

from cuzkd.client import Result
from cuzkd.errors import Poisoned
from cuzkd.formats.vkey import load_vkey
from cuzkd.kernels.verify import verify
from cuzkd.model import Role

CASE = bundled("squarings_bn128")
PARTITIONS = 60
REPLACED_S = 5.0  # well under a second on an idle machine, which a test cannot ask for
KILLS = 20


@pytest.fixture
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    config = "[synthesis]\nworkers = 2\nthreads = 1\n[jobs]\nmax_attempts = 100\n"
    with running(tmp_path_factory.mktemp("faults") / "run", config) as daemon:
        yield daemon


def assert_all_proved(result: Result, partitions: int = PARTITIONS) -> None:
    vkey = load_vkey(CASE.verification_key.read_text(), CASE.name)
    assert len(result.proofs) == partitions
    pairs = zip(result.publics, result.proofs, strict=True)
    assert all(verify(vkey, public, proof) for public, proof in pairs)


def kill_when_busy(daemon: Daemon, role: Role, index: int = 0) -> int:
    """SIGKILL the child while it reports a partition; the pid that was killed."""
    wait_until(lambda: daemon.worker(role, index).partition is not None, f"{role} {index} works")
    pid = daemon.worker(role, index).pid
    os.kill(pid, signal.SIGKILL)
    return pid


def replaced(daemon: Daemon, role: Role, index: int, pid: int) -> bool:
    worker = daemon.worker(role, index)
    return worker.ready and worker.pid != pid


@pytest.mark.parametrize(("role", "index"), [(Role.SYNTHESIS, 0), (Role.SYNTHESIS, 1), (Role.GPU, 0)])
def test_a_killed_child_is_replaced_and_the_job_is_done(daemon: Daemon, role: Role, index: int) -> None:
    with daemon.client() as client:
        job = client.submit(CASE.zkey, [CASE.witness] * PARTITIONS)
        pid = kill_when_busy(daemon, role, index)
        begin = time.monotonic()
        wait_until(lambda: replaced(daemon, role, index, pid), "replaced")
        took_s = time.monotonic() - begin
        assert_all_proved(client.wait(job))
    worker = daemon.worker(role, index)
    assert (worker.restarts, worker.incarnation) == (1, 2)
    assert took_s < REPLACED_S
    assert daemon.status().pool.leased == 0


def test_a_killed_ingest_process_reads_the_files_again(daemon: Daemon) -> None:
    """Files that were under way are read again from their descriptors; the client sees nothing of it."""
    pid = daemon.worker(Role.INGEST).pid
    os.kill(pid, signal.SIGSTOP)
    with ThreadPoolExecutor(1) as pool, daemon.client() as client:
        proving = pool.submit(client.prove, CASE.zkey, [CASE.witness] * 3)
        wait_until(lambda: "3 witnesses" in daemon.log(), "the job is submitted")
        os.kill(pid, signal.SIGKILL)
        assert_all_proved(proving.result(), 3)
    assert daemon.worker(Role.INGEST).restarts == 1


def test_a_storm_of_kills_costs_time_only(daemon: Daemon) -> None:
    """A random child dies every 50 to 300 ms while jobs run; every job is proved, every lease comes home.

    Children that boot are left alone: five deaths in a row at boot end the daemon, as they should.
    """
    choice = random.Random(20240611)

    def prove(_: int) -> None:
        with daemon.client() as client:
            assert_all_proved(client.prove(CASE.zkey, [CASE.witness] * 60), 60)

    with ThreadPoolExecutor(3) as pool:
        proving = [pool.submit(prove, client) for client in range(3)]
        for _ in range(KILLS):
            time.sleep(choice.uniform(0.05, 0.3))
            ready = [worker.pid for worker in daemon.status().workers if worker.ready]
            if ready:
                os.kill(choice.choice(ready), signal.SIGKILL)
        assert not all(done.done() for done in proving)
        for done in proving:
            done.result()
    wait_until(lambda: all(worker.ready for worker in daemon.status().workers), "all children are back")
    status = daemon.status()
    assert status.pool.leased == 0
    assert len(daemon.segments()) == status.pool.segments
    assert daemon.stop() == 0
    assert daemon.segments() == []


def test_a_partition_that_ends_its_process_too_often_fails_its_job_only(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """With one attempt, the partition that the killed process was working on takes its job with it."""
    config = "[synthesis]\nworkers = 1\nthreads = 1\n[jobs]\nmax_attempts = 1\n"
    with running(tmp_path_factory.mktemp("poison") / "run", config) as daemon, daemon.client() as client:
        job = client.submit(CASE.zkey, [CASE.witness] * 300)
        while daemon.status().jobs_failed == 0:  # a kill between two partitions is charged to neither
            kill_when_busy(daemon, Role.GPU)
            wait_until(lambda: daemon.worker(Role.GPU).ready, "the gpu process is back")
        with pytest.raises(Poisoned, match="SIGKILL"):
            client.wait(job)
        assert_all_proved(client.prove(CASE.zkey, [CASE.witness]), 1)
        status = daemon.status()
        assert (status.jobs_failed, status.jobs_done, status.pool.leased) == (1, 1, 0)
