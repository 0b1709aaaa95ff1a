"""Where a client looks for a daemon, and the places that it does not trust."""

from __future__ import annotations

import os
import socket
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
