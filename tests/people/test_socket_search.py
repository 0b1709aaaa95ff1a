"""Where a client looks for a daemon, and the places that it does not trust."""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from cuzkd import sockets
from cuzkd.errors import DaemonUnreachable


@pytest.fixture(autouse=True)
def _no_daemon_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUZKD_SOCKET", raising=False)
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)


def test_a_named_socket_is_the_only_one_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUZKD_SOCKET", "/from/environment")
    assert sockets.sockets_to_try("/named") == ["/named"]


def test_the_environment_comes_before_the_usual_places(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUZKD_SOCKET", "/from/environment")
    assert sockets.sockets_to_try(None) == ["/from/environment"]


def test_the_usual_places_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/run/user/7")
    assert sockets.sockets_to_try(None) == [
        "/run/cuzkd/cuzkd.sock",
        "/run/user/7/cuzkd/cuzkd.sock",
        f"/tmp/cuzkd-{os.geteuid()}/cuzkd.sock",
    ]


def test_every_place_that_was_tried_is_in_the_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    places = [str(tmp_path / "one.sock"), str(tmp_path / "two.sock")]
    monkeypatch.setattr(sockets, "sockets_to_try", lambda _: places)
    with pytest.raises(DaemonUnreachable) as caught:
        sockets.connect(None)
    assert all(place in caught.value.message for place in places)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """This user's folder in /tmp, moved into the test's, with a socket that is listened at."""
    real = tmp_path / "real"
    real.mkdir(0o700)
    path = tmp_path / "cuzkd"
    path.symlink_to(real)
    monkeypatch.setattr(sockets, "_own_temporary", lambda: str(path))
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(real / "cuzkd.sock"))
        listener.listen()
        yield path


def test_a_link_in_place_of_the_folder_in_tmp_is_not_followed(folder: Path) -> None:
    """Witnesses are secret: they go to no socket that somebody else could have put there."""
    with pytest.raises(DaemonUnreachable, match="not this user's own"):
        sockets.connect(folder / "cuzkd.sock")


def test_the_folder_in_tmp_is_used_only_while_nobody_else_may_write_in_it(folder: Path) -> None:
    real = folder.readlink()
    folder.unlink()
    real.rename(folder)
    sockets.connect(folder / "cuzkd.sock").close()
    folder.chmod(0o777)
    with pytest.raises(DaemonUnreachable, match="not this user's own"):
        sockets.connect(folder / "cuzkd.sock")


def listening(path: Path) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen(0)
    return listener


def peer_name(connection: socket.socket) -> str:
    with connection:
        return Path(connection.getpeername()).name


def test_operators_take_their_own_socket_where_there_is_one(tmp_path: Path) -> None:
    with listening(tmp_path / "cuzkd.sock"), listening(tmp_path / "cuzkd-ctl.sock"):
        assert peer_name(sockets.connect(tmp_path / "cuzkd.sock", control=True)) == "cuzkd-ctl.sock"
        assert peer_name(sockets.connect(tmp_path / "cuzkd.sock")) == "cuzkd.sock"


def test_without_an_operators_socket_the_job_socket_is_taken(tmp_path: Path) -> None:
    with listening(tmp_path / "cuzkd.sock"):
        assert peer_name(sockets.connect(tmp_path / "cuzkd.sock", control=True)) == "cuzkd.sock"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may be another user")
def test_an_operators_socket_that_this_user_may_not_use_is_passed_over() -> None:
    with (
        tempfile.TemporaryDirectory() as name,
        listening(Path(name) / "cuzkd.sock"),
        listening(Path(name) / "cuzkd-ctl.sock"),
    ):
        Path(name).chmod(0o755)
        Path(name, "cuzkd.sock").chmod(0o666)
        Path(name, "cuzkd-ctl.sock").chmod(0o600)
        os.seteuid(65534)
        try:
            connection = sockets.connect(f"{name}/cuzkd.sock", control=True)
        finally:
            os.seteuid(0)
        assert peer_name(connection) == "cuzkd.sock"


def test_an_operator_reaches_a_daemon_whose_job_socket_takes_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who comes by the job socket is told so in the end; the kernel would have them wait for ever."""
    monkeypatch.setattr(sockets, "_BACKLOG_WAIT_S", 1)
    flood = [socket.socket(socket.AF_UNIX) for _ in range(8)]
    with listening(tmp_path / "cuzkd.sock"), listening(tmp_path / "cuzkd-ctl.sock"):
        with contextlib.suppress(BlockingIOError):
            for connection in flood:
                connection.setblocking(False)
                connection.connect(str(tmp_path / "cuzkd.sock"))
        with pytest.raises(DaemonUnreachable, match="too many clients wait"):
            sockets.connect(tmp_path / "cuzkd.sock")
        assert peer_name(sockets.connect(tmp_path / "cuzkd.sock", control=True)) == "cuzkd-ctl.sock"
        for connection in flood:
            connection.close()


def test_who_may_not_use_the_socket_is_not_told_to_start_the_daemon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: str) -> socket.socket:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(sockets, "_connect", refuse)  # root may use any socket
    with pytest.raises(DaemonUnreachable, match="Permission denied") as caught:
        sockets.connect(tmp_path / "cuzkd.sock")
    assert "group" in caught.value.advice
    assert "start" not in caught.value.advice
