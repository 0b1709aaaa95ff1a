"""Who may connect, and who is an operator: by what the kernel says of the peer, whatever the socket's mode lets in."""

from __future__ import annotations

import grp
import os
from dataclasses import dataclass

from cuzkd.config import Access as Configured
from cuzkd.errors import Forbidden
from cuzkd.ipc.peer import Peer

_ROOT_UID = 0


@dataclass(frozen=True, slots=True)
class Access:
    """Clients have to be in `group` (None: any), operators' uids are `operators`; root and the daemon's user may all.

    On the operators' socket everybody in `operators_group` (None: nobody) is an operator.
    """

    group: int | None
    operators: frozenset[int]
    operators_group: int | None = None

    @classmethod
    def of(cls, configured: Configured, operators_group: int | None = None) -> Access:
        """What the configuration says; a group that is gone lets nobody in."""
        gid = None
        if configured.group is not None:
            try:
                gid = grp.getgrnam(configured.group).gr_gid
            except KeyError:
                gid = -1
        operators = frozenset({_ROOT_UID, os.geteuid(), *configured.operators})
        return cls(gid, operators, operators_group)

    def admit(self, peer: Peer, *, control: bool) -> bool:
        """Whether a peer of the job socket, or (`control`) of the operators', is an operator; `Forbidden`."""
        if peer.uid in self.operators:
            return True
        if control:
            if self.operators_group in peer.all_groups:
                return True
            raise Forbidden(f"uid {peer.uid} is no operator of the daemon", advice="use the job socket")
        if self.group is not None and self.group not in peer.all_groups:
            raise Forbidden(
                f"uid {peer.uid} is not in the group of the daemon's clients",
                advice="have an administrator add the user to the group of access.group, then log in again",
            )
        return False
