"""The roster with real children: whoever falls silent is ended and replaced; who cannot boot is given up."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from cuzkd.child import Child, Settings
from cuzkd.errors import BootFailed
from cuzkd.events import Worker
from cuzkd.model import Role
from cuzkd.supervisor.children import BOOT_ATTEMPTS, SILENCE_S, Listener, Roster


class Told:
    """What a roster has told, and a way to wait for it."""

    def __init__(self) -> None:
        self.up: list[Child] = []
        self.down: list[tuple[Worker, str]] = []
        self.gave_up: list[BootFailed] = []

    def listener(self) -> Listener:
        def down(worker: Worker, reason: str) -> None:
            self.down.append((worker, reason))

        return Listener(self.up.append, lambda *_: None, down, self.gave_up.append)

    @staticmethod
    async def until(holds: Callable[[], object]) -> None:
        async with asyncio.timeout(60):
            while not holds():
                await asyncio.sleep(0.005)


def with_roster(
    role: Role, state_dir: Path, backend: str, test: Callable[[Roster, Told], Awaitable[None]]
) -> None:
    async def main() -> None:
        told = Told()
        lock = os.open(state_dir / "lock", os.O_RDWR | os.O_CREAT)
        settings = Settings(role, 0, 1, state_dir, "INFO", backend, 60.0, 1 << 30, lock)
        roster = Roster(asyncio.get_running_loop(), [settings], told.listener(), boot_timeout_s=60)
        roster.start()
        try:
            await test(roster, told)
        finally:
            await roster.stop()
            os.close(lock)

    asyncio.run(main())


def test_a_silent_child_shows_its_stacks_and_is_replaced(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    async def test(roster: Roster, told: Told) -> None:
        await told.until(lambda: told.up)
        roster.end_silent(time.monotonic() + SILENCE_S - 1, late_s=0)
        roster.end_silent(time.monotonic() + SILENCE_S + 1, late_s=0)
        await told.until(lambda: len(told.up) == 2)

    with_roster(Role.INGEST, tmp_path, "host", test_and_keep := _keep(test))
    [(worker, reason)] = test_and_keep.told.down
    assert (worker.incarnation, reason) == (1, "killed by SIGABRT")
    assert test_and_keep.told.up[1].worker.incarnation == 2
    assert "Fatal Python error: Aborted" in capfd.readouterr().err


def test_a_supervisor_that_did_not_run_blames_nobody(tmp_path: Path) -> None:
    """After a stop of the whole machine every child seems silent: the late caller could not hear it."""

    async def test(roster: Roster, told: Told) -> None:
        await told.until(lambda: told.up)
        later = time.monotonic() + 1000
        roster.end_silent(later, late_s=999)
        roster.end_silent(later + 1, late_s=0)
        pid = told.up[0].process.pid
        await asyncio.sleep(0.2)
        os.kill(pid, 0)
        assert told.down == []

    with_roster(Role.INGEST, tmp_path, "host", test)


def test_a_child_that_cannot_boot_is_tried_a_few_times_and_given_up(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    async def test(roster: Roster, told: Told) -> None:
        await told.until(lambda: told.gave_up)
        assert told.up == []
        assert not roster.all_up

    with_roster(Role.GPU, tmp_path, "abacus", kept := _keep(test))
    assert f"failed to start {BOOT_ATTEMPTS} times" in str(kept.told.gave_up[0])
    assert capfd.readouterr().err.count("this build has no abacus backend") == BOOT_ATTEMPTS


class _keep:  # noqa: N801  # reads as a verb where it is used
    """A test's coroutine that keeps what the roster told, to be looked at when all has ended."""

    told: Told

    def __init__(self, test: Callable[[Roster, Told], Awaitable[None]]) -> None:
        self._test = test

    def __call__(self, roster: Roster, told: Told) -> Awaitable[None]:
        self.told = told
        return self._test(roster, told)
