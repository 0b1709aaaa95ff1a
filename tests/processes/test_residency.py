"""Where a circuit's key is said to be is where it is: loaded on request or use, dropped, or gone with its process."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from daemon import Daemon, connected, running, wait_until
from fixtures import bundled, bundled_cases

from cuzkd.client import Client
from cuzkd.ipc.messages import Failure
from cuzkd.ipc.requests import CircuitEvict, CircuitPreload, Residency, StatusRequest
from cuzkd.model import Role

CASE = bundled("multiplier_bn128")


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    with running(tmp_path / "run") as daemon:
        yield daemon


@pytest.fixture
def client(daemon: Daemon) -> Iterator[Client]:
    with daemon.client() as client:
        client.add_circuit("mul", CASE.zkey)
        yield client


def residency(client: Client, name: str = "mul") -> Residency:
    return client.show_circuit(name).residency


def test_a_preloaded_key_is_hot_and_found_by_the_first_proof(client: Client) -> None:
    assert residency(client) is Residency.COLD
    assert client.preload("mul").residency is Residency.HOT
    assert (client.status().key_loads, client.status().key_hits) == (1, 0)
    client.prove(circuit="mul", witnesses=[CASE.witness])
    assert (client.status().key_loads, client.status().key_hits) == (1, 1)
    assert client.preload("mul").residency is Residency.HOT


def test_an_evicted_key_is_cold_until_it_is_used(client: Client) -> None:
    client.prove(circuit="mul", witnesses=[CASE.witness])
    assert residency(client) is Residency.HOT
    assert client.evict("mul").residency is Residency.COLD
    assert client.evict("mul").residency is Residency.COLD
    client.prove(circuit="mul", witnesses=[CASE.witness])
    assert residency(client) is Residency.HOT
    assert client.status().key_loads == 2


def test_what_a_dead_gpu_process_held_is_cold(daemon: Daemon, client: Client) -> None:
    client.preload("mul")
    pid = daemon.worker(Role.GPU).pid
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: daemon.worker(Role.GPU).ready and daemon.worker(Role.GPU).pid != pid, "replaced")
    assert residency(client) is Residency.COLD
    client.prove(circuit="mul", witnesses=[CASE.witness])
    assert residency(client) is Residency.HOT


def test_a_key_that_left_to_make_room_is_cold(client: Client) -> None:
    client.preload("mul")
    for index, case in enumerate(case for case in bundled_cases() if case != CASE):
        client.add_circuit(f"c{index}", case.zkey)
        client.preload(f"c{index}")
    hot = [circuit.name for circuit in client.circuits() if circuit.residency is Residency.HOT]
    assert "mul" not in hot
    assert hot
    assert residency(client, f"c{index}") is Residency.HOT


@pytest.mark.usefixtures("client")
def test_a_request_that_its_process_dies_over_is_told(daemon: Daemon) -> None:
    pid = daemon.worker(Role.GPU).pid
    os.kill(pid, signal.SIGSTOP)
    with connected(daemon) as channel:
        channel.send(CircuitPreload("mul"), 2)
        channel.send(StatusRequest(), 3)
        assert channel.receive(10).request_id == 3, "the first request is in the daemon's hands"
        os.kill(pid, signal.SIGKILL)
        answer = channel.receive(10)
    assert isinstance(answer.message, Failure)
    assert (answer.request_id, answer.message.code, answer.message.retryable) == (2, "unavailable", True)


def test_a_key_that_a_proof_uses_is_not_evicted(daemon: Daemon, client: Client) -> None:
    """As soon as the gpu process, which does not run, has been given the proof."""
    client.prove(circuit="mul", witnesses=[CASE.witness])
    pid = daemon.worker(Role.GPU).pid
    os.kill(pid, signal.SIGSTOP)
    job = client.submit(circuit="mul", witnesses=[CASE.witness])
    with connected(daemon) as channel:

        def refused() -> bool:
            channel.send(CircuitEvict("mul"), 2)
            with suppress(TimeoutError):
                answer = channel.receive(0.2).message
                return isinstance(answer, Failure) and "uses the key of 'mul'" in answer.message
            return False

        wait_until(refused, "the key is in use")
        os.kill(pid, signal.SIGCONT)
        assert len(client.wait(job).proofs) == 1
    assert client.evict("mul").residency is Residency.COLD
