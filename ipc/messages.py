"""The closed set of messages. A field's annotation is its schema: the codec refuses whatever does not match.

Allowed field types: bool, int (64-bit), float, str, bytes, `X | None`, `tuple[X, ...]`, fixed tuples, enums
of strings, and records of these. `TYPE` is the message's number on the wire and never reused;
`MAX_BYTES` bounds the payload before a byte of it is read, `MAX_ITEMS` every array in it before an item is (a
megabyte of empty strings takes a second to read); `DESCRIPTORS` says how many file descriptors the frame
carries at most.
"""

from __future__ import annotations

import enum
from typing import ClassVar

from cuzkd.errors import CuzkdError
from cuzkd.ipc.handle import Handle
from cuzkd.model import MAX_PARTITIONS, CircuitRef, Curve, JobState, PartitionId, Phase, Role
from cuzkd.records import record

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


@record
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


@record
class Hello(Message):
    """First frame of a client: the protocol versions that it speaks."""

    TYPE: ClassVar[int] = 16

    min_version: int
    max_version: int
    client: str


@record
class Welcome(Message):
    """The daemon's answer: the version that both will use."""

    TYPE: ClassVar[int] = 17

    version: int
    daemon: str


@record
class Attach(Message):
    """Descriptors for the next `JobSubmit` of this connection, appended to those attached before.

    `names` (one a descriptor) are for error messages only; they are never opened.
    """

    TYPE: ClassVar[int] = 18
    MAX_BYTES: ClassVar[int] = 1 << 18
    MAX_ITEMS: ClassVar[int] = MAX_DESCRIPTORS
    DESCRIPTORS: ClassVar[int] = MAX_DESCRIPTORS

    names: tuple[str, ...]


@record
class Attached(Message):
    """How many descriptors the connection now holds."""

    TYPE: ClassVar[int] = 19

    total: int


class PointChecks(enum.StrEnum):
    """What is checked of a key's points: curve and subgroup, or the curve alone."""

    FULL = "full"
    CURVE = "curve"


@record
class JobSubmit(Message):
    """A job: its circuit, and one partition a witness or an input file.

    The circuit is one that was added (`circuit`) or a key file (`zkey`, with `wasm` and `r1cs` if need be).
    Partitions are `.wtns` files (`witnesses`) or input files for the circuit's wasm (`inputs`), not both. Numbers
    are indices of attached descriptors. With `progress`, `Progress` frames come before the answer.
    """

    TYPE: ClassVar[int] = 20
    MAX_BYTES: ClassVar[int] = 1 << 16
    MAX_ITEMS: ClassVar[int] = MAX_PARTITIONS

    circuit: str | None
    zkey: int | None
    wasm: int | None
    r1cs: int | None
    witnesses: tuple[int, ...]
    inputs: tuple[int, ...]
    points: PointChecks
    progress: bool


@record
class Progress(Message):
    """How far a request has come, with its request id; `total` is 0 when it is not known."""

    TYPE: ClassVar[int] = 27

    stage: str
    done: int
    total: int


@record
class JobAccepted(Message):
    """The job is queued: its files are copied and valid, the client may go."""

    TYPE: ClassVar[int] = 21

    job: int
    partitions: int


@record
class JobWait(Message):
    """Ask for the job's result; answered when the job ends or the time is up. None waits for ever.

    With `progress`, `Progress` frames come before the answer: what is being done, and how many partitions are done.
    """

    TYPE: ClassVar[int] = 22

    job: int
    timeout_s: float | None
    progress: bool


@record
class JobResult(Message):
    """The job is done; one `PartitionResult` a partition follows, in order, with the same request id."""

    TYPE: ClassVar[int] = 23

    job: int
    curve: Curve
    partitions: int
    seconds: float


@record
class PartitionResult(Message):
    """One proof (`Proof.to_bytes`) and its public inputs (32 bytes each, little-endian, canonical)."""

    TYPE: ClassVar[int] = 26
    MAX_BYTES: ClassVar[int] = MAX_FRAME_BYTES

    job: int
    index: int
    proof: bytes
    public: bytes


class Residency(enum.StrEnum):
    """Where a circuit's proving key is: in the device's memory, or on disk only."""

    HOT = "hot"
    COLD = "cold"


@record
class CircuitAdd(Message):
    """Validate and compile the attached files (indices) and give them a name, one a uid's own.

    A name has letters, digits, `.`, `_` and `-`. Where a name is asked for, `UID/NAME` means another user's, which
    is for root. Adding the same key again under its name is no error and replaces its wasm and r1cs if given.
    """

    TYPE: ClassVar[int] = 32

    name: str
    zkey: int
    wasm: int | None
    r1cs: int | None
    points: PointChecks
    progress: bool


