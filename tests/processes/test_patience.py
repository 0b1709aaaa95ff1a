"""How long a child may be at the same point: by the phase and the circuit's size; each step begins it anew."""

from __future__ import annotations

import pytest

from cuzkd.config import Config
from cuzkd.ipc.orders import Heartbeat
from cuzkd.model import CircuitShape, Curve, PartitionId, Phase
from cuzkd.supervisor.patience import SILENCE_S, Doing, Patience, Watch
from cuzkd.supervisor.slots import LONGEST_PAUSE_S, pause_s

PARTITION = PartitionId(7, 3)
PROVING = [Phase.LOAD, Phase.UPLOAD, Phase.QUOTIENT, Phase.MSM, Phase.FINISH, Phase.VERIFY]


def patience(log_domain: int = 10, *, known: bool = True) -> Patience:
    limits = Config.load(
        overrides={"limits.phase_time": "60s", "limits.read_stall": "20s", "limits.witness_time": "90s"}
    ).limits
    rows = 1 << log_domain
    shape = CircuitShape(Curve.BN254, rows, rows, 1, log_domain)
    return Patience(limits, 1 << 30, lambda partition: shape if known and partition == PARTITION else None)


@pytest.mark.parametrize("phase", PROVING)
def test_small_circuits_have_the_phase_time_and_large_ones_far_more(phase: Phase) -> None:
    doing = Doing(phase, PARTITION)
    small, million, large = (patience(log).seconds(doing) for log in (10, 20, 27))
    assert 60 <= small < 61
    assert million == 3 * 60
    assert large > 4 * 3600


def test_synthesis_has_the_witness_program_s_time_besides() -> None:
    synthesis, other = (patience().seconds(Doing(p, PARTITION)) for p in (Phase.SYNTHESIS, Phase.MSM))
    assert synthesis == other + 90


def test_a_file_that_does_not_come_has_a_time_of_its_own() -> None:
    assert patience().seconds(Doing(Phase.READ, ticket=4)) == 20
    assert patience().seconds(Doing(Phase.KEEP, ticket=4)) == 30 * 60


def test_a_segment_is_prepared_in_a_time_by_the_pool_s_size() -> None:
    assert patience().seconds(Doing(Phase.PREPARE)) == 60 * (1 + (1 << 30) / 128 / (1 << 19))


def test_a_partition_that_nobody_knows_has_long() -> None:
    assert patience(known=False).seconds(Doing(Phase.MSM, PARTITION)) == 30 * 60


def heard(watch: Watch, now: float, doing: Doing | None, steps: int) -> None:
    watch.hear(now)
    watch.beat(now, doing, steps)


def test_every_step_and_every_phase_begins_the_time_anew() -> None:
    watch, msm = Watch(0.0), Doing(Phase.MSM, PARTITION)
    for now, doing, steps in ((1.0, msm, 5), (60.0, msm, 6), (119.0, Doing(Phase.FINISH, PARTITION), 6)):
        heard(watch, now, doing, steps)
        assert watch.overdue(now, patience()) is None
    for now in range(120, 180):
        heard(watch, float(now), Doing(Phase.FINISH, PARTITION), 6)
        assert watch.overdue(float(now), patience()) is None
    heard(watch, 180.0, Doing(Phase.FINISH, PARTITION), 6)
    told = watch.overdue(180.0, patience())
    assert told is not None
    assert told.startswith("no progress in finish for 60")


def test_a_child_with_nothing_to_do_only_has_to_beat() -> None:
    watch = Watch(0.0)
    heard(watch, 10_000.0, None, 3)
    assert watch.overdue(10_000.0 + SILENCE_S, patience()) is None
    assert watch.overdue(10_001.0 + SILENCE_S, patience()) == "silent for 30 s"


def test_what_is_done_is_not_overdue() -> None:
    watch = Watch(0.0)
    heard(watch, 1.0, Doing(Phase.MSM, PARTITION), 3)
    watch.done(2.0)
    watch.hear(100.0)
    assert watch.overdue(100.0, patience()) is None


def test_nobody_is_blamed_for_what_was_not_listened_to() -> None:
    watch = Watch(0.0)
    heard(watch, 1.0, Doing(Phase.MSM, PARTITION), 3)
    watch.forgive(1000.0)
    assert watch.overdue(1001.0, patience()) is None


def test_a_heartbeat_says_what_is_done_or_that_nothing_is() -> None:
    assert Doing.of(Heartbeat(1, None, None, None, 9)) is None
    assert Doing.of(Heartbeat(1, PARTITION, None, Phase.MSM, 9)) == Doing(Phase.MSM, PARTITION)
    assert Doing.of(Heartbeat(1, None, 4, Phase.READ, 9)) == Doing(Phase.READ, ticket=4)


def test_pauses_double_up_to_a_limit() -> None:
    pauses = [pause_s(failures) for failures in range(-1, 2000)]
    assert pauses[:5] == [0.0, 0.0, 0.1, 0.2, 0.4]
    assert pauses[-1] == max(pauses) == LONGEST_PAUSE_S
