"""The messages between a client and the daemon."""

from __future__ import annotations

import enum

from cuzkd.ipc.messages import MAX_DESCRIPTORS, MAX_FRAME_BYTES, Failure, Message, message
from cuzkd.model import MAX_PARTITIONS, CircuitRef, Curve, Flavour, JobState, PartitionId, Phase, Role
from cuzkd.records import record


@message(16)
class Hello(Message):
    """First frame of a client: the protocol versions that it speaks."""

    min_version: int
    max_version: int
    client: str


@message(17)
class Welcome(Message):
    """The daemon's answer: the version that both will use, and whether the peer may do what is for operators."""

    version: int
    daemon: str
    operator: bool = False


@message(18, max_bytes=1 << 18, max_items=MAX_DESCRIPTORS, descriptors=MAX_DESCRIPTORS)
class Attach(Message):
    """Descriptors for the next `JobSubmit` of this connection, appended to those attached before.

    `names` (one a descriptor) are for error messages only; they are never opened.
    """

    names: tuple[str, ...]


@message(19)
class Attached(Message):
    """How many descriptors the connection now holds."""

    total: int


@message(28)
class BlobBegin(Message):
    """Begin a file of this size that comes in pieces, for clients that cannot pass descriptors.

    Nothing answers it, nor `BlobChunk`, but a failure, after which the connection is closed. One file at a time.
    """

    name: str
    size_bytes: int


@message(29, max_bytes=MAX_FRAME_BYTES)
class BlobChunk(Message):
    """The next piece of the file that was begun."""

    data: bytes


@message(30)
class BlobEnd(Message):
    """The file is whole and attached like one that came as a descriptor; answered by `Attached`."""


class PointChecks(enum.StrEnum):
    """What is checked of a key's points: curve and subgroup, or the curve alone."""

    FULL = "full"
    CURVE = "curve"


@message(20, max_bytes=1 << 16, max_items=MAX_PARTITIONS)
class JobSubmit(Message):
    """A job: its circuit, and one partition a witness or an input file.

    The circuit is one that was added (`circuit`) or a key file (`zkey`, with `wasm` and `r1cs` if need be).
    Partitions are `.wtns` files (`witnesses`) or input files for the circuit's wasm (`inputs`), not both. Numbers
    are indices of attached files. With `progress`, `Progress` frames come before the answer. With
    `cancel_on_disconnect` the accepted job is cancelled when this connection ends before the job does.
    """

    circuit: str | None
    zkey: int | None
    wasm: int | None
    r1cs: int | None
    witnesses: tuple[int, ...]
    inputs: tuple[int, ...]
    points: PointChecks
    progress: bool
    cancel_on_disconnect: bool = False


@message(27)
class Progress(Message):
    """How far a request has come, with its request id; `total` is 0 when it is not known."""

    stage: str
    done: int
    total: int


@message(21)
class JobAccepted(Message):
    """The job is queued: its files are copied and valid, the client may go."""

    job: int
    partitions: int


@message(22)
class JobWait(Message):
    """Ask for the job's result; answered when the job ends or the time is up. None waits for ever.

    With `progress`, `Progress` frames come before the answer: what is being done, and how many partitions are done.
    """

    job: int
    timeout_s: float | None
    progress: bool


@message(23)
class JobResult(Message):
    """The job is done; one `PartitionResult` a partition follows, in order, with the same request id.

    `flavour` says whose key it was, and so whose verifiers the proofs are for.
    """

    job: int
    curve: Curve
    partitions: int
    seconds: float
    flavour: Flavour = Flavour.SNARKJS


@message(26, max_bytes=MAX_FRAME_BYTES)
class PartitionResult(Message):
    """One proof (`Proof.to_bytes`) and its public inputs (32 bytes each, little-endian, canonical)."""

    job: int
    index: int
    proof: bytes
    public: bytes


@record
class JobStatus:
    """One job: `circuit` is the digest of its key, `name` empty when it used none.

    `stage` is what is being done now, for people; `error` the code of the error that a job ended with, or empty;
    `seconds` from acceptance to the end, None until then; `age_s` since acceptance.
    """

    job: int
    uid: int
    state: JobState
    partitions: int
    done: int
    circuit: str
    name: str
    age_s: float
    stage: str = ""
    error: str = ""
    seconds: float | None = None


@message(48)
class JobShow(Message):
    """Ask for one job; answered by `JobInfo`."""

    job: int


@message(49, max_bytes=1 << 17)
class JobInfo(Message):
    """One job, and what it failed with if it did."""

    status: JobStatus
    failure: Failure | None


