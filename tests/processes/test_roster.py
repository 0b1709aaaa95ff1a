"""The roster with real children: whoever falls silent is ended and replaced; who cannot boot is given up."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest
from fuse import silent_files

from cuzkd.child import Child, Settings
from cuzkd.config import Config
from cuzkd.errors import BootFailed
from cuzkd.events import Worker
from cuzkd.ipc.orders import LoadKey
from cuzkd.model import CircuitRef, CircuitShape, Curve, Phase, Role
from cuzkd.supervisor import children
from cuzkd.supervisor.children import BOOT_ATTEMPTS, Audience, Roster
from cuzkd.supervisor.patience import SILENCE_S, Doing, Patience
from cuzkd.supervisor.slots import FIRST_PAUSE_S


class Told:
    """What a roster has told, and a way to wait for it."""

    def __init__(self) -> None:
        self.up: list[Child] = []
        self.down: list[tuple[Worker, str]] = []
        self.gave_up: list[BootFailed] = []
        self.stuck: list[tuple[Worker, str]] = []
        self.stalled: list[tuple[Doing | None, str]] = []

    def audience(self) -> Audience:
        def down(worker: Worker, reason: str) -> None:
            self.down.append((worker, reason))

        def stalled(_: Worker, doing: Doing | None, why: str) -> None:
            self.stalled.append((doing, why))

        def stuck(worker: Worker, why: str) -> None:
            self.stuck.append((worker, why))

        return Audience(self.up.append, lambda *_: None, stalled, stuck, down, self.gave_up.append)

    @staticmethod
    async def until(holds: Callable[[], object]) -> None:
        async with asyncio.timeout(60):
            while not holds():
                await asyncio.sleep(0.005)


def patience(phase_time_s: float = 60.0) -> Patience:
    limits = replace(Config.load().limits, phase_time_s=phase_time_s)
    return Patience(limits, 1 << 20, lambda _: None)


def with_roster(
    role: Role,
    folder: Path,
    backend: str,
    test: Callable[[Roster, Told], Awaitable[None]],
    state_dir: Path | None = None,
) -> None:
    async def main() -> None:
        told = Told()
        lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT)
        settings = Settings(role, 0, 1, state_dir or folder, "INFO", backend, 60.0, 1 << 30, lock)
        roster = Roster(asyncio.get_running_loop(), [settings], boot_timeout_s=60)
        roster.start(told.audience())
        try:
            await test(roster, told)
        finally:
            await roster.stop()
            os.close(lock)

    asyncio.run(main())


def test_fault_07_a_silent_child_shows_its_stacks_and_is_replaced(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    async def test(roster: Roster, told: Told) -> None:
        await told.until(lambda: told.up)
        roster.end_overdue(time.monotonic() + SILENCE_S - 1, 0, patience())
        roster.end_overdue(time.monotonic() + SILENCE_S + 1, 0, patience())
        await told.until(lambda: len(told.up) == 2)

    with_roster(Role.INGEST, tmp_path, "host", test_and_keep := _keep(test))
    [(worker, reason)] = test_and_keep.told.down
    assert (worker.incarnation, reason) == (1, "silent for 30 s, killed by SIGABRT")
    assert test_and_keep.told.up[1].worker.incarnation == 2
    assert "Fatal Python error: Aborted" in capfd.readouterr().err


def test_a_supervisor_that_did_not_run_blames_nobody(tmp_path: Path) -> None:
    """After a stop of the whole machine every child seems silent: the late caller could not hear it."""

    async def test(roster: Roster, told: Told) -> None:
        await told.until(lambda: told.up)
        later = time.monotonic() + 1000
        roster.end_overdue(later, 999, patience())
        roster.end_overdue(later + 1, 0, patience())
        [slot] = roster.slots
        assert (slot.ending, told.stalled) == (None, [])
        roster.end_overdue(later + SILENCE_S + 1, 0, patience())
        assert slot.ending == "silent for 30 s"

    with_roster(Role.INGEST, tmp_path, "host", test)


def test_fault_32_a_child_that_cannot_boot_is_tried_a_few_times_and_given_up(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    async def test(roster: Roster, told: Told) -> None:
        await told.until(lambda: told.gave_up)
        assert told.up == []
        assert not roster.all_up

    with_roster(Role.GPU, tmp_path, "abacus", kept := _keep(test))
    assert f"failed to start {BOOT_ATTEMPTS} times" in str(kept.told.gave_up[0])
    assert capfd.readouterr().err.count("this build has no abacus backend") == BOOT_ATTEMPTS


def test_fault_32_children_that_die_right_after_boot_are_replaced_after_longer_and_longer_pauses(
    tmp_path: Path,
) -> None:
    lives = 7
    booted: list[float] = []

    async def test(_: Roster, told: Told) -> None:
        for life in range(1, lives + 1):
            await told.until(lambda life=life: len(told.up) == life)
            booted.append(time.monotonic())
            os.kill(told.up[-1].process.pid, signal.SIGKILL)
        await told.until(lambda: len(told.down) == lives)

    with_roster(Role.INGEST, tmp_path, "host", kept := _keep(test))
    assert kept.told.gave_up == []
    pauses = sum(FIRST_PAUSE_S * 2**k for k in range(3))
    assert booted[-1] - booted[-4] >= pauses


def test_fault_07_a_gpu_process_that_not_even_sigkill_ends_is_not_replaced_until_it_is_gone(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may still be at its device. Here it waits for a file of a file system that answers nothing."""
    monkeypatch.setattr(children, "ABORT_PATIENCE_S", 0.3)
    monkeypatch.setattr(children, "KILL_PATIENCE_S", 0.3)
    ref = CircuitRef("0" * 64, CircuitShape(Curve.BN254, 8, 8, 1, 3))

    async def test(roster: Roster, told: Told) -> None:
        await told.until(lambda: told.up)
        [slot] = roster.slots
        with silent_files(tmp_path / "state", looking_up=False) as files:
            roster.order(told.up[0].worker, LoadKey(1, ref))
            await told.until(lambda: files.asked.is_set() and slot.doing)
            await told.until(lambda: roster.end_overdue(time.monotonic(), 0, patience(0.05)) or slot.ending)
            await told.until(lambda: slot.stuck)
            assert told.down == []
            assert [worker for worker, _ in told.stuck] == [told.up[0].worker]
            assert slot.child is not None
        await told.until(lambda: len(told.up) == 2)
        assert not slot.stuck

    with_roster(Role.GPU, tmp_path, "host", kept := _keep(test), state_dir=tmp_path / "state")
    [(doing, why)] = kept.told.stalled
    assert doing == Doing(Phase.LOAD)
    assert why == "no progress in load for 1.5 s"
    assert "open_circuit" in capfd.readouterr().err, "its stacks show where it waits"


def test_fault_07_a_child_that_not_even_sigkill_ends_does_not_keep_the_daemon_from_stopping(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(children, "KILL_PATIENCE_S", 0.3)
    ref = CircuitRef("0" * 64, CircuitShape(Curve.BN254, 8, 8, 1, 3))

    async def test(roster: Roster, told: Told) -> None:
        await told.until(lambda: told.up)
        with silent_files(tmp_path / "state", looking_up=False) as files:
            roster.order(told.up[0].worker, LoadKey(1, ref))
            await told.until(files.asked.is_set)
            await roster.stop()
            assert f"left behind, for SIGKILL does not end them: {told.up[0].process.pid}" in caplog.text

    with_roster(Role.GPU, tmp_path, "host", test, state_dir=tmp_path / "state")


class _keep:  # noqa: N801  # reads as a verb where it is used
    """A test's coroutine that keeps what the roster told, to be looked at when all has ended."""

    told: Told

    def __init__(self, test: Callable[[Roster, Told], Awaitable[None]]) -> None:
        self._test = test

    def __call__(self, roster: Roster, told: Told) -> Awaitable[None]:
        self.told = told
        return self._test(roster, told)
