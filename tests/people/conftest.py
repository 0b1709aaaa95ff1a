"""What tests of clients begin with: a daemon that says what the test wants."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from people.peer import Serve, serving


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Starts peers, one a connection; see `serving`."""
    with serving(tmp_path) as start:
        yield start
