"""Work that runs one step behind its caller: what was read is checked while the next is read."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import ParamSpec

_P = ParamSpec("_P")


class Behind:
    """Runs calls on one other thread, in order; as a context it ends when the last one has."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(max_workers=1)
        self._last: Future[None] | None = None

    def __enter__(self) -> Behind:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._thread.shutdown()

    def run(self, call: Callable[_P, None], *args: _P.args, **kwargs: _P.kwargs) -> None:
        """Start a call when the one before has ended, whose error is raised here."""
        self.wait()
        self._last = self._thread.submit(call, *args, **kwargs)

    def wait(self) -> None:
        """Wait for the last call; its error is raised here."""
        last, self._last = self._last, None
        if last is not None:
            last.result()
