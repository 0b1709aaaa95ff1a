"""Logging of every process: one event a record, with what it is about as fields.

Under systemd a record goes to the journal with its fields (`journalctl CUZKD_JOB=7`); anywhere else it is a line
for people. Witnesses, public inputs, r and s are never logged: fields are numbers, digests and names.
"""

from __future__ import annotations

import enum
import logging
import os
import sys
from collections.abc import Iterator, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any

from cuzkd.journald import Journal
from cuzkd.model import PartitionId, Phase

_SYSLOG_PRIORITY = {
    logging.DEBUG: 7,
    logging.INFO: 6,
    logging.WARNING: 4,
    logging.ERROR: 3,
    logging.CRITICAL: 2,
}
_ATTRIBUTE = "cuzkd"


class Event(enum.Enum):
    """What happened: the MESSAGE_ID of the record, the same in every version."""

    READY = "c68e97b1e6bc44d6ac775b5ab8c8f69a"
    STOPPING = "3442ab5e6d894d42ab6cf9818ceb30d3"
    RELOADED = "03d05466a7cb47bb84aa6cf5eb05efb9"
    NOT_RELOADED = "f5347e1829ce43a5b3128c60e005d1df"
    CHILD_UP = "cbf09501dbda4227b528e33ba43fa332"
    CHILD_DIED = "99d9da29d89346868c4f6934c013c1d9"
    JOB_SUBMITTED = "c888ec7dc5aa4c50b64d2285dd448de3"
    JOB_DONE = "a8177d089aa540109e741e32c7186a11"
    JOB_FAILED = "d1b609b2c08f42c0aac01237f815b762"
    JOB_CANCELLED = "a5cb0c20e33e4a3aaeb04d32ff20f787"
    REFUSED = "cf1a174498ae4f80b95e1a39c45a31e5"
    COMPILED = "5f169c011ee94469beabbbb55a866b60"
    SYNTHESIZED = "8c60389c11544a66a195cfda7508f781"
    PROVED = "9e78279f78d049598e245e245c554257"
    NOT_PROVED = "9a010519ed4e45c0bb3b9441fc59fffc"


@dataclass(frozen=True, slots=True)
class About:
    """What a record is about; `times` are the seconds that each phase took. Every field may be missing."""

    event: Event | None = None
    job: int | None = None
    partition: int | None = None
    uid: int | None = None
    circuit: str | None = None
    seconds: float | None = None
    times: Mapping[Phase, float] = field(default_factory=dict)

    def fields(self) -> Iterator[tuple[str, str]]:
        """Names and values for the journal."""
        values = {
            "MESSAGE_ID": None if self.event is None else self.event.value,
            "CUZKD_JOB": self.job,
            "CUZKD_PARTITION": self.partition,
            "CUZKD_UID": self.uid,
            "CUZKD_CIRCUIT": self.circuit,
            "CUZKD_MS": None if self.seconds is None else f"{self.seconds * 1000:.0f}",
        }
        yield from ((name, str(value)) for name, value in values.items() if value is not None)
        for phase, seconds in self.times.items():
            yield "CUZKD_PHASE", str(phase)
            yield f"CUZKD_MS_{phase.upper()}", f"{seconds * 1000:.0f}"


def about(
    event: Event,
    *,
    job: int | None = None,
    uid: int | None = None,
    circuit: str | None = None,
    seconds: float | None = None,
) -> dict[str, About]:
    """What a logger takes as `extra`."""
    return {_ATTRIBUTE: About(event, job=job, uid=uid, circuit=circuit, seconds=seconds)}


class PartitionLog(logging.LoggerAdapter[logging.Logger]):
    """A logger whose records are about a partition. `event` and `times` may be given with each."""

    def __init__(self, logger: logging.Logger, partition: PartitionId) -> None:
        super().__init__(logger, {})
        self._partition = partition

    def process(self, msg: Any, kwargs: MutableMapping[str, Any]) -> tuple[Any, MutableMapping[str, Any]]:
        """Add the partition to the record."""
        event: Event | None = kwargs.pop("event", None)
        times: Mapping[Phase, float] = kwargs.pop("times", {})
        told = About(
            event,
            job=self._partition.job,
            partition=self._partition.index,
            seconds=sum(times.values()) if times else None,
            times=times,
        )
        return msg, {**kwargs, "extra": {_ATTRIBUTE: told}}


