"""A child's process in the event loop: what it sends is heard, what it is sent is written, its death is seen."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Callable

from cuzkd.child import Process
from cuzkd.errors import BadRequest, BootFailed, CuzkdError, VersionMismatch
from cuzkd.ipc.channel import ChannelClosed
from cuzkd.ipc.messages import Message

_LAST_READS = 1000

_log = logging.getLogger(__name__)


class Line:
    """Watches the process's pidfd, which calls `died`, and its channel, whose messages go to `heard`.

    A process that breaks the protocol is killed: `died` tells of its end as of any other.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        process: Process,
        heard: Callable[[Message], None],
        died: Callable[[], None],
    ) -> None:
        self.process = process
        self._loop = loop
        self._heard = heard
        loop.add_reader(process.pidfd, died)
        loop.add_reader(process.channel.fileno(), self._readable)

    def write(self) -> None:
        """Write what is queued, now and as the process takes it."""
        channel = self.process.channel
        try:
            channel.on_writable()
        except ChannelClosed:
            self._loop.remove_writer(channel.fileno())
        except CuzkdError as error:
            # in-flight descriptors are the one thing that a living child can run out of
            self._loop.remove_writer(channel.fileno())
            self._kill(str(error))
        else:
            if channel.wants_write:
                self._loop.add_writer(channel.fileno(), self.write)
            else:
                self._loop.remove_writer(channel.fileno())

    def read_rest(self) -> None:
        """Read to the end of the stream; a whole frame takes several reads, so an empty one ends nothing."""
        try:
            for _ in range(_LAST_READS):
                self._read()
        except (ChannelClosed, CuzkdError):
            return

    def close(self) -> None:
        """Watch nothing of the process any more."""
        self._loop.remove_reader(self.process.pidfd)
        self._loop.remove_reader(self.process.channel.fileno())
        self._loop.remove_writer(self.process.channel.fileno())

    def _readable(self) -> None:
        """Read once; a channel that ends is left alone, for the pidfd tells of the death."""
        try:
            self._read()
        except ChannelClosed:
            self._loop.remove_reader(self.process.channel.fileno())
        except (BadRequest, VersionMismatch, BootFailed) as error:
            self._loop.remove_reader(self.process.channel.fileno())
            self._kill(f"it broke the protocol: {error}")

    def _read(self) -> None:
        for received in self.process.receive():
            received.descriptors.close()
            self._heard(received.message)

    def _kill(self, why: str) -> None:
        _log.error("the %s process is replaced: %s", self.process.worker.name, why)
        self.process.kill(signal.SIGKILL)
