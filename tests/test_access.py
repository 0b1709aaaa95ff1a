"""Who may come in by which socket, and as what."""

from __future__ import annotations

import grp
import os
from pathlib import Path

import pytest

from cuzkd.access import Access
from cuzkd.config import Access as Configured
from cuzkd.errors import Forbidden
from cuzkd.ipc.peer import Peer
from cuzkd.listener import group_of, listen

CLIENTS, OPERATORS, OPERATOR = 50, 60, 1001
ACCESS = Access(CLIENTS, frozenset({0, OPERATOR}), OPERATORS)


def peer(uid: int, gid: int = 100, *groups: int) -> Peer:
    return Peer(1, uid, gid, frozenset(groups))


@pytest.mark.parametrize("control", [False, True])
@pytest.mark.parametrize("uid", [0, OPERATOR])
def test_operators_come_by_both_sockets_whatever_their_groups(uid: int, control: bool) -> None:
    assert ACCESS.admit(peer(uid), control=control)


@pytest.mark.parametrize(
    "client", [peer(7, CLIENTS), peer(7, 100, CLIENTS), peer(7, 100, 3, CLIENTS, OPERATORS)]
)
def test_members_of_the_clients_group_come_as_clients(client: Peer) -> None:
    assert not ACCESS.admit(client, control=False)


def test_others_are_refused_by_uid() -> None:
    with pytest.raises(Forbidden, match="uid 7 is not in the group"):
        ACCESS.admit(peer(7, 100, OPERATORS), control=False)
    with pytest.raises(Forbidden, match="uid 7 is no operator"):
        ACCESS.admit(peer(7, CLIENTS), control=True)


def test_the_control_sockets_group_is_of_operators() -> None:
    assert ACCESS.admit(peer(7, 100, OPERATORS), control=True)
    with pytest.raises(Forbidden):
        Access(None, frozenset(), None).admit(peer(7, 100, OPERATORS), control=True)


def test_without_a_group_everybody_comes_whom_the_mode_lets_in() -> None:
    assert not Access.of(Configured(None, ())).admit(peer(7), control=False)


def test_the_daemons_own_user_is_an_operator() -> None:
    assert Access.of(Configured(None, (OPERATOR,))).operators == {0, os.geteuid(), OPERATOR}


def test_a_configured_group_is_looked_up_and_one_that_is_gone_lets_nobody_in() -> None:
    own = grp.getgrgid(os.getgid())
    assert Access.of(Configured(own.gr_name, ())).group == own.gr_gid
    gone = Access(Access.of(Configured("no-such-group", ())).group, frozenset())
    with pytest.raises(Forbidden):
        gone.admit(peer(7, 0, *range(100)), control=False)


def test_a_sockets_group_counts_as_far_as_its_mode_says(tmp_path: Path) -> None:
    for mode, counts in ((0o660, True), (0o600, False)):
        with listen(tmp_path / "socket", mode) as sock:
            assert group_of(sock) == (os.stat(tmp_path / "socket").st_gid if counts else None)
