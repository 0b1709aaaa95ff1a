"""These tests run inside the container of `scripts/test-systemd` only, as root, on the installed cuzkd."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

if os.environ.get("CUZKD_GUEST") != "1":
    collect_ignore_glob = ["test_*.py"]
else:
    from systemd.unit import Unit

    @pytest.fixture
    def unit() -> Iterator[Unit]:
        """The unit, running and as it was installed; whatever a test did to it is undone afterwards."""
        found = Unit()
        found.as_installed()
        found.start()
        yield found
        found.as_installed()
