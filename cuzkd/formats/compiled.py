"""A compiled circuit: a directory with a manifest and one file of page-aligned arrays, mapped read-only.

    <circuits>/<sha256 of the key file>/manifest.json   format, shape, what was checked, table of arrays
                                       /arrays.bin      the arrays, in the kernels' own layout

Reading trusts neither file: the table is held against the shape and the file's size, and the matrices'
indices against their bounds. Writing is in `compiled_writer`.
"""

from __future__ import annotations

import contextlib
import json
import mmap
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from cuzkd.errors import BadFile, NotFound
from cuzkd.formats import jsontext
from cuzkd.ipc.requests import PointChecks
from cuzkd.kernels.curve import Group, decode
from cuzkd.kernels.evaluate import Csr, check_csr
from cuzkd.model import G1, G2, PAGE_BYTES, CircuitRef, CircuitShape, Curve, Flavour, VerifyingKey

FORMAT_VERSION = 3
MANIFEST = "manifest.json"
ARRAYS = "arrays.bin"

Array = npt.NDArray[Any]

_ADVICE = "remove the directory: the circuit is compiled again from its key"
_MAX_MANIFEST_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class ArrayPlace:
    """Where an array lies in arrays.bin: a little-endian dtype such as `<u8`, its shape, its byte offset."""

    dtype: str
    shape: tuple[int, ...]
    offset: int

    @property
    def size_bytes(self) -> int:
        """Bytes that the array occupies."""
        count = int(np.dtype(self.dtype).itemsize)
        for extent in self.shape:
            count *= extent
        return count


@dataclass(frozen=True, slots=True)
class Manifest:
    """What manifest.json says; `key_bytes` is the size of the key's files, `points` what was checked of its points."""

    ref: CircuitRef
    key_bytes: int
    points: PointChecks
    arrays: dict[str, ArrayPlace]

    @property
    def size_bytes(self) -> int:
        """Bytes of all arrays: what the circuit takes on disk, but for a few pages."""
        return sum(place.size_bytes for place in self.arrays.values())

    def satisfies(self, points: PointChecks) -> bool:
        """Whether at least this was checked."""
        return self.points in (points, PointChecks.FULL)


@dataclass(frozen=True, slots=True)
class Density:
    """How many wires have a base in the queries A and B of a bellperson key, which leaves out those at infinity."""

    a: int
    b: int


def point_shapes(shape: CircuitShape, density: Density | None = None) -> dict[str, tuple[int, int]]:
    """Shape of every array of points, (points, 64-bit limbs of one); `density` for a bellperson key only."""
    g1 = shape.curve.coordinate_bytes // 4
    g2 = 2 * g1
    private = shape.num_vars - shape.num_public - 1
    in_a, in_b = (density.a, density.b) if density else (shape.num_vars, shape.num_vars)
    return {
        "ic": (shape.num_public + 1, g1),
        "a": (in_a, g1),
        "b1": (in_b, g1),
        "b2": (in_b, g2),
        "c": (private, g1),
        "h": (shape.domain_size - 1 if density else shape.domain_size, g1),
        **dict.fromkeys(("alpha1", "beta1", "delta1"), (1, g1)),
        **dict.fromkeys(("beta2", "gamma2", "delta2"), (1, g2)),
    }


