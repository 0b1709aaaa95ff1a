"""Named circuits: added, used, shown, removed; a name is its owner's, and outlives the daemon."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from daemon import Daemon, connected_as, running, wait_until
from fixtures import bundled

from cuzkd.client import PointChecks
from cuzkd.errors import BadFile, Forbidden, NotFound, Refused
from cuzkd.ipc.requests import Residency
from cuzkd.model import Role

CASE = bundled("multiplier_bn128")
OTHER = bundled("publics_bls12381")
NOBODY = 65534


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    with running(tmp_path / "run") as daemon:
        yield daemon


def kept(daemon: Daemon) -> dict[str, list[str]]:
    """What the state directory has of each kind, by digest."""
    state = daemon.runtime_dir / "state"
    kinds = ("circuits", "programs", "constraints")
    return {
        kind: sorted(path.name for path in (state / kind).glob("[0-9a-f]*"))
        if (state / kind).is_dir()
        else []
        for kind in kinds
    }


def test_a_named_circuit_is_used_without_any_of_its_files(daemon: Daemon, tmp_path: Path) -> None:
    for path in (CASE.zkey, CASE.wasm, CASE.r1cs):
        assert path is not None
        shutil.copy(path, tmp_path)
    with daemon.client() as client:
        added = client.add_circuit(
            "mul", tmp_path / "circuit.zkey", wasm=tmp_path / "circuit.wasm", r1cs=tmp_path / "circuit.r1cs"
        )
        for name in ("circuit.zkey", "circuit.wasm", "circuit.r1cs"):
            (tmp_path / name).unlink()
        assert not added.found
        assert (added.name, added.uid, added.wasm, added.r1cs) == ("mul", os.geteuid(), True, True)
        assert added.points is PointChecks.FULL
        assert client.prove(circuit="mul", inputs=[CASE.input]).publics == ((33,),)
        assert client.prove(circuit="mul", witnesses=[CASE.witness] * 2).publics == ((33,), (33,))
        shown = client.show_circuit("mul")
        assert (shown.hits, shown.circuit) == (2, added.circuit)
        assert client.circuits() == (shown,)
        assert client.status().circuits_named == 1
        assert [job.name for job in client.status().jobs] == ["mul", "mul"]


def test_removing_the_last_name_deletes_what_it_stood_for(daemon: Daemon) -> None:
    with daemon.client() as client:
        client.add_circuit("one", CASE.zkey, wasm=CASE.wasm, r1cs=CASE.r1cs)
        client.add_circuit("two", CASE.zkey, wasm=CASE.wasm)
        assert [len(digests) for digests in kept(daemon).values()] == [1, 1, 1]
        assert client.remove_circuit("one").name == "one"
        wait_until(lambda: kept(daemon)["constraints"] == [], "the constraints are deleted")
        assert client.prove(circuit="two", inputs=[CASE.input]).publics == ((33,),)
        client.remove_circuit("two")
        wait_until(lambda: not any(kept(daemon).values()), "everything is deleted")
        with pytest.raises(NotFound, match="'two'"):
            client.prove(circuit="two", inputs=[CASE.input])
        assert not client.add_circuit("two", CASE.zkey).found


def test_a_circuit_that_is_removed_while_a_job_uses_it_goes_when_the_job_ends(daemon: Daemon) -> None:
    with daemon.client() as client:
        client.add_circuit("mul", CASE.zkey, wasm=CASE.wasm)
        job = client.submit(circuit="mul", inputs=[CASE.input] * 200)
        client.remove_circuit("mul")
        assert kept(daemon)["circuits"] != []
        assert len(client.wait(job).proofs) == 200
    wait_until(lambda: not any(kept(daemon).values()), "everything is deleted")


def test_nothing_is_deleted_that_a_file_on_its_way_in_is_about_to_find(daemon: Daemon) -> None:
    """The key is under way when its only name is removed: the job finds the circuit, and it goes afterwards."""
    ingest = daemon.worker(Role.INGEST).pid
    with daemon.client() as client, ThreadPoolExecutor(1) as pool, daemon.client() as other:
        client.add_circuit("mul", CASE.zkey)
        os.kill(ingest, signal.SIGSTOP)
        proving = pool.submit(other.prove, CASE.zkey, [CASE.witness])
        wait_until(lambda: "1 witnesses" in daemon.log(), "the job is submitted")
        client.remove_circuit("mul")
        os.kill(ingest, signal.SIGCONT)
        assert len(proving.result().proofs) == 1
        assert client.status().circuits_found == 1
    wait_until(lambda: not any(kept(daemon).values()), "everything is deleted")


def test_a_circuit_is_added_though_the_process_that_reads_its_files_dies(daemon: Daemon) -> None:
    ingest = daemon.worker(Role.INGEST).pid
    os.kill(ingest, signal.SIGSTOP)
    with daemon.client() as client, ThreadPoolExecutor(1) as pool:
        adding = pool.submit(client.add_circuit, "mul", CASE.zkey, wasm=CASE.wasm, r1cs=CASE.r1cs)
        wait_until(lambda: "circuit 'mul' of uid" in daemon.log(), "the circuit is submitted")
        os.kill(ingest, signal.SIGKILL)
        assert adding.result().wasm
        assert client.prove(circuit="mul", inputs=[CASE.input]).publics == ((33,),)


def test_names_survive_the_daemon(daemon: Daemon) -> None:
    with daemon.client() as client:
        added = client.add_circuit("mul", CASE.zkey, wasm=CASE.wasm, r1cs=CASE.r1cs)
        client.add_circuit("gone", OTHER.zkey)
        client.remove_circuit("gone")
    assert daemon.stop() == 0
    daemon.start()
    daemon.wait_ready()
    with daemon.client() as client:
        [found] = client.circuits()
        assert (found.name, found.circuit, found.wasm, found.r1cs) == ("mul", added.circuit, True, True)
        assert found.residency is Residency.COLD
        assert client.prove(circuit="mul", inputs=[CASE.input]).publics == ((33,),)
        assert client.status().circuits_compiled == 0


def test_adding_again_is_no_error_and_another_circuit_is(daemon: Daemon) -> None:
    with daemon.client() as client:
        client.add_circuit("mul", CASE.zkey, r1cs=CASE.r1cs)
        again = client.add_circuit("mul", CASE.zkey, wasm=CASE.wasm)
        assert (again.wasm, again.r1cs) == (True, True)
        assert client.add_circuit("mul", CASE.zkey).found
        with pytest.raises(Refused, match="'mul' names another circuit"):
            client.add_circuit("mul", OTHER.zkey)
        assert client.show_circuit("mul") == client.add_circuit("mul", CASE.zkey)


def test_what_cannot_be_a_name_is_refused(daemon: Daemon) -> None:
    with daemon.client() as client:
        for name in ("", "a b", "../x", "1000/x", "-x", "x" * 101, "naïve"):
            with pytest.raises(Refused, match="is no name for a circuit"):
                client.add_circuit(name, CASE.zkey)
        assert client.circuits() == ()


def test_files_that_do_not_belong_together_get_no_name(daemon: Daemon, tmp_path: Path) -> None:
    bad = tmp_path / "bad.zkey"
    bad.write_bytes(CASE.zkey.read_bytes()[:-100])
    with daemon.client() as client:
        with pytest.raises(BadFile, match=r"bad\.zkey"):
            client.add_circuit("mul", bad)
        with pytest.raises(Refused, match=r"circuit\.wasm"):
            client.add_circuit("mul", CASE.zkey, wasm=OTHER.wasm)
        with pytest.raises(Refused, match=r"circuit\.r1cs"):
            client.add_circuit("mul", CASE.zkey, r1cs=OTHER.r1cs)
        assert client.circuits() == ()
    assert kept(daemon)["programs"] == kept(daemon)["constraints"] == []


def test_a_name_without_a_program_proves_witnesses_only(daemon: Daemon) -> None:
    with daemon.client() as client:
        client.add_circuit("mul", CASE.zkey)
        assert client.prove(circuit="mul", witnesses=[CASE.witness]).publics == ((33,),)
        with pytest.raises(Refused, match="witness program"):
            client.prove(circuit="mul", inputs=[CASE.input])


def test_a_registry_that_cannot_be_written_is_told_and_changes_nothing(daemon: Daemon) -> None:
    names = daemon.runtime_dir / "state" / "names.json"
    with daemon.client() as client:
        client.add_circuit("mul", CASE.zkey)
        names.unlink()
        names.mkdir()
        with pytest.raises(Exception, match="could not be written"):
            client.add_circuit("other", OTHER.zkey)
        with pytest.raises(Exception, match="could not be written"):
            client.remove_circuit("mul")
        assert [circuit.name for circuit in client.circuits()] == ["mul"]
        names.rmdir()
        client.remove_circuit("mul")
        assert client.circuits() == ()


def test_a_damaged_registry_stops_the_daemon_with_advice(daemon: Daemon) -> None:
    assert daemon.stop() == 0
    (daemon.runtime_dir / "state" / "names.json").write_text('{"format": 1, "circuits": [{"name": 5}]}')
    daemon.start()
    assert daemon.process.wait(30) == 78
    assert "names.json is no registry of circuits" in daemon.log()
    assert "move the file away" in daemon.log()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be two users")
def test_names_are_a_users_own_and_root_may_use_all() -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        with running(Path(folder) / "run") as daemon, daemon.client() as root:
            daemon.socket.chmod(0o666)
            root.add_circuit("mine", CASE.zkey)
            with connected_as(NOBODY, daemon) as nobody:
                assert nobody.circuits() == ()
                for use in (nobody.show_circuit, nobody.remove_circuit, nobody.preload):
                    for name in ("mine", "0/mine"):
                        with pytest.raises(NotFound):
                            use(name)
                with pytest.raises(Forbidden):
                    nobody.evict("mine")
                assert nobody.add_circuit("mine", OTHER.zkey).uid == NOBODY
                assert nobody.add_circuit("theirs", OTHER.zkey, wasm=OTHER.wasm).uid == NOBODY
                names = [(circuit.uid, circuit.name) for circuit in root.circuits()]
                assert names == [(0, "mine"), (NOBODY, "mine"), (NOBODY, "theirs")]
                assert root.show_circuit("mine").uid == 0
                assert root.show_circuit(f"{NOBODY}/mine").uid == NOBODY
                assert len(root.prove(circuit="theirs", inputs=[OTHER.input]).proofs) == 1
                assert root.remove_circuit(f"{NOBODY}/mine").uid == NOBODY
                assert [circuit.name for circuit in nobody.circuits()] == ["theirs"]
                with pytest.raises(NotFound):
                    nobody.prove(circuit="0/mine", witnesses=[CASE.witness])
            assert daemon.stop() == 0
