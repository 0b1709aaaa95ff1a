"""The installed unit as an administrator sees it, and clients of its daemon."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from grp import getgrnam
from pathlib import Path
from typing import Any

from daemon import alive, wait_until
from fixtures import bundled

SERVICE = "cuzkd.service"
SOCKETS = ("cuzkd.socket", "cuzkd-ctl.socket")
CONFIG = Path("/etc/cuzkd/cuzkd.toml")
SHIPPED = Path("/usr/lib/cuzkd/cuzkd.toml")
DROP_IN = Path("/run/systemd/system/cuzkd.service.d/test.conf")
JOB_SOCKET = Path("/run/cuzkd/cuzkd.sock")
MULTIPLIER = bundled("multiplier_bn128")
SQUARINGS = bundled("squarings_bn128")
NOBODY = 65534


def systemctl(*words: str, check: bool = True) -> str:
    """What systemctl prints."""
    done = subprocess.run(["systemctl", *words], capture_output=True, text=True, check=False)
    if check and done.returncode:
        raise AssertionError(f"systemctl {' '.join(words)}: {done.returncode}: {done.stderr}")
    return done.stdout


def cuzkctl(*words: object, uid: int = 0, groups: Sequence[int] = ()) -> subprocess.CompletedProcess[str]:
    """Run the installed client; by default as root."""
    return subprocess.run(
        ["/usr/bin/cuzkctl", *map(str, words)],
        user=uid,
        group=uid,
        extra_groups=list(groups) if uid else None,
        env={"PATH": "/usr/bin", "LC_ALL": "C.UTF-8"},
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
    )


def inputs_of(size_bytes: int) -> Path:
    """The multiplier's inputs, in a file of this size."""
    path = Path("/tmp/inputs.json")
    path.write_text((MULTIPLIER.path / "input.json").read_text().ljust(size_bytes))
    return path


def document(done: subprocess.CompletedProcess[str]) -> Any:
    """What a command with --json printed."""
    assert done.stdout, done.stderr
    return json.loads(done.stdout)


def members() -> list[int]:
    """The group that the job socket is for."""
    return [getgrnam("cuzkd").gr_gid]


def submit(partitions: int) -> int:
    """Hand a job of so many proofs to the daemon; its number."""
    words = ("submit", "--json", "--zkey", SQUARINGS.zkey, "--wtns", *[SQUARINGS.witness] * partitions)
    done = cuzkctl(*words)
    assert done.returncode == 0, done.stdout + done.stderr
    number = document(done)["job"]
    assert isinstance(number, int)
    return number


@contextmanager
def waiting_for(job: int) -> Iterator[subprocess.Popen[str]]:
    """A client that waits for a job."""
    process = subprocess.Popen(
        ["/usr/bin/cuzkctl", "wait", "--json", "-o", f"/tmp/job-{job}", str(job)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


class Unit:
    """`cuzkd.service`."""

    def __init__(self) -> None:
        self._since = 0

    def show(self, name: str) -> str:
        """One property."""
        return systemctl("show", "--value", "-p", name, SERVICE).strip()

    @property
    def main_pid(self) -> int:
        """The supervisor, 0 when there is none."""
        return int(self.show("MainPID"))

    @property
    def restarts(self) -> int:
        """How often systemd has restarted the unit by itself."""
        return int(self.show("NRestarts"))

    @property
    def active(self) -> bool:
        """Whether it has said that it is ready."""
        return self.show("ActiveState") == "active"

    def start(self) -> None:
        """Start it and wait until it is ready."""
        systemctl("start", SERVICE)

    def as_installed(self, *, keep_drop_in: bool = False) -> None:
        """Stopped and never restarted, with the shipped configuration, without drop-ins, its sockets open."""
        if not SHIPPED.exists():
            return
        self._since = int(time.time())
        systemctl("kill", "--kill-who=main", "-s", "CONT", SERVICE, check=False)
        systemctl("stop", SERVICE)
        shutil.copyfile(SHIPPED, CONFIG)
        if DROP_IN.exists() and not keep_drop_in:
            DROP_IN.unlink()
            systemctl("daemon-reload")
        systemctl("reset-failed", SERVICE, *SOCKETS, check=False)
        systemctl("restart", *SOCKETS)

    def drop_in(self, text: str) -> None:
        """Change the unit; counts from its next start on."""
        DROP_IN.parent.mkdir(parents=True, exist_ok=True)
        DROP_IN.write_text(text)
        systemctl("daemon-reload")

    def kill(self, number: signal.Signals) -> None:
        """Signal the supervisor."""
        os.kill(self.main_pid, number)

    def processes(self) -> list[int]:
        """Every living process in the unit's control group, the supervisor among them."""
        group = Path(f"/sys/fs/cgroup/systemd/system.slice/{SERVICE}/cgroup.procs")
        pids = group.read_text().split() if group.exists() else []
        return [int(pid) for pid in pids if alive(int(pid))]

    def segments(self) -> list[str]:
        """What lies in the daemon's own /dev/shm."""
        return os.listdir(f"/proc/{self.main_pid}/root/dev/shm")

    def status(self) -> Any:
        """The daemon's own account."""
        return document(cuzkctl("status", "--json"))

    def workers(self) -> dict[str, int]:
        """The pids of the processes that take orders, by role and index."""
        found = self.status()["workers"]
        return {f"{worker['role']}-{worker['index']}": worker["pid"] for worker in found if worker["ready"]}

    def journal(self, *matches: str) -> str:
        """The unit's lines that match, or all."""
        words = ["journalctl", "-o", "cat", "--no-pager", f"_SYSTEMD_UNIT={SERVICE}", *matches]
        return subprocess.run(words, capture_output=True, text=True, check=True).stdout

    def manager_journal(self) -> str:
        """What systemd itself has said of the unit since `as_installed`."""
        words = ["journalctl", "-o", "cat", "--no-pager", "_PID=1", f"UNIT={SERVICE}"]
        done = subprocess.run([*words, f"--since=@{self._since}"], capture_output=True, text=True, check=True)
        return done.stdout

    def wait_restarted(self, old_pid: int) -> None:
        """Return when another supervisor than `old_pid` is ready."""
        wait_until(lambda: self.active and self.main_pid not in (0, old_pid), "the unit has been restarted")


def busy(unit: Unit) -> None:
    """Return when the daemon has begun to prove."""
    wait_until(lambda: unit.status()["partitions_proved"] > 0, "proofs are being made")


def now() -> float:
    """For how long something took."""
    return time.monotonic()
