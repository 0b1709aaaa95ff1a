"""`cuzkctl submit`, `jobs`, `show`, `cancel` and `fetch`: what they ask, print and return.

The daemon here is a peer that is known to say what it says; a real one is in test_operation.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from people.commands import ctl
from people.jobs import (
    CANCELLED_INFO,
    DONE,
    FAILED,
    FAILED_INFO,
    QUEUED,
    RESULT,
    RUNNING,
    RUNNING_INFO,
)
from people.peer import Serve, answering, fail, request, welcome

from cuzkd.errors import NotFound
from cuzkd.ipc.channel import BlockingChannel
from cuzkd.ipc.requests import (
    JobAccepted,
    JobCancel,
    JobFetch,
    JobInfo,
    JobList,
    JobListing,
    JobShow,
    JobSubmit,
    PointChecks,
)


def failing(serve: Serve, code: str, retry_after_s: float | None = None) -> Path:
    def peer(channel: BlockingChannel) -> None:
        welcome(channel)
        _, request_id, _ = request(channel)
        fail(channel, request_id, code, retry_after_s)

    return serve(peer)


SUBMIT = JobSubmit("merkle", None, None, None, (0,), (), PointChecks.FULL, progress=False)


@pytest.mark.parametrize(("options", "out"), [((), "7\n"), (("--json",), '{"job": 7}\n')])
def test_submit_prints_the_jobs_number_and_nothing_else(
    serve: Serve, tmp_path: Path, options: tuple[str, ...], out: str
) -> None:
    (tmp_path / "w").touch()
    socket = serve(answering(SUBMIT, JobAccepted(7, 1)))
    done = ctl(socket, "submit", "--circuit", "merkle", "--wtns", "w", *options)
    assert (done.returncode, done.stdout, done.stderr) == (0, out, "")


def test_a_daemon_that_takes_no_job_now_says_when_to_come_back(serve: Serve, tmp_path: Path) -> None:
    (tmp_path / "w").touch()
    arguments = ("submit", "--circuit", "merkle", "--wtns", "w")
    done = ctl(failing(serve, "busy", 12.0), *arguments)
    assert done.returncode == 75
    assert done.stderr == "cuzkctl: error: because of busy\ndo something else (in 12 s)\n"


def test_as_json_an_error_says_whether_and_when_to_try_again(serve: Serve) -> None:
    done = ctl(failing(serve, "busy", 12.0), "jobs", "--json")
    assert done.returncode == 75
    assert json.loads(done.stdout)["error"] == {
        "code": "busy",
        "message": "because of busy",
        "advice": "do something else",
        "retryable": True,
        "retry_after_s": 12.0,
    }


JOBS = """\
JOB  UID   STATE    PROOFS  CIRCUIT       AGE     TOOK        NOW
7    1000  running  1/2     merkle        1.25 s              proving: quotient
9    1000  queued   0/2     merkle        0.50 s
8    1000  failed   0/2     c0dec0dec0de  1.25 s  1 min 15 s  wrong_proof
"""


@pytest.mark.parametrize(("options", "everybody"), [((), False), (("--all",), True)])
def test_jobs_are_a_table(serve: Serve, options: tuple[str, ...], everybody: bool) -> None:
    listing = JobListing((RUNNING, QUEUED, FAILED), more=False)
    done = ctl(serve(answering(JobList(everybody), listing)), "jobs", *options)
    assert (done.returncode, done.stdout) == (0, JOBS)


@pytest.mark.parametrize(
    ("listing", "last"),
    [(JobListing((), more=False), "no jobs"), (JobListing((DONE,), more=True), "and more that are not told")],
)
def test_no_jobs_and_too_many_are_said(serve: Serve, listing: JobListing, last: str) -> None:
    done = ctl(serve(answering(JobList(False), listing)), "jobs")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, last)


def test_jobs_as_json_have_every_field(serve: Serve) -> None:
    listing = JobListing((RUNNING, FAILED), more=True)
    done = ctl(serve(answering(JobList(False), listing)), "jobs", "--json")
    document = json.loads(done.stdout)
    assert document["more"] is True
    assert [(job["job"], job["state"], job["error"]) for job in document["jobs"]] == [
        (7, "running", ""),
        (8, "failed", "wrong_proof"),
    ]


SHOWN = """\
job       7
state     running
proofs    1 of 2
circuit   merkle (c0dec0dec0dec0dec0dec0dec0dec0dec0dec0dec0dec0dec0dec0dec0dec0de)
owner     uid 1000
accepted  1.25 s ago
now       proving: quotient
"""
SHOWN_FAILED = """\
took      1 min 15 s
error     wrong_proof: the proof of partition 0 is wrong
advice    look at the witness
"""


def test_a_job_is_shown_in_full(serve: Serve) -> None:
    done = ctl(serve(answering(JobShow(7), RUNNING_INFO)), "show", "7")
    assert (done.returncode, done.stdout) == (0, SHOWN)


def test_a_failed_job_is_shown_with_its_error(serve: Serve) -> None:
    done = ctl(serve(answering(JobShow(8), FAILED_INFO)), "show", "8")
    assert done.returncode == 0
    assert done.stdout.endswith(SHOWN_FAILED)


@pytest.mark.parametrize(("info", "code"), [(RUNNING_INFO, None), (FAILED_INFO, "wrong_proof")])
def test_a_job_as_json_is_one_object(serve: Serve, info: JobInfo, code: str | None) -> None:
    job = info.status.job
    document = json.loads(ctl(serve(answering(JobShow(job), info)), "show", job, "--json").stdout)
    assert (document["job"], document["state"]) == (job, str(info.status.state))
    assert (document["failure"] and document["failure"]["code"]) == code


@pytest.mark.parametrize(
    ("code", "exit_code"),
    [("not_found", 4), ("forbidden", 4), ("restarted", 1), ("cancelled", 1), ("not_done", 75), ("busy", 75)],
)
def test_an_error_about_a_job_has_its_exit_code(serve: Serve, code: str, exit_code: int) -> None:
    done = ctl(failing(serve, code), "fetch", "7", "--json")
    assert done.returncode == exit_code
    document = json.loads(done.stdout)
    assert (document["error"]["code"], document["job"]) == (code, 7)


def test_each_job_is_cancelled_although_one_cannot_be(serve: Serve) -> None:
    assert cancel(serve, ()) == (
        4,
        "job 7 is cancelled; 1 proof of 2 not made\njob 8 had ended before: failed\n",
        "cuzkctl: error: because of not_found\ndo something else\n",
    )


def test_cancelling_as_json_is_one_object(serve: Serve) -> None:
    code, out, _ = cancel(serve, ("--json",))
    assert code == 4
    jobs = json.loads(out)["jobs"]
    assert [job["job"] for job in jobs] == [7, 99, 8]
    assert jobs[0]["state"] == "cancelled"
    assert jobs[1]["error"]["code"] == NotFound.code
    assert jobs[2]["failure"]["code"] == "wrong_proof"


def cancel(serve: Serve, options: tuple[str, ...]) -> tuple[int, str, str]:
    """What `cancel` says of a job that it ends, one that is not there and one that had ended."""

    def peer(channel: BlockingChannel) -> None:
        welcome(channel)
        for job, answer in ((7, CANCELLED_INFO), (99, None), (8, FAILED_INFO)):
            message, request_id, _ = request(channel)
            assert message == JobCancel(job)
            if answer is None:
                fail(channel, request_id, "not_found")
            else:
                channel.send(answer, request_id)

    done = ctl(serve(peer), "cancel", "7", "99", "8", *options)
    return done.returncode, done.stdout, done.stderr


def test_fetch_writes_the_proofs_of_a_job_that_is_done(serve: Serve, tmp_path: Path) -> None:
    done = ctl(serve(answering(JobFetch(7), *RESULT)), "fetch", "7", "-o", "out", "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["proofs"] == [{"proof": "out/proof.json", "public": "out/public.json"}]
    assert (tmp_path / "out" / "public.json").read_text() == '[\n "33"\n]'
