"""What was used last is kept: a few things by name, of which the least recently used one leaves first."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

_T = TypeVar("_T")


class Recent(Generic[_T]):
    """At most `capacity` things by digest; `drop` ends one that leaves."""

    def __init__(self, drop: Callable[[_T], None] = lambda _: None, capacity: int = 8) -> None:
        self._drop = drop
        self._capacity = capacity
        self._open: OrderedDict[str, _T] = OrderedDict()

    def get(self, digest: str, make: Callable[[], _T]) -> _T:
        """The thing, made now if it was not there; room for it is made before."""
        thing = self._open.get(digest)
        if thing is None:
            if len(self._open) >= self._capacity:
                self.forget(next(iter(self._open)))
            thing = self._open[digest] = make()
        self._open.move_to_end(digest)
        return thing

    def forget(self, digest: str | None) -> None:
        """Drop the thing, if there is one."""
        if digest is not None and digest in self._open:
            self._drop(self._open.pop(digest))

    @property
    def held(self) -> tuple[str, ...]:
        """The digests of what is there, the least recently used one first."""
        return tuple(self._open)

    def __contains__(self, digest: str) -> bool:
        return digest in self._open
