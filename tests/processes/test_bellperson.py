"""bellperson's circuits through the whole daemon: both forms of matrices, all forms of witnesses, refusals by name."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import arkworks
import pytest
from bellperson import BellpersonCase, bundled, bundled_cases, compiled, each, synthesized
from daemon import Daemon, connected, running, wait_until

from cuzkd import cli
from cuzkd.client import Client, PointChecks
from cuzkd.errors import BadFile, BadWitness, Refused, TooLarge
from cuzkd.formats.assignment import write_assignment
from cuzkd.formats.bellperson import read_vk
from cuzkd.formats.compress import PROOF_BYTES
from cuzkd.ipc.messages import Failure
from cuzkd.ipc.requests import CircuitAdd
from cuzkd.model import Flavour, Role, VerifyingKey

LIMIT_S = 30.0
MATRICES = {"r1cs": "r1cs", "matrices": "pce"}
"""The argument that takes a case's matrices, and the kind of file that it takes."""


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running(tmp_path_factory.mktemp("bellperson") / "run") as daemon:
        yield daemon


@pytest.fixture
def client(daemon: Daemon) -> Iterator[Client]:
    """A client whose circuits are gone when the test is over."""
    with daemon.client() as client:
        yield client
        for circuit in client.circuits():
            client.remove_circuit(circuit.name)


def files(case: BellpersonCase, option: str, scratch: Path, **other: Path) -> dict[str, Path]:
    named = {"params": "params", "vk": "vk", option: MATRICES[option]}
    return {argument: case.file(kind, scratch) for argument, kind in named.items()} | other


def vkey_of(path: Path) -> VerifyingKey:
    with path.open("rb") as file:
        return read_vk(file.fileno(), path.name)


def pieces(proofs: bytes) -> list[bytes]:
    assert len(proofs) % PROOF_BYTES == 0
    return [proofs[at : at + PROOF_BYTES] for at in range(0, len(proofs), PROOF_BYTES)]


def synthesized_elsewhere(case: BellpersonCase, scratch: Path) -> Path:
    """The case's partition with a, b and c beside the witness."""
    circuit = compiled(case, "pce", scratch)
    vectors = synthesized(circuit, case.witness(scratch))
    path = scratch / "partition.abcz"
    with path.open("wb") as out:
        write_assignment(out, circuit.ref.shape, vectors.z, vectors.a, vectors.b, vectors.c)
    return path


@each(bundled_cases())
@pytest.mark.parametrize("option", MATRICES)
def test_bellpersons_keys_prove_every_form_of_a_witness(
    client: Client, case: BellpersonCase, option: str, tmp_path: Path
) -> None:
    added = client.add_circuit("c", **files(case, option, tmp_path))
    assert (added.circuit.flavour, added.r1cs, added.wasm) == (Flavour.BELLPERSON, True, False)
    assert client.show_circuit("c").circuit == added.circuit
    witnesses = [
        case.file("wtns", tmp_path),
        case.file("raw", tmp_path),
        synthesized_elsewhere(case, tmp_path),
    ]
    result = client.prove(circuit="c", witnesses=witnesses)
    assert result.flavour is Flavour.BELLPERSON
    assert result.publics == (tuple(case.public),) * 3
    proofs, vkey = pieces(result.to_bellperson()), vkey_of(case.file("vk", tmp_path))
    assert len(set(proofs)) == 3
    assert all(arkworks.accepts(vkey, case.public, proof) for proof in proofs)


def test_partitions_are_concatenated_in_order(client: Client, tmp_path: Path) -> None:
    """With a key of one's own: products of 3 and b, for many b."""
    case = bundled("multiplier")
    key, r1cs = tmp_path / "key", case.file("r1cs", tmp_path)
    assert cli.main(["setup", "--r1cs", str(r1cs), "--flavour", "bellperson", "-o", str(key)]) == 0
    factors, witnesses = range(2, 42), []
    for b in factors:
        witnesses.append(tmp_path / f"{b}.raw")
        witnesses[-1].write_bytes(b"".join(v.to_bytes(32, "little") for v in (1, 3 * b, 3, b)))
    vk = tmp_path / "key.vk"
    client.add_circuit("own", params=tmp_path / "key.params", vk=vk, r1cs=r1cs)
    result = client.prove(circuit="own", witnesses=witnesses)
    assert result.publics == tuple((3 * b,) for b in factors)
    proofs, vkey = pieces(result.to_bellperson()), vkey_of(vk)
    assert all(arkworks.accepts(vkey, [3 * b], proof) for b, proof in zip(factors, proofs, strict=True))
    assert not arkworks.accepts(vkey, [3 * factors[0]], proofs[1])


