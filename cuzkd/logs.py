"""Logging of every process: one line an event, with the role and, where there is one, the partition.

On a terminal a line starts with the time; under systemd (which stamps lines itself) with the priority
prefix `<n>` of sd-daemon(3). Witnesses, public inputs, r and s are never logged.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import MutableMapping
from typing import Any

from cuzkd.model import PartitionId

_SYSLOG_PRIORITY = {
    logging.DEBUG: 7,
    logging.INFO: 6,
    logging.WARNING: 4,
    logging.ERROR: 3,
    logging.CRITICAL: 2,
}


class _LineFormatter(logging.Formatter):
    def __init__(self, role: str, *, for_journal: bool) -> None:
        super().__init__(datefmt="%H:%M:%S")
        self._role = role
        self._for_journal = for_journal

    def format(self, record: logging.LogRecord) -> str:
        text = super().format(record)
        partition = getattr(record, "partition", None)
        if partition is not None:
            text = f"[{partition}] {text}"
        level = "" if record.levelno == logging.INFO else f"{record.levelname.lower()}: "
        text = f"{self._role}: {level}{text}"
        if self._for_journal:
            prefix = f"<{_SYSLOG_PRIORITY.get(record.levelno, 6)}>"
            return "\n".join(prefix + line for line in text.splitlines())
        return f"{self.formatTime(record, self.datefmt)}.{int(record.msecs):03d} {text}"


def setup(role: str, level: str = "INFO") -> None:
    """Send every logger's lines to standard error, marked with the process's role (`gpu`, `synthesis 1`)."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_LineFormatter(role, for_journal=_goes_to_journal(2)))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)


def _goes_to_journal(fd: int) -> bool:
    """Whether the open file is the one of `JOURNAL_STREAM`; a shell below a unit inherits the variable only."""
    try:
        facts = os.fstat(fd)
    except OSError:
        return False
    return os.environ.get("JOURNAL_STREAM") == f"{facts.st_dev}:{facts.st_ino}"


class PartitionLog(logging.LoggerAdapter[logging.Logger]):
    """A logger whose lines carry a partition's id."""

    def __init__(self, logger: logging.Logger, partition: PartitionId) -> None:
        super().__init__(logger, {"partition": partition})

    def process(self, msg: Any, kwargs: MutableMapping[str, Any]) -> tuple[Any, MutableMapping[str, Any]]:
        """Add the partition to the record."""
        return msg, {**kwargs, "extra": self.extra}
