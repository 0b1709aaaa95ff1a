"""The closed set of messages. A field's annotation is its schema: the codec refuses whatever does not match.

Allowed field types: bool, int (64-bit), float, str, bytes, `X | None`, `tuple[X, ...]`, fixed tuples, enums
of strings, and frozen dataclasses of these. `TYPE` is the message's number on the wire and never reused;
`MAX_BYTES` bounds the payload before a byte of it is read, `MAX_ITEMS` every array in it before an item is (a
megabyte of empty strings takes a second to read); `DESCRIPTORS` says how many file descriptors the frame
carries at most.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from cuzkd.errors import CuzkdError
from cuzkd.ipc.handle import Handle
from cuzkd.model import MAX_PARTITIONS, CircuitRef, Curve, JobState, PartitionId, Phase, Role

PROTOCOL_VERSION = 1
MAX_FRAME_BYTES = 1 << 20
MAX_DESCRIPTORS = 64


class Message:
    """Base of every message; `TYPE` is unique."""

    __slots__ = ()
    TYPE: ClassVar[int]
    MAX_BYTES: ClassVar[int] = 4096
    MAX_ITEMS: ClassVar[int] = 1024
    DESCRIPTORS: ClassVar[int] = 0


# ---- both directions


@dataclass(frozen=True, slots=True)
class Failure(Message):
    """The answer to a request that failed."""

    TYPE: ClassVar[int] = 1
    MAX_BYTES: ClassVar[int] = 1 << 16

    code: str
    message: str
    advice: str
    retryable: bool

    @classmethod
    def of(cls, error: CuzkdError) -> Failure:
        """The error as it crosses a socket, its text cut to what fits."""
        return cls(error.code, error.message[:8192], error.advice[:2048], error.retryable)


# ---- client and daemon


@dataclass(frozen=True, slots=True)
class Hello(Message):
    """First frame of a client: the protocol versions that it speaks."""

    TYPE: ClassVar[int] = 16

    min_version: int
    max_version: int
    client: str


@dataclass(frozen=True, slots=True)
class Welcome(Message):
    """The daemon's answer: the version that both will use."""

    TYPE: ClassVar[int] = 17

    version: int
    daemon: str


@dataclass(frozen=True, slots=True)
class Attach(Message):
    """Descriptors for the next `JobSubmit` of this connection, appended to those attached before.

    `names` (one a descriptor) are for error messages only; they are never opened.
    """

    TYPE: ClassVar[int] = 18
    MAX_BYTES: ClassVar[int] = 1 << 18
    MAX_ITEMS: ClassVar[int] = MAX_DESCRIPTORS
    DESCRIPTORS: ClassVar[int] = MAX_DESCRIPTORS

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Attached(Message):
    """How many descriptors the connection now holds."""

    TYPE: ClassVar[int] = 19

    total: int


@dataclass(frozen=True, slots=True)
class JobSubmit(Message):
    """A job of the attached files: `zkey` and `witnesses` are indices of attached descriptors."""

    TYPE: ClassVar[int] = 20
    MAX_BYTES: ClassVar[int] = 1 << 16
    MAX_ITEMS: ClassVar[int] = MAX_PARTITIONS

    zkey: int
    witnesses: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class JobAccepted(Message):
    """The job is queued: its files are copied and valid, the client may go."""

    TYPE: ClassVar[int] = 21

    job: int
    partitions: int


@dataclass(frozen=True, slots=True)
class JobWait(Message):
    """Ask for the job's result; answered when the job ends or the time is up. None waits for ever."""

    TYPE: ClassVar[int] = 22

    job: int
    timeout_s: float | None


@dataclass(frozen=True, slots=True)
class JobResult(Message):
    """The job is done; one `PartitionResult` a partition follows, in order, with the same request id."""

    TYPE: ClassVar[int] = 23

    job: int
    curve: Curve
    partitions: int
    seconds: float


@dataclass(frozen=True, slots=True)
class PartitionResult(Message):
    """One proof (`Proof.to_bytes`) and its public inputs (32 bytes each, little-endian, canonical)."""

    TYPE: ClassVar[int] = 26
    MAX_BYTES: ClassVar[int] = MAX_FRAME_BYTES

    job: int
    index: int
    proof: bytes
    public: bytes


@dataclass(frozen=True, slots=True)
class StatusRequest(Message):
    """Ask for the daemon's state."""

    TYPE: ClassVar[int] = 24


@dataclass(frozen=True, slots=True)
class WorkerStatus:
    """One child: its pid (0 while it is being replaced), life number, restarts and what it does now."""

    role: Role
    index: int
    pid: int
    incarnation: int
    restarts: int
    ready: bool
    partition: PartitionId | None
    phase: Phase | None


@dataclass(frozen=True, slots=True)
class PoolStatus:
    """The segment pool: counts of segments, leases and bytes."""

    segments: int
    free: int
    leased: int
    preparing: int
    pinned: int
    size_bytes: int
    limit_bytes: int
    created: int
    reused: int
    stale_handles: int


@dataclass(frozen=True, slots=True)
class JobStatus:
    """One job in the status report."""

    job: int
    uid: int
    state: JobState
    partitions: int
    done: int
    circuit: str
    age_s: float