def test_jobs_of_many_partitions_use_few_segments_over_and_over(client: Client, tmp_path: Path) -> None:
    """Of SnapDeals' shape, as cuzkd bench makes it: two jobs of 16 partitions need four segments at most."""
    made = ["bench", "make", "--shape", "snapdeals", "--log-n", "9", "--witnesses", "16", "-o", str(tmp_path)]
    assert cli.main(made) == 0
    key = {kind: tmp_path / f"circuit.{kind}" for kind in ("params", "vk", "r1cs")}
    client.add_circuit("snapdeals", **key)
    witnesses = [tmp_path / f"witness-{index}.wtns" for index in range(16)]
    before = client.status().pool
    result = client.prove(circuit="snapdeals", witnesses=witnesses)
    assert client.prove(circuit="snapdeals", witnesses=witnesses).publics == result.publics
    after = client.status().pool
    assert after.created - before.created <= 4
    assert after.reused - before.reused >= 2 * 16 - 4
    assert after.leased == 0
    vkey = vkey_of(key["vk"])
    partitions = zip(result.publics, pieces(result.to_bellperson()), strict=True)
    assert all(arkworks.accepts(vkey, public, proof) for public, proof in partitions)


def test_a_circuit_is_compiled_once_and_its_name_survives_the_daemon(tmp_path: Path) -> None:
    case = bundled("cubic")
    with running(tmp_path / "run") as daemon:
        with daemon.client() as client:
            added = client.add_circuit("c", **files(case, "matrices", tmp_path))
            assert not added.found
            assert client.add_circuit("c", **files(case, "matrices", tmp_path)).found
        assert daemon.stop() == 0
        daemon.start()
        daemon.wait_ready()
        with daemon.client() as client:
            assert client.show_circuit("c").circuit == added.circuit
            result = client.prove(circuit="c", witnesses=[case.file("raw", tmp_path)])
            client.remove_circuit("c")
        assert arkworks.accepts(vkey_of(case.file("vk", tmp_path)), case.public, result.to_bellperson())
        circuit = daemon.runtime_dir / "state" / "circuits" / added.circuit.digest
        wait_until(lambda: not circuit.exists(), "the compiled circuit is deleted")


def test_a_key_is_added_though_the_process_that_reads_it_dies(daemon: Daemon, client: Client, tmp_path: Path):
    """All three files are handed to the next one."""
    case = bundled("duplicates")
    ingest = daemon.worker(Role.INGEST).pid
    os.kill(ingest, signal.SIGSTOP)
    with ThreadPoolExecutor(1) as pool:
        adding = pool.submit(client.add_circuit, "dies", **files(case, "r1cs", tmp_path))
        wait_until(lambda: "circuit 'dies' of uid" in daemon.log(), "the circuit is submitted")
        os.kill(ingest, signal.SIGKILL)
        assert adding.result(LIMIT_S).circuit.flavour is Flavour.BELLPERSON


# ---- what is refused


Q = 0x1A0111EA397FE69A4B1BA7B6434BACD764774B84F38512BF6730D2A0F6B0F6241EABFFFEB153FFFFB9FEFFFFFFFFAAAB
IC, H = 864, 864 + 4 + 4 * 96
"""Where the counts of the first two sections of the cubic circuit's key are: it has four points in ic, seven in h."""

BAD_PARAMS: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "cut in the header": (lambda key: key[:500], r"key\.params: section gamma2: 1 points, but the file ends"),
    "cut before a count": (lambda key: key[: H + 2], r"key\.params: section h: the file ends at byte 1254"),
    "cut in a section": (lambda key: key[: H + 200], r"key\.params: section h: 7 points, .* within point 2"),
    "bytes at the end": (lambda key: key + b"\0", r"key\.params: 1 bytes follow section b_g2"),
    "a point at infinity": (
        lambda key: key[: H + 4 + 96] + b"\x40" + bytes(95) + key[H + 4 + 192 :],
        r"key\.params: section h: point 1 is the identity",
    ),
    "a coordinate of q": (
        lambda key: key[: H + 4 + 192] + Q.to_bytes(48, "big") + key[H + 4 + 240 :],
        r"key\.params: section h: point 2 has a coordinate that is not below q",
    ),
    "a point off the curve": (
        lambda key: key[: H + 4 + 95] + bytes([key[H + 4 + 95] ^ 1]) + key[H + 4 + 96 :],
        r"key\.params: section h: point 0 is not on the curve",
    ),
    "another key's beginning": (
        lambda key: key[: IC + 4] + key[IC + 100 : IC + 196] + key[IC + 100 :],
        r"key\.vk is not the verifying key of .*key\.params: section ic: point 0 differs",
    ),
}


