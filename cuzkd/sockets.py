"""Where a daemon is looked for, and which of those places may be sent secrets."""

from __future__ import annotations

import errno
import os
import socket
import stat
import struct

from cuzkd.errors import DaemonUnreachable

SOCKET_VARIABLE = "CUZKD_SOCKET"
JOB_SOCKET = "cuzkd.sock"
CONTROL_SOCKET = "cuzkd-ctl.sock"
_BACKLOG_WAIT_S = 10
_GROUP_ADVICE = (
    "have an administrator add you to the socket's group (`usermod -aG cuzkd NAME` for the service) and log in again, "
    "or name another socket with --socket"
)


def connect(socket_path: str | os.PathLike[str] | None, *, control: bool = False) -> socket.socket:
    """A connection to the named socket, or to the first of the usual places where a daemon answers.

    With `control`, the operators' socket beside each place comes first, for those who may connect to it: the job
    socket may be flooded. `DaemonUnreachable` says which sockets were tried and what each one answered.
    """
    tried, advice = [], None
    for path in sockets_to_try(socket_path):
        try:
            _refuse_planted(path)
            return (_connect_control(path) if control else None) or _connect(path)
        except OSError as error:
            tried.append(f"{path}: {error.strerror or error}")
            if error.errno == errno.EACCES:
                advice = _GROUP_ADVICE
    raise DaemonUnreachable("no daemon answers at " + ", nor at ".join(tried), advice=advice)


def sockets_to_try(socket_path: str | os.PathLike[str] | None) -> list[str]:
    """Where to look for a daemon: the socket named by the caller or the environment, or the usual places."""
    named = socket_path or os.environ.get(SOCKET_VARIABLE)
    if named:
        return [os.fspath(named)]
    folders = ["/run/cuzkd"]
    if session := os.environ.get("XDG_RUNTIME_DIR"):
        folders.append(os.path.join(session, "cuzkd"))
    return [os.path.join(folder, JOB_SOCKET) for folder in (*folders, _own_temporary())]


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


def _connect_control(job_socket: str) -> socket.socket | None:
    """A connection to the operators' socket beside a job socket; None for those who have none there."""
    try:
        return _connect(os.path.join(os.path.dirname(job_socket), CONTROL_SOCKET))
    except OSError:
        return None


def _connect(path: str) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
    try:
        # Where a daemon does not keep up with those who come, the kernel would have them wait for ever.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", _BACKLOG_WAIT_S, 0))
        connection.connect(path)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", 0, 0))
    except BlockingIOError as error:
        connection.close()
        raise TimeoutError(errno.ETIMEDOUT, "too many clients wait to be taken") from error
    except OSError:
        connection.close()
        raise
    return connection
