"""Any child may be killed at any moment: it is replaced at once, and clients get their proofs."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from daemon import Daemon, running, wait_until
from fixtures import bundled

from cuzkd.client import Result
from cuzkd.errors import Poisoned
from cuzkd.formats.vkey import load_vkey
from cuzkd.kernels.verify import verify
from cuzkd.model import Role
from cuzkd.supervisor.children import BOOT_ATTEMPTS
from cuzkd.supervisor.slots import FIRST_PAUSE_S

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


def kill_gpu_at_work(daemon: Daemon) -> int:
    """SIGKILL the gpu process while it works on a partition; the pid that was killed.

    It is stopped before it is judged: what it had already said is then all that it will say.
    """
    killed = []

    def killed_at_work() -> bool:
        worker = daemon.worker(Role.GPU)
        if worker.pid == 0 or worker.partition is None:
            return False
        os.kill(worker.pid, signal.SIGSTOP)
        stopped = daemon.worker(Role.GPU)
        busy = stopped.pid == worker.pid and stopped.partition is not None
        os.kill(worker.pid, signal.SIGKILL if busy else signal.SIGCONT)
        killed.append(worker.pid)
        return busy

    wait_until(killed_at_work, "the gpu process is killed at work")
    return killed[-1]


def replaced(daemon: Daemon, role: Role, index: int, pid: int) -> bool:
    worker = daemon.worker(role, index)
    return worker.ready and worker.pid != pid


def assert_replaced(daemon: Daemon, role: Role, index: int, pid: int) -> None:
    begin = time.monotonic()
    wait_until(lambda: replaced(daemon, role, index, pid), "replaced")
    assert time.monotonic() - begin < REPLACED_S
    worker = daemon.worker(role, index)
    assert (worker.restarts, worker.incarnation) == (1, 2)


def test_fault_04_a_gpu_process_killed_at_work_is_replaced_and_the_job_is_done(daemon: Daemon) -> None:
    with daemon.client() as client:
        job = client.submit(CASE.zkey, [CASE.witness] * PARTITIONS)
        pid = kill_gpu_at_work(daemon)
        assert_replaced(daemon, Role.GPU, 0, pid)
        assert_all_proved(client.wait(job))
    status = daemon.status()
    assert status.partitions_retried > 0
    assert status.pool.leased == 0


@pytest.mark.parametrize("index", [0, 1])
def test_fault_01_a_synthesis_process_killed_with_a_lease_is_replaced_and_the_job_is_done(
    daemon: Daemon, index: int
) -> None:
    """Both are stopped until each has been given a partition and a segment; then one dies and one goes on."""
    pids = [daemon.worker(Role.SYNTHESIS, i).pid for i in range(2)]
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    with daemon.client() as client:
        job = client.submit(CASE.zkey, [CASE.witness] * PARTITIONS)
        wait_until(lambda: daemon.status().pool.leased == 2, "both hold a lease")
        os.kill(pids[index], signal.SIGKILL)
        os.kill(pids[1 - index], signal.SIGCONT)
        assert_replaced(daemon, Role.SYNTHESIS, index, pids[index])
        assert_all_proved(client.wait(job))
    assert daemon.status().pool.leased == 0


def test_fault_02_a_synthesis_process_killed_after_its_handle_was_published_costs_nothing(
    daemon: Daemon,
) -> None:
    """The segment waits for the gpu process by then: it is proved once, and not synthesized again."""
    gpu = daemon.worker(Role.GPU).pid
    with daemon.client() as client:
        assert_all_proved(client.prove(CASE.zkey, [CASE.witness]), 1)
        os.kill(gpu, signal.SIGSTOP)
        job = client.submit(CASE.zkey, [CASE.witness])
        wait_until(lambda: f"[{job}.0] synthesized in" in daemon.log(), "it is synthesized")
        wait_until(lambda: all(w.partition is None for w in daemon.status().workers), "and told")
        pids = [daemon.worker(Role.SYNTHESIS, index).pid for index in range(2)]
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        wait_until(lambda: all(w.pid not in pids for w in daemon.status().workers), "they are replaced")
        os.kill(gpu, signal.SIGCONT)
        assert_all_proved(client.wait(job), 1)
    status = daemon.status()
    assert (status.partitions_proved, status.partitions_retried, status.pool.leased) == (2, 0, 0)
    assert daemon.log().count(f"[{job}.0] synthesized in") == 1


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


def test_fault_32_children_that_cannot_boot_end_the_daemon_with_a_status_of_its_own(tmp_path: Path) -> None:
    """After some attempts with pauses between them; a service manager then decides what comes next."""
    (tmp_path / "sitecustomize.py").write_text(
        "import os, sys\nif 'cuzkd.gpu.worker' in sys.orig_argv: os._exit(9)\n"
    )
    daemon = Daemon(tmp_path / "run", environment={"PYTHONPATH": str(tmp_path)})
    begin = time.monotonic()
    assert daemon.process.wait(60) == 70
    assert time.monotonic() - begin > sum(FIRST_PAUSE_S * 2**k for k in range(BOOT_ATTEMPTS - 1))
    assert "the gpu process failed to start 5 times; the last one exited with status 9" in daemon.log()
    assert daemon.segments() == []


def test_a_partition_that_ends_its_process_too_often_fails_its_job_only(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """With one attempt, the partition that the killed process was working on takes its job with it."""
    config = "[synthesis]\nworkers = 1\nthreads = 1\n[jobs]\nmax_attempts = 1\n"
    with running(tmp_path_factory.mktemp("poison") / "run", config) as daemon, daemon.client() as client:
        job = client.submit(CASE.zkey, [CASE.witness] * 300)
        kill_gpu_at_work(daemon)
        with pytest.raises(Poisoned, match="SIGKILL"):
            client.wait(job)
        assert_all_proved(client.prove(CASE.zkey, [CASE.witness]), 1)
        status = daemon.status()
        assert (status.jobs_failed, status.jobs_done, status.pool.leased) == (1, 1, 0)
