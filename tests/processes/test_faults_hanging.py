"""A process that hangs is ended and replaced like one that dies, and a file that never comes holds up nobody else."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from daemon import Daemon, alive, running, wait_until
from fixtures import bundled
from fuse import silent_files

from cuzkd.errors import Poisoned, Unavailable
from cuzkd.model import Role

CASE = bundled("squarings_bn128")
CONFIG = """[synthesis]
workers = 1
threads = 1
[limits]
phase_time = "3s"
read_stall = "3s"
witness_time = "1s"
[jobs]
max_attempts = {attempts}
"""


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    with running(tmp_path / "run", CONFIG.format(attempts=3)) as daemon:
        yield daemon


def stop_at_work(daemon: Daemon) -> int:
    """SIGSTOP the gpu process when it has said which partition it works on; its pid. It neither beats nor gets on."""
    stopped: list[int] = []

    def at_work() -> bool:
        pid = daemon.worker(Role.GPU).pid
        os.kill(pid, signal.SIGSTOP)
        # what it had said before is all that it will say
        busy = daemon.worker(Role.GPU).partition is not None
        if not busy:
            os.kill(pid, signal.SIGCONT)
        stopped.append(pid)
        return busy

    wait_until(at_work, "the gpu process is stopped at work")
    return stopped[-1]


def test_fault_07_a_hanging_process_is_ended_and_its_partition_is_done_by_the_next(daemon: Daemon) -> None:
    with daemon.client() as client:
        job = client.submit(CASE.zkey, [CASE.witness] * 100)
        pid = stop_at_work(daemon)
        assert len(client.wait(job).proofs) == 100
    assert not alive(pid)
    assert re.search(rf"the gpu process \(pid {pid}\) is ended: no progress in \w+", daemon.log())
    status = daemon.status()
    assert status.partitions_retried > 0
    assert (status.pool.leased, status.jobs_done, status.degraded) == (0, 1, ())
    assert sum(worker.restarts for worker in status.workers) == 1


def test_fault_07_a_partition_is_charged_for_the_process_that_hung_over_it(tmp_path: Path) -> None:
    with running(tmp_path / "run", CONFIG.format(attempts=1)) as daemon, daemon.client() as client:
        job = client.submit(CASE.zkey, [CASE.witness] * 100)
        stop_at_work(daemon)
        with pytest.raises(Poisoned, match=r"no progress in \w+ for"):
            client.wait(job)
        assert len(client.prove(CASE.zkey, [CASE.witness]).proofs) == 1


def test_fault_07_a_shorter_patience_counts_at_once_for_what_hangs_already(tmp_path: Path) -> None:
    short = CONFIG.format(attempts=3)
    with running(tmp_path / "run", short.replace('phase_time = "3s"', 'phase_time = "1h"')) as daemon:
        with daemon.client() as client:
            job = client.submit(CASE.zkey, [CASE.witness] * 100)
            pid = stop_at_work(daemon)
            file = daemon.runtime_dir.with_suffix(".toml")
            file.write_text(file.read_text().replace('"1h"', '"3s"'))
            assert client.reload().changed == ("limits.phase_time",)
            assert len(client.wait(job).proofs) == 100
        assert re.search(rf"\(pid {pid}\) is ended: no progress in \w+ for 3 s", daemon.log())


def test_fault_07_a_file_that_never_comes_is_refused_and_others_go_on(daemon: Daemon, tmp_path: Path) -> None:
    pid = daemon.worker(Role.INGEST).pid
    with (
        silent_files(tmp_path / "mount", taking=False) as files,
        ThreadPoolExecutor(1) as pool,
        daemon.client() as client,
        daemon.client() as other,
    ):
        stuck = pool.submit(client.prove, CASE.zkey, [files.folder / "witness.wtns"])
        wait_until(lambda: "submitted" in daemon.log() or files.asked.is_set(), "the file is opened")
        assert len(other.prove(CASE.zkey, [CASE.witness]).proofs) == 1
        with pytest.raises(Unavailable, match=r"witness\.wtns was not read .* no progress in read for 3 s"):
            stuck.result()
        wait_until(lambda: daemon.worker(Role.INGEST).ready, "another reads files")
    assert daemon.worker(Role.INGEST).restarts == 1
    assert not alive(pid)


def test_fault_07_an_ingest_process_that_not_even_sigkill_ends_is_left_behind(
    daemon: Daemon, tmp_path: Path
) -> None:
    """The kernel waits on its behalf for a file system that took the request; jobs of others do not."""
    pid = daemon.worker(Role.INGEST).pid
    with silent_files(tmp_path / "mount") as files, daemon.client() as client, daemon.client() as other:
        with pytest.raises(Unavailable, match="no progress in read"):
            client.prove(CASE.zkey, [files.folder / "witness.wtns"])
        assert len(other.prove(CASE.zkey, [CASE.witness]).proofs) == 1
        assert alive(pid)
        assert daemon.worker(Role.INGEST).pid != pid
        assert daemon.status().degraded == ()
    wait_until(lambda: f"pid {pid}, which was left behind, killed by" in daemon.log(), "its end is told")
    assert daemon.stop() == 0


def test_fault_07_a_gpu_process_that_cannot_be_ended_is_told_and_its_job_waits_for_the_next_one(
    daemon: Daemon,
) -> None:
    """It waits for the circuit's key on a file system that answers nothing; its device may still be in use."""
    with daemon.client() as client:
        client.add_circuit("squarings", CASE.zkey)
        client.prove(circuit="squarings", witnesses=[CASE.witness])
        digest = client.evict("squarings").circuit.digest
        pid = daemon.worker(Role.GPU).pid
        with silent_files(daemon.runtime_dir / "state" / "circuits" / digest, looking_up=False) as files:
            job = client.submit(circuit="squarings", witnesses=[CASE.witness])
            wait_until(files.asked.is_set, "the gpu process looks for the key")
            wait_until(lambda: "cannot be ended" in str(client.status().degraded), "status tells")
            worker = daemon.worker(Role.GPU)
            assert (worker.pid, worker.ready) == (pid, False)
            assert client.status().pool.leased == 1, "what it may read is nobody else's"
        assert len(client.wait(job).proofs) == 1
        assert client.status().degraded == ()
    assert not alive(pid)
    assert daemon.worker(Role.GPU).restarts == 1
