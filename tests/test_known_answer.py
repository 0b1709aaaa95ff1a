"""What the gpu process proves before it takes orders: one proof is right, and every other ends the boot."""

from __future__ import annotations

import io
from collections.abc import Callable
from hashlib import sha256

import pytest
from oracle import prove as oracle_prove
from oracle import public_inputs

from cuzkd.errors import BootFailed
from cuzkd.formats.compiled import CompiledCircuit
from cuzkd.formats.wtns_writer import write_wtns
from cuzkd.formats.zkey_writer import write_zkey
from cuzkd.gpu import known_answer
from cuzkd.gpu.device import Point, Query
from cuzkd.gpu.host import HostDevice, HostKey, HostUpload
from cuzkd.model import Curve
from cuzkd.setup.proving_key import make_proving_key
from cuzkd.setup.workloads import Workload, make_instance
from cuzkd.vectors import Vectors


@pytest.mark.parametrize("curve", Curve)
def test_the_known_proof_is_the_oracles(curve: Curve) -> None:
    made = make_instance(curve, Workload.DENSE, known_answer.LOG_DOMAIN)
    zkey, wtns = io.BytesIO(), io.BytesIO()
    write_zkey(zkey, make_proving_key(made.system, known_answer.WASTE, 1), "known answer")
    write_wtns(wtns, curve, made.witness)
    blinding = known_answer.BLINDING
    proof = oracle_prove(zkey.getvalue(), wtns.getvalue(), blinding.r, blinding.s)
    public = b"".join(x.to_bytes(32, "little") for x in public_inputs(zkey.getvalue(), wtns.getvalue()))
    assert sha256(proof.to_bytes() + public).hexdigest() == known_answer.DIGESTS[curve]


def test_a_device_that_computes_rightly_boots() -> None:
    known_answer.check(HostDevice(1), 1)


class ErringUpload(HostUpload):
    """The sum over the quotient is another point."""

    def msm(self, query: Query) -> Point:
        point = super().msm(query)
        return self._key.circuit.alpha1 if query is Query.H else point


class ErringKey(HostKey):
    def upload(self, vectors: Vectors, segment_read: Callable[[], None]) -> ErringUpload:
        return ErringUpload(self, vectors, segment_read)


class ErringDevice(HostDevice):
    """A device one of whose sums is wrong."""

    def load(self, circuit: CompiledCircuit) -> HostKey:
        return ErringKey(super().load(circuit).circuit, self)


def test_a_device_that_errs_does_not_boot() -> None:
    with pytest.raises(BootFailed, match="does not make the known proof over bn128"):
        known_answer.check(ErringDevice(1), 1)


def test_a_proof_that_verifies_and_is_not_the_known_one_ends_the_boot(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(known_answer.DIGESTS, Curve.BLS12_381, "00" * 32)
    with pytest.raises(BootFailed, match="bls12381"):
        known_answer.check(HostDevice(1), 1)
