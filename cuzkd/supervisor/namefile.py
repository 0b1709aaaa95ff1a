"""The registry's file: written by a thread, one version after another, so that the loop never waits for the disk."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from cuzkd.atomic import write_file
from cuzkd.errors import ResourceExhausted


class NameFile:
    """Writes versions of a file in the order in which they are given."""

    def __init__(self, loop: asyncio.AbstractEventLoop, path: Path) -> None:
        self._loop = loop
        self._path = path
        self._thread = ThreadPoolExecutor(1, "names")
        self._closed = False

    def save(self, data: bytes, saved: Callable[[ResourceExhausted | None], None]) -> None:
        """Write the file whole, then call `saved` in the loop: with an error if it could not be written."""

        def done(future: Future[None]) -> None:
            error = future.exception()
            told = None if error is None else ResourceExhausted(f"{self._path} could not be written: {error}")
            if not self._closed:
                self._loop.call_soon_threadsafe(saved, told)

        self._thread.submit(write_file, self._path, data).add_done_callback(done)

    def close(self) -> None:
        """Return when everything is written; nobody is told any more."""
        self._closed = True
        self._thread.shutdown()
