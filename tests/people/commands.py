"""Starts the two programs as a shell would."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from pathlib import Path

BIN = Path(sys.executable).parent
LIMIT_S = 60


def run(program: str, *arguments: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run `cuzkctl` or `cuzkd` to its end, without a daemon's socket in the environment."""
    environment = {name: value for name, value in os.environ.items() if name != "CUZKD_SOCKET"}
    return subprocess.run(
        [str(BIN / program), *map(str, arguments)],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )


def ctl(socket: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run `cuzkctl` with the daemon at a socket, beside which it writes its files."""
    return run("cuzkctl", "--socket", socket, *arguments, cwd=socket.parent)


def has_socket(pid: int) -> bool:
    """Whether the process has a connection."""
    for path in Path(f"/proc/{pid}/fd").iterdir():
        # A file may be closed between the listing and the look at it.
        with contextlib.suppress(FileNotFoundError):
            if str(path.readlink()).startswith("socket:"):
                return True
    return False
