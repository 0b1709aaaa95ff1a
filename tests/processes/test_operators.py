"""What is for operators, what is for everybody, and who may connect at all, whatever the sockets' modes let in."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from daemon import Daemon, connected_as, running, wait_until
from fixtures import bundled

from cuzkd.client import Client
from cuzkd.errors import BadConfig, Busy, CuzkdError, Draining, Forbidden, NotFound
from cuzkd.ipc.requests import JobChanged, Watch
from cuzkd.model import JobState

CASE = bundled("squarings_bn128")
LONG = 900
NOBODY = 65534
GAMES, OPERATOR, STRANGER = 60, 4001, 4002  # gid of Debian's group `games`; two uids that nobody has
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be several users")


@pytest.fixture
def runtime_dir() -> Iterator[Path]:
    """One that other users can reach."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        yield Path(folder) / "run"


@pytest.fixture
def daemon(runtime_dir: Path) -> Iterator[Daemon]:
    with running(runtime_dir) as daemon:
        daemon.socket.chmod(0o666)
        control(daemon).chmod(0o666)
        yield daemon


def control(daemon: Daemon) -> Path:
    return daemon.runtime_dir / "cuzkd-ctl.sock"


def test_what_is_for_operators_is_forbidden_to_others(daemon: Daemon) -> None:
    with connected_as(NOBODY, daemon) as nobody:
        for ask in (
            lambda: nobody.drain(timeout_s=0),
            nobody.reload,
            lambda: nobody.jobs(everybody=True),
            lambda: nobody._daemon.ask(Watch(None, True), JobChanged),
            lambda: nobody.evict("circuit"),
        ):
            with pytest.raises(Forbidden):
                ask()
        assert nobody.jobs().jobs == ()
        assert "cuzkd_uptime_seconds" in nobody.metrics()
        assert nobody.status().state == "ready"


def test_anothers_job_is_not_found_whatever_is_asked(daemon: Daemon) -> None:
    with daemon.client() as root, connected_as(NOBODY, daemon) as nobody:
        job = root.submit(CASE.zkey, [CASE.witness] * LONG)
        for ask in (nobody.show_job, nobody.wait, nobody.fetch, nobody.cancel):
            with pytest.raises(NotFound):
                ask(job)
        with pytest.raises(NotFound):
            nobody._daemon.ask(Watch(job, False), JobChanged)
        theirs = nobody.submit(CASE.zkey, [CASE.witness] * LONG)
        assert [status.job for status in nobody.jobs().jobs] == [theirs]
        assert {status.job for status in root.jobs(everybody=True).jobs} == {job, theirs}
        assert [status.job for status in root.jobs().jobs] == [job]
        assert root.cancel(theirs).status.state is JobState.CANCELLED
        assert root.cancel(job).status.state is JobState.CANCELLED


def test_a_configured_operator_may_what_root_may(runtime_dir: Path) -> None:
    with running(runtime_dir, f"[access]\noperators = [{OPERATOR}]\n") as daemon:
        daemon.socket.chmod(0o666)
        with connected_as(OPERATOR, daemon) as operator:
            assert operator.drain(timeout_s=0).draining
            assert not operator.drain(resume=True).draining
            assert operator.jobs(everybody=True).jobs == ()


def test_fault_31_a_user_outside_the_group_is_refused_though_the_mode_lets_it_in(runtime_dir: Path) -> None:
    with running(runtime_dir, '[access]\ngroup = "games"\n') as daemon:
        daemon.socket.chmod(0o666)
        with pytest.raises(Forbidden):
            connected_as(STRANGER, daemon)
        with connected_as(GAMES, daemon) as member:
            assert member.status().state == "ready"
            with pytest.raises(Forbidden):
                member.reload()
        with daemon.client() as root:
            assert 'cuzkd_failures_total{code="forbidden"} 2' in root.metrics()


def test_the_operators_socket_takes_only_operators(daemon: Daemon) -> None:
    with closing(Client(control(daemon))) as root:
        assert root.status().state == "ready"
    with pytest.raises(Forbidden, match="no operator"):
        connected_by(control(daemon), STRANGER)


def connected_by(path: Path, uid: int) -> None:
    os.setegid(uid)
    os.seteuid(uid)
    try:
        with closing(Client(path)) as client:
            client.status()
    finally:
        os.seteuid(0)
        os.setegid(0)


def test_a_drained_daemon_finishes_its_jobs_and_takes_new_ones_when_it_is_told_to(daemon: Daemon) -> None:
    with daemon.client() as operator, daemon.client() as client:
        job = client.submit(CASE.zkey, [CASE.witness] * LONG)
        told = operator.drain(timeout_s=0.0)
        assert (told.unfinished, told.draining) == (1, True)
        with pytest.raises(Draining):
            client.submit(CASE.zkey, [CASE.witness])
        assert client.show_job(job).status.state is not JobState.CANCELLED
        client.cancel(job)
        assert operator.drain().unfinished == 0
        assert daemon.status().state == "draining"
        assert not operator.drain(resume=True).draining
        assert len(client.prove(CASE.zkey, [CASE.witness]).proofs) == 1


def test_the_configuration_is_read_again_on_demand_or_stays(daemon: Daemon) -> None:
    path = daemon.runtime_dir.with_suffix(".toml")
    before = path.read_text()
    with daemon.client() as operator:
        path.write_text(before + "[jobs]\nmax_queued = 1\n[gpu]\nthreads = 1\n")
        told = operator.reload()
        assert "jobs.max_queued" in told.changed
        assert "gpu.threads" in told.at_restart
        job = operator.submit(CASE.zkey, [CASE.witness] * LONG)
        with pytest.raises(Busy):
            operator.submit(CASE.zkey, [CASE.witness])
        operator.cancel(job)
        path.write_text(before + "[jobs]\nmax_queued = 0\n")
        with pytest.raises(BadConfig, match="max_queued"):
            operator.reload()
        assert len(operator.prove(CASE.zkey, [CASE.witness]).proofs) == 1


def test_fault_21_a_users_quota_is_its_own(runtime_dir: Path) -> None:
    """One user's full queue is `busy` with a time for that user, and no hindrance to another."""
    config = "[synthesis]\nworkers = 1\nthreads = 1\n[jobs]\nmax_queued = 4\n"
    with running(runtime_dir, config) as daemon:
        daemon.socket.chmod(0o666)
        with daemon.client() as root, connected_as(NOBODY, daemon) as nobody:
            jobs = [nobody.submit(CASE.zkey, [CASE.witness] * LONG) for _ in range(2)]
            with pytest.raises(Busy, match="max_queued_per_uid") as refused:
                nobody.submit(CASE.zkey, [CASE.witness])
            assert refused.value.retry_after_s is not None
            assert refused.value.retry_after_s > 0
            jobs.append(root.submit(CASE.zkey, [CASE.witness]))
            ended: list[CuzkdError | JobState] = [root.cancel(job).status.state for job in jobs[:2]]
            assert ended == [JobState.CANCELLED] * 2
            wait_until(lambda: root.show_job(jobs[2]).status.state is JobState.DONE, "root's job is done")
            assert len(nobody.prove(CASE.zkey, [CASE.witness]).proofs) == 1
