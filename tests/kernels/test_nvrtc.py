"""Every kernel compiles for every architecture without a device, and takes the registers that the table records."""

from __future__ import annotations

import json
from concurrent.futures import Future

import pytest
from kernel_resources import ASSEMBLED, TABLE, VIRTUAL, Usage, compiler, name_of, parsed, started
from shim_device import kernel_names

from cuzkd.errors import InternalError
from cuzkd.kernels import loader
from cuzkd.kernels.loader import Module

pytestmark = pytest.mark.timeout(600)  # the first test waits for a queue of compilations
RECORD = "look at the difference, then record it: .venv/bin/python tests/kernel_resources.py"


@pytest.fixture(scope="module")
def results() -> dict[str, Future[Usage]]:
    return started([*ASSEMBLED, *VIRTUAL])


@pytest.mark.parametrize("job", ASSEMBLED, ids=name_of)
def test_kernels_take_the_recorded_resources(
    results: dict[str, Future[Usage]], job: tuple[str, Module]
) -> None:
    table = json.loads(TABLE.read_text())
    assert table["compiler"] == compiler(), f"another compiler: {RECORD}"
    found = results[name_of(job)].result()
    assert sorted(found) == sorted(kernel_names(job[1].name))
    assert found == table["kernels"][name_of(job)], f"registers / local bytes / spilled bytes: {RECORD}"


@pytest.mark.parametrize("job", VIRTUAL, ids=name_of)
def test_kernels_compile_for_other_architectures(
    results: dict[str, Future[Usage]], job: tuple[str, Module]
) -> None:
    assert results[name_of(job)].result() == {}


def test_the_table_has_nothing_else() -> None:
    assert sorted(json.loads(TABLE.read_text())["kernels"]) == sorted(map(name_of, ASSEMBLED))


def test_what_does_not_compile_is_an_error_with_the_compilers_log() -> None:
    flags = ("-arch=compute_90", "-std=c++17")
    with pytest.raises(
        InternalError, match=r"msm_sort.cu does not compile:\n(.|\n)*CUZKD_CURVE names the curve"
    ):
        loader.compile_module("msm_sort", flags)


def test_spills_of_called_functions_count() -> None:
    log = """ptxas info    : Compiling entry function 'add' for 'sm_90'
ptxas info    : Function properties for add
ptxas         .     16 bytes stack frame, 4 bytes spill stores, 8 bytes spill loads
ptxas info    : Used 80 registers, used 0 barriers, 48 bytes cumulative stack size
ptxas info    : Function properties for _called
ptxas         .     32 bytes stack frame, 12 bytes spill stores, 12 bytes spill loads
"""
    assert parsed(log) == {"add": "80 / 48 / 16"}
