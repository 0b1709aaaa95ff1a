"""A job's way through the whole daemon: real processes, real segments, proofs that verify, in order."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from containers import Container
from daemon import Daemon, running
from fixtures import Case, bundled, each

from cuzkd.client import Result
from cuzkd.formats.vkey import load_vkey
from cuzkd.kernels.verify import verify


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running(tmp_path_factory.mktemp("prove") / "run") as daemon:
        yield daemon


def assert_proved(result: Result, case: Case) -> None:
    vkey = load_vkey(case.verification_key.read_text(), case.name)
    for proof, public in zip(result.proofs, result.publics, strict=True):
        assert [str(value) for value in public] == json.loads(case.public.read_text())
        assert verify(vkey, public, proof)


def multiplier_witness(folder: Path, a: int, b: int) -> Path:
    """A witness of the multiplier: wires 1, c, a, b."""
    original = Container.parse(bundled("multiplier_bn128").witness.read_bytes())
    values = b"".join(value.to_bytes(32, "little") for value in (1, a * b, a, b))
    path = folder / f"{a}x{b}.wtns"
    path.write_bytes(original.with_section(2, values).build())
    return path


@each()
def test_every_circuit_is_proved_from_its_witness(daemon: Daemon, case: Case) -> None:
    with daemon.client() as client:
        assert_proved(client.prove(case.zkey, [case.witness]), case)


def test_partitions_come_back_in_order(daemon: Daemon, tmp_path: Path) -> None:
    case = bundled("multiplier_bn128")
    witnesses = [multiplier_witness(tmp_path, 3, b) for b in range(2, 90)]
    with daemon.client() as client:
        result = client.prove(case.zkey, witnesses)
    assert result.publics == tuple((3 * b,) for b in range(2, 90))
    vkey = load_vkey(case.verification_key.read_text(), case.name)
    pairs = zip(result.publics, result.proofs, strict=True)
    assert all(verify(vkey, public, proof) for public, proof in pairs)


def test_two_proofs_of_one_witness_have_no_point_in_common(daemon: Daemon) -> None:
    case = bundled("squarings_bn128")
    with daemon.client() as client:
        one, two = client.prove(case.zkey, [case.witness, case.witness]).proofs
    assert one.a != two.a
    assert one.b != two.b
    assert one.c != two.c


def test_many_clients_at_once_all_get_their_proofs(daemon: Daemon) -> None:
    case = bundled("publics_bls12381")

    def prove(_: int) -> Result:
        with daemon.client() as client:
            return client.prove(case.zkey, [case.witness])

    with ThreadPoolExecutor(20) as pool:
        for result in pool.map(prove, range(20)):
            assert_proved(result, case)


def test_a_circuit_is_compiled_once_and_segments_are_used_again(daemon: Daemon) -> None:
    case = bundled("allpublic_bn128")
    with daemon.client() as client:
        client.prove(case.zkey, [case.witness])
        before = client.status()
        client.prove(case.zkey, [case.witness])
        after = client.status()
    assert after.circuits_compiled == before.circuits_compiled
    assert after.circuits_found == before.circuits_found + 1
    assert after.pool.created == before.pool.created
    assert after.pool.reused > before.pool.reused
    assert after.pool.leased == 0
    assert all(worker.partition is None for worker in after.workers)
