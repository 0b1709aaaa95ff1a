"""Descriptors over real sockets: each arrives with its own frame, close-on-exec, and none ever leaks."""

import fcntl
import os
import resource
import socket
from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cuzkd.errors import BadRequest, InternalError, ResourceExhausted
from cuzkd.ipc import codec
from cuzkd.ipc.channel import BlockingChannel, ChannelClosed, NonBlockingChannel
from cuzkd.ipc.descriptors import Descriptors
from cuzkd.ipc.frames import Header
from cuzkd.ipc.orders import Compile
from cuzkd.ipc.requests import Attach, Attached, StatusRequest
from tests.ipc.helpers import contents, memfds, no_fd_growth, open_fds, send_raw


def attach(count: int) -> Attach:
    return Attach(tuple(f"file {index}" for index in range(count)))


def frame(count: int, declared: int | None = None) -> bytes:
    """An `Attach` of `count` names that declares `declared` descriptors."""
    return codec.encode(attach(count), descriptors=count if declared is None else declared)


@pytest.fixture
def pair() -> Iterator[tuple[BlockingChannel, socket.socket]]:
    with no_fd_growth():
        left, right = socket.socketpair()
        channel = BlockingChannel(left)
        try:
            yield channel, right
        finally:
            channel.close()
            right.close()


@pytest.mark.parametrize("count", [1, 2, 64])
def test_descriptors_arrive_with_their_frame_in_order(pair, count: int) -> None:
    channel, other = pair
    with memfds(count) as fds:
        BlockingChannel(other).send(attach(count), 3, fds)
        message, request_id, descriptors = channel.receive()
        with descriptors:
            assert (message, request_id) == (attach(count), 3)
            assert contents(list(descriptors)) == list(range(count))
            assert not set(descriptors) & set(fds)
            assert all(fcntl.fcntl(fd, fcntl.F_GETFD) & fcntl.FD_CLOEXEC for fd in descriptors)


def test_frames_that_arrive_back_to_back_keep_their_own_descriptors(pair) -> None:
    """Bytes before the descriptors' frame may come in the same read; those after it may not steal them."""
    channel, other = pair
    with memfds(3) as fds:
        send_raw(other, codec.encode(StatusRequest()) * 2)
        send_raw(other, frame(1), fds[:1])
        send_raw(other, codec.encode(StatusRequest()))
        send_raw(other, frame(2), fds[1:])
        received = [channel.receive() for _ in range(5)]
        assert [contents(list(each.descriptors)) for each in received] == [[], [], [0], [], [1, 2]]
        for each in received:
            each.descriptors.close()


def test_one_write_of_several_frames_gives_the_descriptors_to_the_one_that_declares_them(pair) -> None:
    channel, other = pair
    status = codec.encode(StatusRequest())
    with memfds(2) as fds:
        send_raw(other, status + frame(2) + status, fds)
        received = [channel.receive() for _ in range(3)]
        assert [len(each.descriptors) for each in received] == [0, 2, 0]
        received[1].descriptors.close()


@settings(max_examples=60, deadline=None)
@given(
    counts=st.lists(st.integers(0, 3), min_size=1, max_size=6),
    cuts=st.lists(st.integers(1, 60), min_size=1, max_size=10),
)
def test_binding_does_not_depend_on_how_the_stream_is_cut(counts: list[int], cuts: list[int]) -> None:
    left, right = socket.socketpair()
    channel = NonBlockingChannel(left)
    found: list[list[int]] = []

    def drain() -> None:
        for received in channel.on_readable():
            with received.descriptors:
                found.append(contents(list(received.descriptors)))

    with right, no_fd_growth(), memfds(3) as fds:
        for turn, count in enumerate(counts):
            data, carried = frame(count), fds[:count]
            while data:
                cut = cuts[turn % len(cuts)]
                send_raw(right, data[:cut], carried)
                data, carried = data[cut:], []
                if cut % 2:
                    drain()
        while len(found) < len(counts):
            drain()
    channel.close()
    assert found == [list(range(count)) for count in counts]


