"""Channels over real sockets: whole messages in order, back-pressure, and the ways a stream ends."""

import fcntl
import os
import socket
import threading
from collections.abc import Iterator

import pytest

from cuzkd.errors import BadRequest, ResourceExhausted, VersionMismatch
from cuzkd.ipc import codec
from cuzkd.ipc.channel import BlockingChannel, ChannelClosed, NonBlockingChannel
from cuzkd.ipc.peer import Peer, peer_of
from cuzkd.ipc.requests import Attached, Hello, JobWait, PartitionResult, StatusRequest
from tests.ipc.helpers import no_fd_growth

BIG = PartitionResult(1, 0, b"proof", bytes(1_000_000))


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    with no_fd_growth():
        left, right = socket.socketpair()
        try:
            yield left, right
        finally:
            left.close()
            right.close()


@pytest.fixture
def blocking(pair: tuple[socket.socket, socket.socket]) -> tuple[BlockingChannel, socket.socket]:
    return BlockingChannel(pair[0]), pair[1]


@pytest.fixture
def looped(pair: tuple[socket.socket, socket.socket]) -> tuple[NonBlockingChannel, socket.socket]:
    return NonBlockingChannel(pair[0]), pair[1]


def test_messages_arrive_in_order_with_their_request_ids(blocking) -> None:
    channel, other = blocking
    peer = BlockingChannel(other)
    for number in range(20):
        peer.send(Attached(number), request_id=number)
    for number in range(20):
        message, request_id, descriptors = channel.receive()
        assert (message, request_id, len(descriptors)) == (Attached(number), number, 0)


def test_a_message_larger_than_the_sockets_buffer_is_whole_on_both_faces(looped) -> None:
    channel, other = looped
    peer = BlockingChannel(other)
    channel.queue(BIG, 5)
    echoed = []

    def echo() -> None:
        echoed.append(peer.receive())
        peer.send(echoed[0].message, 6)

    thread = threading.Thread(target=echo)
    thread.start()
    found = []
    while not found:
        channel.on_writable()
        found = list(channel.on_readable())
    thread.join()
    assert echoed[0][:2] == (BIG, 5)
    assert found[0][:2] == (BIG, 6)


def test_several_threads_may_send_on_one_channel(blocking) -> None:
    channel, other = blocking
    peer = BlockingChannel(other)
    threads = [threading.Thread(target=channel.send, args=(BIG, number)) for number in range(4)]
    for thread in threads:
        thread.start()
    assert {peer.receive().request_id for _ in threads} == set(range(4))
    for thread in threads:
        thread.join()


def test_frames_that_arrive_together_are_yielded_together(looped) -> None:
    channel, other = looped
    other.sendall(b"".join(codec.encode(Attached(number)) for number in range(3)))
    assert [received.message for received in channel.on_readable()] == [Attached(n) for n in range(3)]
    assert list(channel.on_readable()) == []


def test_a_frame_that_trickles_in_is_seen_as_begun_and_then_whole(looped) -> None:
    channel, other = looped
    frame = codec.encode(JobWait(1, None, progress=False), 9)
    assert not channel.in_frame
    for byte in frame[:-1]:
        other.sendall(bytes([byte]))
        assert list(channel.on_readable()) == []
        assert channel.in_frame
    other.sendall(frame[-1:])
    assert [received[:2] for received in channel.on_readable()] == [(JobWait(1, None, progress=False), 9)]
    assert not channel.in_frame


def test_a_receive_that_times_out_keeps_what_came(blocking) -> None:
    channel, other = blocking
    frame = codec.encode(StatusRequest(), 4)
    other.sendall(frame[:10])
    with pytest.raises(TimeoutError):
        channel.receive(timeout_s=0.01)
    other.sendall(frame[10:])
    assert channel.receive(timeout_s=5)[:2] == (StatusRequest(), 4)


@pytest.mark.parametrize("timeout_s", [1e7, 1e300, float("inf")])
def test_a_receive_may_wait_longer_than_the_system_counts(blocking, timeout_s: float) -> None:
    channel, other = blocking
    other.sendall(codec.encode(StatusRequest(), 4))
    assert channel.receive(timeout_s)[:2] == (StatusRequest(), 4)
    threading.Timer(0.05, other.sendall, [codec.encode(StatusRequest(), 5)]).start()
    assert channel.receive(timeout_s)[:2] == (StatusRequest(), 5)


