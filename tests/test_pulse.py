"""The pulse counts steps from every thread, and knows whether the process waits for a file."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from fixtures import bundled
from proving import compiled, empty_vectors

from cuzkd.errors import BadFile
from cuzkd.formats.binfile import read_exactly
from cuzkd.gpu.host import HostDevice
from cuzkd.gpu.prover import Blinding, prove
from cuzkd.ingest.spool import copy_payload
from cuzkd.pulse import PULSE, Pulse
from cuzkd.synthesis.evaluate import evaluate_constraints
from cuzkd.synthesis.witness import read_witness


def test_steps_of_many_threads_are_all_counted() -> None:
    pulse = Pulse()
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: [pulse.step() for _ in range(1000)], range(4)))
    assert pulse.steps == 4000


def test_the_process_waits_for_a_file_while_any_thread_does() -> None:
    pulse = Pulse()
    with pulse.reading():
        with pulse.reading():
            assert pulse.waits_for_file
        assert pulse.waits_for_file
    assert not pulse.waits_for_file
    assert pulse.steps == 2


def test_a_failed_read_is_over_too() -> None:
    with pytest.raises(BadFile, match="cannot be read"):
        read_exactly(-1, "a file", memoryview(bytearray(1)), 0)
    assert not PULSE.waits_for_file


def test_copying_a_payload_counts_what_arrives(tmp_path: Path) -> None:
    """A file of many pieces takes many steps: a slow disk is not taken for a dead one."""
    (tmp_path / "source").write_bytes(bytes(5 << 20))
    fd = os.open(tmp_path / "source", os.O_RDONLY)
    try:
        before = PULSE.steps
        copy_payload(fd, "source", tmp_path / "copy", 1 << 30)
    finally:
        os.close(fd)
    assert PULSE.steps - before >= 5


def test_every_long_step_of_compiling_synthesizing_and_proving_is_counted(tmp_path: Path) -> None:
    case = bundled("multiplier_bn128")
    before = PULSE.steps
    circuit = compiled(case.zkey, tmp_path)
    after_compiling = PULSE.steps
    assert after_compiling - before >= 9, "each section of the key"
    shape = circuit.ref.shape
    vectors = empty_vectors(shape)
    read_witness(case.witness, case.witness.name, shape, vectors.z, 1)
    evaluate_constraints(circuit, vectors, 1)
    after_synthesis = PULSE.steps
    assert after_synthesis - after_compiling >= 4, "the witness, and each matrix"
    prove(HostDevice(1).load(circuit), vectors, Blinding.draw(shape.curve))
    assert PULSE.steps - after_synthesis >= 10, "each part of the key, and each of the five sums"
