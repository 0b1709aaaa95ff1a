"""The messages between the supervisor and its children."""

from __future__ import annotations

import enum

from cuzkd.ipc.handle import Handle
from cuzkd.ipc.messages import MAX_FRAME_BYTES, Failure, Message, message
from cuzkd.ipc.requests import PointChecks
from cuzkd.model import CircuitRef, PartitionId, Phase, Role


@message(64)
class Booted(Message):
    """A child is ready for work. `backend` and `device` are the gpu process's, empty for others."""

    role: Role
    index: int
    incarnation: int
    backend: str
    device: str


@message(65)
class Heartbeat(Message):
    """A child lives, and this is what it does: a phase of a partition, of an ingest order, or of neither.

    `progress` counts the steps of its life's work.
    """

    incarnation: int
    partition: PartitionId | None
    ticket: int | None
    phase: Phase | None
    progress: int


@message(66, descriptors=1)
class Spool(Message):
    """To ingest, with one descriptor: copy a payload to `path` in the spool.

    With `witness_of`, the payload has to be a witness of this circuit's curve and number of wires.
    """

    ticket: int
    name: str
    path: str
    limit_bytes: int
    witness_of: CircuitRef | None


@message(67)
class Spooled(Message):
    """From ingest: the payload's size and SHA-256."""

    ticket: int
    size_bytes: int
    digest: str


@message(68, descriptors=1)
class Compile(Message):
    """To ingest, with one descriptor: validate a key file and make the compiled circuit from it."""

    ticket: int
    name: str
    uid: int
    points: PointChecks


@message(93, max_bytes=1 << 14, descriptors=3)
class CompileBellperson(Message):
    """To ingest, with a descriptor for each name: validate a bellperson key with its circuit's matrices and compile it.

    `recorded` says that the matrices are recorded ones, not an `.r1cs`.
    """

    ticket: int
    params: str
    vk: str
    matrices: str
    recorded: bool
    points: PointChecks


@message(69)
class Compiled(Message):
    """From ingest: the circuit, its size on disk, what was checked of its points; `found` when it had been there."""

    ticket: int
    circuit: CircuitRef
    size_bytes: int
    points: PointChecks
    found: bool


@message(81, descriptors=1)
class KeepProgram(Message):
    """To ingest, with one descriptor: check that a wasm computes witnesses of the circuit, and keep it compiled."""

    ticket: int
    name: str
    uid: int
    circuit: CircuitRef


@message(82)
class ProgramKept(Message):
    """From ingest: the witness program's digest; `found` when it had been compiled before."""

    ticket: int
    digest: str
    found: bool


@message(83, descriptors=1)
class KeepConstraints(Message):
    """To ingest, with one descriptor: check that an r1cs has the circuit's matrices A and B, and keep its C."""

    ticket: int
    name: str
    uid: int
    circuit: CircuitRef


@message(84)
class ConstraintsKept(Message):
    """From ingest: the digest under which the matrix C is kept; `found` when it had been there."""

    ticket: int
    digest: str
    found: bool


@message(85)
class IngestProgress(Message):
    """From ingest: how far the ticket's order has come, as in `Progress`."""

    ticket: int
    stage: str
    done: int
    total: int


@message(86)
class Discard(Message):
    """To ingest: delete what is kept under these digests. There is no answer."""

    circuit: str | None
    program: str | None
    constraints: str | None


@message(70, max_bytes=1 << 16)
class IngestFailed(Message):
    """From ingest: the file of this ticket is refused."""

    ticket: int
    failure: Failure


@message(71)
class SynthesizeOrder(Message):
    """To synthesis: write a, b, c, z into the leased segment.

    `payload` is the spooled witness, or the inputs of `program` if that is given; `name` is the client's for it.
    With `constraints` (a digest) the witness is held to every constraint.
    """

    partition: PartitionId
    circuit: CircuitRef
    name: str
    payload: str
    program: str | None
    constraints: str | None
    handle: Handle


@message(72)
class SynthesisDone(Message):
    """From synthesis: the segment is filled."""

    incarnation: int
    partition: PartitionId
    handle: Handle


@message(73, max_bytes=1 << 16)
class StageFailed(Message):
    """From synthesis or gpu: this partition cannot be done; the process goes on."""

    incarnation: int
    partition: PartitionId
    failure: Failure


@message(74)
class PrepareOrder(Message):
    """To gpu: allocate, touch and register a segment."""

    segment: str
    size_bytes: int


@message(75)
class SegmentReady(Message):
    """From gpu: the segment may be leased."""

    incarnation: int
    segment: str
    pinned: bool


@message(76, max_bytes=1 << 16)
class SegmentUnusable(Message):
    """From gpu: the segment could not be allocated."""

    incarnation: int
    segment: str
    failure: Failure


@message(77)
class ForgetSegment(Message):
    """To gpu and synthesis: drop the mapping (and registration) of a segment."""

    segment: str


@message(78)
class ProveOrder(Message):
    """To gpu: prove what the handle's segment holds."""

    partition: PartitionId
    circuit: CircuitRef
    handle: Handle


@message(79)
class SegmentRead(Message):
    """From gpu: the handle's segment is not needed any more."""

    incarnation: int
    handle: Handle


@message(80, max_bytes=MAX_FRAME_BYTES)
class ProofDone(Message):
    """From gpu: a verified proof and its public inputs."""

    incarnation: int
    partition: PartitionId
    proof: bytes
    public: bytes


class Cache(enum.StrEnum):
    """A cache whose use is counted: proving keys on the device, compiled witness programs."""

    KEY = "key"
    PROGRAM = "program"


@message(87)
class CacheUsed(Message):
    """From gpu and synthesis: something was needed of a cache, and was `found` there or had to be made."""

    incarnation: int
    cache: Cache
    found: bool


@message(88, max_bytes=1 << 16)
class KeysHeld(Message):
    """From gpu, whenever it changes: the digests of all circuits whose keys are on the device."""

    incarnation: int
    digests: tuple[str, ...]


@message(89)
class LoadKey(Message):
    """To gpu: bring the circuit's key to the device."""

    ticket: int
    circuit: CircuitRef


@message(90)
class DropKey(Message):
    """To gpu: drop the circuit's key from the device, if it is there."""

    ticket: int
    circuit: CircuitRef


@message(91, max_bytes=1 << 16)
class KeyMoved(Message):
    """From gpu: what the ticket asked for is done, or why it is not."""

    incarnation: int
    ticket: int
    failure: Failure | None


@message(92)
class Forget(Message):
    """To gpu and synthesis: let go of whatever is open under these digests, for it is being deleted."""

    circuit: str | None
    program: str | None
    constraints: str | None