@record
class CircuitInfo(Message):
    """A named circuit. `size_bytes` is what its compiled key takes on disk, `hits` how many jobs have used the name
    since the daemon's start; `found`, in the answer to `CircuitAdd`, that nothing had to be compiled.
    """

    TYPE: ClassVar[int] = 33

    name: str
    uid: int
    circuit: CircuitRef
    size_bytes: int
    points: PointChecks
    wasm: bool
    r1cs: bool
    residency: Residency
    hits: int
    found: bool


@record
class CircuitList(Message):
    """Ask for the peer's named circuits; root is told everybody's."""

    TYPE: ClassVar[int] = 34


@record
class Circuits(Message):
    """The peer's named circuits, by name."""

    TYPE: ClassVar[int] = 35
    MAX_BYTES: ClassVar[int] = MAX_FRAME_BYTES
    MAX_ITEMS: ClassVar[int] = 1 << 13

    circuits: tuple[CircuitInfo, ...]


@record
class CircuitShow(Message):
    """Ask for one named circuit; answered by `CircuitInfo`."""

    TYPE: ClassVar[int] = 36

    name: str


@record
class CircuitRemove(Message):
    """Forget a name; what no name and no job uses is deleted. Answered by the `CircuitInfo` that was."""

    TYPE: ClassVar[int] = 37

    name: str


@record
class CircuitPreload(Message):
    """Load the circuit's key into the device; answered by `CircuitInfo` when it is there."""

    TYPE: ClassVar[int] = 38

    name: str


@record
class CircuitEvict(Message):
    """Drop the circuit's key from the device; refused while a proof uses it. Answered by `CircuitInfo`."""

    TYPE: ClassVar[int] = 39

    name: str


@record
class StatusRequest(Message):
    """Ask for the daemon's state."""

    TYPE: ClassVar[int] = 24


@record
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


@record
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


@record
class JobStatus:
    """One job in the status report; `circuit` is the digest of its key, `name` empty when it used none."""

    job: int
    uid: int
    state: JobState
    partitions: int
    done: int
    circuit: str
    name: str
    age_s: float


@record
class Status(Message):
    """The daemon's state, as `cuzkctl status` shows it; `degraded` lists reasons, empty when all is well.

    A cache's use is two counters since the daemon's start: keys loaded into the device and found there, circuits and
    witness programs compiled and found compiled.
    """

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
    circuits_named: int
    programs_compiled: int
    programs_found: int
    key_loads: int
    key_hits: int
    degraded: tuple[str, ...]


# ---- supervisor and children


@record
class Booted(Message):
    """A child is ready for work. `backend` and `device` are the gpu process's, empty for others."""

    TYPE: ClassVar[int] = 64

    role: Role
    index: int
    incarnation: int
    backend: str
    device: str


@record
class Heartbeat(Message):
    """A child lives, and this is what it does."""

    TYPE: ClassVar[int] = 65

    incarnation: int
    partition: PartitionId | None
    phase: Phase | None
    progress: int


@record
class Spool(Message):
    """To ingest, with one descriptor: copy a payload to `path` in the spool.

    With `witness_of`, the payload has to be a witness of this circuit's curve and number of wires.
    """

    TYPE: ClassVar[int] = 66
    DESCRIPTORS: ClassVar[int] = 1

    ticket: int
    name: str
    path: str
    limit_bytes: int
    witness_of: CircuitRef | None


@record
class Spooled(Message):
    """From ingest: the payload's size and SHA-256."""

    TYPE: ClassVar[int] = 67

    ticket: int
    size_bytes: int
    digest: str


@record
class Compile(Message):
    """To ingest, with one descriptor: validate a key file and make the compiled circuit from it."""

    TYPE: ClassVar[int] = 68
    DESCRIPTORS: ClassVar[int] = 1

    ticket: int
    name: str
    uid: int
    points: PointChecks


@record
class Compiled(Message):
    """From ingest: the circuit, its size on disk, what was checked of its points; `found` when it had been there."""

    TYPE: ClassVar[int] = 69

    ticket: int
    circuit: CircuitRef
    size_bytes: int
    points: PointChecks
    found: bool


@record
class KeepProgram(Message):
    """To ingest, with one descriptor: check that a wasm computes witnesses of the circuit, and keep it compiled."""

    TYPE: ClassVar[int] = 81
    DESCRIPTORS: ClassVar[int] = 1

    ticket: int
    name: str
    uid: int
    circuit: CircuitRef


@record
class ProgramKept(Message):
    """From ingest: the witness program's digest; `found` when it had been compiled before."""

    TYPE: ClassVar[int] = 82

    ticket: int
    digest: str
    found: bool


@record
class KeepConstraints(Message):
    """To ingest, with one descriptor: check that an r1cs has the circuit's matrices A and B, and keep its C."""

    TYPE: ClassVar[int] = 83
    DESCRIPTORS: ClassVar[int] = 1

    ticket: int
    name: str
    uid: int
    circuit: CircuitRef


