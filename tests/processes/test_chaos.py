"""A minute of everything at once, while a random child dies every 50 to 300 ms: nothing is lost, nothing is left.

`CUZKD_CHAOS_S=600 pytest tests/processes/test_chaos.py` makes it ten minutes; `CUZKD_CHAOS_SEED` repeats the choices
(not their timing, which is the machine's).
"""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from chaos import ChaosClient, Ledger
from daemon import Daemon, running, wait_until
from fixtures import bundled

from cuzkd.errors import DaemonUnreachable
from cuzkd.model import JobState

CASE = bundled("multiplier_bn128")
CHAOS_S = float(os.environ.get("CUZKD_CHAOS_S", "60"))
SEED = int(os.environ.get("CUZKD_CHAOS_SEED", "20240611"))
CLIENTS = 4
CONFIG = """[synthesis]
workers = 2
threads = 1
[gpu]
threads = 1
[pool]
limit = "64MiB"
[jobs]
max_attempts = 100
"""
DEATHS = (signal.SIGKILL, signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT)


@dataclass
class Before:
    """What was counted before the first child was killed."""

    jobs_done: int
    files: int


def open_files(daemon: Daemon) -> int:
    return len(os.listdir(f"/proc/{daemon.process.pid}/fd"))


def fewest_open_files(daemon: Daemon) -> int:
    """Once the connections that were closed just now are seen to be."""
    counts = []
    wait_until(lambda: counts.append(open_files(daemon)) or len(counts) > 100, "all was counted")
    return min(counts)


def processes_of(daemon: Daemon) -> list[str]:
    """Every process that was started with the daemon's directory, whoever its parent is."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            arguments = (folder / "cmdline").read_bytes().split(b"\0")
            if any(os.fsencode(daemon.runtime_dir) in argument for argument in arguments):
                found.append(folder.name)
    return found


def kill_children(daemon: Daemon, until: float) -> int:
    """End a random child every 50 to 300 ms, unless it is one that boots: five such deaths in a row end the daemon."""
    chance = random.Random(SEED)
    killed = 0
    with daemon.client() as client:
        while time.monotonic() < until:
            time.sleep(chance.uniform(0.05, 0.3))
            worker = chance.choice(client.status().workers)
            if worker.ready:
                with suppress(ProcessLookupError):
                    os.kill(worker.pid, chance.choice(DEATHS))
                    killed += 1
    return killed


def note_changes(daemon: Daemon, changes: list[tuple[int, JobState]]) -> None:
    """Note every state of every job that a watch tells, until the daemon ends."""
    with daemon.client() as client, suppress(DaemonUnreachable):
        for status in client.watch(everybody=True):
            changes.append((status.job, status.state))


@pytest.mark.timeout(CHAOS_S + 120)
def test_whatever_dies_every_job_ends_once_every_proof_verifies_and_nothing_is_left(tmp_path: Path) -> None:
    changes: list[tuple[int, JobState]] = []
    with running(tmp_path / "run", CONFIG) as daemon:
        watching = threading.Thread(target=note_changes, args=(daemon, changes))
        watching.start()
        with daemon.client() as client:
            wait_until(lambda: client.prove(CASE.zkey, [CASE.witness]) and changes, "the watch has begun")
        before = Before(daemon.status().jobs_done, fewest_open_files(daemon))
        until = time.monotonic() + CHAOS_S
        ledger = Ledger(CASE)
        clients = [ChaosClient(daemon, ledger, random.Random(SEED + number)) for number in range(CLIENTS)]
        with ThreadPoolExecutor(CLIENTS + 1) as pool:
            working = [pool.submit(client.work, until) for client in clients]
            killed = pool.submit(kill_children, daemon, until).result()
            for done in working:
                done.result()

        assert killed > CHAOS_S / 4
        assert ledger.ends[JobState.DONE] > CHAOS_S / 10
        assert ledger.ends[JobState.CANCELLED] > CHAOS_S / 20
        assert ledger.ends[JobState.FAILED] == 0
        assert_all_is_home(daemon, ledger, before)
        assert daemon.stop() == 0
        watching.join()
    assert daemon.segments() == []
    assert processes_of(daemon) == []
    assert_ended_once(changes, ledger)


def assert_all_is_home(daemon: Daemon, ledger: Ledger, before: Before) -> None:
    wait_until(lambda: not daemon.status().degraded, "all children are back")
    # a cancelled partition's lease ends when its worker reports, which its job does not wait for
    wait_until(lambda: daemon.status().pool.leased == 0, "all leases are home")
    status = daemon.status()
    assert len(daemon.segments()) == status.pool.segments
    assert (status.jobs_done, status.jobs_failed) == (ledger.ends[JobState.DONE] + before.jobs_done, 0)
    assert status.jobs_cancelled == ledger.ends[JobState.CANCELLED]
    wait_until(lambda: open_files(daemon) <= before.files, f"only {before.files} descriptors are open")
    assert list(daemon.spool.iterdir()) == []
    assert len(processes_of(daemon)) == 1 + 4


def assert_ended_once(changes: list[tuple[int, JobState]], ledger: Ledger) -> None:
    ends = Counter(job for job, state in changes if state.final)
    assert ends.keys() >= ledger.accepted
    assert set(ends.values()) == {1}
    last = dict(changes)
    assert all(last[job].final for job in ledger.accepted), "a job went on after its end"
    assert {job: last[job] for job in ledger.states} == ledger.states


def test_the_ledger_tells_a_wrong_end() -> None:
    """The checks above would see a job that ends twice, and one that ends otherwise than its client was told."""
    ledger = Ledger(CASE)
    ledger.accepted.add(1)
    ledger.end(1, JobState.DONE)
    assert_ended_once([(1, JobState.RUNNING), (1, JobState.DONE)], ledger)
    for changes in ([(1, JobState.DONE)] * 2, [(1, JobState.CANCELLED)], [(1, JobState.RUNNING)]):
        with pytest.raises(AssertionError):
            assert_ended_once(changes, ledger)
    with pytest.raises(AssertionError, match="two ends"):
        ledger.end(1, JobState.CANCELLED)
