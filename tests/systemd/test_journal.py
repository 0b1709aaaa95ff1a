"""What the journal holds: every job's way through the daemon by its number, with times, and no secret."""

from __future__ import annotations

import json
import subprocess
from typing import Any

from systemd.unit import MULTIPLIER, Unit, cuzkctl, document

from cuzkd.logs import Event

PROVE = ("prove", "--json", "--zkey", MULTIPLIER.zkey, "--wtns", MULTIPLIER.witness, "-o", "/tmp")


def records(*matches: str) -> list[dict[str, Any]]:
    words = ["journalctl", "-o", "json", "--no-pager", "--all", *matches]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_a_job_is_found_by_its_number_from_submission_to_its_end(unit: Unit) -> None:
    done = cuzkctl(*PROVE)
    assert done.returncode == 0, done.stderr
    job = document(done)["job"]
    found = records(f"CUZKD_JOB={job}", f"_SYSTEMD_INVOCATION_ID={unit.show('InvocationID')}")
    events = [record["MESSAGE_ID"] for record in found]
    expected = [Event.JOB_SUBMITTED, Event.SYNTHESIZED, Event.PROVED, Event.JOB_DONE]
    assert events == [event.value for event in expected]
    submitted, _, proved, ended = found
    assert submitted["CUZKD_UID"] == "0"
    assert (proved["CUZKD_ROLE"], proved["CUZKD_PARTITION"]) == ("gpu", "0")
    assert {"msm", "quotient", "verify"} <= set(proved["CUZKD_PHASE"])
    assert int(proved["CUZKD_MS"]) >= int(proved["CUZKD_MS_MSM"])
    assert len(ended["CUZKD_CIRCUIT"]) == 64
    assert records(f"MESSAGE_ID={Event.PROVED.value}", f"CUZKD_JOB={job}", "CUZKD_PHASE=msm")


def test_what_happens_to_the_service_has_ids(unit: Unit) -> None:
    mine = f"_SYSTEMD_INVOCATION_ID={unit.show('InvocationID')}"
    for event, count in ((Event.READY, 1), (Event.CHILD_UP, len(unit.workers()))):
        assert len(records(mine, f"MESSAGE_ID={event.value}")) == count, event
