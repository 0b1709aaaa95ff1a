"""What a daemon may say of a named circuit."""

from __future__ import annotations

from cuzkd.ipc.requests import CircuitInfo, PointChecks, Residency
from cuzkd.model import CircuitRef, CircuitShape, Curve

INFO = CircuitInfo(
    name="merkle",
    uid=1000,
    circuit=CircuitRef("c0de" * 16, CircuitShape(Curve.BN254, 1456, 1461, 2, 11)),
    size_bytes=1_234_567,
    points=PointChecks.FULL,
    wasm=True,
    r1cs=True,
    residency=Residency.HOT,
    hits=1234,
    found=False,
)
