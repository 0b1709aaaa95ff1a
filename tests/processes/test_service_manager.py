"""What the supervisor tells the service manager, heard at the socket that it names."""

from __future__ import annotations

import re
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from daemon import Daemon, running, wait_until
from fixtures import bundled

from cuzkd.client import Client
from cuzkd.errors import TooLarge

CASE = bundled("multiplier_bn128")


class Manager(threading.Thread):
    """Stands where systemd does, and remembers what it was told."""

    def __init__(self, sock: socket.socket) -> None:
        super().__init__()
        self._sock = sock
        self.heard: list[str] = []

    def run(self) -> None:
        """Read until the socket's other end says so."""
        while (message := self._sock.recv(4096).decode()) != "END":
            self.heard.append(message)


@contextmanager
def managed(
    tmp_path: Path, *, listening: bool = True, **environment: str
) -> Iterator[tuple[Daemon, Manager]]:
    """A daemon and its manager; one that does not listen yet is to be started."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        path = str(tmp_path / "notify")
        sock.bind(path)
        manager = Manager(sock)
        if listening:
            manager.start()
        try:
            variables = {"NOTIFY_SOCKET": path, **environment}
            with running(tmp_path / "run", environment=variables) as daemon:
                yield daemon, manager
        finally:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as end:
                end.sendto(b"END", path)
            manager.join()


def set_config(daemon: Daemon, text: str) -> None:
    """What the daemon reads when it is told to."""
    path = daemon.runtime_dir.with_suffix(".toml")
    places = "".join(line for line in path.read_text().splitlines(keepends=True) if "_dir" in line)
    path.write_text(places + text)


def test_starting_asks_for_time_and_ready_comes_when_all_processes_are_up(tmp_path: Path) -> None:
    with managed(tmp_path) as (_, manager):
        wait_until(lambda: "READY=1" in manager.heard, "ready")
        before = manager.heard[: manager.heard.index("READY=1")]
    assert any(re.fullmatch(r"EXTEND_TIMEOUT_USEC=\d+", message) for message in before)
    assert "STATUS=starting: 0 of 4 processes are up" in before


def test_a_manager_that_does_not_listen_delays_nothing_and_hears_of_it_later(tmp_path: Path) -> None:
    """A socket takes a few messages only; the daemon is ready all the same, and says so when there is room."""
    with managed(tmp_path, listening=False, WATCHDOG_USEC="30000") as (daemon, manager):
        begin = time.monotonic()
        with daemon.client() as client:
            assert len(client.prove(CASE.zkey, [CASE.witness]).proofs) == 1
        wait_until(lambda: time.monotonic() - begin > 0.5, "many beats are lost")
        manager.start()
        wait_until(lambda: "READY=1" in manager.heard, "it hears that the daemon is ready")
        wait_until(lambda: any(m.startswith("STATUS=ready") for m in manager.heard), "and its status")


def test_no_child_can_speak_to_the_manager(tmp_path: Path) -> None:
    with managed(tmp_path, WATCHDOG_USEC="10000000") as (daemon, _):
        for child in daemon.children():
            environment = Path(f"/proc/{child}/environ").read_bytes()
            assert b"NOTIFY_SOCKET" not in environment
            assert b"WATCHDOG" not in environment


def test_stopping_is_told_with_the_time_that_it_may_take(tmp_path: Path) -> None:
    with managed(tmp_path) as (daemon, manager):
        assert daemon.stop() == 0
    told = manager.heard
    assert told.index("READY=1") < told.index("STOPPING=1\nEXTEND_TIMEOUT_USEC=75000000")
    assert any(message.startswith("STATUS=ready") for message in told)


def test_the_watchdog_hears_the_loop_several_times_in_its_time(tmp_path: Path) -> None:
    with managed(tmp_path, WATCHDOG_USEC="600000") as (daemon, manager):
        wait_until(lambda: "READY=1" in manager.heard, "ready")
        begin, before = time.monotonic(), manager.heard.count("WATCHDOG=1")
        wait_until(lambda: manager.heard.count("WATCHDOG=1") >= before + 5, "five times", 3.0)
        assert time.monotonic() - begin < 3.0
        daemon.process.send_signal(signal.SIGSTOP)
        wait_until(lambda: Path(f"/proc/{daemon.process.pid}/stat").read_text().split()[2] == "T", "stopped")
        count = manager.heard.count("WATCHDOG=1")
        begin = time.monotonic()
        wait_until(lambda: time.monotonic() - begin > 0.7, "the watchdog's time is over")
        assert manager.heard.count("WATCHDOG=1") == count
        daemon.process.send_signal(signal.SIGCONT)


def test_without_a_watchdog_or_with_somebody_elses_it_hears_nothing(tmp_path: Path) -> None:
    with managed(tmp_path, WATCHDOG_USEC="100000", WATCHDOG_PID="1") as (_, manager):
        wait_until(lambda: any(m.startswith("STATUS=ready") for m in manager.heard), "ready")
        assert "WATCHDOG=1" not in manager.heard


def test_fault_27_sighup_takes_a_valid_file_between_reloading_and_ready(tmp_path: Path) -> None:
    with managed(tmp_path) as (daemon, manager), daemon.client() as client:
        wait_until(lambda: "READY=1" in manager.heard, "ready")
        number = len(manager.heard)
        set_config(daemon, 'drain_timeout = "5s"\n[limits]\npayload = "4KiB"\n[gpu]\nthreads = 3\n')
        daemon.process.send_signal(signal.SIGHUP)
        wait_until(lambda: "READY=1" in manager.heard[number:], "it has reloaded")
        told = [message for message in manager.heard[number:] if not message.startswith(("STATUS", "WATCH"))]
        assert re.fullmatch(r"RELOADING=1\nMONOTONIC_USEC=\d+", told[0])
        assert told[1] == "READY=1"
        assert_refused(client, tmp_path)
        assert "changed drain_timeout, limits.payload" in daemon.log()
        assert re.search(r"from the next start on .*gpu\.threads", daemon.log())


def test_fault_27_sighup_with_an_invalid_file_keeps_the_old_configuration_whole(tmp_path: Path) -> None:
    with managed(tmp_path) as (daemon, manager), daemon.client() as client:
        wait_until(lambda: "READY=1" in manager.heard, "ready")
        set_config(daemon, '[limits]\npayload = "4KiB"\ncolour = 1\n')
        daemon.process.send_signal(signal.SIGHUP)
        wait_until(lambda: manager.heard.count("READY=1") == 2, "it is ready again")
        assert "the configuration stays as it is" in daemon.log()
        assert "run.toml:5: there is no key 'limits.colour'" in daemon.log()
        assert len(client.prove(CASE.zkey, inputs=[large_inputs(tmp_path)], wasm=CASE.wasm).proofs) == 1


def large_inputs(tmp_path: Path) -> Path:
    path = tmp_path / "inputs.json"
    path.write_text((CASE.path / "input.json").read_text().ljust(5000))
    return path


def assert_refused(client: Client, tmp_path: Path) -> None:
    with pytest.raises(TooLarge, match="4096"):
        client.prove(CASE.zkey, inputs=[large_inputs(tmp_path)], wasm=CASE.wasm)
