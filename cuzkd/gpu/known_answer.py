"""A proof whose every byte is known, made before the process says that it takes orders.

The circuit, its key's secrets, the witness and the blinding are fixed, so a device that computes rightly gives
one proof. The secrets are public and the key proves nothing to anybody.
"""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Final

import numpy as np

from cuzkd.errors import BootFailed, WrongProof
from cuzkd.formats.compiled import CompiledCircuit, Manifest, point_shapes
from cuzkd.formats.points import whole
from cuzkd.gpu.device import Device
from cuzkd.gpu.prover import Blinding, prove
from cuzkd.ipc.requests import PointChecks
from cuzkd.kernels.evaluate import evaluate, hadamard
from cuzkd.model import CircuitRef, CircuitShape, Curve
from cuzkd.setup.proving_key import make_proving_key
from cuzkd.setup.secrets import ToxicWaste
from cuzkd.setup.workloads import Workload, make_instance
from cuzkd.vectors import Vectors

LOG_DOMAIN: Final = 3
WASTE: Final = ToxicWaste(tau=2**61 - 1, alpha=2**31 - 1, beta=2**19 - 1, gamma=1, delta=2**17 - 1)
BLINDING: Final = Blinding(r=2**89 - 1, s=2**107 - 1)
DIGESTS: Final = {
    Curve.BN254: "2fbe53afcfe3a7cb33cc3601f19e817bb366674736bab03289940e2eeffd0461",
    Curve.BLS12_381: "97ab6240f22b7be9838cf87c384471e10982889740e2b4c1903013b8c66c3486",
}
"""SHA-256 of the proof (`Proof.to_bytes`) and its public input on each curve."""


def check(device: Device, threads: int) -> None:
    """Make the proof of each curve and compare; `BootFailed` when the device makes another one, or none."""
    for curve in Curve:
        circuit, vectors = instance(curve, threads)
        key = device.load(circuit)
        try:
            proof, public = prove(key, vectors, BLINDING)
        except WrongProof as error:
            raise _wrong(device, curve) from error
        finally:
            key.close()
        if sha256(proof.to_bytes() + public).hexdigest() != DIGESTS[curve]:
            raise _wrong(device, curve)


def instance(curve: Curve, threads: int) -> tuple[CompiledCircuit, Vectors]:
    """The circuit, compiled in memory, and the vectors of its witness."""
    made = make_instance(curve, Workload.DENSE, LOG_DOMAIN)
    key = make_proving_key(made.system, WASTE, threads)
    rows = key.matrix_a.rows
    shape = CircuitShape(curve, rows, key.num_vars, key.num_public, key.log_domain)
    arrays = {name: whole(getattr(key, name)) for name in point_shapes(shape)}
    ref = CircuitRef("known-answer", shape)
    circuit = CompiledCircuit(Path(ref.digest), Manifest(ref, 0, PointChecks.FULL, {}), arrays)
    a, b, c = (np.zeros((rows, 4), dtype=np.uint64) for _ in range(3))
    evaluate(curve, key.matrix_a, made.witness, a, threads=threads)
    evaluate(curve, key.matrix_b, made.witness, b[: key.matrix_b.rows], threads=threads)
    hadamard(curve, a, b, c, threads=threads)
    return circuit, Vectors(a, b, c, made.witness)


def _wrong(device: Device, curve: Curve) -> BootFailed:
    return BootFailed(
        f"{device.name} does not make the known proof over {curve}",
        advice="test the machine's memory and device; nothing is proved with one that errs",
    )
