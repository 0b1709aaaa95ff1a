"""How much is checked of a key's points is the client's choice, is kept with the circuit, and is never overstated."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from containers import Container, patch
from daemon import Daemon, running
from fixtures import bundled
from points import outside_subgroup

from cuzkd.client import PointChecks
from cuzkd.errors import BadFile
from cuzkd.kernels.curve import Group, encode

CASE = bundled("multiplier_bls12381")
SECTION_A = 5


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    with running(tmp_path / "run") as daemon:
        yield daemon


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A key with a point that is on the curve, but not of order r."""
    container = Container.parse(CASE.zkey.read_bytes())
    point = encode(CASE.curve, Group.G1, [outside_subgroup(CASE.curve, Group.G1, seed=1)]).tobytes()
    path = tmp_path / "outside.zkey"
    path.write_bytes(
        container.with_section(SECTION_A, patch(container.section(SECTION_A), len(point), point)).build()
    )
    return path


def test_a_point_outside_the_subgroup_passes_only_where_that_is_not_asked_for(
    daemon: Daemon, outside: Path
) -> None:
    says = r"outside\.zkey: section 5 .*point 1 is not in the subgroup"
    with daemon.client() as client:
        with pytest.raises(BadFile, match=says):
            client.add_circuit("full", outside)
        assert client.add_circuit("curve", outside, points="curve").points is PointChecks.CURVE
        for _ in range(2):
            with pytest.raises(BadFile, match=says):
                client.add_circuit("full", outside)
            with pytest.raises(BadFile, match=says):
                client.prove(outside, [CASE.witness])
        assert [circuit.name for circuit in client.circuits()] == ["curve"]


def test_less_than_was_checked_is_found_and_more_is_made_up_for(daemon: Daemon) -> None:
    with daemon.client() as client:
        first = client.add_circuit("c", CASE.zkey, points="curve")
        assert (first.found, first.points) == (False, PointChecks.CURVE)
        assert client.add_circuit("c", CASE.zkey, points="curve").found
        full = client.add_circuit("c", CASE.zkey)
        assert (full.found, full.points) == (False, PointChecks.FULL)
        again = client.add_circuit("c", CASE.zkey, points="curve")
        assert (again.found, again.points) == (True, PointChecks.FULL)
        assert len(client.prove(circuit="c", witnesses=[CASE.witness]).proofs) == 1
