"""Compiled kernels are kept under all that they are made of, and no cache, whatever is in it, ends a start."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from cuzkd.kernels import loader
from cuzkd.kernels.curve import Group
from cuzkd.kernels.loader import Module
from cuzkd.model import Curve

MODULE = Module("msm_sort", Curve.BN254)  # the quickest to compile
ARCH = "sm_90"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(loader.CACHE_VARIABLE, str(tmp_path))
    return tmp_path / "cuzkd"


@pytest.fixture
def compilations(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was compiled since, by name."""
    compiled, compile_module = [], loader.compile_module

    def counted(name: str, flags: tuple[str, ...]) -> tuple[bytes, str]:
        compiled.append(name)
        return compile_module(name, flags)

    monkeypatch.setattr(loader, "compile_module", counted)
    return compiled


def test_a_module_is_compiled_once(cache: Path, compilations: list[str]) -> None:
    code = loader.cubin(MODULE, ARCH)
    assert code.startswith(b"\x7fELF")
    assert loader.cubin(MODULE, ARCH) == code
    assert compilations == ["msm_sort"]
    (file,) = cache.iterdir()
    assert file.name.startswith("msm_sort-")


@pytest.mark.parametrize("damage", [b"", b"\x7fELF", b"x" * 100], ids=["empty", "short", "other bytes"])
def test_a_damaged_file_is_compiled_again_and_replaced(
    cache: Path, compilations: list[str], damage: bytes
) -> None:
    code = loader.cubin(MODULE, ARCH)
    (file,) = cache.iterdir()
    file.write_bytes(damage)
    assert loader.cubin(MODULE, ARCH) == code
    assert loader.cubin(MODULE, ARCH) == code
    assert compilations == ["msm_sort"] * 2


def test_one_changed_byte_is_seen(cache: Path, compilations: list[str]) -> None:
    code = loader.cubin(MODULE, ARCH)
    (file,) = cache.iterdir()
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    assert loader.cubin(MODULE, ARCH) == code
    assert len(compilations) == 2


@pytest.mark.parametrize("blocked", ["the folder is a file", "the file is a folder", "nothing can be made"])
def test_a_cache_that_cannot_be_used_costs_only_the_compilation(
    cache: Path, compilations: list[str], monkeypatch: pytest.MonkeyPatch, blocked: str
) -> None:
    if blocked == "the folder is a file":
        cache.write_bytes(b"")
    elif blocked == "the file is a folder":
        loader.cubin(MODULE, ARCH)
        (file,) = cache.iterdir()
        file.unlink()
        file.mkdir()
    else:
        monkeypatch.setenv(loader.CACHE_VARIABLE, "/proc/none")
    compilations.clear()
    assert loader.cubin(MODULE, ARCH).startswith(b"\x7fELF")
    assert compilations == ["msm_sort"]


def test_nothing_is_left_of_a_write_that_fails(cache: Path) -> None:
    loader.cubin(MODULE, ARCH)
    (file,) = cache.iterdir()
    file.unlink()
    file.mkdir()
    loader.cubin(MODULE, ARCH)
    assert list(cache.iterdir()) == [file]


def test_every_source_option_and_compiler_counts_in_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    flags, sources = loader.options(MODULE, ARCH), dict(loader.sources())
    keys = {loader.digest("msm_sort", flags, (13, 5)), loader.digest("msm_sort", flags, (13, 6))}
    keys.add(loader.digest("msm_sort", loader.options(Module("msm_sort", Curve.BLS12_381), ARCH), (13, 5)))
    keys.add(loader.digest("msm_sort", loader.options(MODULE, "sm_80"), (13, 5)))
    keys.add(loader.digest("msm_add", flags, (13, 5)))
    for name, text in sources.items():
        monkeypatch.setattr(loader, "sources", lambda n=name, t=text: {**sources, n: t + " "})
        keys.add(loader.digest("msm_sort", flags, (13, 5)))
    assert len(keys) == 5 + len(sources)


def test_sources_are_every_file_of_kernels_in_the_package() -> None:
    folder = Path(loader.__file__).parent
    files = {
        path.name for part in ("cuda", "include") for path in (folder / part).iterdir() if ".cu" in path.name
    }
    assert set(loader.sources()) == files


def test_modules_are_every_source_for_each_curve_and_group() -> None:
    expected = {Module(name, curve) for name in loader.SCALAR_MODULES for curve in Curve}
    expected |= {
        Module(name, curve, group) for name in loader.POINT_MODULES for curve in Curve for group in Group
    }
    assert set(loader.modules()) == expected
    assert {f"{module.name}.cu" for module in expected} == {
        name for name in loader.sources() if name.endswith(".cu")
    }


def test_all_is_compiled_at_once_and_then_found_within_two_seconds(
    cache: Path, compilations: list[str]
) -> None:
    wanted = [Module("msm_sort", curve) for curve in Curve]
    assert set(loader.compile_all(ARCH, wanted)) == set(wanted)
    assert len(list(cache.iterdir())) == len(compilations) == len(wanted)
    start = time.monotonic()
    loader.compile_all(ARCH, wanted)
    assert time.monotonic() - start < 2
    assert len(compilations) == len(wanted)