def setup(role: str, level: str = "INFO") -> None:
    """Send every logger's records to the journal or, as lines, to standard error.

    They are marked with the process's role (`gpu`, `synthesis 1`).
    """
    root = logging.getLogger()
    root.handlers[:] = [_handler(role)]
    root.setLevel(level)


def _handler(role: str) -> logging.Handler:
    for_journal = _goes_to_journal(2)
    if for_journal:
        try:
            return _JournalHandler(role, Journal())
        except OSError:
            pass  # standard error leads to the journal too, without fields
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_LineFormatter(role, for_journal=for_journal))
    return handler


class _JournalHandler(logging.Handler):
    """Records with their fields, as they are; the journal stamps time, process and unit."""

    def __init__(self, role: str, journal: Journal) -> None:
        super().__init__()
        self._role = role
        self._journal = journal
        self.setFormatter(logging.Formatter())

    def emit(self, record: logging.LogRecord) -> None:
        self._tell_lost()
        self._journal.send(self._fields(record))

    def _fields(self, record: logging.LogRecord) -> Iterator[tuple[str, str]]:
        yield "MESSAGE", f"{self._role}: {_with_partition(record, self.format(record))}"
        yield "PRIORITY", str(_SYSLOG_PRIORITY.get(record.levelno, 6))
        yield "SYSLOG_IDENTIFIER", "cuzkd"
        yield "CUZKD_ROLE", self._role
        yield "CODE_FILE", record.pathname
        yield "CODE_LINE", str(record.lineno)
        yield "CODE_FUNC", record.funcName
        told = _about(record)
        if told is not None:
            yield from told.fields()

    def _tell_lost(self) -> None:
        lost, self._journal.lost = self._journal.lost, 0
        if lost:
            text = f"{self._role}: {lost} records were lost: the journal did not take them"
            self._journal.send([("MESSAGE", text), ("PRIORITY", "4"), ("SYSLOG_IDENTIFIER", "cuzkd")])
            if self._journal.lost:
                self._journal.lost = lost


class _LineFormatter(logging.Formatter):
    """Lines: with the time or, where systemd stamps them, the priority prefix `<n>` of sd-daemon(3)."""

    def __init__(self, role: str, *, for_journal: bool) -> None:
        super().__init__(datefmt="%H:%M:%S")
        self._role = role
        self._for_journal = for_journal

    def format(self, record: logging.LogRecord) -> str:
        text = _with_partition(record, super().format(record))
        level = "" if record.levelno == logging.INFO else f"{record.levelname.lower()}: "
        text = f"{self._role}: {level}{text}"
        if self._for_journal:
            prefix = f"<{_SYSLOG_PRIORITY.get(record.levelno, 6)}>"
            return "\n".join(prefix + line for line in text.splitlines())
        return f"{self.formatTime(record, self.datefmt)}.{int(record.msecs):03d} {text}"


def _about(record: logging.LogRecord) -> About | None:
    told = getattr(record, _ATTRIBUTE, None)
    return told if isinstance(told, About) else None


def _with_partition(record: logging.LogRecord, text: str) -> str:
    told = _about(record)
    if told is None or told.job is None or told.partition is None:
        return text
    return f"[{PartitionId(told.job, told.partition)}] {text}"


def _goes_to_journal(fd: int) -> bool:
    """Whether the open file is the one of `JOURNAL_STREAM`; a shell below a unit inherits the variable only."""
    try:
        facts = os.fstat(fd)
    except OSError:
        return False
    return os.environ.get("JOURNAL_STREAM") == f"{facts.st_dev}:{facts.st_ino}"
