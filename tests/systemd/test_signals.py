"""Stop, reload and their answers: nothing accepted is lost in time, nothing half is taken."""

from __future__ import annotations

import signal

from daemon import wait_until
from systemd.unit import (
    CONFIG,
    MULTIPLIER,
    SERVICE,
    Unit,
    busy,
    cuzkctl,
    document,
    inputs_of,
    now,
    submit,
    systemctl,
    waiting_for,
)

INPUTS = inputs_of(5000)
PROVE = (
    "prove",
    "--json",
    "--zkey",
    MULTIPLIER.zkey,
    "--wasm",
    MULTIPLIER.wasm,
    "--input",
    INPUTS,
    "-o",
    "/tmp",
)


def test_fault_26_sigterm_under_load_finishes_what_was_accepted(unit: Unit) -> None:
    job = submit(150)
    with waiting_for(job) as waiting:
        busy(unit)
        systemctl("stop", "--no-block", SERVICE)
        wait_until(lambda: unit.show("ActiveState") == "deactivating", "it stops")
        refused = document(cuzkctl(*PROVE))
        assert refused["error"]["code"] == "draining"
        told, _ = waiting.communicate(timeout=50)
        assert waiting.returncode == 0, told
    wait_until(lambda: unit.show("ActiveState") in ("inactive", "failed"), "it has stopped")
    assert (unit.show("Result"), unit.show("ExecMainStatus")) == ("success", "0")
    assert unit.processes() == []


def test_fault_26_a_second_sigterm_is_fast(unit: Unit) -> None:
    submit(1000)
    busy(unit)
    begin = now()
    systemctl("stop", "--no-block", SERVICE)
    wait_until(lambda: "SIGTERM" in unit.journal(f"_PID={unit.main_pid}"), "it drains")
    systemctl("kill", "--kill-who=main", "-s", "TERM", SERVICE)
    wait_until(lambda: unit.show("ActiveState") in ("inactive", "failed"), "it has stopped")
    assert now() - begin < 10
    assert (unit.show("Result"), unit.show("ExecMainStatus")) == ("success", "0")


def test_fault_26_what_outlasts_the_drain_time_is_ended_in_time(unit: Unit) -> None:
    CONFIG.write_text('drain_timeout = "1s"\n')
    systemctl("reload", SERVICE)
    job = submit(1000)
    with waiting_for(job) as waiting:
        busy(unit)
        begin = now()
        systemctl("stop", SERVICE)
        assert now() - begin < 10
        told, _ = waiting.communicate(timeout=20)
    assert '"unavailable"' in told
    assert (unit.show("Result"), unit.show("ExecMainStatus")) == ("success", "0")


def test_fault_27_a_reload_takes_a_good_file_at_once(unit: Unit) -> None:
    supervisor = unit.main_pid
    assert cuzkctl(*PROVE).returncode == 0
    CONFIG.write_text('[limits]\npayload = "4KiB"\n[synthesis]\nworkers = 2\n')
    systemctl("reload", SERVICE)
    assert document(cuzkctl(*PROVE))["error"]["code"] == "too_large"
    told = unit.journal(f"_PID={supervisor}")
    assert "changed limits.payload" in told
    assert "from the next start on synthesis.workers" in told
    assert (unit.main_pid, unit.active) == (supervisor, True)


def test_fault_27_a_bad_file_changes_nothing_and_the_reload_says_so(unit: Unit) -> None:
    supervisor = unit.main_pid
    CONFIG.write_text('[limits]\npayload = "4KiB"\n[pool]\nlimit = "much"\n')
    failed = cuzkctl("reload", "--json")
    assert failed.returncode != 0
    assert f"{CONFIG}:4: pool.limit = 'much' should be a size" in document(failed)["error"]["message"]
    assert "failed" in systemctl("reload", SERVICE, check=False) + unit.manager_journal()
    assert (unit.main_pid, unit.active) == (supervisor, True)
    assert cuzkctl(*PROVE).returncode == 0


def test_fault_27_sighup_reloads_too(unit: Unit) -> None:
    supervisor = unit.main_pid
    CONFIG.write_text('drain_timeout = "7s"\n')
    unit.kill(signal.SIGHUP)
    wait_until(lambda: "changed drain_timeout" in unit.journal(f"_PID={supervisor}"), "it has reloaded")
    CONFIG.write_text("colour = 1\n")
    unit.kill(signal.SIGHUP)
    wait_until(lambda: "the configuration stays as it is" in unit.journal(f"_PID={supervisor}"), "it has not")
    wait_until(lambda: unit.active, "it is ready again")
    assert unit.main_pid == supervisor


def test_a_configuration_that_cannot_be_used_is_not_tried_again_and_again(unit: Unit) -> None:
    systemctl("stop", SERVICE)
    CONFIG.write_text("colour = 1\n")
    systemctl("start", SERVICE, check=False)
    wait_until(lambda: unit.show("ActiveState") == "failed", "the unit has failed")
    assert (unit.show("ExecMainStatus"), unit.restarts) == ("78", 0)
    assert f"{CONFIG}:1: there is no key 'colour'" in unit.journal()