@record
class ConstraintsKept(Message):
    """From ingest: the digest under which the matrix C is kept; `found` when it had been there."""

    TYPE: ClassVar[int] = 84

    ticket: int
    digest: str
    found: bool


@record
class IngestProgress(Message):
    """From ingest: how far the ticket's order has come, as in `Progress`."""

    TYPE: ClassVar[int] = 85

    ticket: int
    stage: str
    done: int
    total: int


@record
class Discard(Message):
    """To ingest: delete what is kept under these digests. There is no answer."""

    TYPE: ClassVar[int] = 86

    circuit: str | None
    program: str | None
    constraints: str | None


@record
class IngestFailed(Message):
    """From ingest: the file of this ticket is refused."""

    TYPE: ClassVar[int] = 70
    MAX_BYTES: ClassVar[int] = 1 << 16

    ticket: int
    failure: Failure


@record
class SynthesizeOrder(Message):
    """To synthesis: write a, b, c, z into the leased segment.

    `payload` is the spooled witness, or the inputs of `program` if that is given; `name` is the client's for it.
    With `constraints` (a digest) the witness is held to every constraint.
    """

    TYPE: ClassVar[int] = 71

    partition: PartitionId
    circuit: CircuitRef
    name: str
    payload: str
    program: str | None
    constraints: str | None
    handle: Handle


@record
class SynthesisDone(Message):
    """From synthesis: the segment is filled."""

    TYPE: ClassVar[int] = 72

    incarnation: int
    partition: PartitionId
    handle: Handle


@record
class StageFailed(Message):
    """From synthesis or gpu: this partition cannot be done; the process goes on."""

    TYPE: ClassVar[int] = 73
    MAX_BYTES: ClassVar[int] = 1 << 16

    incarnation: int
    partition: PartitionId
    failure: Failure


@record
class PrepareOrder(Message):
    """To gpu: allocate, touch and register a segment."""

    TYPE: ClassVar[int] = 74

    segment: str
    size_bytes: int


@record
class SegmentReady(Message):
    """From gpu: the segment may be leased."""

    TYPE: ClassVar[int] = 75

    incarnation: int
    segment: str
    pinned: bool


@record
class SegmentUnusable(Message):
    """From gpu: the segment could not be allocated."""

    TYPE: ClassVar[int] = 76
    MAX_BYTES: ClassVar[int] = 1 << 16

    incarnation: int
    segment: str
    failure: Failure


@record
class ForgetSegment(Message):
    """To gpu and synthesis: drop the mapping (and registration) of a segment."""

    TYPE: ClassVar[int] = 77

    segment: str


@record
class ProveOrder(Message):
    """To gpu: prove what the handle's segment holds."""

    TYPE: ClassVar[int] = 78

    partition: PartitionId
    circuit: CircuitRef
    handle: Handle


@record
class SegmentRead(Message):
    """From gpu: the handle's segment is not needed any more."""

    TYPE: ClassVar[int] = 79

    incarnation: int
    handle: Handle


@record
class ProofDone(Message):
    """From gpu: a verified proof and its public inputs."""

    TYPE: ClassVar[int] = 80
    MAX_BYTES: ClassVar[int] = MAX_FRAME_BYTES

    incarnation: int
    partition: PartitionId
    proof: bytes
    public: bytes


class Cache(enum.StrEnum):
    """A cache whose use is counted: proving keys on the device, compiled witness programs."""

    KEY = "key"
    PROGRAM = "program"


@record
class CacheUsed(Message):
    """From gpu and synthesis: something was needed of a cache, and was `found` there or had to be made."""

    TYPE: ClassVar[int] = 87

    incarnation: int
    cache: Cache
    found: bool


@record
class KeysHeld(Message):
    """From gpu, whenever it changes: the digests of all circuits whose keys are on the device."""

    TYPE: ClassVar[int] = 88
    MAX_BYTES: ClassVar[int] = 1 << 16

    incarnation: int
    digests: tuple[str, ...]


@record
class LoadKey(Message):
    """To gpu: bring the circuit's key to the device."""

    TYPE: ClassVar[int] = 89

    ticket: int
    circuit: CircuitRef


@record
class DropKey(Message):
    """To gpu: drop the circuit's key from the device, if it is there."""

    TYPE: ClassVar[int] = 90

    ticket: int
    circuit: CircuitRef


@record
class KeyMoved(Message):
    """From gpu: what the ticket asked for is done, or why it is not."""

    TYPE: ClassVar[int] = 91
    MAX_BYTES: ClassVar[int] = 1 << 16

    incarnation: int
    ticket: int
    failure: Failure | None


@record
class Forget(Message):
    """To gpu and synthesis: let go of whatever is open under these digests, for it is being deleted."""

    TYPE: ClassVar[int] = 92

    circuit: str | None
    program: str | None
    constraints: str | None
