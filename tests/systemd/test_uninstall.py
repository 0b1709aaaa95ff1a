"""Upgrade in place, and removal that leaves nothing. The last file: nothing is installed after it."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from systemd.unit import CONFIG, MULTIPLIER, Unit, cuzkctl

SCRIPTS = Path("/src/scripts")
PROVE = ("prove", "--zkey", MULTIPLIER.zkey, "--wtns", MULTIPLIER.witness, "-o", "/tmp")


def script(*words: str) -> str:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def files() -> set[str]:
    """Everything of cuzkd's in the file system, wherever it may be put."""
    found = set()
    for place in ("/etc", "/usr", "/var", "/run"):
        for folder, folders, names in os.walk(place):
            here = [f"{folder}/{name}" for name in (*folders, *names) if "cuzk" in name]
            found.update(here)
            folders[:] = [name for name in folders if "cuzk" not in name]
    return {path for path in found if not path.startswith("/run/systemd/")}


@pytest.mark.timeout(180)  # an environment is made anew, which takes a busy machine long
def test_an_upgrade_in_place_keeps_configuration_and_state_and_runs_the_new_one(unit: Unit) -> None:
    CONFIG.write_text("# mine\n")
    old = os.readlink("/usr/lib/cuzkd/current")
    assert cuzkctl(*PROVE).returncode == 0
    circuits = os.listdir("/var/lib/cuzkd/circuits")
    supervisor = unit.main_pid
    script("/bin/bash", str(SCRIPTS / "install.sh"), "--wheels", "/wheels")
    assert unit.active
    assert unit.main_pid != supervisor
    assert os.readlink("/usr/lib/cuzkd/current") != old
    assert len(list(Path("/usr/lib/cuzkd").glob("version.*"))) == 1
    assert CONFIG.read_text() == "# mine\n"
    assert cuzkctl(*PROVE).returncode == 0
    assert os.listdir("/var/lib/cuzkd/circuits") == circuits
    running = Path(f"/proc/{unit.main_pid}/cmdline").read_bytes()
    assert os.readlink("/usr/lib/cuzkd/current").encode() in running


@pytest.mark.usefixtures("unit")
def test_uninstalling_leaves_the_state_and_purging_nothing() -> None:
    assert cuzkctl(*PROVE).returncode == 0
    script("/bin/bash", str(SCRIPTS / "uninstall.sh"))
    assert files() == {"/var/lib/cuzkd"}
    assert any(Path("/var/lib/cuzkd").iterdir())
    script("/bin/bash", str(SCRIPTS / "uninstall.sh"))
    script("/bin/bash", str(SCRIPTS / "uninstall.sh"), "--purge")
    assert files() == set()
    assert "cuzk" not in Path("/etc/passwd").read_text() + Path("/etc/group").read_text()
    assert shutil.which("cuzkctl") is None
    shown = subprocess.run(["systemctl", "list-units", "--all"], capture_output=True, text=True, check=True)
    assert "cuzkd." not in shown.stdout
