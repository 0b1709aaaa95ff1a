"""What `cuzkctl status` prints, to the letter."""

from __future__ import annotations

import dataclasses
import json

from people.circuits import INFO

from cuzkd import render, tables
from cuzkd.ipc.requests import JobStatus, PointChecks, PoolStatus, Residency, Status, WorkerStatus
from cuzkd.model import Flavour, JobState, PartitionId, Phase, Role

BUSY = Status(
    version="0.1.0",
    pid=4242,
    uptime_s=11_520.4,
    state="ready",
    backend="host",
    device="2 cores",
    workers=(
        WorkerStatus(Role.INGEST, 0, 4243, 1, 0, True, None, Phase.READ),
        WorkerStatus(Role.SYNTHESIS, 0, 4244, 1, 0, True, PartitionId(8, 1), Phase.SYNTHESIS),
        WorkerStatus(Role.SYNTHESIS, 1, 0, 3, 2, False, None, None),
        WorkerStatus(Role.GPU, 0, 4246, 1, 0, True, PartitionId(8, 0), Phase.MSM),
    ),
    pool=PoolStatus(
        segments=3,
        free=1,
        leased=2,
        preparing=0,
        pinned=0,
        size_bytes=100_663_296,
        limit_bytes=1_610_612_736,
        created=3,
        reused=54,
        stale_handles=0,
    ),
    jobs=(
        JobStatus(7, 1000, JobState.DONE, 1, 1, "00ff" * 16, "", 75.0, seconds=2.5),
        JobStatus(9, 0, JobState.QUEUED, 12, 0, "c0de" * 16, "merkle", 0.5),
        JobStatus(8, 1000, JobState.RUNNING, 2, 0, "00ff" * 16, "", 1.25, "proving: quotient"),
    ),
    jobs_done=41,
    jobs_failed=0,
    jobs_refused=3,
    partitions_proved=57,
    partitions_retried=1,
    circuits_compiled=2,
    circuits_found=12,
    circuits_named=1,
    programs_compiled=1,
    programs_found=7,
    key_loads=2,
    key_hits=55,
    degraded=("synthesis-1 is being started again",),
    jobs_cancelled=2,
)

BUSY_TEXT = """\
daemon    cuzkd 0.1.0, pid 4242, ready, up for 3 h 12 min
health    degraded, see below
backend   host (2 cores)
jobs      1 running, 1 queued; since start 41 done, 0 failed, 2 cancelled, 3 refused
proofs    57 made, 1 retried
circuits  1 named; 2 compiled, 12 found compiled
programs  1 compiled, 7 found compiled
keys      2 loaded, 55 found loaded
pool      3 segments (2 leased, 1 free, 0 preparing, 0 pinned), 96.0 MiB of 1.5 GiB; 3 created, 54 reused

PROCESS      PID   LIFE  RESTARTS  STATE
ingest-0     4243  1     0         read
synthesis-0  4244  1     0         synthesis of 8.1
synthesis-1  -     3     2         starting
gpu-0        4246  1     0         msm of 8.0

NAME    CIRCUIT       CURVE  FLAVOUR  ROWS   SIZE     POINTS  FROM    KEY  JOBS
merkle  c0dec0dec0de  bn128  snarkjs  1,456  1.2 MiB  full    inputs  hot  1,234

JOB  UID   STATE    PROOFS  CIRCUIT       AGE         TOOK    NOW
8    1000  running  0/2     00ff00ff00ff  1.25 s              proving: quotient
9    0     queued   0/12    merkle        0.50 s
7    1000  done     1/1     00ff00ff00ff  1 min 15 s  2.50 s

DEGRADED
  synthesis-1 is being started again"""


def test_a_busy_daemon_in_full() -> None:
    assert render.status(BUSY, [INFO]) == BUSY_TEXT


def test_an_idle_daemon_shows_no_tables_of_jobs_or_circuits_and_no_reasons() -> None:
    idle = render.status(dataclasses.replace(BUSY, jobs=(), degraded=()))
    assert "health    good" in idle
    assert "JOB" not in idle
    assert "NAME" not in idle
    assert "DEGRADED" not in idle


