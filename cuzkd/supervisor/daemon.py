"""From a configuration to a running daemon and back: locks, sweeps, the loop, and nothing left behind."""

from __future__ import annotations

import asyncio
import contextlib
import faulthandler
import logging
import os
import resource
import signal
import socket
from collections.abc import Callable, Iterator
from dataclasses import replace

from cuzkd import logs, sd
from cuzkd.config import Config
from cuzkd.supervisor import backend, directories
from cuzkd.supervisor.configuration import Configuration
from cuzkd.supervisor.core import SIGNALS, Supervisor
from cuzkd.supervisor.directories import Directories
from cuzkd.supervisor.locks import take_children_lock, take_instance_lock
from cuzkd.supervisor.segments import Segments

_log = logging.getLogger(__name__)


def run(load: Callable[[], Config]) -> int:
    """Run the daemon in the foreground until it is asked to stop: 0 then. `load` reads the configuration.

    Raises `BadConfig`, `AlreadyRunning` (nothing was touched) or `BootFailed`. Call from the main thread:
    children end with it.
    """
    logs.setup("supervisor")
    faulthandler.enable()
    os.umask(0o077)
    # witnesses are secret, and a core file of any process of the daemon would hold some
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # held back until the loop handles them, and again when it has ended: then this process is about to
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    config = load()
    chosen = backend.choose(config.backend)
    places = directories.prepare(config.runtime_dir, config.state_dir)
    config = replace(config, runtime_dir=places.runtime, state_dir=places.state)
    adopted = sd.adopt_sockets()
    with _owned(places) as (children_lock, segments):
        asyncio.run(_main(Configuration(config, load), places, chosen, children_lock, segments, adopted))
    _log.info("stopped")
    return 0


async def _main(
    configuration: Configuration,
    places: Directories,
    chosen: backend.Choice,
    children_lock: int,
    segments: Segments,
    adopted: dict[str, socket.socket],
) -> None:
    supervisor = Supervisor(configuration, places, chosen, children_lock, segments, adopted)
    try:
        await supervisor.main()
    finally:
        for sock in adopted.values():
            sock.close()


@contextlib.contextmanager
def _owned(places: Directories) -> Iterator[tuple[int, Segments]]:
    """Hold both directories, the runtime directory swept; when the block ends, nothing is left in that."""
    with contextlib.ExitStack() as held:
        for lock in (places.instance_lock, places.state_lock):
            held.callback(os.close, take_instance_lock(lock))
        children = take_children_lock(places.children_lock)
        held.callback(os.close, children)
        segments = Segments(places.segment_prefix)
        segments.sweep()
        directories.empty_spool(places)
        try:
            yield children, segments
        finally:
            segments.sweep()
            directories.remove_spool(places)
