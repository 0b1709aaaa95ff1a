"""What everything talks about: curves, circuits, partitions, segments' layout, proofs. Plain values only."""

from __future__ import annotations

import enum

from cuzkd.records import record

PAGE_BYTES = 4096
SCALAR_BYTES = 32
MAX_PARTITIONS = 8192
"""The most that any configuration may allow a job to have."""


class Curve(enum.StrEnum):
    """A pairing curve, by the name that snarkjs writes."""

    BN254 = "bn128"
    BLS12_381 = "bls12381"

    @property
    def coordinate_bytes(self) -> int:
        """Bytes of one base-field coordinate."""
        return 32 if self is Curve.BN254 else 48


class Flavour(enum.StrEnum):
    """Whose proving keys: they differ in the order of the domain, in the H query, and in which bases are kept."""

    SNARKJS = "snarkjs"
    BELLPERSON = "bellperson"


class Role(enum.StrEnum):
    """What a child process does."""

    INGEST = "ingest"
    SYNTHESIS = "synthesis"
    GPU = "gpu"

    def named(self, index: int) -> str:
        """How people read of one process of this role: by number where there are several."""
        return f"{self} {index}" if self is Role.SYNTHESIS else str(self)


class JobState(enum.StrEnum):
    """Where a job is; the last three are final."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def final(self) -> bool:
        """Whether the job has ended."""
        return self not in (JobState.QUEUED, JobState.RUNNING)


class Phase(enum.StrEnum):
    """What a child is doing, as its heartbeats say: with a partition, or (the first three) without one too."""

    READ = "read"
    KEEP = "keep"
    PREPARE = "prepare"
    SYNTHESIS = "synthesis"
    LOAD = "load"
    UPLOAD = "upload"
    QUOTIENT = "quotient"
    MSM = "msm"
    FINISH = "finish"
    VERIFY = "verify"


def page_align(size_bytes: int) -> int:
    """The least multiple of the page size that holds `size_bytes`."""
    return -(-size_bytes // PAGE_BYTES) * PAGE_BYTES


@record
class CircuitShape:
    """The sizes of a circuit: `rows` counts constraints and public-input binding rows; wire 0 is one."""

    curve: Curve
    rows: int
    num_vars: int
    num_public: int
    log_domain: int

    @property
    def domain_size(self) -> int:
        """Size of the evaluation domain, a power of two."""
        return 1 << self.log_domain


@record
class SegmentLayout:
    """Byte offsets of a, b, c (`rows` Montgomery elements each) and z (`num_vars` canonical ones)."""

    a: int
    b: int
    c: int
    z: int
    size_bytes: int

    @classmethod
    def of(cls, shape: CircuitShape) -> SegmentLayout:
        """The layout of a circuit's vectors, each on a page boundary."""
        vector = page_align(shape.rows * SCALAR_BYTES)
        return cls(
            a=0,
            b=vector,
            c=2 * vector,
            z=3 * vector,
            size_bytes=3 * vector + page_align(shape.num_vars * SCALAR_BYTES),
        )


@record
class PartitionId:
    """One witness of a job, and so one proof."""

    job: int
    index: int

    def __str__(self) -> str:
        return f"{self.job}.{self.index}"

    def __lt__(self, other: PartitionId) -> bool:
        return (self.job, self.index) < (other.job, other.index)


@record
class CircuitRef:
    """A compiled circuit: the SHA-256 of its key (hex, also its directory's name), its shape, whose key it is."""

    digest: str
    shape: CircuitShape
    flavour: Flavour = Flavour.SNARKJS


G1 = tuple[int, int] | None
G2 = tuple[tuple[int, int], tuple[int, int]] | None


@record
class VerifyingKey:
    """A Groth16 verifying key in affine canonical coordinates; None is the point at infinity."""

    curve: Curve
    alpha_g1: G1
    beta_g2: G2
    gamma_g2: G2
    delta_g2: G2
    ic: tuple[G1, ...]

    @property
    def num_public(self) -> int:
        """Public inputs, the constant one not counted."""
        return len(self.ic) - 1


@record
class Proof:
    """A Groth16 proof, affine and canonical: a, c in G1 as (x, y); b in G2 as ((x0, x1), (y0, y1))."""

    curve: Curve
    a: tuple[int, int]
    b: tuple[tuple[int, int], tuple[int, int]]
    c: tuple[int, int]

    def to_bytes(self) -> bytes:
        """a.x a.y b.x0 b.x1 b.y0 b.y1 c.x c.y, each little-endian of the curve's coordinate size."""
        size = self.curve.coordinate_bytes
        (bx, by) = self.b
        return b"".join(v.to_bytes(size, "little") for v in (*self.a, *bx, *by, *self.c))

    @classmethod
    def from_bytes(cls, curve: Curve, data: bytes) -> Proof:
        """The inverse of `to_bytes`; ValueError when the length is wrong."""
        size = curve.coordinate_bytes
        if len(data) != 8 * size:
            raise ValueError(f"a {curve} proof has {8 * size} bytes, not {len(data)}")
        v = [int.from_bytes(data[i : i + size], "little") for i in range(0, len(data), size)]
        return cls(curve, (v[0], v[1]), ((v[2], v[3]), (v[4], v[5])), (v[6], v[7]))
