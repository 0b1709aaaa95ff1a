"""Files that cannot be proved are refused with their error, and the daemon goes on as if nothing had been."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from containers import Container, patch
from daemon import Daemon, running, wait_until
from fixtures import bundled

from cuzkd.errors import BadFile, BadWitness, CuzkdError, Refused, TooLarge, Unsupported, WrongProof
from cuzkd.model import Role

CASE = bundled("multiplier_bn128")


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    config = '[synthesis]\nworkers = 1\n[jobs]\nmax_partitions = 4\n[limits]\npayload = "64KiB"\n'
    with running(tmp_path_factory.mktemp("refuse") / "run", config) as daemon:
        yield daemon


@pytest.fixture(autouse=True)
def _nothing_is_left_and_all_goes_on(daemon: Daemon) -> Iterator[None]:
    """After each refusal: the same processes prove, and neither the spool nor a lease keeps anything."""
    before = {worker.pid for worker in daemon.status().workers}
    yield
    with daemon.client() as client:
        assert len(client.prove(CASE.zkey, [CASE.witness]).proofs) == 1
    status = daemon.status()
    assert {worker.pid for worker in status.workers} == before
    assert status.pool.leased == 0
    assert list(daemon.spool.iterdir()) == []


def refusal(daemon: Daemon, zkey: Path | int, *witnesses: Path | int) -> CuzkdError:
    with daemon.client() as client, pytest.raises(CuzkdError) as caught:
        client.prove(zkey, list(witnesses))
    return caught.value


def changed(tmp_path: Path, original: Path, section: int, offset: int, new: bytes) -> Path:
    container = Container.parse(original.read_bytes())
    path = tmp_path / f"changed{original.suffix}"
    path.write_bytes(container.with_section(section, patch(container.section(section), offset, new)).build())
    return path


def test_a_key_that_is_no_key(daemon: Daemon, tmp_path: Path) -> None:
    path = tmp_path / "empty.zkey"
    path.touch()
    assert isinstance(refusal(daemon, path, CASE.witness), BadFile)
    assert "empty.zkey" in str(refusal(daemon, path, CASE.witness))


def test_a_key_that_is_cut(daemon: Daemon, tmp_path: Path) -> None:
    path = tmp_path / "cut.zkey"
    path.write_bytes(CASE.zkey.read_bytes()[:-500])
    assert isinstance(refusal(daemon, path, CASE.witness), BadFile)


def test_a_key_with_a_point_off_the_curve(daemon: Daemon, tmp_path: Path) -> None:
    assert isinstance(refusal(daemon, changed(tmp_path, CASE.zkey, 9, 0, b"\x01"), CASE.witness), BadFile)


def test_a_key_of_another_proof_system(daemon: Daemon, tmp_path: Path) -> None:
    path = changed(tmp_path, CASE.zkey, 1, 0, b"\x02")
    assert isinstance(refusal(daemon, path, CASE.witness), Unsupported)


def test_fault_22_a_witness_that_is_no_witness(daemon: Daemon) -> None:
    assert isinstance(refusal(daemon, CASE.zkey, CASE.public), BadFile)


def test_fault_22_a_witness_of_another_circuit(daemon: Daemon) -> None:
    error = refusal(daemon, CASE.zkey, bundled("squarings_bn128").witness)
    assert isinstance(error, BadWitness)


def test_fault_22_a_witness_over_another_curve(daemon: Daemon) -> None:
    error = refusal(daemon, CASE.zkey, bundled("multiplier_bls12381").witness)
    assert isinstance(error, BadWitness)


def test_fault_22_a_witness_value_that_is_not_canonical(daemon: Daemon, tmp_path: Path) -> None:
    path = changed(tmp_path, CASE.witness, 2, 32, b"\xff" * 32)
    error = refusal(daemon, CASE.zkey, path)
    assert isinstance(error, BadWitness)
    assert "wire 1" in str(error)


def test_fault_22_a_witness_that_does_not_satisfy_the_circuit(daemon: Daemon, tmp_path: Path) -> None:
    """No matrix C is known, so only the finished proof shows it; it does not leave the daemon."""
    path = changed(tmp_path, CASE.witness, 2, 64, b"\x05")
    error = refusal(daemon, CASE.zkey, path)
    assert isinstance(error, WrongProof)
    assert "does not satisfy" in str(error)


def test_fault_22_a_witness_that_is_cut(daemon: Daemon, tmp_path: Path) -> None:
    path = tmp_path / "cut.wtns"
    path.write_bytes(CASE.witness.read_bytes()[:-40])
    assert isinstance(refusal(daemon, CASE.zkey, path), BadFile)


@pytest.mark.parametrize("left", [0, 100])
def test_fault_22_a_witness_that_shrinks_in_the_daemons_hands(daemon: Daemon, left: int) -> None:
    """Nobody maps a client's file, so that one that is cut when it is about to be read is just a bad file."""
    ingest = daemon.worker(Role.INGEST).pid
    fd = os.memfd_create("witness")
    os.write(fd, CASE.witness.read_bytes())
    attempts = daemon.log().count("1 witnesses")
    os.kill(ingest, signal.SIGSTOP)
    try:
        with ThreadPoolExecutor(1) as pool:
            refused = pool.submit(refusal, daemon, CASE.zkey, fd)
            wait_until(lambda: daemon.log().count("1 witnesses") > attempts, "the job is submitted")
            os.ftruncate(fd, left)
            os.kill(ingest, signal.SIGCONT)
            assert isinstance(refused.result(), BadFile)
    finally:
        os.kill(ingest, signal.SIGCONT)
        os.close(fd)


def test_one_bad_witness_among_good_ones(daemon: Daemon, tmp_path: Path) -> None:
    path = changed(tmp_path, CASE.witness, 2, 0, b"\x02")
    assert isinstance(refusal(daemon, CASE.zkey, CASE.witness, path, CASE.witness), BadWitness)


def test_a_payload_over_the_limit(daemon: Daemon, tmp_path: Path) -> None:
    path = tmp_path / "large.wtns"
    path.write_bytes(CASE.witness.read_bytes() + bytes(1 << 16))
    error = refusal(daemon, CASE.zkey, path)
    assert isinstance(error, TooLarge)
    assert "large.wtns" in str(error)


def test_more_partitions_than_allowed(daemon: Daemon) -> None:
    assert isinstance(refusal(daemon, CASE.zkey, *[CASE.witness] * 5), TooLarge)


def test_a_pipe_for_a_file(daemon: Daemon) -> None:
    ends = os.pipe()
    try:
        error = refusal(daemon, CASE.zkey, ends[0])
    finally:
        for end in ends:
            os.close(end)
    assert isinstance(error, Refused)
    assert "regular file" in str(error)


def test_a_file_that_is_not_open_for_reading(daemon: Daemon, tmp_path: Path) -> None:
    fd = os.open(tmp_path / "new.wtns", os.O_WRONLY | os.O_CREAT)
    try:
        error = refusal(daemon, CASE.zkey, fd)
    finally:
        os.close(fd)
    assert isinstance(error, Refused)
    assert "not open for reading" in str(error)


def test_a_witness_in_an_anonymous_file_is_taken(daemon: Daemon) -> None:
    fd = os.memfd_create("witness", os.MFD_CLOEXEC)
    try:
        os.write(fd, CASE.witness.read_bytes())
        with daemon.client() as client:
            assert len(client.prove(CASE.zkey, [fd]).proofs) == 1
    finally:
        os.close(fd)
