"""The configuration in force: loaded at start, loaded again on SIGHUP or by an operator; taken whole or not at all."""

from __future__ import annotations

import logging
from collections.abc import Callable

from cuzkd.config import Changes, Config
from cuzkd.errors import BadConfig
from cuzkd.logs import Event, about

_log = logging.getLogger(__name__)


class Configuration:
    """What is in force is `now`: whoever follows changes asks for it each time, and keeps no copy.

    `load` reads the file and the command line anew, or raises `BadConfig`.
    """

    def __init__(self, now: Config, load: Callable[[], Config]) -> None:
        self.now = now
        self._load = load

    def reload(self) -> Changes:
        """Take the values that count at once; the others are told, and count from the next start on.

        `BadConfig` when what is there cannot be used: then nothing has changed.
        """
        try:
            new = self._load()
        except BadConfig as error:
            _log.error("the configuration stays as it is: %s", error, extra=about(Event.NOT_RELOADED))
            raise
        changes = self.now.changes_to(new)
        self.now = self.now.with_live_of(new)
        _log.info("the configuration was read again: %s", _told(changes), extra=about(Event.RELOADED))
        return changes


def _told(changes: Changes) -> str:
    told = []
    if changes.live:
        told.append(f"changed {', '.join(changes.live)}")
    if changes.at_restart:
        told.append(f"from the next start on {', '.join(changes.at_restart)}")
    return "; ".join(told) or "nothing changed"
