"""Reports as people read them: what a daemon answered goes in, text comes out; nothing is asked here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from cuzkd.ipc.requests import (
    CircuitInfo,
    JobStatus,
    PointChecks,
    PoolStatus,
    Residency,
    Status,
    WorkerStatus,
)
from cuzkd.model import JobState

DIGEST_SHOWN = 12
ACTIVE_SHOWN = 20
FINISHED_SHOWN = 5
_POINTS = {
    PointChecks.FULL: "checked: on the curve and in the subgroup",
    PointChecks.CURVE: "checked: on the curve; not whether they are in the subgroup",
}
_SIZE_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
_TIME_UNITS = ((86400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s"))


def document(report: Status | CircuitInfo) -> dict[str, object]:
    """A report's fields by name, for --json."""
    import dataclasses  # takes as long to load as all of this module, and most runs print no JSON

    return dataclasses.asdict(report)


def circuits_document(infos: Sequence[CircuitInfo]) -> dict[str, object]:
    """Named circuits for --json."""
    return {"circuits": [document(info) for info in infos]}


def status(report: Status, named: Sequence[CircuitInfo] = ()) -> str:
    """The report and the named circuits, without a final newline.

    What is wrong comes last, where the eye rests.
    """
    parts = [_summary(report), _workers(report.workers)]
    if named:
        parts.append(circuits(named))
    if report.jobs:
        parts.append(_jobs(report.jobs))
    if report.degraded:
        parts.append("\n".join(("DEGRADED", *(f"  {reason}" for reason in report.degraded))))
    return "\n\n".join(parts)


def circuits(infos: Sequence[CircuitInfo]) -> str:
    """Named circuits as a table."""
    return table(
        ("NAME", "CIRCUIT", "CURVE", "ROWS", "SIZE", "POINTS", "FROM", "KEY", "JOBS"),
        [
            (
                info.name,
                info.circuit.digest[:DIGEST_SHOWN],
                str(info.circuit.shape.curve),
                f"{info.circuit.shape.rows:,}",
                size(info.size_bytes),
                str(info.points),
                "inputs" if info.wasm else "witnesses",
                str(info.residency),
                f"{info.hits:,}",
            )
            for info in infos
        ],
    )


def circuit(info: CircuitInfo) -> str:
    """All that is known of one named circuit."""
    shape = info.circuit.shape
    facts = (
        ("name", info.name),
        ("circuit", info.circuit.digest),
        ("curve", str(shape.curve)),
        (
            "shape",
            f"{shape.rows:,} rows, {shape.num_vars:,} wires, {_count(shape.num_public, 'public input')}, "
            f"domain 2^{shape.log_domain}",
        ),
        ("size", size(info.size_bytes)),
        ("points", _POINTS[info.points]),
        ("proves", "witnesses and inputs" if info.wasm else "witnesses; inputs need its wasm"),
        (
            "refuses",
            "a bad witness, by the constraint's number"
            if info.r1cs
            else "a bad witness, when its proof is wrong",
        ),
        ("key", "hot: in the device's memory" if info.residency is Residency.HOT else "cold: on disk"),
        ("jobs", f"{info.hits:,}"),
    )
    return _facts(facts)


def circuit_line(info: CircuitInfo) -> str:
    """One circuit in a line, as it was added."""
    shape = info.circuit.shape
    how = "found compiled" if info.found else "compiled"
    return (
        f"{shape.rows:,} rows over {shape.curve}, {_count(shape.num_public, 'public input')}, "
        f"{size(info.size_bytes)}; {how}, points checked: {info.points}"
    )


def size(size_bytes: int) -> str:
    """A number of bytes in the largest binary unit that leaves at least one: `1.5 GiB`."""
    value = float(size_bytes)
    for unit in _SIZE_UNITS:
        if value < 1024 or unit == _SIZE_UNITS[-1]:
            break
        value /= 1024
    return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"


