"""Jobs that come as inputs: the daemon computes the witness, and every way of failing has its own error."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from daemon import Daemon, running, wait_until
from fixtures import Case, all_cases, bundled, each

from cuzkd.errors import (
    AssertionFailed,
    BadFile,
    CuzkdError,
    MissingSignal,
    NotANumber,
    Refused,
    TooLarge,
    UnknownSignal,
    WitnessOutOfTime,
    WrongValueCount,
)
from cuzkd.formats.vkey import load_vkey
from cuzkd.kernels.verify import verify
from tests.circom.programs import version_2

CASE = bundled("multiplier_bn128")


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running(tmp_path_factory.mktemp("inputs") / "run") as daemon:
        yield daemon


@pytest.fixture(autouse=True)
def _the_same_processes_go_on(daemon: Daemon) -> Iterator[None]:
    before = {worker.pid for worker in daemon.status().workers}
    yield
    wait_until(lambda: daemon.status().pool.leased == 0, "all leases are home")
    assert {worker.pid for worker in daemon.status().workers} == before
    wait_until(lambda: not any(daemon.spool.iterdir()), "the spool is empty")


def refusal(daemon: Daemon, case: Case, inputs: Path) -> CuzkdError:
    with daemon.client() as client, pytest.raises(CuzkdError) as caught:
        client.prove(case.zkey, wasm=case.wasm, inputs=[inputs])
    return caught.value


def written(folder: Path, document: object) -> Path:
    path = folder / "changed.json"
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return path


@each(all_cases())
def test_every_circuit_with_a_wasm_is_proved_from_its_inputs(daemon: Daemon, case: Case) -> None:
    with daemon.client() as client:
        result = client.prove(case.zkey, wasm=case.wasm, r1cs=case.r1cs, inputs=[case.input] * 2)
    vkey = load_vkey(case.verification_key.read_text(), case.name)
    public = tuple(int(value) for value in json.loads(case.public.read_text()))
    assert result.publics == (public, public)
    assert all(verify(vkey, public, proof) for proof in result.proofs)


def test_twenty_clients_at_once_all_get_their_proofs_from_inputs(daemon: Daemon) -> None:
    cases = [all_cases()[turn % len(all_cases())] for turn in range(20)]

    def prove(case: Case) -> bool:
        with daemon.client() as client:
            result = client.prove(case.zkey, wasm=case.wasm, inputs=[case.input])
        vkey = load_vkey(case.verification_key.read_text(), case.name)
        return verify(vkey, result.publics[0], result.proofs[0])

    with ThreadPoolExecutor(20) as pool:
        assert all(pool.map(prove, cases))


@each([case for case in all_cases() if case.bad_input is not None])
def test_inputs_that_break_an_assertion_are_told_template_and_line(daemon: Daemon, case: Case) -> None:
    assert case.bad_input is not None
    error = refusal(daemon, case, case.bad_input)
    assert isinstance(error, AssertionFailed)
    assert "template" in str(error)
    assert "line" in str(error)
    assert "input.bad.json" in str(error)


@pytest.mark.parametrize(
    ("document", "error", "says"),
    [
        ({"a": 3, "b": 11, "c": 1}, UnknownSignal, "c"),
        ({"a": 3}, MissingSignal, "1 of"),
        ({"a": [3, 4], "b": 11}, WrongValueCount, "a"),
        ({"a": "three", "b": 11}, NotANumber, "a"),
        ({"a": 1.5, "b": 11}, NotANumber, "fraction"),
        ("{", BadFile, "JSON"),
        ('{"a": ' + "[" * 100 + "]" * 100 + "}", TooLarge, "nested"),
    ],
)
def test_each_fault_of_the_inputs_has_its_error(
    daemon: Daemon, tmp_path: Path, document: object, error: type[CuzkdError], says: str
) -> None:
    found = refusal(daemon, CASE, written(tmp_path, document))
    assert type(found) is error
    assert "changed.json" in str(found)
    assert says in str(found)


def test_the_partition_with_the_bad_inputs_is_named(daemon: Daemon, tmp_path: Path) -> None:
    bad = written(tmp_path, {"a": 3})
    with daemon.client() as client, pytest.raises(MissingSignal, match=r"partition 1: .*changed\.json"):
        client.prove(CASE.zkey, wasm=CASE.wasm, inputs=[CASE.input, bad, CASE.input])


def test_inputs_without_a_program_are_refused_with_advice(daemon: Daemon) -> None:
    with daemon.client() as client, pytest.raises(Refused) as caught:
        client.prove(CASE.zkey, inputs=[CASE.input])
    assert "witness program" in str(caught.value)
    assert "wasm" in caught.value.advice


def test_inputs_over_the_limit_are_refused(daemon: Daemon, tmp_path: Path) -> None:
    path = tmp_path / "huge.json"
    with path.open("wb") as file:
        file.truncate((64 << 20) + 1)
    assert isinstance(refusal(daemon, CASE, path), TooLarge)


@pytest.mark.parametrize("other", ["publics_bn128", "multiplier_bls12381"])
def test_the_program_of_another_circuit_is_refused(daemon: Daemon, other: str) -> None:
    with daemon.client() as client, pytest.raises(Refused, match=r"circuit\.wasm: .*(wires|prime)"):
        client.prove(CASE.zkey, wasm=bundled(other).wasm, inputs=[CASE.input])


def test_a_file_that_is_no_program_is_refused(daemon: Daemon) -> None:
    with daemon.client() as client, pytest.raises(BadFile, match=r"witness\.wtns"):
        client.prove(CASE.zkey, wasm=CASE.witness, inputs=[CASE.input])


def test_a_program_is_compiled_once(daemon: Daemon) -> None:
    with daemon.client() as client:
        client.prove(CASE.zkey, wasm=CASE.wasm, inputs=[CASE.input])
        before = client.status()
        client.prove(CASE.zkey, wasm=CASE.wasm, inputs=[CASE.input] * 3)
        after = client.status()
    assert after.programs_compiled == before.programs_compiled
    assert after.programs_found >= before.programs_found + 4


def test_a_program_that_never_ends_costs_its_time_and_no_more(tmp_path: Path) -> None:
    program = tmp_path / "spin.wasm"
    program.write_bytes(version_2(wires="i32.const 4", set_input="(loop $for_ever (br $for_ever))"))
    config = '[synthesis]\nworkers = 1\n[limits]\nwitness_time = "200ms"\n'
    with running(tmp_path / "run", config) as daemon, daemon.client() as client:
        with pytest.raises(WitnessOutOfTime) as caught:
            client.prove(CASE.zkey, wasm=program, inputs=[written(tmp_path, {"x": 1})])
        assert "limits.witness_time" in caught.value.advice
        assert len(client.prove(CASE.zkey, [CASE.witness]).proofs) == 1
