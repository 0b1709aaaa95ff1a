"""Nothing runs until the first client comes; then it gets its proof."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

import pytest
from systemd.unit import (
    CONFIG,
    JOB_SOCKET,
    MULTIPLIER,
    NOBODY,
    SERVICE,
    Unit,
    cuzkctl,
    document,
    members,
    systemctl,
)


def test_the_first_prove_starts_the_daemon_and_gets_its_proof(tmp_path: Path) -> None:
    Unit().as_installed()
    assert systemctl("is-active", SERVICE, check=False) == "inactive\n"
    words = ("--zkey", MULTIPLIER.zkey, "--wasm", MULTIPLIER.wasm, "--input", MULTIPLIER.path / "input.json")
    done = cuzkctl("prove", *words, "-o", tmp_path)
    assert done.returncode == 0, done.stderr
    files = ("--proof", tmp_path / "proof.json", "--public", tmp_path / "public.json")
    valid = cuzkctl("verify", "--vkey", MULTIPLIER.verification_key, *files)
    assert valid.returncode == 0, valid.stdout
    assert systemctl("is-active", SERVICE) == "active\n"


def test_who_it_runs_as_and_where_its_files_are(unit: Unit) -> None:
    status = Path(f"/proc/{unit.main_pid}/status").read_text()
    fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    uid = Path("/var/lib/cuzkd").stat().st_uid
    assert uid not in (0, NOBODY)
    assert fields["Uid"].split() == [str(uid)] * 4
    assert int(fields["CapEff"], 16) == int(fields["CapBnd"], 16) == 0
    assert fields["NoNewPrivs"] == "1"
    assert stat.S_IMODE(Path("/var/lib/cuzkd").stat().st_mode) == 0o700
    assert stat.S_IMODE(JOB_SOCKET.stat().st_mode) == 0o660
    assert JOB_SOCKET.stat().st_gid == members()[0]


def test_its_shared_memory_is_its_own(unit: Unit) -> None:
    done = cuzkctl("prove", "--zkey", MULTIPLIER.zkey, "--wtns", MULTIPLIER.witness, "-o", "/tmp")
    assert done.returncode == 0, done.stderr
    segments = unit.segments()
    assert segments
    assert not set(segments) & set(os.listdir("/dev/shm"))


def test_no_child_may_speak_to_the_service_manager(unit: Unit) -> None:
    for pid in unit.workers().values():
        names = {entry.split(b"=")[0] for entry in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")}
        assert not names & {b"NOTIFY_SOCKET", b"WATCHDOG_PID", b"WATCHDOG_USEC", b"LISTEN_FDS", b"LISTEN_PID"}


def test_the_status_line_tells_what_it_does(unit: Unit) -> None:
    assert unit.show("StatusText").startswith("ready: 0 proving, 0 queued, 0 done")


def test_a_stopped_daemon_leaves_no_process_and_its_sockets_start_the_next_one(unit: Unit) -> None:
    assert (
        cuzkctl("prove", "--zkey", MULTIPLIER.zkey, "--wtns", MULTIPLIER.witness, "-o", "/tmp").returncode
        == 0
    )
    systemctl("stop", SERVICE)
    assert (unit.show("Result"), unit.show("ExecMainStatus")) == ("success", "0")
    assert not Path(f"/sys/fs/cgroup/systemd/system.slice/{SERVICE}").exists()
    assert not any(name.startswith("cuzkd") for name in os.listdir("/dev/shm"))
    assert not Path("/var/lib/cuzkd/spool").exists()
    assert document(cuzkctl("status", "--json"))["state"] == "ready"
    assert unit.active


def test_fault_31_only_the_group_may_ask(unit: Unit) -> None:
    """By the socket's mode; a member of the group gets in, and sees its own jobs only."""
    outside = cuzkctl("status", "--json", uid=NOBODY)
    assert outside.returncode == 3
    assert "Permission denied" in document(outside)["error"]["message"]
    inside = cuzkctl("status", "--json", uid=NOBODY, groups=members())
    assert inside.returncode == 0, inside.stdout
    assert unit.active


def test_fault_31_a_loosened_mode_lets_nobody_in_that_the_configuration_keeps_out(unit: Unit) -> None:
    CONFIG.write_text('[access]\ngroup = "cuzkd"\n')
    systemctl("reload", SERVICE)
    JOB_SOCKET.chmod(0o666)
    outside = cuzkctl("status", "--json", uid=NOBODY)
    assert outside.returncode == 4, outside.stdout
    assert document(outside)["error"]["code"] == "forbidden"
    assert f"uid {NOBODY} is not in the group" in document(outside)["error"]["message"]
    assert cuzkctl("status", "--json", uid=NOBODY, groups=members()).returncode == 0
    assert unit.active


def test_who_is_no_operator_may_not_reload(unit: Unit) -> None:
    refused = cuzkctl("reload", "--json", uid=NOBODY, groups=members())
    assert document(refused)["error"]["code"] == "forbidden"
    assert unit.active


@pytest.mark.usefixtures("unit")
def test_the_unit_is_as_strict_as_it_says() -> None:
    words = ["systemd-analyze", "security", "--no-pager", "--threshold=15", SERVICE]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    words = ["systemd-analyze", "verify", "--man=no", SERVICE]
    checked = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stderr) == (0, "")