def test_the_end_of_the_stream_between_frames_is_a_closed_channel(blocking) -> None:
    channel, other = blocking
    other.sendall(codec.encode(StatusRequest()))
    other.close()
    assert channel.receive().message == StatusRequest()
    with pytest.raises(ChannelClosed):
        channel.receive()


@pytest.mark.parametrize("cut", [1, 15, 16, 20])
def test_the_end_of_the_stream_inside_a_frame_is_a_breach(blocking, cut: int) -> None:
    channel, other = blocking
    other.sendall(codec.encode(JobWait(1, None, progress=False))[:cut])
    other.close()
    with pytest.raises(BadRequest, match="in the middle of a frame"):
        channel.receive()


def test_the_event_loops_face_tells_the_same_two_ends_apart(looped) -> None:
    channel, other = looped
    other.sendall(codec.encode(StatusRequest()) + b"\xc5")
    other.close()
    assert [received.message for received in channel.on_readable()] == [StatusRequest()]
    with pytest.raises(BadRequest, match="in the middle of a frame"):
        list(channel.on_readable())


def test_sending_to_a_peer_that_is_gone_says_so(pair) -> None:
    left, right = pair
    right.close()
    with pytest.raises(ChannelClosed):
        BlockingChannel(left).send(StatusRequest())
    channel = NonBlockingChannel(left)
    channel.queue(StatusRequest())
    with pytest.raises(ChannelClosed):
        channel.on_writable()


def test_a_peer_that_dies_with_unread_data_is_gone(looped) -> None:
    channel, other = looped
    channel.queue(StatusRequest())
    channel.on_writable()
    other.close()
    with pytest.raises(ChannelClosed):
        list(channel.on_readable())


def test_a_peer_that_does_not_read_fills_the_queue_to_its_limit_only(pair) -> None:
    channel = NonBlockingChannel(pair[0], max_queued_bytes=2_500_000)
    channel.queue(BIG)
    channel.queue(BIG)
    with pytest.raises(ResourceExhausted, match="a peer that does not read"):
        channel.queue(BIG)
    channel.on_writable()
    assert channel.wants_write
    assert 0 < channel.queued_bytes <= 2_500_000
    peer = BlockingChannel(pair[1])
    reader = threading.Thread(target=lambda: [peer.receive() for _ in range(2)])
    reader.start()
    while channel.wants_write:
        channel.on_writable()
    reader.join()
    assert channel.queued_bytes == 0


def test_messages_before_a_breach_are_yielded_and_nothing_after_it(looped) -> None:
    channel, other = looped
    other.sendall(codec.encode(Attached(1)) + b"GET / HTTP/1.1\r\n\r\n")
    incoming = channel.on_readable()
    assert next(incoming).message == Attached(1)
    with pytest.raises(BadRequest, match="this is no frame"):
        next(incoming)
    other.sendall(codec.encode(Attached(2)))
    with pytest.raises(BadRequest, match="this is no frame"):
        list(channel.on_readable())
    channel.queue(Attached(3))
    channel.on_writable()
    assert BlockingChannel(other).receive().message == Attached(3)


def test_a_bad_payload_is_refused_by_name(blocking) -> None:
    channel, other = blocking
    frame = bytearray(codec.encode(Hello(1, 1, "x")))
    frame[-1] = 0xFF
    other.sendall(frame)
    with pytest.raises(BadRequest, match="Hello: client: a string that is not UTF-8"):
        channel.receive()


def test_another_framing_version_is_refused(blocking) -> None:
    channel, other = blocking
    frame = bytearray(codec.encode(StatusRequest()))
    frame[2] = 2
    other.sendall(frame)
    with pytest.raises(VersionMismatch):
        channel.receive()


def test_closing_inside_the_loop_ends_the_iteration(looped) -> None:
    channel, other = looped
    other.sendall(codec.encode(Attached(1)) + codec.encode(Attached(2)))
    seen = 0
    for _ in channel.on_readable():
        seen += 1
        channel.close()
    assert seen == 1
    assert channel.fileno() == -1


def test_the_peer_is_who_the_kernel_says(pair) -> None:
    assert peer_of(pair[0]) == Peer(os.getpid(), os.geteuid(), os.getegid(), frozenset(os.getgroups()))


def test_the_faces_set_the_sockets_mode_that_they_need(pair) -> None:
    NonBlockingChannel(pair[0])
    assert fcntl.fcntl(pair[0], fcntl.F_GETFL) & os.O_NONBLOCK
    BlockingChannel(pair[0])
    assert not fcntl.fcntl(pair[0], fcntl.F_GETFL) & os.O_NONBLOCK
