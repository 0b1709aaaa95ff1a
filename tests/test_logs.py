"""Log records carry what their reader lacks: fields for the journal, a priority for its stream, the time for people."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from typing import IO

from cuzkd.journald import encode
from cuzkd.logs import About, Event
from cuzkd.model import Phase

PROGRAM = """
import logging
from cuzkd import logs
from cuzkd.model import PartitionId
logs.setup("gpu")
logs.PartitionLog(logging.getLogger("x"), PartitionId(7, 1)).warning("slow")
"""


def lines(stderr: IO[bytes], journal_stream: str) -> list[str]:
    """What a program logs to this file, with this JOURNAL_STREAM, on a machine without the journal's socket."""
    program = "import cuzkd.journald, pathlib\ncuzkd.journald.Journal.__init__.__defaults__ = "
    program += f"(pathlib.Path('/nonexistent'),)\n{PROGRAM}"
    subprocess.run(
        [sys.executable, "-c", program], stderr=stderr, env={"JOURNAL_STREAM": journal_stream}, check=True
    )
    stderr.seek(0)
    return stderr.read().decode().splitlines()


def stream_of(file: IO[bytes]) -> str:
    facts = os.fstat(file.fileno())
    return f"{facts.st_dev}:{facts.st_ino}"


def test_lines_to_the_journals_stream_begin_with_their_priority() -> None:
    with tempfile.TemporaryFile() as journal:
        assert lines(journal, stream_of(journal)) == ["<4>gpu: warning: [7.1] slow"]


def test_lines_to_another_file_have_the_time_though_the_variable_is_inherited() -> None:
    with tempfile.TemporaryFile() as journal, tempfile.TemporaryFile() as elsewhere:
        [line] = lines(elsewhere, stream_of(journal))
    assert re.fullmatch(r"\d\d:\d\d:\d\d\.\d{3} gpu: warning: \[7\.1\] slow", line)


def test_a_record_says_what_it_is_about_in_fields() -> None:
    told = About(
        Event.PROVED, job=7, partition=1, uid=1000, circuit="ab", seconds=1.5, times={Phase.MSM: 0.25}
    )
    assert list(told.fields()) == [
        ("MESSAGE_ID", Event.PROVED.value),
        ("CUZKD_JOB", "7"),
        ("CUZKD_PARTITION", "1"),
        ("CUZKD_UID", "1000"),
        ("CUZKD_CIRCUIT", "ab"),
        ("CUZKD_MS", "1500"),
        ("CUZKD_PHASE", "msm"),
        ("CUZKD_MS_MSM", "250"),
    ]
    assert list(About().fields()) == []


def test_every_phase_makes_names_that_the_journal_takes() -> None:
    times = dict.fromkeys(Phase, 1.0)
    assert encode(About(times=times).fields()).count(b"=1000\n") == len(Phase)


def test_every_event_has_an_id_of_its_own() -> None:
    assert all(re.fullmatch(r"[0-9a-f]{32}", event.value) for event in Event)
    assert len(Event.__members__) == len(set(Event))