def cubic_with(tmp_path: Path, **changed: bytes) -> dict[str, Path]:
    """The cubic circuit's files, with some of them replaced."""
    given = {}
    for kind, option in (("params", "params"), ("vk", "vk"), ("pce", "matrices")):
        data = changed.get(kind, bundled("cubic").file(kind, tmp_path).read_bytes())
        given[option] = tmp_path / f"key.{kind}"
        given[option].write_bytes(data)
    return given


@pytest.mark.parametrize("name", BAD_PARAMS)
def test_a_bad_key_is_refused_by_file_section_and_point(client: Client, name: str, tmp_path: Path) -> None:
    change, says = BAD_PARAMS[name]
    params = change(bundled("cubic").file("params", tmp_path).read_bytes())
    with pytest.raises(Refused, match=says):
        client.add_circuit("bad", **cubic_with(tmp_path, params=params))
    assert client.circuits() == ()


def test_bad_matrices_and_verifying_keys_are_refused_by_their_file(client: Client, tmp_path: Path) -> None:
    case = bundled("cubic")
    pce, vk = (case.file(kind, tmp_path).read_bytes() for kind in ("pce", "vk"))
    with pytest.raises(BadFile, match=r"key\.pce: "):
        client.add_circuit("bad", **cubic_with(tmp_path, pce=pce[:-1]))
    with pytest.raises(BadFile, match=r"key\.vk: section ic: 4 points, but the file ends"):
        client.add_circuit("bad", **cubic_with(tmp_path, vk=vk[:-1]))
    with pytest.raises(BadFile, match=r"key\.pce: .*r1cs"):
        client.add_circuit("bad", **cubic_with(tmp_path, pce=case.file("r1cs", tmp_path).read_bytes()))
    sparse = cubic_with(tmp_path)
    os.truncate(sparse["matrices"], 1 << 40)
    with pytest.raises(TooLarge, match=r"key\.pce has 1099511627776 bytes; for a key of this size"):
        client.add_circuit("bad", **sparse)
    other = bundled("multiplier").file("pce", tmp_path).read_bytes()
    with pytest.raises(
        Refused, match=r"key\.params is not the key of .*key\.pce: section ic has 4 points, not 2"
    ):
        client.add_circuit("bad", **cubic_with(tmp_path, pce=other))
    assert client.circuits() == ()


def test_bad_witnesses_are_refused_by_value_or_constraint(client: Client, tmp_path: Path) -> None:
    case = bundled("cubic")
    client.add_circuit("c", **files(case, "r1cs", tmp_path))
    raw = case.file("raw", tmp_path).read_bytes()
    abcz = synthesized_elsewhere(case, tmp_path).read_bytes()
    bad: dict[str, tuple[bytes, str]] = {
        "short": (raw[:-32], "short: 6 values, but the circuit has 7 variables"),
        "ragged": (raw[:-1], "ragged: 6 values of 32 bytes, and 31 bytes more"),
        "large": (raw[:-32] + b"\xff" * 32, "large: wire 6 is not below the order of bls12381"),
        "wrong": (raw[:-32] + bytes(32), "wrong: constraint [0-9]+ is not satisfied"),
        "evaluated": (abcz[:-32] + b"\x01" + bytes(31), "evaluated: constraint [0-9]+ is not satisfied"),
        "other": (bundled("multiplier").file("wtns", tmp_path).read_bytes(), "other: .*4.*7"),
    }
    for name, (data, says) in bad.items():
        (tmp_path / name).write_bytes(data)
        with pytest.raises(BadWitness, match=says):
            client.prove(circuit="c", witnesses=[tmp_path / name])
    assert client.prove(circuit="c", witnesses=[case.file("raw", tmp_path)]).publics == (tuple(case.public),)


@pytest.mark.parametrize(
    "named",
    [
        {},
        {"params": 0},
        {"params": 0, "vk": 1},
        {"params": 0, "vk": 1, "r1cs": 2, "matrices": 3},
        {"params": 0, "matrices": 1},
        {"vk": 0, "matrices": 1},
        {"zkey": 0, "params": 1, "vk": 2, "r1cs": 3},
        {"zkey": 0, "matrices": 1},
        {"zkey": 0, "vk": 1},
    ],
    ids=lambda named: "+".join(named) or "nothing",
)
def test_files_that_make_no_circuit_break_the_protocol_and_the_clients_contract(
    daemon: Daemon, named: dict[str, int], tmp_path: Path
) -> None:
    every = dict.fromkeys(("zkey", "wasm", "r1cs", "params", "vk", "matrices"))
    request = CircuitAdd(name="c", points=PointChecks.FULL, progress=False, **(every | named))
    with connected(daemon) as channel:
        channel.send(request, 2)
        answer = channel.receive(LIMIT_S).message
        assert isinstance(answer, Failure)
        assert answer.code == "bad_request"
    with daemon.client() as client, pytest.raises(ValueError, match="a circuit"):
        client.add_circuit("c", **{name: tmp_path / name for name in named})
