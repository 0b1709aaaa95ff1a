"""A peer of one connection after the other: a real socket in a thread that says what a broken daemon might say."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from cuzkd.ipc.channel import BlockingChannel
from cuzkd.ipc.messages import Failure, Message
from cuzkd.ipc.requests import Attach, Attached, Hello, Welcome

Peer = Callable[[BlockingChannel], None]
Serve = Callable[..., Path]
LIMIT_S = 20


@contextmanager
def serving(folder: Path) -> Iterator[Serve]:
    """Yields what starts peers, one a connection; their failed assertions fail the block.

    The connections come one after the other, and nobody listens any more when the last one was taken.
    """
    failures: list[BaseException] = []
    threads: list[threading.Thread] = []

    def start(*peers: Peer, name: str = "peer.sock") -> Path:
        path = folder / name
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(path))
        listener.listen()

        def run() -> None:
            with listener:
                for left, peer in zip(range(len(peers), 0, -1), peers, strict=True):
                    channel = BlockingChannel(listener.accept()[0])
                    if left == 1:
                        listener.close()
                    try:
                        peer(channel)
                    except BaseException as error:
                        failures.append(error)
                    finally:
                        channel.close()

        threads.append(threading.Thread(target=run, daemon=True))
        threads[-1].start()
        return path

    yield start
    for thread in threads:
        thread.join(LIMIT_S)
        assert not thread.is_alive()
    assert not failures


def welcome(channel: BlockingChannel) -> None:
    message, request_id, _ = channel.receive(LIMIT_S)
    assert isinstance(message, Hello)
    channel.send(Welcome(1, "test"), request_id)


def request(channel: BlockingChannel) -> tuple[Message, int, list[bytes]]:
    """The next request that is no Attach, its id, and the first bytes of every file attached before it."""
    held: list[bytes] = []
    while True:
        message, request_id, descriptors = channel.receive(LIMIT_S)
        if not isinstance(message, Attach):
            return message, request_id, held
        with descriptors:
            held.extend(os.pread(descriptor, 16, 0) for descriptor in descriptors)
        channel.send(Attached(len(held)), request_id)


def fail(channel: BlockingChannel, request_id: int, code: str, retry_after_s: float | None = None) -> None:
    channel.send(Failure(code, f"because of {code}", "do something else", False, retry_after_s), request_id)


def answering(due: Message, *answers: Message) -> Peer:
    """A peer that is asked one thing, gives these answers, and hangs up."""

    def peer(channel: BlockingChannel) -> None:
        welcome(channel)
        message, request_id, _ = request(channel)
        assert message == due
        for answer in answers:
            channel.send(answer, request_id)

    return peer
