"""Circuits, inputs and progress in the client library: what goes over the wire, and what broken answers do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from people.circuits import INFO
from people.peer import LIMIT_S, Serve, fail, request, welcome

import cuzkd
from cuzkd import Client, PointChecks, Progress
from cuzkd.errors import BadWitness, Busy, DaemonUnreachable, NotFound
from cuzkd.ipc.channel import BlockingChannel, ChannelClosed
from cuzkd.ipc.messages import Message
from cuzkd.ipc.requests import (
    CircuitAdd,
    CircuitEvict,
    CircuitList,
    CircuitPreload,
    CircuitRemove,
    Circuits,
    CircuitShow,
    JobAccepted,
    JobResult,
    JobSubmit,
    JobWait,
    PartitionResult,
)
from cuzkd.model import Curve


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    """Files that hold their own names."""
    paths = {name: tmp_path / name for name in ("zkey", "wasm", "r1cs", "first", "second")}
    for name, path in paths.items():
        path.write_text(name)
    return paths


def seen_by_peer(serve: Serve, seen: list[tuple[Message, list[bytes]]]) -> Path:
    """A peer that notes one request and its files, and is busy."""

    def peer(channel: BlockingChannel) -> None:
        welcome(channel)
        message, request_id, held = request(channel)
        seen.append((message, held))
        fail(channel, request_id, "busy")

    return serve(peer)


def test_a_job_from_inputs_names_its_files_by_index(serve: Serve, files: dict[str, Path]) -> None:
    seen: list[tuple[Message, list[bytes]]] = []
    with Client(seen_by_peer(serve, seen)) as caller, pytest.raises(Busy):
        caller.submit(
            files["zkey"],
            inputs=[files["first"], files["second"]],
            wasm=files["wasm"],
            r1cs=files["r1cs"],
            points="curve",
        )
    [(message, held)] = seen
    assert isinstance(message, JobSubmit)
    assert (message.circuit, message.points, message.progress) == (None, PointChecks.CURVE, False)
    assert message.witnesses == ()
    indices = (message.zkey, message.wasm, message.r1cs, *message.inputs)
    assert [held[index] for index in indices if index is not None] == [
        b"zkey",
        b"wasm",
        b"r1cs",
        b"first",
        b"second",
    ]


def test_a_job_of_a_named_circuit_sends_its_partitions_only(serve: Serve, files: dict[str, Path]) -> None:
    seen: list[tuple[Message, list[bytes]]] = []
    with Client(seen_by_peer(serve, seen)) as caller, pytest.raises(Busy):
        caller.submit(circuit="merkle", witnesses=[files["first"]])
    assert seen == [
        (JobSubmit("merkle", None, None, None, (0,), (), PointChecks.FULL, progress=False), [b"first"])
    ]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"witnesses": ["w"]}, "a zkey, or the name"),
        ({"zkey": "k", "circuit": "c", "witnesses": ["w"]}, "a zkey, or the name"),
        ({"zkey": "k"}, "witnesses, or inputs"),
        ({"zkey": "k", "witnesses": ["w"], "inputs": ["i"]}, "witnesses, or inputs"),
        ({"circuit": "c", "wasm": "w", "inputs": ["i"]}, "added with"),
        ({"circuit": "c", "r1cs": "r", "inputs": ["i"]}, "added with"),
        ({"zkey": "k", "witnesses": ["w"], "points": "all"}, "all"),
    ],
)
def test_arguments_that_make_no_job_are_refused_before_a_daemon_is_looked_for(
    arguments: dict[str, Any], says: str, tmp_path: Path
) -> None:
    with Client(tmp_path / "none.sock") as caller, pytest.raises(ValueError, match=says):
        caller.prove(**arguments)


def test_a_circuit_is_added_under_its_name_with_its_files(serve: Serve, files: dict[str, Path]) -> None:
    def peer(channel: BlockingChannel) -> None:
        welcome(channel)
        message, request_id, held = request(channel)
        assert message == CircuitAdd("merkle", 0, 1, None, PointChecks.FULL, progress=False)
        assert held == [b"zkey", b"wasm"]
        channel.send(INFO, request_id)

    with Client(serve(peer)) as caller:
        assert caller.add_circuit("merkle", files["zkey"], wasm=files["wasm"]) == INFO


def test_each_question_about_circuits_is_its_own_message(serve: Serve) -> None:
    def peer(channel: BlockingChannel) -> None:
        welcome(channel)
        for due in (CircuitShow("a"), CircuitRemove("b"), CircuitPreload("c"), CircuitEvict("d")):
            message, request_id, _ = request(channel)
            assert message == due
            channel.send(INFO, request_id)
        message, request_id, _ = request(channel)
        assert message == CircuitList()
        channel.send(Circuits((INFO, INFO)), request_id)

    with Client(serve(peer)) as caller:
        answers = (
            caller.show_circuit("a"),
            caller.remove_circuit("b"),
            caller.preload("c"),
            caller.evict("d"),
        )
        assert answers == (INFO,) * 4
        assert caller.circuits() == (INFO, INFO)


def test_a_circuit_that_is_not_there_leaves_the_connection_usable(serve: Serve) -> None:
    def peer(channel: BlockingChannel) -> None:
        welcome(channel)
        _, request_id, _ = request(channel)
        fail(channel, request_id, "not_found")
        _, request_id, _ = request(channel)
        channel.send(INFO, request_id)

    with Client(serve(peer)) as caller:
        with pytest.raises(NotFound):
            caller.preload("gone")
        assert caller.show_circuit("there") == INFO


STEPS = (Progress("copying zkey", 0, 0), Progress("copying zkey", 4, 4), Progress("checking", 1, 9))


def test_progress_is_told_in_order_and_the_answer_comes_after_it(
    serve: Serve, files: dict[str, Path]
) -> None:
    def peer(channel: BlockingChannel) -> None:
        welcome(channel)
        message, request_id, _ = request(channel)
        assert isinstance(message, JobSubmit)
        assert message.progress
        for step in STEPS:
            channel.send(step, request_id)
        channel.send(JobAccepted(7, 1), request_id)

    told: list[Progress] = []
    with Client(serve(peer)) as caller:
        assert caller.submit(files["zkey"], [files["first"]], progress=told.append) == 7
    assert told == list(STEPS)


def test_a_wait_tells_progress_before_the_proofs(serve: Serve) -> None:
    def peer(channel: BlockingChannel) -> None:
        welcome(channel)
        message, request_id, _ = request(channel)
        assert message == JobWait(7, None, progress=True)
        channel.send(STEPS[0], request_id)
        channel.send(JobResult(7, Curve.BN254, 1, 0.5), request_id)
        channel.send(PartitionResult(7, 0, bytes(256), b""), request_id)

    told: list[Progress] = []
    with Client(serve(peer)) as caller:
        assert caller.wait(7, progress=told.append).publics == ((),)
    assert told == [STEPS[0]]


def test_a_refusal_may_follow_progress(serve: Serve, files: dict[str, Path]) -> None:
    def peer(channel: BlockingChannel) -> None:
        welcome(channel)
        _, request_id, _ = request(channel)
        channel.send(STEPS[0], request_id)
        fail(channel, request_id, "bad_witness")

    told: list[Progress] = []
    with Client(serve(peer)) as caller, pytest.raises(BadWitness):
        caller.add_circuit("merkle", files["zkey"], progress=told.append)
    assert told == [STEPS[0]]


def test_progress_that_nobody_asked_for_is_not_taken(serve: Serve, files: dict[str, Path]) -> None:
    def peer(channel: BlockingChannel) -> None:
        welcome(channel)
        _, request_id, _ = request(channel)
        channel.send(STEPS[0], request_id)

    with Client(serve(peer)) as caller, pytest.raises(DaemonUnreachable, match="Progress came"):
        caller.submit(files["zkey"], [files["first"]])


def test_an_exception_of_the_callback_ends_the_request_and_its_connection(
    serve: Serve, files: dict[str, Path]
) -> None:
    def peer(channel: BlockingChannel) -> None:
        welcome(channel)
        _, request_id, _ = request(channel)
        channel.send(STEPS[0], request_id)
        with pytest.raises(ChannelClosed):
            channel.receive(LIMIT_S)

    def stop(_: Progress) -> None:
        raise KeyError("enough")

    with cuzkd.Client(serve(peer)) as caller, pytest.raises(KeyError, match="enough"):
        caller.submit(files["zkey"], [files["first"]], progress=stop)


def test_a_daemon_that_dies_after_progress_is_unreachable(serve: Serve, files: dict[str, Path]) -> None:
    def peer(channel: BlockingChannel) -> None:
        welcome(channel)
        _, request_id, _ = request(channel)
        channel.send(STEPS[0], request_id)

    with Client(serve(peer)) as caller, pytest.raises(DaemonUnreachable, match="closed the connection"):
        caller.add_circuit("merkle", files["zkey"], progress=lambda _: None)