def test_a_daemon_without_a_backend_yet_says_so() -> None:
    starting = render.status(dataclasses.replace(BUSY, backend="", device=""))
    assert "backend   none yet\n" in starting


def test_of_many_jobs_the_oldest_active_and_the_latest_finished_are_shown() -> None:
    jobs = tuple(
        JobStatus(number, 0, state, 1, 0, "ab" * 32, "", 1.0)
        for state, first in ((JobState.DONE, 1), (JobState.QUEUED, 101), (JobState.RUNNING, 201))
        for number in range(first, first + 15)
    )
    lines = render.status(dataclasses.replace(BUSY, jobs=jobs, degraded=())).splitlines()
    header = next(index for index, line in enumerate(lines) if line.startswith("JOB"))
    numbers = [int(line.split()[0]) for line in lines[header + 1 : -1]]
    assert numbers == [*range(201, 216), *range(101, 106), *range(15, 10, -1)]
    assert lines[-1] == "and 20 more: see `cuzkctl jobs`"


BARE = dataclasses.replace(
    INFO, name="a", points=PointChecks.CURVE, wasm=False, r1cs=False, residency=Residency.COLD, hits=0
)

INFO_TEXT = """\
name      merkle
circuit   c0dec0dec0dec0dec0dec0dec0dec0dec0dec0dec0dec0dec0dec0dec0dec0de
curve     bn128
flavour   snarkjs: its proofs are proof.json files
shape     1,456 rows, 1,461 wires, 2 public inputs, domain 2^11
size      1.2 MiB
points    checked: on the curve and in the subgroup
proves    witnesses and inputs
refuses   a bad witness, by the constraint's number
key       hot: in the device's memory
jobs      1,234"""

BARE_TEXT = """\
points    checked: on the curve; not whether they are in the subgroup
proves    witnesses; inputs need its wasm
refuses   a bad witness, when its proof is wrong
key       cold: on disk
jobs      0"""

TABLE = """\
NAME    CIRCUIT       CURVE  FLAVOUR  ROWS   SIZE     POINTS  FROM       KEY   JOBS
a       c0dec0dec0de  bn128  snarkjs  1,456  1.2 MiB  curve   witnesses  cold  0
merkle  c0dec0dec0de  bn128  snarkjs  1,456  1.2 MiB  full    inputs     hot   1,234"""


def test_a_circuit_in_full() -> None:
    assert render.circuit(INFO) == INFO_TEXT


def test_a_circuit_says_what_it_cannot_do() -> None:
    assert render.circuit(BARE).endswith(BARE_TEXT)


def test_circuits_as_a_table() -> None:
    assert render.circuits([BARE, INFO]) == TABLE


def test_other_users_circuits_are_shown_by_the_names_that_an_operator_gives_them() -> None:
    lines = render.circuits([BARE, INFO], own_uid=0).splitlines()
    assert [line.split()[0] for line in lines] == ["NAME", "1000/a", "1000/merkle"]
    assert render.circuits([BARE, INFO], own_uid=1000) == TABLE


def test_an_added_circuit_in_a_line() -> None:
    line = "1,456 rows over bn128, 2 public inputs, 1.2 MiB; compiled, points checked: full"
    assert render.circuit_line(INFO) == line
    assert "found compiled" in render.circuit_line(dataclasses.replace(INFO, found=True))
    other = dataclasses.replace(INFO.circuit, flavour=Flavour.BELLPERSON)
    assert "over bn128, bellperson's key, 2" in render.circuit_line(dataclasses.replace(INFO, circuit=other))


def test_a_report_as_a_document_names_every_field() -> None:
    document = json.loads(json.dumps(tables.document(INFO)))
    assert document["circuit"]["shape"]["curve"] == "bn128"
    assert document.keys() == {field.name for field in dataclasses.fields(INFO)}


def test_stale_handles_are_shown_when_there_are_any() -> None:
    pool = dataclasses.replace(BUSY.pool, stale_handles=4)
    assert "54 reused, 4 stale handles dropped" in render.status(dataclasses.replace(BUSY, pool=pool))
