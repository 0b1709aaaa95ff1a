"""The ingest process: copies payloads into the spool and turns key files into compiled circuits."""

from __future__ import annotations

import logging
import sys
import time
from pathlib import Path

from cuzkd.circuits import circuits_dir
from cuzkd.errors import InternalError
from cuzkd.ingest.known import KnownFiles
from cuzkd.ingest.spool import copy_payload
from cuzkd.ipc.descriptors import Descriptors
from cuzkd.ipc.messages import Compile, Compiled, Failure, IngestFailed, Message, Spool, Spooled
from cuzkd.model import Role
from cuzkd.worker import Broken, Runtime, serve

_log = logging.getLogger(__name__)


class IngestHandler:
    """One order, one file, one answer."""

    device = ("", "")

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._known = KnownFiles(circuits_dir(runtime.args.state_dir))

    def handle(self, message: Message, descriptors: Descriptors) -> None:
        """Compile a key, or copy a payload."""
        if len(descriptors) != 1:
            raise InternalError(f"an order came with {len(descriptors)} descriptors")
        [fd] = descriptors
        match message:
            case Compile():
                self._compile(message, fd)
            case Spool():
                copied = copy_payload(fd, message.name, Path(message.path), message.limit_bytes)
                self._runtime.send(Spooled(message.ticket, copied.size_bytes, copied.digest))
            case _:
                raise Broken(f"{type(message).__name__} is no order for ingest")

    def refusal(self, message: Message, failure: Failure) -> Message:
        """The failure of the ticket's file."""
        match message:
            case Compile(ticket=ticket) | Spool(ticket=ticket):
                return IngestFailed(ticket, failure)
            case _:
                raise Broken(f"{type(message).__name__} failed: {failure.message}")

    def _compile(self, order: Compile, fd: int) -> None:
        begin = time.monotonic()
        threads = self._runtime.args.threads
        circuit, found = self._known.compile(fd, order.name, order.uid, threads=threads)
        _log.info(
            "%s: circuit %s %s in %.3f s",
            order.name,
            circuit.digest[:12],
            "found" if found else "compiled",
            time.monotonic() - begin,
        )
        self._runtime.send(Compiled(order.ticket, circuit, found))


if __name__ == "__main__":
    sys.exit(serve(Role.INGEST, IngestHandler))
