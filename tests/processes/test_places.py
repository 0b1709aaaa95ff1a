"""Directories, locks and the socket's place: made safely, refused when somebody else could change them."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest
from daemon import Daemon

from cuzkd.config import Backend
from cuzkd.errors import AlreadyRunning, BadConfig
from cuzkd.listener import listen
from cuzkd.supervisor.backend import choose
from cuzkd.supervisor.directories import empty_spool, prepare
from cuzkd.supervisor.locks import take_children_lock, take_instance_lock


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_directories_are_made_with_safe_modes_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        places = prepare(tmp_path / "a" / "run", tmp_path / "state")
        empty_spool(places)
    finally:
        os.umask(before)
    assert mode(places.runtime) == (0o755 if os.geteuid() == 0 else 0o700)
    assert mode(places.spool) == 0o700


def test_fault_30_a_link_for_a_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "run").symlink_to(tmp_path / "real")
    with pytest.raises(BadConfig, match="symbolic link"):
        prepare(tmp_path / "run", tmp_path / "state")


def test_fault_30_a_directory_that_others_may_write_to_is_refused(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run").chmod(0o777)
    with pytest.raises(BadConfig, match="others may write"):
        prepare(tmp_path / "run", tmp_path / "state")


def test_fault_30_a_directory_below_one_that_everybody_may_change_is_refused(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    with pytest.raises(BadConfig, match="everybody may rename"):
        prepare(tmp_path / "open" / "run", tmp_path / "state")


@pytest.mark.parametrize("below", ["run", "a/run"])
def test_a_directory_that_cannot_be_made_is_named(tmp_path: Path, below: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(BadConfig, match=f"^{tmp_path}/file/"):
        prepare(tmp_path / "file" / below, tmp_path / "state")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory away")
def test_fault_30_somebody_elses_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    os.chown(tmp_path / "run", 65534, 65534)
    with pytest.raises(BadConfig, match="belongs to uid 65534"):
        prepare(tmp_path / "run", tmp_path / "state")


def test_fault_30_the_spool_is_emptied_without_following_links(tmp_path: Path) -> None:
    places = prepare(tmp_path / "run", tmp_path / "state")
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "file").touch()
    places.spool.symlink_to(tmp_path / "precious")
    empty_spool(places)
    assert (tmp_path / "precious" / "file").exists()
    assert list(places.spool.iterdir()) == []


def test_a_file_in_the_spools_place_is_named_and_stays(tmp_path: Path) -> None:
    places = prepare(tmp_path / "run", tmp_path / "state")
    places.spool.write_text("precious")
    with pytest.raises(BadConfig, match=f"^{places.spool}: File exists"):
        empty_spool(places)
    assert places.spool.read_text() == "precious"


def test_a_lock_that_cannot_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk has room for an empty file, and for none of a pid's bytes."""

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(BadConfig, match=f"^{tmp_path}/cuzkd.lock cannot be written: No space left"):
        take_instance_lock(tmp_path / "cuzkd.lock")


def test_fault_30_a_lock_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "cuzkd.lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(BadConfig, match="symbolic link"):
        take_instance_lock(tmp_path / "cuzkd.lock")
    assert not (tmp_path / "elsewhere").exists()


def test_the_instance_lock_names_its_holder(tmp_path: Path) -> None:
    held = take_instance_lock(tmp_path / "cuzkd.lock")
    with pytest.raises(AlreadyRunning, match=f"pid {os.getpid()}"):
        take_instance_lock(tmp_path / "cuzkd.lock")
    os.close(held)
    os.close(take_instance_lock(tmp_path / "cuzkd.lock"))


def test_waiting_for_an_earlier_daemons_children_ends(tmp_path: Path) -> None:
    held = take_children_lock(tmp_path / "children.lock")
    with pytest.raises(AlreadyRunning, match="still run"):
        take_children_lock(tmp_path / "children.lock", timeout_s=0.05)
    os.close(held)
    os.close(take_children_lock(tmp_path / "children.lock", timeout_s=0.05))


def test_only_a_dead_daemons_socket_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "cuzkd.sock"
    listen(path).close()
    listener = listen(path)
    assert mode(path) == 0o660
    listener.close()
    path.unlink()
    path.write_text("precious")
    with pytest.raises(BadConfig, match="in the way"):
        listen(path)
    assert path.read_text() == "precious"


def test_fault_30_a_file_in_the_sockets_place_stops_the_daemon_and_stays(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir(mode=0o700)
    (tmp_path / "run" / "cuzkd.sock").write_text("precious")
    daemon = Daemon(tmp_path / "run")
    assert daemon.process.wait(60) == 78
    assert (tmp_path / "run" / "cuzkd.sock").read_text() == "precious"
    assert daemon.segments() == []


def test_auto_takes_the_host_and_says_when_there_is_a_device(tmp_path: Path) -> None:
    assert choose(Backend.AUTO, tmp_path).degraded is None
    (tmp_path / "nvidia0").touch()
    assert "host backend only" in str(choose(Backend.AUTO, tmp_path).degraded)
    assert choose(Backend.HOST, tmp_path).degraded is None
