"""The daemon's metrics in the text format of Prometheus (version 0.0.4)."""

from __future__ import annotations

from collections.abc import Iterable

from cuzkd import __version__
from cuzkd.ipc.requests import Metrics, PoolStatus
from cuzkd.model import JobState, Role
from cuzkd.server import Server
from cuzkd.supervisor.status import Daemon, degraded, pool_status

Sample = tuple[dict[str, str], float]


def metrics(daemon: Daemon, server: Server) -> Metrics:
    """Everything that is counted since the daemon's start, and what is there now."""
    text = _Text()
    _daemon(text, daemon)
    _jobs(text, daemon)
    _pool(text, pool_status(daemon.scheduler))
    _caches(text, daemon)
    _clients(text, server)
    return Metrics(text.whole)


class _Text:
    """Families of samples, one after the other."""

    def __init__(self) -> None:
        self.whole = ""

    def family(self, name: str, kind: str, meaning: str, samples: Iterable[Sample]) -> None:
        self.whole += f"# HELP cuzkd_{name} {meaning}\n# TYPE cuzkd_{name} {kind}\n"
        for labels, value in samples:
            told = ",".join(f'{key}="{_escaped(label)}"' for key, label in labels.items())
            self.whole += f"cuzkd_{name}{{{told}}} {value:.17g}\n" if told else f"cuzkd_{name} {value:.17g}\n"

    def counter(self, name: str, meaning: str, value: float) -> None:
        self.family(f"{name}_total", "counter", meaning, [({}, value)])

    def gauge(self, name: str, meaning: str, value: float) -> None:
        self.family(name, "gauge", meaning, [({}, value)])


def _escaped(label: str) -> str:
    return label.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _daemon(text: _Text, daemon: Daemon) -> None:
    labels = {"version": __version__, "backend": str(daemon.backend.backend)}
    text.family("info", "gauge", "The daemon's version and backend.", [(labels, 1)])
    text.gauge("uptime_seconds", "Seconds since the daemon's start.", daemon.uptime_s)
    text.gauge("degraded", "Reasons why not all is well.", len(degraded(daemon)))
    text.gauge("draining", "Whether no new jobs are taken.", daemon.service.taking.draining)
    restarts = {role: sum(max(0, slot.incarnation - 1) for slot in daemon.roster.of(role)) for role in Role}
    text.family(
        "restarts_total",
        "counter",
        "Child processes that were replaced.",
        [({"role": role}, count) for role, count in restarts.items()],
    )


def _jobs(text: _Text, daemon: Daemon) -> None:
    service, scheduler = daemon.service, daemon.scheduler
    text.family(
        "jobs_total",
        "counter",
        "Jobs that have ended, by how.",
        [({"state": state}, service.jobs.ended[state]) for state in JobState if state.final],
    )
    text.counter("jobs_refused", "Jobs that were not accepted.", service.admission.refused)
    text.gauge("jobs_unfinished", "Accepted jobs that have not ended.", service.jobs.active)
    text.gauge("submissions", "Jobs and circuits whose files are being read.", service.intake.pending)
    text.counter("proofs", "Proofs that were made and verified.", scheduler.counters.partitions_proved)
    text.counter("retries", "Partitions that were started over.", scheduler.counters.partitions_retried)
    times = service.phases
    text.family(
        "phase_seconds",
        "summary",
        "What partitions spent in each phase.",
        (),
    )
    for phase, count in sorted(times.ended.items()):
        text.whole += f'cuzkd_phase_seconds_sum{{phase="{phase}"}} {times.seconds[phase]:.17g}\n'
        text.whole += f'cuzkd_phase_seconds_count{{phase="{phase}"}} {count}\n'


def _pool(text: _Text, pool: PoolStatus) -> None:
    states = {"free": pool.free, "leased": pool.leased, "preparing": pool.preparing}
    samples: list[Sample] = [({"state": state}, count) for state, count in states.items()]
    text.family("segments", "gauge", "Shared-memory segments, by state.", samples)
    text.gauge("segments_pinned", "Segments that are page-locked.", pool.pinned)
    text.gauge("pool_bytes", "What all segments take.", pool.size_bytes)
    text.gauge("pool_limit_bytes", "What all segments may take.", pool.limit_bytes)
    text.counter("segments_created", "Segments that were made.", pool.created)
    text.counter("segments_reused", "Leases of a segment that had been there.", pool.reused)
    text.counter("stale_handles", "Events of dead processes and handles of ended leases.", pool.stale_handles)


def _caches(text: _Text, daemon: Daemon) -> None:
    intake, keys = daemon.service.intake, daemon.keys
    uses = {
        "circuit": (intake.circuits_found, intake.circuits_compiled),
        "program": (intake.programs_found, intake.programs_compiled),
        "key": (keys.hits, keys.loads),
    }
    hits: list[Sample] = [({"cache": cache}, found) for cache, (found, _) in uses.items()]
    loads: list[Sample] = [({"cache": cache}, made) for cache, (_, made) in uses.items()]
    text.family("cache_hits_total", "counter", "Uses of what was there.", hits)
    text.family("cache_loads_total", "counter", "Uses that had to make or load it.", loads)
    text.gauge("circuits_named", "Circuits that have names.", len(daemon.service.circuits.registry))


def _clients(text: _Text, server: Server) -> None:
    listeners = {listener.entrance.name: listener for listener in server.listeners}
    now: list[Sample] = [({"socket": name}, len(each)) for name, each in listeners.items()]
    ever: list[Sample] = [({"socket": name}, each.accepted) for name, each in listeners.items()]
    text.family("connections", "gauge", "Connections of clients.", now)
    text.family("connections_total", "counter", "Connections that were made.", ever)
    text.gauge("uploaded_bytes", "Uploaded files that no job has copied yet.", server.uploads.held_bytes)
    text.family(
        "failures_total",
        "counter",
        "Requests that were answered with an error, by its code.",
        [({"code": code}, count) for code, count in sorted(server.failures.items())],
    )
