"""`cuzkctl metrics`, `drain` and `reload`, and the socket that operators come by."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from people.circuits import INFO
from people.commands import ctl
from people.jobs import CANCELLED_INFO
from people.peer import Serve, answering, fail, request, welcome

from cuzkd.ipc.channel import BlockingChannel
from cuzkd.ipc.messages import Message
from cuzkd.ipc.requests import (
    CircuitEvict,
    CircuitShow,
    Drain,
    Drained,
    JobCancel,
    JobList,
    JobListing,
    Metrics,
    MetricsRequest,
    Reload,
    Reloaded,
)


def test_metrics_are_printed_as_they_came(serve: Serve) -> None:
    text = '# TYPE cuzkd_jobs gauge\ncuzkd_jobs{state="queued"} 3\n'
    done = ctl(serve(answering(MetricsRequest(), Metrics(text))), "metrics")
    assert (done.returncode, done.stdout) == (0, text)


def test_metrics_as_json_are_one_object(serve: Serve) -> None:
    done = ctl(serve(answering(MetricsRequest(), Metrics("a 1\n"))), "metrics", "--json")
    assert json.loads(done.stdout) == {"text": "a 1\n"}


@pytest.mark.parametrize(
    ("options", "asked", "answer", "says", "code"),
    [
        (
            (),
            Drain(False, None),
            Drained(0, True),
            "drained: no job is left, and new ones are refused until `cuzkctl drain --resume`",
            0,
        ),
        (
            ("--timeout", "0.5"),
            Drain(False, 0.5),
            Drained(3, True),
            "3 jobs not ended yet; new ones are refused until `cuzkctl drain --resume`",
            75,
        ),
        (("--resume",), Drain(True, None), Drained(1, False), "jobs are taken again", 0),
    ],
)
def test_drain_says_what_is_left_and_exits_75_while_jobs_are(
    serve: Serve, options: tuple[str, ...], asked: Drain, answer: Drained, says: str, code: int
) -> None:
    done = ctl(serve(answering(asked, answer)), "drain", *options)
    assert (done.returncode, done.stdout) == (code, f"{says}\n")


def test_drain_as_json_is_one_object(serve: Serve) -> None:
    done = ctl(serve(answering(Drain(False, 2.0), Drained(3, True))), "drain", "--timeout", "2", "--json")
    assert (json.loads(done.stdout), done.returncode) == ({"unfinished": 3, "draining": True}, 75)


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (Reloaded((), ()), ["read again; nothing has changed"]),
        (Reloaded(("jobs.max_queued",), ()), ["changed: jobs.max_queued"]),
        (
            Reloaded(("jobs.max_queued", "pool.limit"), ("pool.limit",)),
            ["changed: jobs.max_queued", "from the next start on: pool.limit"],
        ),
    ],
)
def test_reload_says_what_has_changed(serve: Serve, answer: Reloaded, says: list[str]) -> None:
    done = ctl(serve(answering(Reload(), answer)), "reload")
    assert (done.returncode, done.stdout.splitlines()) == (0, says)


def test_reload_as_json_is_one_object(serve: Serve) -> None:
    done = ctl(serve(answering(Reload(), Reloaded(("a", "b"), ("b",)))), "reload", "--json")
    assert json.loads(done.stdout) == {"changed": ["a", "b"], "at_restart": ["b"]}


@pytest.mark.parametrize("command", ["drain", "reload"])
@pytest.mark.parametrize("code", ["forbidden", "bad_config"])
def test_what_an_operator_may_not_or_cannot_do_is_refused_with_exit_code_4(
    serve: Serve, command: str, code: str
) -> None:
    def peer(channel: BlockingChannel) -> None:
        welcome(channel)
        _, request_id, _ = request(channel)
        fail(channel, request_id, code)

    done = ctl(serve(peer), command)
    assert (done.returncode, done.stdout) == (4, "")
    assert done.stderr == f"cuzkctl: error: because of {code}\ndo something else\n"


@pytest.mark.parametrize(
    ("command", "asked", "answer"),
    [
        (("metrics",), MetricsRequest(), Metrics("")),
        (("drain",), Drain(False, None), Drained(0, True)),
        (("reload",), Reload(), Reloaded((), ())),
        (("circuit", "evict", "merkle"), CircuitEvict("merkle"), INFO),
        (("jobs",), JobList(False), JobListing((), more=False)),
        (("cancel", "7"), JobCancel(7), CANCELLED_INFO),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_operators_commands_go_to_the_operators_socket_where_there_is_one(
    serve: Serve, tmp_path: Path, command: tuple[str, ...], asked: Message, answer: Message
) -> None:
    serve(answering(asked, answer), name="cuzkd-ctl.sock")
    assert ctl(tmp_path / "cuzkd.sock", *command).returncode == 0


def test_other_commands_go_to_the_job_socket(serve: Serve, tmp_path: Path) -> None:
    serve(answering(CircuitShow("merkle"), INFO), name="cuzkd.sock")
    (tmp_path / "cuzkd-ctl.sock").write_text("not to be touched")
    assert ctl(tmp_path / "cuzkd.sock", "circuit", "show", "merkle").returncode == 0
