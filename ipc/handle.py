"""The handle: how a filled segment is named in a message, checked against the pool before any read."""

from __future__ import annotations

from cuzkd.records import record


@record
class Handle:
    """A lease on a segment: `generation` rises with every lease, so a late handle is told from a live one.

    `incarnation` is the writer's; offsets are in bytes of the vectors a, b, c, z; `size_bytes` is what the
    vectors occupy in all. The pool, not the handle, knows how large the segment is.
    """

    segment: str
    generation: int
    incarnation: int
    offsets: tuple[int, int, int, int]
    size_bytes: int
