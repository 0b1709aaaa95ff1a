"""Where a daemon is looked for, and which of those places may be sent secrets."""

from __future__ import annotations

import errno
import os
import socket
import stat

from cuzkd.errors import DaemonUnreachable

SOCKET_VARIABLE = "CUZKD_SOCKET"


def connect(socket_path: str | os.PathLike[str] | None) -> socket.socket:
    """A connection to the named socket, or to the first of the usual places where a daemon answers.

    `DaemonUnreachable` says which sockets were tried and what each one answered.
    """
    tried = []
    for path in sockets_to_try(socket_path):
        try:
            _refuse_planted(path)
            return _connect(path)
        except OSError as error:
            tried.append(f"{path}: {error.strerror or error}")
    raise DaemonUnreachable("no daemon answers at " + ", nor at ".join(tried))


def sockets_to_try(socket_path: str | os.PathLike[str] | None) -> list[str]:
    """Where to look for a daemon: the socket named by the caller or the environment, or the usual places."""
    named = socket_path or os.environ.get(SOCKET_VARIABLE)
    if named:
        return [os.fspath(named)]
    folders = ["/run/cuzkd"]
    if session := os.environ.get("XDG_RUNTIME_DIR"):
        folders.append(os.path.join(session, "cuzkd"))
    return [os.path.join(folder, "cuzkd.sock") for folder in (*folders, _own_temporary())]


def _own_temporary() -> str:
    return f"/tmp/cuzkd-{os.geteuid()}"  # noqa: S108  # its owner and mode are checked before use


def _refuse_planted(path: str) -> None:
    """Anybody may make a folder in /tmp, and the daemon is sent secrets: there, trust only one's own."""
    folder = os.path.dirname(os.path.normpath(path))
    if folder != _own_temporary():
        return
    facts = os.lstat(folder)
    if not stat.S_ISDIR(facts.st_mode) or facts.st_uid != os.geteuid() or facts.st_mode & 0o022:
        raise PermissionError(errno.EPERM, "the folder is not this user's own")


def _connect(path: str) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
    try:
        connection.connect(path)
    except OSError:
        connection.close()
        raise
    return connection