@pytest.mark.parametrize(
    ("data", "count", "why"),
    [
        (frame(1), 0, "declares 1 descriptors, came with 0"),
        (frame(2), 1, "declares 2 descriptors, came with 1"),
        (frame(1), 2, "declares 1 descriptors, came with 2"),
        (frame(1, declared=0), 1, "came with a frame that declares none"),
        (codec.encode(StatusRequest()), 64, "came with a frame that declares none"),
        (Header(Compile.TYPE, 40, descriptors=2).encode(), 2, "2 descriptors, the limit is 1"),
        (Header(Attach.TYPE, 40, descriptors=65).encode(), 64, "65 descriptors, the limit is 64"),
        (Header(Attach.TYPE, 0, descriptors=2).encode(), 2, "the payload ends early"),
        (b"GET / HTTP/1.1\r\n", 2, "this is no frame"),
    ],
)
def test_descriptors_that_no_frame_may_have_are_closed_and_refused(
    pair, data: bytes, count: int, why: str
) -> None:
    channel, other = pair
    with memfds(count) as fds:
        send_raw(other, data, fds)
        before = open_fds()
        with pytest.raises(BadRequest, match=why):
            channel.receive(timeout_s=5)
        assert open_fds() == before


@pytest.mark.parametrize("position", [1, 8, 16, 20])
def test_descriptors_that_come_inside_a_frame_are_refused_before_its_end(pair, position: int) -> None:
    channel, other = pair
    data = frame(1, declared=0)
    with memfds(1) as fds:
        send_raw(other, data[:position])
        with pytest.raises(TimeoutError):
            channel.receive(timeout_s=0.01)
        send_raw(other, data[position : position + 1], fds)
        with pytest.raises(BadRequest, match="came with a frame that declares none"):
            channel.receive(timeout_s=5)


def test_more_descriptors_than_fit_close_all_that_arrived(pair) -> None:
    channel, other = pair
    with memfds(65) as fds:
        send_raw(other, frame(64), fds)
        before = open_fds()
        with pytest.raises(BadRequest, match="more than 64 descriptors"):
            channel.receive(timeout_s=5)
        assert open_fds() == before


def test_a_process_that_is_out_of_descriptors_says_so_and_keeps_none(pair) -> None:
    """The kernel reports this as cut control data too, but the peer did nothing wrong."""
    channel, other = pair
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    with memfds(8) as fds:
        send_raw(other, frame(8), fds)
        before = open_fds()
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(fds) + 4, limits[1]))
        try:
            with pytest.raises(ResourceExhausted, match="out of file descriptors"):
                channel.receive(timeout_s=5)
            with pytest.raises(ResourceExhausted, match="out of file descriptors"):
                Descriptors.duplicate(fds * 2)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        assert open_fds() == before


def test_a_stream_that_ends_inside_a_frame_leaves_no_descriptor(pair) -> None:
    channel, other = pair
    with memfds(2) as fds:
        send_raw(other, frame(2)[:-1], fds)
        other.close()
        with pytest.raises(BadRequest, match="in the middle"):
            channel.receive(timeout_s=5)


def test_closing_a_channel_closes_what_was_received_and_not_handed_out(pair) -> None:
    channel, other = pair
    with memfds(2) as fds:
        send_raw(other, codec.encode(Attached(1)) + frame(2)[:-1], fds)
        assert channel.receive().message == Attached(1)
        channel.close()


def test_a_queue_holds_duplicates_until_the_frame_is_sent_or_the_channel_closed() -> None:
    left, right = socket.socketpair()
    with right, no_fd_growth():
        channel = NonBlockingChannel(left)
        with memfds(2) as fds:
            channel.queue(attach(2), fds=fds)
            channel.queue(attach(1), fds=fds[1:])
        channel.on_writable()
        peer = BlockingChannel(right)
        for expected in ([0, 1], [1]):
            with peer.receive().descriptors as descriptors:
                assert contents(list(descriptors)) == expected
        with memfds(1) as fds:
            channel.queue(attach(1), fds=fds)
        channel.close()
        with pytest.raises(ChannelClosed):
            peer.receive()


def test_a_refused_send_leaves_the_senders_descriptors_alone(pair) -> None:
    channel, _ = pair
    with memfds(65) as fds:
        with pytest.raises(InternalError, match="65 descriptors, the limit is 64"):
            channel.send(attach(65), 0, fds)
        assert contents(fds) == list(range(65))


def _own(fds: Sequence[int]) -> Descriptors:
    return Descriptors.duplicate(fds)


def test_an_owner_lends_gives_away_and_closes() -> None:
    with no_fd_growth(), memfds(2) as fds:
        own = _own(fds)
        assert contents([own[0], own[1]]) == [0, 1]
        taken = own.take()
        own.close()
        assert contents(taken) == [0, 1]
        for fd in taken:
            os.close(fd)


def test_a_dropped_owner_closes_with_a_warning() -> None:
    with no_fd_growth(), memfds(1) as fds, pytest.warns(ResourceWarning, match="unclosed descriptors"):
        _own(fds)
