"""A client's file in the supervisor: held, passed on and closed, whatever its file system makes of that."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from cuzkd.attachment import Attachment
from cuzkd.errors import Refused
from cuzkd.ipc.descriptors import Descriptors


@pytest.fixture
def failing_close(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Closing works and says that it failed, as for a file whose server is gone."""
    really_close = os.close

    def close(fd: int) -> None:
        really_close(fd)
        raise OSError(errno.ENOTCONN, os.strerror(errno.ENOTCONN))

    def begin() -> None:
        monkeypatch.setattr(os, "close", close)

    return begin


def is_open(fd: int) -> bool:
    return Path(f"/proc/self/fd/{fd}").exists()


def test_an_attached_file_that_its_server_lost_is_closed_without_an_error(
    failing_close: Callable[[], None],
) -> None:
    fd = os.memfd_create("file")
    attachment = Attachment(fd, "file")
    failing_close()
    attachment.close()
    attachment.close()
    assert not is_open(fd)


def test_all_descriptors_are_closed_when_closing_one_says_that_it_failed(
    failing_close: Callable[[], None],
) -> None:
    fds = [os.memfd_create("file") for _ in range(3)]
    descriptors = Descriptors(fds)
    failing_close()
    descriptors.close()
    assert not any(map(is_open, fds))


def test_closing_what_is_not_open_is_a_bug() -> None:
    fd = os.memfd_create("file")
    descriptors = Descriptors([fd])
    os.close(fd)
    with pytest.raises(OSError, match="Bad file descriptor"):
        descriptors.close()


@pytest.mark.parametrize("flags", [os.O_WRONLY, os.O_PATH, os.O_ACCMODE])
def test_a_file_that_cannot_be_read_through_its_descriptor_is_refused(tmp_path: Path, flags: int) -> None:
    (tmp_path / "file").touch()
    attachment = Attachment(os.open(tmp_path / "file", flags), "file")
    with pytest.raises(Refused, match="not open for reading"):
        attachment.check()
    attachment.close()
