"""Reports as people read them: what a daemon answered goes in, text comes out; nothing is asked here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from cuzkd import render_jobs
from cuzkd.ipc.requests import (
    CircuitInfo,
    JobStatus,
    PointChecks,
    PoolStatus,
    Residency,
    Status,
    WorkerStatus,
)
from cuzkd.model import Flavour, JobState
from cuzkd.tables import count, document, duration, facts, size, table

ACTIVE_SHOWN = 20
FINISHED_SHOWN = 5
_POINTS = {
    PointChecks.FULL: "checked: on the curve and in the subgroup",
    PointChecks.CURVE: "checked: on the curve; not whether they are in the subgroup",
}


_FLAVOURS = {
    Flavour.SNARKJS: "snarkjs: its proofs are proof.json files",
    Flavour.BELLPERSON: "bellperson: its proofs are 192 bytes each, in proof.bin",
}


def circuits_document(infos: Sequence[CircuitInfo]) -> dict[str, object]:
    """Named circuits for --json."""
    return {"circuits": document(tuple(infos))}


def status_document(report: Status, named: Sequence[CircuitInfo]) -> dict[str, object]:
    """The report's fields, and the named circuits, for --json."""
    fields = document(report)
    assert isinstance(fields, dict)
    return fields | circuits_document(named)


def status(report: Status, named: Sequence[CircuitInfo] = (), own_uid: int | None = None) -> str:
    """The report and the named circuits (see `circuits`), without a final newline.

    What is wrong comes last, where the eye rests.
    """
    parts = [_summary(report), _workers(report.workers)]
    if named:
        parts.append(circuits(named, own_uid))
    if report.jobs:
        parts.append(_jobs(report.jobs))
    if report.degraded:
        parts.append("\n".join(("DEGRADED", *(f"  {reason}" for reason in report.degraded))))
    return "\n\n".join(parts)


def circuits(infos: Sequence[CircuitInfo], own_uid: int | None = None) -> str:
    """Named circuits as a table, other users' than `own_uid`'s by uid and name, as an operator names them."""
    return table(
        ("NAME", "CIRCUIT", "CURVE", "FLAVOUR", "ROWS", "SIZE", "POINTS", "FROM", "KEY", "JOBS"),
        [
            (
                info.name if own_uid in (None, info.uid) else f"{info.uid}/{info.name}",
                info.circuit.digest[: render_jobs.DIGEST_SHOWN],
                str(info.circuit.shape.curve),
                str(info.circuit.flavour),
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
    pairs = (
        ("name", info.name),
        ("circuit", info.circuit.digest),
        ("curve", str(shape.curve)),
        ("flavour", _FLAVOURS[info.circuit.flavour]),
        (
            "shape",
            f"{shape.rows:,} rows, {shape.num_vars:,} wires, {count(shape.num_public, 'public input')}, "
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
    return facts(pairs)


def circuit_line(info: CircuitInfo) -> str:
    """One circuit in a line, as it was added."""
    shape = info.circuit.shape
    how = "found compiled" if info.found else "compiled"
    whose = ", bellperson's key" if info.circuit.flavour is Flavour.BELLPERSON else ""
    return (
        f"{shape.rows:,} rows over {shape.curve}{whose}, {count(shape.num_public, 'public input')}, "
        f"{size(info.size_bytes)}; {how}, points checked: {info.points}"
    )


def _summary(report: Status) -> str:
    states = Counter(job.state for job in report.jobs)
    backend = report.backend or "none yet"
    pairs = (
        (
            "daemon",
            f"cuzkd {report.version}, pid {report.pid}, {report.state}, up for {duration(report.uptime_s)}",
        ),
        ("health", "degraded, see below" if report.degraded else "good"),
        ("backend", f"{backend} ({report.device})" if report.device else backend),
        (
            "jobs",
            f"{states[JobState.RUNNING]} running, {states[JobState.QUEUED]} queued; since start "
            f"{report.jobs_done} done, {report.jobs_failed} failed, {report.jobs_cancelled} cancelled, "
            f"{report.jobs_refused} refused",
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
    return facts(pairs)


def _pool(pool: PoolStatus) -> str:
    line = (
        f"{count(pool.segments, 'segment')} ({pool.leased} leased, {pool.free} free, {pool.preparing} preparing, "
        f"{pool.pinned} pinned), {size(pool.size_bytes)} of {size(pool.limit_bytes)}; "
        f"{pool.created} created, {pool.reused} reused"
    )
    return f"{line}, {pool.stale_handles} stale handles dropped" if pool.stale_handles else line


def _workers(workers: Sequence[WorkerStatus]) -> str:
    def state(worker: WorkerStatus) -> str:
        if not worker.ready:
            return "starting"
        if worker.partition is None:
            return str(worker.phase or "idle")
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
    finished = [job for job in jobs if job.state.final]
    active = sorted(
        (job for job in jobs if job not in finished), key=lambda job: (job.state is JobState.QUEUED, job.job)
    )
    finished.sort(key=lambda job: -job.job)
    shown = (*active[:ACTIVE_SHOWN], *finished[:FINISHED_SHOWN])
    lines = render_jobs.jobs(shown)
    left_out = len(jobs) - len(shown)
    return f"{lines}\nand {left_out} more: see `cuzkctl jobs`" if left_out else lines