@dataclass(frozen=True, slots=True)
class Status(Message):
    """The daemon's state, as `cuzkctl status` shows it; `degraded` lists reasons, empty when all is well."""

    TYPE: ClassVar[int] = 25
    MAX_BYTES: ClassVar[int] = MAX_FRAME_BYTES

    version: str
    pid: int
    uptime_s: float
    state: str
    backend: str
    device: str
    workers: tuple[WorkerStatus, ...]
    pool: PoolStatus
    jobs: tuple[JobStatus, ...]
    jobs_done: int
    jobs_failed: int
    jobs_refused: int
    partitions_proved: int
    partitions_retried: int
    circuits_compiled: int
    circuits_found: int
    degraded: tuple[str, ...]


# ---- supervisor and children


@dataclass(frozen=True, slots=True)
class Booted(Message):
    """A child is ready for work. `backend` and `device` are the gpu process's, empty for others."""

    TYPE: ClassVar[int] = 64

    role: Role
    index: int
    incarnation: int
    backend: str
    device: str


@dataclass(frozen=True, slots=True)
class Heartbeat(Message):
    """A child lives, and this is what it does."""

    TYPE: ClassVar[int] = 65

    incarnation: int
    partition: PartitionId | None
    phase: Phase | None
    progress: int


@dataclass(frozen=True, slots=True)
class Spool(Message):
    """To ingest, with one descriptor: copy a payload to `path` in the spool."""

    TYPE: ClassVar[int] = 66
    DESCRIPTORS: ClassVar[int] = 1

    ticket: int
    name: str
    path: str
    limit_bytes: int


@dataclass(frozen=True, slots=True)
class Spooled(Message):
    """From ingest: the payload's size and SHA-256."""

    TYPE: ClassVar[int] = 67

    ticket: int
    size_bytes: int
    digest: str


@dataclass(frozen=True, slots=True)
class Compile(Message):
    """To ingest, with one descriptor: validate a key file and make the compiled circuit from it."""

    TYPE: ClassVar[int] = 68
    DESCRIPTORS: ClassVar[int] = 1

    ticket: int
    name: str
    uid: int


@dataclass(frozen=True, slots=True)
class Compiled(Message):
    """From ingest: the circuit; `found` when it had been compiled before."""

    TYPE: ClassVar[int] = 69

    ticket: int
    circuit: CircuitRef
    found: bool


@dataclass(frozen=True, slots=True)
class IngestFailed(Message):
    """From ingest: the file of this ticket is refused."""

    TYPE: ClassVar[int] = 70
    MAX_BYTES: ClassVar[int] = 1 << 16

    ticket: int
    failure: Failure


@dataclass(frozen=True, slots=True)
class SynthesizeOrder(Message):
    """To synthesis: write a, b, c, z of this witness into the leased segment."""

    TYPE: ClassVar[int] = 71

    partition: PartitionId
    circuit: CircuitRef
    witness: str
    handle: Handle


@dataclass(frozen=True, slots=True)
class SynthesisDone(Message):
    """From synthesis: the segment is filled."""

    TYPE: ClassVar[int] = 72

    incarnation: int
    partition: PartitionId
    handle: Handle


@dataclass(frozen=True, slots=True)
class StageFailed(Message):
    """From synthesis or gpu: this partition cannot be done; the process goes on."""

    TYPE: ClassVar[int] = 73
    MAX_BYTES: ClassVar[int] = 1 << 16

    incarnation: int
    partition: PartitionId
    failure: Failure


@dataclass(frozen=True, slots=True)
class PrepareOrder(Message):
    """To gpu: allocate, touch and register a segment."""

    TYPE: ClassVar[int] = 74

    segment: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class SegmentReady(Message):
    """From gpu: the segment may be leased."""

    TYPE: ClassVar[int] = 75

    incarnation: int
    segment: str
    pinned: bool


@dataclass(frozen=True, slots=True)
class SegmentUnusable(Message):
    """From gpu: the segment could not be allocated."""

    TYPE: ClassVar[int] = 76
    MAX_BYTES: ClassVar[int] = 1 << 16

    incarnation: int
    segment: str
    failure: Failure


@dataclass(frozen=True, slots=True)
class ForgetSegment(Message):
    """To gpu and synthesis: drop the mapping (and registration) of a segment."""

    TYPE: ClassVar[int] = 77

    segment: str


@dataclass(frozen=True, slots=True)
class ProveOrder(Message):
    """To gpu: prove what the handle's segment holds."""

    TYPE: ClassVar[int] = 78

    partition: PartitionId
    circuit: CircuitRef
    handle: Handle


@dataclass(frozen=True, slots=True)
class SegmentRead(Message):
    """From gpu: the handle's segment is not needed any more."""

    TYPE: ClassVar[int] = 79

    incarnation: int
    handle: Handle


@dataclass(frozen=True, slots=True)
class ProofDone(Message):
    """From gpu: a verified proof and its public inputs."""

    TYPE: ClassVar[int] = 80
    MAX_BYTES: ClassVar[int] = MAX_FRAME_BYTES

    incarnation: int
    partition: PartitionId
    proof: bytes
    public: bytes
