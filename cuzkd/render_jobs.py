"""Jobs as people read them, and as scripts do: what a daemon answered goes in, text comes out."""

from __future__ import annotations

from collections.abc import Sequence

from cuzkd.ipc.requests import JobInfo, JobListing, JobStatus
from cuzkd.model import JobState
from cuzkd.tables import count, document, duration, facts, printable, row, table

DIGEST_SHOWN = 12
_HEADER = ("JOB", "UID", "STATE", "PROOFS", "CIRCUIT", "AGE", "TOOK", "NOW")
_WATCH_WIDTHS = (6, 5, 9, 9, 12, 10, 9, 0)


def jobs(statuses: Sequence[JobStatus]) -> str:
    """Jobs as a table, in the order given."""
    return table(_HEADER, [_cells(status) for status in statuses])


def listing(answer: JobListing) -> str:
    """The table, and whether there are more."""
    if not answer.jobs:
        return "no jobs"
    return jobs(answer.jobs) + ("\nand more that are not told" if answer.more else "")


def watch_header() -> str:
    """What stands above the lines of `watch_line`."""
    return row(_HEADER, _WATCH_WIDTHS)


def watch_line(status: JobStatus) -> str:
    """One change of a job; columns have fixed widths, for nobody knows what is still to come."""
    return row(_cells(status), _WATCH_WIDTHS)


def job(info: JobInfo) -> str:
    """All that is known of one job."""
    status = info.status
    pairs = [
        ("job", str(status.job)),
        ("state", str(status.state)),
        ("proofs", f"{status.done:,} of {status.partitions:,}"),
        ("circuit", f"{status.name} ({status.circuit})" if status.name else status.circuit),
        ("owner", f"uid {status.uid}"),
        ("accepted", f"{duration(status.age_s)} ago"),
    ]
    if status.seconds is not None:
        pairs.append(("took", duration(status.seconds)))
    if status.stage and not status.state.final:
        pairs.append(("now", printable(status.stage)))
    if info.failure is not None:
        pairs.append(("error", f"{info.failure.code}: {printable(info.failure.message)}"))
        pairs.append(("advice", printable(info.failure.advice)))
    return facts(pairs)


def cancelled(info: JobInfo) -> str:
    """What a request to cancel has come to."""
    status = info.status
    if status.state is JobState.CANCELLED:
        left = status.partitions - status.done
        return f"job {status.job} is cancelled; {count(left, 'proof')} of {status.partitions:,} not made"
    return f"job {status.job} had ended before: {status.state}"


def info_document(info: JobInfo) -> dict[str, object]:
    """A job's fields, and its failure or null, in one JSON object."""
    return {**status_document(info.status), "failure": document(info.failure)}


def status_document(status: JobStatus) -> dict[str, object]:
    """A job's fields in one JSON object."""
    fields = document(status)
    assert isinstance(fields, dict)
    return fields


def _cells(status: JobStatus) -> tuple[str, ...]:
    return (
        str(status.job),
        str(status.uid),
        str(status.state),
        f"{status.done}/{status.partitions}",
        status.name or status.circuit[:DIGEST_SHOWN],
        duration(status.age_s),
        "" if status.seconds is None else duration(status.seconds),
        _now(status),
    )


def _now(status: JobStatus) -> str:
    """What is being done, or what the job ended with where its state does not say it."""
    if status.state.final:
        return "" if status.error == status.state else printable(status.error)
    return printable(status.stage)
