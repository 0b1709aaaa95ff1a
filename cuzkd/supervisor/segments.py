"""The segments that this daemon has made: created and unlinked here and nowhere else."""

from __future__ import annotations

import logging

from cuzkd.ipc.segment import create_segment, sweep_segments, unlink_segment

_log = logging.getLogger(__name__)


class Segments:
    """Creates by name and unlinks by name; at both ends of the daemon's life none is left."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix

    def create(self, name: str, size_bytes: int) -> None:
        """Make a segment; the gpu process gives it memory. Raises what `create_segment` does."""
        create_segment(name, size_bytes)

    def unlink(self, name: str) -> None:
        """Remove a segment's name; its memory goes with the last mapping."""
        unlink_segment(name)

    def sweep(self) -> None:
        """Unlink every segment of this runtime directory's daemons; only under the instance lock."""
        swept = sweep_segments(self._prefix)
        if swept:
            _log.info("removed %d shared-memory segments", len(swept))
