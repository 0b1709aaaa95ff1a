"""`cuzkctl` and `cuzkd.Client` beside a real daemon: what is written, printed and raised."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from daemon import Daemon, running, wait_until
from fixtures import Case, bundled, each
from people.commands import BIN, LIMIT_S, has_socket, run

import cuzkd
from cuzkd.errors import BadFile, BadWitness, NotFound, Unsupported, WaitTimeout
from cuzkd.model import JobState

CASE = bundled("multiplier_bn128")


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running(tmp_path_factory.mktemp("people") / "run") as daemon:
        yield daemon


def ctl(daemon: Daemon, *arguments: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return run("cuzkctl", "--socket", daemon.socket, *arguments, cwd=cwd)


def prove(daemon: Daemon, case: Case, *more: object) -> subprocess.CompletedProcess[str]:
    return ctl(daemon, "prove", "--zkey", case.zkey, "--wtns", case.witness, *more)


@each()
def test_every_circuit_goes_from_files_to_a_verified_proof(
    daemon: Daemon, case: Case, tmp_path: Path
) -> None:
    done = prove(daemon, case, "-o", tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "public.json").read_bytes() == case.public.read_bytes()
    files = ("--proof", tmp_path / "proof.json", "--public", tmp_path / "public.json")
    assert run("cuzkctl", "verify", "--vkey", case.verification_key, *files).returncode == 0


def test_what_was_written_is_printed_and_nothing_else_is_there(daemon: Daemon, tmp_path: Path) -> None:
    done = prove(daemon, CASE, "-o", tmp_path / "new" / "out")
    summary, written = done.stdout.splitlines()
    assert ": 1 proof over bn128 in " in summary
    out = tmp_path / "new" / "out"
    assert written == f"{out}/proof.json {out}/public.json"
    assert sorted(path.name for path in out.iterdir()) == ["proof.json", "public.json"]


def test_without_a_directory_files_go_to_the_current_one(daemon: Daemon, tmp_path: Path) -> None:
    assert ctl(daemon, "prove", "--zkey", CASE.zkey, "--wtns", CASE.witness, cwd=tmp_path).returncode == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["proof.json", "public.json"]


def test_several_witnesses_give_numbered_files(daemon: Daemon, tmp_path: Path) -> None:
    done = prove(daemon, CASE, CASE.witness, CASE.witness, "-o", tmp_path, "--json")
    report = json.loads(done.stdout)
    assert report["curve"] == "bn128"
    assert [pair["proof"] for pair in report["proofs"]] == [f"{tmp_path}/proof-{i}.json" for i in range(3)]
    assert len(list(tmp_path.iterdir())) == 6


def test_earlier_files_are_kept_when_the_new_ones_cannot_be_written(daemon: Daemon, tmp_path: Path) -> None:
    (tmp_path / "public.json").mkdir()
    (tmp_path / "proof.json").write_text("earlier")
    done = prove(daemon, CASE, "-o", tmp_path)
    assert done.returncode == 2
    assert "cannot write" in done.stderr
    assert (tmp_path / "proof.json").read_text() == "earlier"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["proof.json", "public.json"]


def refused(daemon: Daemon, zkey: Path, wtns: Path, out: Path) -> str:
    """What `cuzkctl prove` says first about files that it must refuse with a line of advice."""
    done = ctl(daemon, "prove", "--zkey", zkey, "--wtns", wtns, "-o", out)
    assert done.returncode == 4
    assert list(out.iterdir()) == []
    error, advice = done.stderr.splitlines()
    assert error.startswith("cuzkctl: error: ")
    assert advice == BadFile.default_advice
    return error


def test_a_key_of_another_kind_is_refused_by_name(daemon: Daemon, tmp_path: Path) -> None:
    assert str(CASE.public) in refused(daemon, CASE.public, CASE.witness, tmp_path)


def test_a_witness_of_another_kind_is_refused_by_name(daemon: Daemon, tmp_path: Path) -> None:
    assert str(CASE.public) in refused(daemon, CASE.zkey, CASE.public, tmp_path)


def test_a_witness_of_another_circuit_is_refused(daemon: Daemon) -> None:
    with daemon.client() as client, pytest.raises(BadWitness):
        client.prove(CASE.zkey, [bundled("squarings_bn128").witness])


def test_a_witness_of_the_other_curve_is_refused(daemon: Daemon) -> None:
    with daemon.client() as client, pytest.raises((BadWitness, Unsupported)):
        client.prove(CASE.zkey, [bundled("multiplier_bls12381").witness])


def test_one_client_goes_on_after_a_refusal(daemon: Daemon) -> None:
    with daemon.client() as client:
        with pytest.raises(BadFile):
            client.submit(CASE.public, [CASE.witness])
        assert client.prove(CASE.zkey, [CASE.witness]).publics == ((33,),)


def test_a_job_can_be_fetched_later_by_another_client(daemon: Daemon, tmp_path: Path) -> None:
    with daemon.client() as client:
        job = client.submit(CASE.zkey, [CASE.witness])
    assert ctl(daemon, "wait", job, "-o", tmp_path).returncode == 0
    assert (tmp_path / "public.json").read_bytes() == CASE.public.read_bytes()


def test_a_job_that_does_not_exist_is_not_found(daemon: Daemon) -> None:
    with daemon.client() as client, pytest.raises(NotFound):
        client.wait(987_654)
    assert ctl(daemon, "wait", 987_654).returncode == 4


def test_status_as_json_has_the_fields_of_the_report(daemon: Daemon) -> None:
    report = json.loads(ctl(daemon, "status", "--json").stdout)
    assert report["pid"] == daemon.process.pid
    assert report["version"] == cuzkd.__version__
    assert {worker["role"] for worker in report["workers"]} == {"ingest", "synthesis", "gpu"}
    text = ctl(daemon, "status").stdout
    assert f"pid {daemon.process.pid}" in text
    assert "gpu-0" in text


def test_nothing_of_a_submission_stays_open_in_the_daemon(daemon: Daemon) -> None:
    def open_files() -> int:
        return len(os.listdir(f"/proc/{daemon.process.pid}/fd"))

    before = open_files()
    with daemon.client() as client:
        client.prove(CASE.zkey, [CASE.witness] * 70)
    wait_until(lambda: open_files() <= before, "the daemon has closed the job's files")


class TestAStoppedProver:
    """The gpu process is stopped (SIGSTOP), so that jobs are accepted and do not end."""

    @pytest.fixture
    def stopped(self, tmp_path: Path) -> Iterator[Daemon]:
        with running(tmp_path / "run") as daemon:
            with daemon.client() as client:
                client.prove(CASE.zkey, [CASE.witness])
            pid = next(worker.pid for worker in daemon.status().workers if worker.role == "gpu")
            os.kill(pid, signal.SIGSTOP)
            yield daemon
            os.kill(pid, signal.SIGCONT)

    def test_a_timeout_exits_75_and_the_job_goes_on(self, stopped: Daemon, tmp_path: Path) -> None:
        done = prove(stopped, CASE, "--timeout", "0.2", "-o", tmp_path / "out", "--json")
        assert done.returncode == 75
        assert json.loads(done.stdout)["error"]["code"] == WaitTimeout.code
        assert list((tmp_path / "out").iterdir()) == []
        assert stopped.status().jobs[0].state in (JobState.QUEUED, JobState.RUNNING)

    def test_an_interrupt_exits_130_and_says_how_to_fetch_the_job(
        self, stopped: Daemon, tmp_path: Path
    ) -> None:
        with stopped.client() as client:
            job = client.submit(CASE.zkey, [CASE.witness])
        waiting = subprocess.Popen(
            [BIN / "cuzkctl", "--socket", stopped.socket, "wait", str(job), "-o", tmp_path / "out"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        wait_until(lambda: has_socket(waiting.pid), "cuzkctl is connected, and so waits")
        waiting.send_signal(signal.SIGINT)
        out, said = waiting.communicate(timeout=LIMIT_S)
        assert (waiting.returncode, out) == (130, "")
        assert said.strip() == f"cuzkctl: job {job} goes on; `cuzkctl wait {job}` fetches its proofs"
