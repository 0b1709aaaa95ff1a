"""Log lines carry what their reader lacks: a priority for the journal, the time for a terminal."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from typing import IO

PROGRAM = """
import logging
from cuzkd import logs
from cuzkd.model import PartitionId
logs.setup("gpu")
logs.PartitionLog(logging.getLogger("x"), PartitionId(7, 1)).warning("slow")
"""


def lines(stderr: IO[bytes], journal_stream: str) -> list[str]:
    """What a program logs to this file, with this JOURNAL_STREAM."""
    subprocess.run(
        [sys.executable, "-c", PROGRAM], stderr=stderr, env={"JOURNAL_STREAM": journal_stream}, check=True
    )
    stderr.seek(0)
    return stderr.read().decode().splitlines()


def stream_of(file: IO[bytes]) -> str:
    facts = os.fstat(file.fileno())
    return f"{facts.st_dev}:{facts.st_ino}"


def test_lines_to_the_journal_begin_with_their_priority() -> None:
    with tempfile.TemporaryFile() as journal:
        assert lines(journal, stream_of(journal)) == ["<4>gpu: warning: [7.1] slow"]


def test_lines_to_another_file_have_the_time_though_the_variable_is_inherited() -> None:
    with tempfile.TemporaryFile() as journal, tempfile.TemporaryFile() as elsewhere:
        [line] = lines(elsewhere, stream_of(journal))
    assert re.fullmatch(r"\d\d:\d\d:\d\d\.\d{3} gpu: warning: \[7\.1\] slow", line)
