"""What the scheduler hears (events) and what it answers (commands): plain values, no behaviour."""

from __future__ import annotations

from dataclasses import dataclass

from cuzkd.errors import CuzkdError
from cuzkd.ipc.handle import Handle
from cuzkd.model import CircuitRef, PartitionId, Phase, Role


@dataclass(frozen=True, slots=True)
class Worker:
    """One life of one child process; a replacement has a higher incarnation."""

    role: Role
    index: int
    incarnation: int

    @property
    def name(self) -> str:
        """For people."""
        return self.role.named(self.index)


# ---- events


@dataclass(frozen=True, slots=True)
class JobAccepted:
    """A job whose circuit is compiled and whose witnesses, or inputs, are spooled.

    `checked` says that synthesis holds witnesses to every constraint: a wrong proof is then the device's fault.
    """

    job: int
    uid: int
    circuit: CircuitRef
    partitions: int
    checked: bool


@dataclass(frozen=True, slots=True)
class JobCancelled:
    """Nobody wants the job's proofs any more. Nothing happens if it has ended: the first end is the only one."""

    job: int


@dataclass(frozen=True, slots=True)
class WorkerUp:
    """A child has booted."""

    worker: Worker


@dataclass(frozen=True, slots=True)
class WorkerDown:
    """A child's pidfd fired: nothing of it runs any more."""

    worker: Worker
    reason: str


@dataclass(frozen=True, slots=True)
class WorkerStuck:
    """A child could not be ended: it takes part in nothing more, but may still touch what it holds until it is down."""

    worker: Worker
    reason: str


@dataclass(frozen=True, slots=True)
class PhaseReported:
    """A child says which partition it is working on."""

    worker: Worker
    partition: PartitionId
    phase: Phase


@dataclass(frozen=True, slots=True)
class SegmentPrepared:
    """The gpu process has allocated, touched and (if `pinned`) registered a segment."""

    worker: Worker
    segment: str
    pinned: bool


@dataclass(frozen=True, slots=True)
class SegmentFailed:
    """The segment could not be created or allocated; `worker` is the gpu process that says so, if it was.

    Without one, `Unavailable` means that the name is somebody else's, and there is memory under another.
    """

    segment: str
    error: CuzkdError
    worker: Worker | None = None


@dataclass(frozen=True, slots=True)
class Synthesized:
    """a, b, c, z are written; the handle says where."""

    worker: Worker
    partition: PartitionId
    handle: Handle


@dataclass(frozen=True, slots=True)
class PartitionFailed:
    """A child could not do its stage and will not touch the segment again; the child itself is well."""

    worker: Worker
    partition: PartitionId
    error: CuzkdError


@dataclass(frozen=True, slots=True)
class SegmentDrained:
    """The gpu process has read all of the handle's segment and will not touch it again."""

    worker: Worker
    handle: Handle


@dataclass(frozen=True, slots=True)
class Proved:
    """A verified proof, as bytes that the scheduler does not read."""

    worker: Worker
    partition: PartitionId
    proof: bytes
    public: bytes


Event = (
    JobAccepted
    | JobCancelled
    | WorkerUp
    | WorkerDown
    | WorkerStuck
    | PhaseReported
    | SegmentPrepared
    | SegmentFailed
    | Synthesized
    | PartitionFailed
    | SegmentDrained
    | Proved
)

# ---- commands


@dataclass(frozen=True, slots=True)
class CreateSegment:
    """Create shared memory of this name and size and have the gpu process prepare it.

    The name exists from then on, unless `SegmentFailed` is the answer: a new gpu process is only told to
    prepare it.
    """

    segment: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class PrepareSegment:
    """Have a new gpu process prepare a segment that exists."""

    worker: Worker
    segment: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class UnlinkSegment:
    """Forget a segment everywhere and unlink its name, should it have been created."""

    segment: str


@dataclass(frozen=True, slots=True)
class Synthesize:
    """Start a partition's synthesis into a leased segment."""

    worker: Worker
    partition: PartitionId
    circuit: CircuitRef
    handle: Handle


@dataclass(frozen=True, slots=True)
class Prove:
    """Hand a synthesized partition to the gpu process."""

    worker: Worker
    partition: PartitionId
    circuit: CircuitRef
    handle: Handle


@dataclass(frozen=True, slots=True)
class CompleteJob:
    """Every partition is proved: tell the client; proofs and public inputs in partition order."""

    job: int
    proofs: tuple[bytes, ...]
    publics: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class FailJob:
    """The job ends without proofs."""

    job: int
    error: CuzkdError


Command = CreateSegment | PrepareSegment | UnlinkSegment | Synthesize | Prove | CompleteJob | FailJob
