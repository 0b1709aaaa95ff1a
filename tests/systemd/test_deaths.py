"""Whatever process dies, the service lives: children by the supervisor, the supervisor by systemd."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from daemon import alive, wait_until
from systemd.unit import MULTIPLIER, Unit, busy, cuzkctl, document, now, submit, waiting_for


def connected(pid: int) -> bool:
    """Whether the client has asked: it holds a socket, and waits for what comes by it."""
    try:
        targets = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:  # one that it had open while it started
        return False
    return any(target.startswith("socket:") for target in targets) and state == "S"


@pytest.mark.parametrize("role", ["ingest-0", "synthesis-0", "gpu-0"])
def test_a_child_that_is_killed_is_replaced_without_a_restart_of_the_unit(unit: Unit, role: str) -> None:
    supervisor, victim = unit.main_pid, unit.workers()[role]
    os.kill(victim, signal.SIGKILL)
    wait_until(lambda: unit.workers().get(role) not in (None, victim), "another process has its place")
    assert (unit.main_pid, unit.restarts) == (supervisor, 0)
    done = cuzkctl("prove", "--zkey", MULTIPLIER.zkey, "--wtns", MULTIPLIER.witness, "-o", "/tmp")
    assert done.returncode == 0, done.stderr


def test_fault_11_a_killed_supervisor_comes_back_and_leaves_nothing_of_the_old_one(unit: Unit) -> None:
    """A waiting client finds the new one by itself and is told what became of its job."""
    baseline = unit.segments()
    job = submit(500)
    busy(unit)
    old, children = unit.main_pid, unit.workers().values()
    assert len(unit.segments()) > len(baseline)
    with waiting_for(job) as waiting:
        wait_until(lambda: connected(waiting.pid), "it waits")
        os.kill(old, signal.SIGKILL)
        died = now()
        wait_until(lambda: not any(map(alive, children)), "no child lives", 2.0)
        unit.wait_restarted(old)
        told, _ = waiting.communicate(timeout=30)
    assert now() - died < 20
    assert '"restarted"' in told
    assert unit.restarts == 1
    assert unit.segments() == baseline
    assert len(unit.processes()) == 1 + len(unit.workers())
    done = cuzkctl("prove", "--zkey", MULTIPLIER.zkey, "--wtns", MULTIPLIER.witness, "-o", "/tmp")
    assert done.returncode == 0, done.stderr


def test_a_client_that_comes_while_the_daemon_restarts_is_served(unit: Unit) -> None:
    unit.kill(signal.SIGKILL)
    done = cuzkctl("prove", "--zkey", MULTIPLIER.zkey, "--wtns", MULTIPLIER.witness, "-o", "/tmp")
    assert done.returncode == 0, done.stderr


def test_fault_28_a_wedged_supervisor_shows_its_stacks_and_is_restarted(unit: Unit) -> None:
    """It is stopped, so that its loop does not run; systemd lets it go on with the SIGABRT that it sends."""
    unit.drop_in("[Service]\nWatchdogSec=2\nTimeoutAbortSec=20\n")
    unit.as_installed(keep_drop_in=True)
    unit.start()
    old = unit.main_pid
    os.kill(old, signal.SIGSTOP)
    unit.wait_restarted(old)
    assert "Watchdog timeout" in unit.manager_journal()
    stacks = unit.journal(f"_PID={old}")
    assert "Fatal Python error: Aborted" in stacks
    assert "asyncio" in stacks
    assert unit.restarts == 1


def test_the_watchdog_lets_a_daemon_live_that_does_much(unit: Unit) -> None:
    unit.drop_in("[Service]\nWatchdogSec=2\n")
    unit.as_installed(keep_drop_in=True)
    unit.start()
    begin, supervisor = now(), unit.main_pid
    while now() - begin < 6:
        done = cuzkctl(
            "prove", "--zkey", MULTIPLIER.zkey, *["--wtns", *[MULTIPLIER.witness] * 50], "-o", "/tmp"
        )
        assert done.returncode == 0, done.stderr
    assert (unit.main_pid, unit.restarts) == (supervisor, 0)


def test_a_stopped_child_is_no_reason_for_the_watchdog(unit: Unit) -> None:
    unit.drop_in("[Service]\nWatchdogSec=1\n")
    unit.as_installed(keep_drop_in=True)
    unit.start()
    supervisor, child = unit.main_pid, unit.workers()["gpu-0"]
    os.kill(child, signal.SIGSTOP)
    begin = now()
    wait_until(lambda: now() - begin > 3, "three times what the watchdog allows")
    assert (unit.main_pid, unit.restarts) == (supervisor, 0)


def test_fault_32_a_child_that_never_starts_ends_in_a_unit_that_failed(unit: Unit) -> None:
    [program] = (
        Path("/usr/lib/cuzkd/current").resolve().glob("lib/python3*/site-packages/cuzkd/gpu/worker.py")
    )
    unit.drop_in(f"[Unit]\nStartLimitBurst=2\n[Service]\nInaccessiblePaths={program}\nRestartSec=100ms\n")
    unit.as_installed(keep_drop_in=True)
    status = document(cuzkctl("status", "--json"))
    assert status["error"]["code"] in ("unreachable", "connection_lost")
    wait_until(lambda: unit.show("ActiveState") == "failed", "the unit has failed")
    assert unit.show("ExecMainStatus") == "70"
    assert "the gpu process failed to start 5 times" in unit.journal()
    assert unit.processes() == []