def duration(seconds: float) -> str:
    """A length of time in the one or two units that matter: `0.25 s`, `41 s`, `3 min 5 s`, `2 d 4 h`."""
    if seconds < 10:
        return f"{max(seconds, 0.0):.2f} s"
    total = round(seconds)
    for unit_s, unit, smaller_s, smaller in _TIME_UNITS:
        if total >= unit_s:
            return f"{total // unit_s} {unit} {total % unit_s // smaller_s} {smaller}"
    return f"{total} s"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Left-aligned columns two spaces apart, without trailing blanks."""
    lines = [header, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def _facts(facts: Sequence[tuple[str, str]]) -> str:
    return "\n".join(f"{name:<10}{fact}" for name, fact in facts)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _summary(report: Status) -> str:
    states = Counter(job.state for job in report.jobs)
    backend = report.backend or "none yet"
    facts = (
        (
            "daemon",
            f"cuzkd {report.version}, pid {report.pid}, {report.state} for {duration(report.uptime_s)}",
        ),
        ("health", "degraded, see below" if report.degraded else "good"),
        ("backend", f"{backend} ({report.device})" if report.device else backend),
        (
            "jobs",
            f"{states[JobState.RUNNING]} running, {states[JobState.QUEUED]} queued; since start "
            f"{report.jobs_done} done, {report.jobs_failed} failed, {report.jobs_refused} refused",
        ),
        ("proofs", f"{report.partitions_proved} made, {report.partitions_retried} retried"),
        (
            "circuits",
            f"{report.circuits_named} named; {report.circuits_compiled} compiled, "
            f"{report.circuits_found} found compiled",
        ),
        ("programs", f"{report.programs_compiled} compiled, {report.programs_found} found compiled"),
        ("keys", f"{report.key_loads} loaded, {report.key_hits} found loaded"),
        ("pool", _pool(report.pool)),
    )
    return _facts(facts)


def _pool(pool: PoolStatus) -> str:
    line = (
        f"{_count(pool.segments, 'segment')} ({pool.leased} leased, {pool.free} free, {pool.preparing} preparing, "
        f"{pool.pinned} pinned), {size(pool.size_bytes)} of {size(pool.limit_bytes)}; "
        f"{pool.created} created, {pool.reused} reused"
    )
    return f"{line}, {pool.stale_handles} stale handles dropped" if pool.stale_handles else line


def _workers(workers: Sequence[WorkerStatus]) -> str:
    def state(worker: WorkerStatus) -> str:
        if not worker.ready:
            return "starting"
        if worker.partition is None:
            return "idle"
        return f"{worker.phase or 'busy'} of {worker.partition}"

    return table(
        ("PROCESS", "PID", "LIFE", "RESTARTS", "STATE"),
        [
            (
                f"{worker.role}-{worker.index}",
                str(worker.pid) if worker.pid else "-",
                str(worker.incarnation),
                str(worker.restarts),
                state(worker),
            )
            for worker in workers
        ],
    )


def _jobs(jobs: Sequence[JobStatus]) -> str:
    finished = [job for job in jobs if job.state in (JobState.DONE, JobState.FAILED)]
    active = sorted(
        (job for job in jobs if job not in finished), key=lambda job: (job.state is JobState.QUEUED, job.job)
    )
    finished.sort(key=lambda job: -job.job)
    shown = (*active[:ACTIVE_SHOWN], *finished[:FINISHED_SHOWN])
    lines = table(
        ("JOB", "UID", "STATE", "PROOFS", "CIRCUIT", "AGE"),
        [
            (
                str(job.job),
                str(job.uid),
                str(job.state),
                f"{job.done}/{job.partitions}",
                job.name or job.circuit[:DIGEST_SHOWN],
                duration(job.age_s),
            )
            for job in shown
        ],
    )
    left_out = len(jobs) - len(shown)
    return f"{lines}\nand {left_out} more: see --json" if left_out else lines