class CompiledCircuit:
    """A mapped compiled circuit: its arrays, read-only, and what is made of them on first use.

    Points are affine Montgomery in little-endian limbs, uint64; zeros are infinity. In G1 (n, 2L): `ic`, `a`,
    `b1`, `c`, `h`, and one each `alpha1`, `beta1`, `delta1`; in G2 (n, 4L): `b2`, and one each `beta2`,
    `gamma2`, `delta2`. `points` says what was checked of them.

    In the snarkjs flavour `a`, `b1` and `b2` have a base for each wire, and `h` one for each value of the quotient at
    the odd coset. In the bellperson flavour they have one for each wire of `a_wires` and `b_wires` (uint32, rising),
    `h` one for each coefficient of the quotient, and there is a matrix C.
    """

    ic: Array
    a: Array
    b1: Array
    b2: Array
    c: Array
    h: Array
    alpha1: Array
    beta1: Array
    delta1: Array
    beta2: Array
    gamma2: Array
    delta2: Array

    def __init__(self, path: Path, manifest: Manifest, arrays: dict[str, Array]) -> None:
        self.path = path
        self.ref = manifest.ref
        self.flavour = manifest.ref.flavour
        self.points = manifest.points
        for name in point_shapes(self.ref.shape):
            setattr(self, name, arrays[name])
        self._arrays = arrays

    @cached_property
    def a_wires(self) -> Array | None:
        """Which wire each base of A is for, their numbers checked; None in the snarkjs flavour: all in turn."""
        return self._wires("a")

    @cached_property
    def b_wires(self) -> Array | None:
        """The same of B1 and B2."""
        return self._wires("b")

    @classmethod
    def open(cls, path: Path) -> CompiledCircuit:
        """Map the circuit in this directory; NotFound when there is none, BadFile when it is damaged."""
        manifest = read_manifest(path)
        memory = _map(path / ARRAYS)
        arrays = {}
        for name, place in manifest.arrays.items():
            if place.offset % PAGE_BYTES or place.offset + place.size_bytes > len(memory):
                raise _damaged(path, f"array {name} does not lie within {ARRAYS}")
            arrays[name] = _view(memory, place)
        return cls(path, manifest, arrays)

    def close(self) -> None:
        """Let go of every array. The memory is unmapped when no caller holds one any more."""
        self.__dict__.clear()

    @cached_property
    def matrix_a(self) -> Csr:
        """A by rows, its indices checked against their bounds; BadFile when one is out of them."""
        return self._matrix("a")

    @cached_property
    def matrix_b(self) -> Csr:
        """B by rows, checked like A."""
        return self._matrix("b")

    @cached_property
    def matrix_c(self) -> Csr | None:
        """C by rows, checked like A; None in the snarkjs flavour, whose keys do not have it."""
        return None if self.flavour is Flavour.SNARKJS else self._matrix("c")

    @cached_property
    def vkey(self) -> VerifyingKey:
        """The verifying key, in canonical coordinates."""
        points = (self.alpha1, self.beta2, self.gamma2, self.delta2, self.ic)
        return verifying_key(self.ref.shape.curve, *points)

    def _wires(self, query: str) -> Array | None:
        if self.flavour is Flavour.SNARKJS:
            return None
        wires = self._arrays[f"{query}.wires"]
        bad = wires >= self.ref.shape.num_vars
        if bad.any():
            raise _damaged(self.path, f"{query}.wires[{int(bad.argmax())}] is out of bounds")
        return wires

    def _matrix(self, name: str) -> Csr:
        matrix = Csr(
            row_ptr=self._arrays[f"{name}.row_ptr"],
            cols=self._arrays[f"{name}.cols"],
            coeffs=self._arrays[f"{name}.coeffs"],
            values=self._arrays["values"],
        )
        shape = self.ref.shape
        fault = check_csr(shape.curve, matrix, shape.num_vars, threads=1)
        if fault is not None:
            raise _damaged(self.path, f"{name}.{fault.array}[{fault.index}] is out of bounds")
        return matrix


def verifying_key(
    curve: Curve, alpha1: Array, beta2: Array, gamma2: Array, delta2: Array, ic: Array
) -> VerifyingKey:
    """The verifying key of these points, in canonical coordinates; arrays as in `CompiledCircuit`."""

    def g1(points: Array) -> list[G1]:
        return cast(list[G1], decode(curve, Group.G1, points))

    def g2(points: Array) -> G2:
        return cast(G2, decode(curve, Group.G2, points)[0])

    return VerifyingKey(
        curve,
        alpha_g1=g1(alpha1)[0],
        beta_g2=g2(beta2),
        gamma_g2=g2(gamma2),
        delta_g2=g2(delta2),
        ic=tuple(g1(ic)),
    )


def find_compiled(circuits_dir: Path, digest: str) -> Manifest | None:
    """The manifest of a usable compiled circuit; None when it is missing, damaged or of another version."""
    path = circuits_dir / digest
    try:
        manifest = read_manifest(path)
        CompiledCircuit.open(path).close()
    except (NotFound, BadFile):
        return None
    return manifest if manifest.ref.digest == digest else None


def has_key_of_size(circuits_dir: Path, key_bytes: int) -> bool:
    """Whether some compiled circuit came from a key file of this size."""
    for path in circuits_dir.glob(f"*/{MANIFEST}"):
        with contextlib.suppress(NotFound, BadFile):
            if read_manifest(path.parent).key_bytes == key_bytes:
                return True
    return False


# ---- the manifest