@message(50)
class JobList(Message):
    """Ask for the peer's jobs, unfinished ones first, then the latest; with `everybody`, an operator's, all."""

    everybody: bool


@message(51, max_bytes=MAX_FRAME_BYTES)
class JobListing(Message):
    """Jobs; `more` when there are more than are told."""

    jobs: tuple[JobStatus, ...]
    more: bool


@message(52)
class JobCancel(Message):
    """End a job that has not ended; answered by `JobInfo` with the state that it ended in, which may be `done`."""

    job: int


@message(53)
class JobFetch(Message):
    """Ask for a job's result now: answered as `JobWait` is, or by `not_done`."""

    job: int


@message(54)
class Watch(Message):
    """Ask for every change of one job until it ends, or (None) of all of the peer's jobs until the connection ends.

    With `everybody`, an operator's, of all jobs. Answered by a stream of `JobChanged`, the present state first. To a
    slow reader only the latest change of a job is told.
    """

    job: int | None
    everybody: bool


@message(55)
class JobChanged(Message):
    """A job as it is now; a watch of one job ends with the first that tells of its end."""

    status: JobStatus


class Residency(enum.StrEnum):
    """Where a circuit's proving key is: in the device's memory, or on disk only."""

    HOT = "hot"
    COLD = "cold"


@message(32)
class CircuitAdd(Message):
    """Validate and compile the attached files (indices) and give them a name, one a uid's own.

    The key is a `zkey`, with an `r1cs` if need be; or bellperson's `params` and `vk` with the circuit's matrices,
    which are an `r1cs` or recorded (`matrices`). A name has letters, digits, `.`, `_` and `-`. Where a name is asked
    for, `UID/NAME` means another user's, which is for operators. Adding the same key again under its name is no error
    and replaces its wasm and r1cs if given.
    """

    name: str
    zkey: int | None
    wasm: int | None
    r1cs: int | None
    points: PointChecks
    progress: bool
    params: int | None = None
    vk: int | None = None
    matrices: int | None = None


@message(33)
class CircuitInfo(Message):
    """A named circuit. `size_bytes` is what its compiled key takes on disk, `hits` how many jobs have used the name
    since the daemon's start; `r1cs` says that witnesses are held to every constraint, `found`, in the answer to
    `CircuitAdd`, that nothing had to be compiled.
    """

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


@message(34)
class CircuitList(Message):
    """Ask for the peer's named circuits; operators are told everybody's."""


@message(35, max_bytes=MAX_FRAME_BYTES, max_items=1 << 13)
class Circuits(Message):
    """The peer's named circuits, by name."""

    circuits: tuple[CircuitInfo, ...]


@message(36)
class CircuitShow(Message):
    """Ask for one named circuit; answered by `CircuitInfo`."""

    name: str


@message(37)
class CircuitRemove(Message):
    """Forget a name; what no name and no job uses is deleted. Answered by the `CircuitInfo` that was."""

    name: str


@message(38)
class CircuitPreload(Message):
    """Load the circuit's key into the device; answered by `CircuitInfo` when it is there."""

    name: str


@message(39)
class CircuitEvict(Message):
    """Drop the circuit's key from the device; refused while a proof uses it. For operators.

    Answered by `CircuitInfo`.
    """

    name: str


@message(24)
class StatusRequest(Message):
    """Ask for the daemon's state."""


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


@message(25, max_bytes=MAX_FRAME_BYTES)
class Status(Message):
    """The daemon's state, as `cuzkctl status` shows it; `degraded` lists reasons, empty when all is well.

    A cache's use is two counters since the daemon's start: keys loaded into the device and found there, circuits and
    witness programs compiled and found compiled.
    """

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
    jobs_cancelled: int = 0


@message(56)
class MetricsRequest(Message):
    """Ask for the daemon's metrics."""


@message(57, max_bytes=MAX_FRAME_BYTES)
class Metrics(Message):
    """Metrics in the text format of Prometheus."""

    text: str


@message(58)
class Drain(Message):
    """Take no new jobs and finish those that are accepted; with `resume`, take jobs again. For operators.

    Answered by `Drained` when no job is left, or when the time is up; None waits for ever.
    """

    resume: bool
    timeout_s: float | None


@message(59)
class Drained(Message):
    """How many accepted jobs have not ended, and whether new ones are refused."""

    unfinished: int
    draining: bool


@message(60)
class Reload(Message):
    """Read the configuration again: all of it is taken, or none. For operators."""


@message(61, max_bytes=1 << 16)
class Reloaded(Message):
    """The keys whose values changed; those of `at_restart` count from the daemon's next start on."""

    changed: tuple[str, ...]
    at_restart: tuple[str, ...]
