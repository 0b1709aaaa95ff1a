"""Submissions on their way through the ingest process, with a process that only the test knows: it dies at will."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import cast

from cuzkd.attachment import Attachment
from cuzkd.errors import CuzkdError, Poisoned
from cuzkd.ipc.orders import Compile, Discard, Spool
from cuzkd.ipc.peer import Peer
from cuzkd.model import CircuitRef, CircuitShape, Curve
from cuzkd.reply import Reply
from cuzkd.supervisor.intake import Intake, Needed
from cuzkd.supervisor.submission import IngestOrder, Submission, Work

TOO_OFTEN = 3
CIRCUIT = CircuitRef("0" * 64, CircuitShape(Curve.BN254, 8, 4, 1, 3))


class FakeReply:
    """A client that stays."""

    peer = Peer(1, 0, 0)

    def on_close(self, callback: Callable[[], object]) -> None:
        """It never closes."""


def attachment(name: str) -> Attachment:
    return Attachment(os.memfd_create(name), name)


def a_job(
    number: int, tmp_path: Path, key: str, refuse: Callable[[Submission, CuzkdError], None]
) -> Submission:
    """A job of one witness whose circuit is known, and a second file before it."""
    submission = Submission(f"job {number}", cast(Reply, FakeReply()), lambda _: None, refuse)
    submission.add(attachment(key), Work.KEY)
    submission.circuit = CIRCUIT
    submission.add(attachment(f"witness {number}"), Work.WITNESS, tmp_path / f"{number}.0.wtns")
    return submission


def test_users_take_turns_however_much_one_of_them_submits(tmp_path: Path) -> None:
    sent: list[IngestOrder | Discard] = []
    intake = Intake(lambda: 1 << 20, lambda order, _: sent.append(order), lambda: Needed(set(), set()))
    for number in range(20):
        intake.submit(a_job(number, tmp_path, f"many {number}", lambda *_: None))
    one = a_job(20, tmp_path, "one of another", lambda *_: None)
    one.reply.peer = Peer(1, 1001, 1001)
    intake.submit(one)
    intake.ingest_up()
    names = [order.name for order in sent if isinstance(order, Compile)]
    assert "one of another" in names[:2]
    intake.refuse_all(Poisoned("the test is over"))
    intake.ingest_down()


def test_only_the_file_that_was_being_read_answers_for_the_death_of_its_process(tmp_path: Path) -> None:
    """Orders are done in turn: those that waited behind a deadly file are given again as often as it takes."""
    sent: list[IngestOrder | Discard] = []
    refused: list[tuple[str, CuzkdError]] = []

    def refuse(submission: Submission, error: CuzkdError) -> None:
        refused.append((submission.title, error))

    intake = Intake(lambda: 1 << 20, lambda order, _: sent.append(order), lambda: Needed(set(), set()))
    intake.ingest_up()
    intake.submit(a_job(1, tmp_path, "deadly", refuse))
    intake.submit(a_job(2, tmp_path, "harmless", refuse))
    for _ in range(TOO_OFTEN):
        assert isinstance(sent[0], Compile)
        assert sent[0].name == "deadly"
        sent.clear()
        intake.ingest_down()
        intake.ingest_up()
    [(title, error)] = refused
    assert (title, type(error)) == ("job 1", Poisoned)
    assert "deadly" in str(error)
    assert sorted(order.name for order in sent if isinstance(order, Compile | Spool)) == [
        "harmless",
        "witness 2",
    ]
    assert intake.pending == 1
    intake.refuse_all(Poisoned("the test is over"))
    intake.ingest_down()
