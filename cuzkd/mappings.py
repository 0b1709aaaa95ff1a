"""The segments that a process has mapped: each once, kept until the supervisor says to forget it."""

from __future__ import annotations

from cuzkd.errors import InternalError
from cuzkd.ipc.segment import Segment


class Mappings:
    """Mapped segments by name."""

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self._segments: dict[str, Segment] = {}

    def get(self, name: str) -> Segment:
        """A segment that is mapped already; `InternalError` otherwise."""
        segment = self._segments.get(name)
        if segment is None:
            raise InternalError(f"segment {name} is not mapped")
        return segment

    def map(self, name: str, size_bytes: int, *, allocate: bool = False) -> Segment:
        """Map a segment of at least `size_bytes` and touch its pages; nothing if it is mapped already.

        `allocate` also has the kernel allocate the pages: `ResourceExhausted` when there are not enough.
        """
        segment = self._segments.get(name)
        if segment is not None:
            return segment
        segment = Segment(name, size_bytes)
        try:
            if allocate:
                segment.allocate()
            segment.touch(self._threads)
        except BaseException:
            segment.close()
            raise
        self._segments[name] = segment
        return segment

    def drop(self, name: str) -> None:
        """Unmap a segment; nothing if it is not mapped."""
        segment = self._segments.pop(name, None)
        if segment is not None:
            segment.close()

    def __contains__(self, name: str) -> bool:
        return name in self._segments