def read_manifest(path: Path) -> Manifest:
    """The manifest of the compiled circuit in this directory; NotFound or BadFile."""
    try:
        with (path / MANIFEST).open("rb") as file:
            text = file.read(_MAX_MANIFEST_BYTES)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise NotFound(f"{path}: no compiled circuit") from error
    try:
        return _parse(jsontext.load_object(text, str(path / MANIFEST)))
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise _damaged(path, f"{MANIFEST}: {error!r}") from error


def manifest_text(manifest: Manifest) -> str:
    """The text of manifest.json; `read_manifest` inverts it."""
    document = {"format": FORMAT_VERSION, **asdict(manifest.ref), **asdict(manifest)}
    del document["ref"]
    return json.dumps(document, indent=1)


def _parse(document: dict[str, Any]) -> Manifest:
    """AttributeError, LookupError, TypeError or ValueError when the document is not a manifest."""
    if document["format"] != FORMAT_VERSION:
        raise ValueError(f"format {document['format']!r}, not {FORMAT_VERSION}")
    described = document["shape"]
    shape = CircuitShape(
        curve=Curve(described["curve"]),
        rows=_bounded(described["rows"], 1, 1 << 32),
        num_vars=_bounded(described["num_vars"], 1, 1 << 32),
        num_public=_bounded(described["num_public"], 0, described["num_vars"]),
        log_domain=_bounded(described["log_domain"], 1, 33),
    )
    if shape.rows > shape.domain_size:
        raise ValueError("more rows than the domain has points")
    arrays = {
        name: ArrayPlace(
            dtype=str(place["dtype"]),
            shape=tuple(_bounded(extent, 0, 1 << 48) for extent in place["shape"]),
            offset=_bounded(place["offset"], 0, 1 << 62),
        )
        for name, place in document["arrays"].items()
    }
    flavour = Flavour(document["flavour"])
    _check_arrays(shape, flavour, arrays)
    ref = CircuitRef(str(document["digest"]), shape, flavour)
    key_bytes = _bounded(document["key_bytes"], 0, 1 << 62)
    return Manifest(ref, key_bytes, PointChecks(document["points"]), arrays)


def _bounded(value: object, least: int, end: int) -> int:
    if type(value) is not int or not least <= value < end:
        raise ValueError(f"{value!r} is not an integer from {least} to below {end}")
    return value


def matrices_of(flavour: Flavour) -> str:
    """The matrices that a compiled circuit holds: `ab`, or `abc`."""
    return "ab" if flavour is Flavour.SNARKJS else "abc"


def _check_arrays(shape: CircuitShape, flavour: Flavour, arrays: dict[str, ArrayPlace]) -> None:
    """ValueError unless the table has exactly the arrays of a circuit of this shape."""
    expected: dict[str, tuple[str, tuple[int, ...]]]
    density = None
    if flavour is Flavour.BELLPERSON:
        density = Density(*(arrays[f"{query}.wires"].shape[0] for query in "ab"))
    expected = {name: ("<u8", extents) for name, extents in point_shapes(shape, density).items()}
    if density is not None:
        expected["a.wires"], expected["b.wires"] = ("<u4", (density.a,)), ("<u4", (density.b,))
    expected["values"] = ("<u8", (arrays["values"].shape[0], 4))
    for matrix in matrices_of(flavour):
        entries = arrays[f"{matrix}.cols"].shape[:1]
        expected[f"{matrix}.row_ptr"] = ("<u8", (shape.rows + 1,))
        expected[f"{matrix}.cols"] = ("<u4", entries)
        expected[f"{matrix}.coeffs"] = ("<u4", entries)
    found = {name: (place.dtype, place.shape) for name, place in arrays.items()}
    if found != expected:
        wrong = sorted(
            name for name in found.keys() | expected.keys() if found.get(name) != expected.get(name)
        )
        raise ValueError(f"arrays that do not fit the circuit: {', '.join(wrong)}")


# ---- the arrays


def _map(path: Path) -> mmap.mmap:
    try:
        with path.open("rb") as file:
            return mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
    except (OSError, ValueError) as error:
        raise _damaged(path.parent, f"{path.name}: {error}") from error


def _view(memory: mmap.mmap, place: ArrayPlace) -> Array:
    if place.size_bytes == 0:
        empty = np.empty(place.shape, dtype=place.dtype)
        empty.flags.writeable = False
        return empty
    count = place.size_bytes // np.dtype(place.dtype).itemsize
    return np.frombuffer(memory, dtype=place.dtype, count=count, offset=place.offset).reshape(place.shape)


def _damaged(path: Path, text: str) -> BadFile:
    return BadFile(f"{path}: damaged compiled circuit: {text}", advice=_ADVICE)
