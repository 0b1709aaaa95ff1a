"""Upgrade in place, and removal that leaves nothing. The last file: nothing is installed after it."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from systemd.unit import CONFIG, MULTIPLIER, Unit, cuzkctl, document, submit, waiting_for

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


def test_an_upgrade_in_place_keeps_jobs_configuration_and_state(unit: Unit) -> None:
    CONFIG.write_text("# mine\n")
    old = os.readlink("/usr/lib/cuzkd/current")
    job = submit(50)
    supervisor = unit.main_pid
    with waiting_for(job) as waiting:
        script("/bin/bash", str(SCRIPTS / "install.sh"), "--wheels", "/wheels")
        told, _ = waiting.communicate(timeout=30)
        assert waiting.returncode == 0, told
    assert unit.active
    assert unit.main_pid != supervisor
    assert os.readlink("/usr/lib/cuzkd/current") != old
    assert len(list(Path("/usr/lib/cuzkd").glob("version.*"))) == 1
    assert CONFIG.read_text() == "# mine\n"
    assert cuzkctl(*PROVE).returncode == 0
    assert document(cuzkctl("status", "--json"))["circuits"] is not None


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
