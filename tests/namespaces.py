"""Whether tests may have mounts of their own, which nobody else sees."""

from __future__ import annotations

import subprocess


def can_mount() -> bool:
    """Whether a small /dev/shm can be had."""
    probe = ["unshare", "-m", "mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", "/dev/shm"]
    try:
        return subprocess.run(probe, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False
