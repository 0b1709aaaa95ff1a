"""Every damaged key and witness gets its error at once, every odd but sound key a proof; no process is harmed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from containers import Container, patch
from daemon import Daemon, running
from fixtures import bundled
from key_mutations import ACCEPTED, EXTREME, MUTATIONS, Mutation

from cuzkd.errors import BadFile, BadWitness, CuzkdError
from cuzkd.kernels.params import PARAMS

CASE = bundled("publics_bn128")
ORDER = PARAMS[CASE.curve].r
AT_ONCE_S = 5.0  # milliseconds on an idle machine, which a test cannot ask for


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running(tmp_path_factory.mktemp("mutations") / "run") as daemon:
        pids = {worker.pid for worker in daemon.status().workers}
        yield daemon
        with daemon.client() as client:
            assert len(client.prove(CASE.zkey, [CASE.witness]).proofs) == 1
        assert {worker.pid for worker in daemon.status().workers} == pids


def refusal(daemon: Daemon, zkey: Path, witness: Path) -> CuzkdError:
    """The daemon's error, which must come in time."""
    with daemon.client() as client:
        begin = time.monotonic()
        with pytest.raises(CuzkdError) as caught:
            client.prove(zkey, [witness])
    assert time.monotonic() - begin < AT_ONCE_S
    return caught.value


@pytest.mark.parametrize("mutation", MUTATIONS + EXTREME, ids=lambda mutation: mutation.name)
def test_a_damaged_key_is_refused_with_its_error(daemon: Daemon, tmp_path: Path, mutation: Mutation) -> None:
    path = tmp_path / "key.zkey"
    path.write_bytes(mutation.apply(CASE.zkey.read_bytes()))
    error = refusal(daemon, path, CASE.witness)
    assert isinstance(error, mutation.error)
    assert str(error).startswith(str(path))


@pytest.mark.parametrize(("name", "change"), ACCEPTED, ids=[name for name, _ in ACCEPTED])
def test_an_odd_key_is_proved_with(
    daemon: Daemon, tmp_path: Path, name: str, change: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / "key.zkey"
    path.write_bytes(change(CASE.zkey.read_bytes()))
    with daemon.client() as client:
        assert len(client.prove(path, [CASE.witness]).proofs) == 1, name


def with_value(wire: int, value: int) -> bytes:
    container = Container.parse(CASE.witness.read_bytes())
    values = patch(container.section(2), wire * 32, value.to_bytes(32, "little"))
    return container.with_section(2, values).build()


def value_of(wire: int) -> int:
    values = Container.parse(CASE.witness.read_bytes()).section(2)
    return int.from_bytes(values[wire * 32 : wire * 32 + 32], "little")


def one_value_short(data: bytes) -> bytes:
    container = Container.parse(data)
    return container.with_section(2, container.section(2)[:-32]).build()


def one_more(data: bytes) -> bytes:
    container = Container.parse(data)
    header = container.section(1)
    count = int.from_bytes(header[-4:], "little") + 1
    return container.with_section(1, header[:-4] + count.to_bytes(4, "little")).build()


def one_more_wire(data: bytes) -> bytes:
    container = Container.parse(one_more(data))
    return container.with_section(2, container.section(2) + bytes(32)).build()


WITNESS = CASE.witness.read_bytes()


@pytest.mark.parametrize(
    ("data", "error", "before_any_work"),
    [
        (one_more(WITNESS), BadFile, True),
        (one_more_wire(WITNESS), BadWitness, True),
        (bundled("publics_bls12381").witness.read_bytes(), BadWitness, True),
        (bundled("squarings_bn128").witness.read_bytes(), BadWitness, True),
        (b"wtnz" + WITNESS[4:], BadFile, True),
        (one_value_short(WITNESS), BadFile, True),
        (WITNESS[:-40], BadFile, True),
        (b"", BadFile, True),
        (with_value(0, 2), BadWitness, False),
        (with_value(1, value_of(1) + ORDER), BadWitness, False),
        (with_value(7, value_of(7) + ORDER), BadWitness, False),
        (with_value(2, 2**256 - 1), BadWitness, False),
        (with_value(1, value_of(1) ^ 1), BadWitness, False),
    ],
    ids=[
        "count + 1",
        "a wire more",
        "of the other curve",
        "of another circuit",
        "wrong magic",
        "a value short",
        "cut",
        "empty",
        "wire 0 not one",
        "public value + r",
        "private value + r",
        "a value above r",
        "a wire wrong",
    ],
)
def test_a_bad_witness_is_refused(
    daemon: Daemon, tmp_path: Path, data: bytes, error: type[CuzkdError], before_any_work: bool
) -> None:
    """One that cannot be the circuit's is refused before the job is accepted, the others by synthesis."""
    path = tmp_path / "bad.wtns"
    path.write_bytes(data)
    jobs = len(daemon.status().jobs)
    with daemon.client() as client, pytest.raises(error, match=r"bad\.wtns") as caught:
        client.prove(CASE.zkey, [path], r1cs=CASE.r1cs)
    assert type(caught.value) is error
    assert len(daemon.status().jobs) == (jobs if before_any_work else jobs + 1)
