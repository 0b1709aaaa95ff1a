"""A full /dev/shm is a typed error with both numbers, never a signal. On a private 16 MiB tmpfs, as root."""

import subprocess
import sys
import textwrap

import pytest
from namespaces import can_mount

MIB = 1 << 20


def run_on_small_tmpfs(program: str) -> str:
    """Run a program in a mount namespace of its own; what it printed. It must end well."""
    mount = 'mount -t tmpfs -o size=16m tmpfs /dev/shm && exec "$0" -c "$1"'
    command = ["unshare", "-m", "sh", "-ec", mount, sys.executable, textwrap.dedent(program)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


pytestmark = pytest.mark.skipif(not can_mount(), reason="mounting a small tmpfs needs root")


def test_allocating_more_than_there_is_names_both_numbers() -> None:
    printed = run_on_small_tmpfs(f"""
        from cuzkd.errors import ResourceExhausted
        from cuzkd.ipc.segment import Segment, create_segment
        name = "/cuzkd-00000000-1"
        create_segment(name, {32 * MIB})
        with Segment(name, {32 * MIB}) as segment:
            try:
                segment.allocate()
            except ResourceExhausted as error:
                print(error.code, error)
    """)
    assert printed.startswith("resource_exhausted ")
    assert f"wants {32 * MIB} bytes, /dev/shm has {16 * MIB} free" in printed


def test_the_space_of_a_failed_allocation_is_free_again() -> None:
    printed = run_on_small_tmpfs(f"""
        from cuzkd.errors import ResourceExhausted
        from cuzkd.ipc.segment import Segment, create_segment, free_bytes, unlink_segment
        for number, size in enumerate(({12 * MIB}, {8 * MIB}, {4 * MIB})):
            name = f"/cuzkd-00000000-{{number}}"
            create_segment(name, size)
            with Segment(name, size) as segment:
                try:
                    segment.allocate()
                    print("allocated", size)
                except ResourceExhausted:
                    unlink_segment(name)
        print("free", free_bytes())
    """)
    assert printed.split() == ["allocated", str(12 * MIB), "allocated", str(4 * MIB), "free", "0"]


def test_touching_pages_that_cannot_be_allocated_is_an_error_and_no_signal() -> None:
    printed = run_on_small_tmpfs(f"""
        from cuzkd.errors import ResourceExhausted
        from cuzkd.ipc.segment import Segment, create_segment
        create_segment("/cuzkd-00000000-1", {32 * MIB})
        with Segment("/cuzkd-00000000-1", {32 * MIB}) as segment:
            try:
                segment.touch(2)
            except ResourceExhausted as error:
                print(error)
    """)
    assert "cannot be touched" in printed
