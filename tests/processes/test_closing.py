"""Closing somebody else's file may wait for its file system for ever, and not even SIGKILL ends that wait."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from daemon import LIMIT_S, Daemon, connected, running, wait_until
from fixtures import bundled
from fuse import silent_files

from cuzkd.ipc.messages import Failure
from cuzkd.ipc.requests import Attach, Attached, JobSubmit, PointChecks
from cuzkd.model import Role

CASE = bundled("squarings_bn128")
CONFIG = """[synthesis]
workers = 1
threads = 1
[limits]
read_stall = "3s"
"""


def open_files(daemon: Daemon) -> int:
    return len(os.listdir(f"/proc/{daemon.process.pid}/fd"))


def test_fault_19_a_file_that_cannot_be_closed_holds_up_nobody(tmp_path: Path) -> None:
    with running(tmp_path / "run") as daemon:
        before = open_files(daemon)
        with silent_files(tmp_path / "mount", flushing=True) as files:
            passed = os.open(files.folder / "witness.wtns", os.O_RDONLY)
            try:
                with connected(daemon) as channel:
                    channel.send(Attach(("a", "b", "c")), 2, [passed] * 3)
                    assert channel.receive(LIMIT_S).message == Attached(3)
                wait_until(files.asked.is_set, "the daemon closes it")
                with daemon.client() as client:
                    assert len(client.prove(CASE.zkey, [CASE.witness]).proofs) == 1
                assert open_files(daemon) > before
            finally:
                files.abort()
                with suppress(OSError):
                    os.close(passed)
        wait_until(lambda: open_files(daemon) <= before, "what could not be closed is closed")
        assert daemon.stop() == 0


def test_fault_07_an_ingest_process_that_cannot_close_a_file_is_replaced(tmp_path: Path) -> None:
    with running(tmp_path / "run", CONFIG) as daemon:
        pid = daemon.worker(Role.INGEST).pid
        with silent_files(tmp_path / "mount", flushing=True) as files:
            passed = os.open(files.folder / "circuit.zkey", os.O_RDONLY)
            try:
                with connected(daemon) as channel:
                    with CASE.witness.open("rb") as witness:
                        channel.send(Attach(("zkey", "witness")), 2, [passed, witness.fileno()])
                    assert channel.receive(LIMIT_S).message == Attached(2)
                    channel.send(JobSubmit(None, 0, None, None, (1,), (), PointChecks.FULL, False), 3)
                    answer = channel.receive(LIMIT_S).message
                    assert isinstance(answer, Failure)
                    assert answer.code == "unavailable"
                with daemon.client() as client:
                    assert len(client.prove(CASE.zkey, [CASE.witness], timeout_s=LIMIT_S).proofs) == 1
                assert daemon.worker(Role.INGEST).pid != pid
            finally:
                files.abort()
                with suppress(OSError):
                    os.close(passed)
        assert daemon.stop() == 0
