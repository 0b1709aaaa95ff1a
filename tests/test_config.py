"""The configuration: defaults that work, and nothing accepted that is not understood exactly."""

import os
from pathlib import Path

import pytest

from cuzkd.config import Backend, Config, parse_duration_s, parse_size
from cuzkd.errors import BadConfig


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RUNTIME_DIRECTORY", "STATE_DIRECTORY", "XDG_RUNTIME_DIR"):
        monkeypatch.delenv(name, raising=False)


def load(tmp_path: Path, text: str, **overrides: object) -> Config:
    file = tmp_path / "cuzkd.toml"
    file.write_text(text)
    return Config.load(file, overrides)


def test_the_defaults_work_without_a_file() -> None:
    config = Config.load()
    cores = len(os.sched_getaffinity(0))
    assert config.backend is Backend.AUTO
    assert 1 <= config.synthesis.workers <= 4
    assert config.synthesis.workers * config.synthesis.threads <= max(cores, config.synthesis.workers)
    assert config.gpu.threads == cores
    assert config.pool.limit_bytes > 0
    assert config.jobs.max_attempts == 3


def test_an_empty_file_means_the_defaults(tmp_path: Path) -> None:
    assert load(tmp_path, "") == Config.load()


def test_every_key_can_be_set(tmp_path: Path) -> None:
    config = load(
        tmp_path,
        """
        runtime_dir = "/run/other"
        state_dir = "/var/lib/other"
        backend = "host"
        boot_timeout = "5min"
        drain_timeout = "1500ms"
        [synthesis]
        workers = 3
        threads = 5
        [gpu]
        threads = 7
        [pool]
        limit = "12GiB"
        [jobs]
        max_queued = 10
        max_partitions = 20
        max_attempts = 2
        [limits]
        payload = "512MiB"
        witness_time = "90s"
        witness_memory = "3GiB"
        """,
    )
    assert (config.runtime_dir, config.state_dir) == (Path("/run/other"), Path("/var/lib/other"))
    assert config.socket_path == Path("/run/other/cuzkd.sock")
    assert config.backend is Backend.HOST
    assert (config.boot_timeout_s, config.drain_timeout_s) == (300.0, 1.5)
    assert (config.synthesis.workers, config.synthesis.threads, config.gpu.threads) == (3, 5, 7)
    assert config.pool.limit_bytes == 12 << 30
    assert (config.jobs.max_queued, config.jobs.max_partitions, config.jobs.max_attempts) == (10, 20, 2)
    limits = config.limits
    assert limits.payload_bytes == 512 << 20
    assert (limits.witness_time_s, limits.witness_memory_bytes) == (90.0, 3 << 30)


def test_overrides_win_over_the_file(tmp_path: Path) -> None:
    text = '[pool]\nlimit = "1GiB"\n[jobs]\nmax_attempts = 9\n'
    config = load(tmp_path, text, **{"pool.limit": "2GiB", "runtime_dir": tmp_path})
    assert config.pool.limit_bytes == 2 << 30
    assert config.jobs.max_attempts == 9
    assert config.state_dir == tmp_path / "state"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("colour = 1", "colour"),
        ("[pool]\ncolour = 1", "pool.colour"),
        ("[colours]\nred = 1", "colours"),
        ("pool = 3", "pool"),
        ("backend = {}", "backend"),
        ('backend = "vulkan"', "backend"),
        ('backend = "CUDA"', "backend"),
        ("[synthesis]\nworkers = 0", "synthesis.workers"),
        ("[synthesis]\nworkers = true", "synthesis.workers"),
        ("[synthesis]\nworkers = 2.0", "synthesis.workers"),
        ('[synthesis]\nworkers = "2"', "synthesis.workers"),
        ("[jobs]\nmax_attempts = -1", "jobs.max_attempts"),
        ("[pool]\nlimit = 1073741824", "pool.limit"),
        ('[pool]\nlimit = "1B"', "pool.limit"),
        ('drain_timeout = "90"', "drain_timeout"),
        ("drain_timeout = 90", "drain_timeout"),
        ('runtime_dir = "relative"', "runtime_dir"),
        ('runtime_dir = "/run/a\\u0000b"', "runtime_dir"),
        (f'runtime_dir = "/{"x" * 120}"', "runtime_dir"),
        ("runtime_dir = 3", "runtime_dir"),
    ],
)
def test_what_is_not_understood_is_refused_by_file_and_key(tmp_path: Path, text: str, names: str) -> None:
    with pytest.raises(BadConfig) as caught:
        load(tmp_path, text)
    assert str(tmp_path / "cuzkd.toml") in caught.value.message
    assert names in caught.value.message


def test_broken_toml_is_refused_by_file_and_line(tmp_path: Path) -> None:
    with pytest.raises(BadConfig, match=r"cuzkd\.toml: .*line 2"):
        load(tmp_path, "backend = 'host'\nworkers = = 2\n")


def test_a_file_that_is_not_text_or_not_there_is_refused(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    for path in (tmp_path / "binary", tmp_path / "missing", tmp_path):
        with pytest.raises(BadConfig, match=str(path)):
            Config.load(path)


def test_a_wrong_override_names_the_command_line() -> None:
    with pytest.raises(BadConfig, match="command line: backend"):
        Config.load(None, {"backend": "tpu"})


@pytest.mark.parametrize(
    ("literal", "size_bytes"),
    [("4GiB", 4 << 30), ("512MiB", 512 << 20), ("8KiB", 8192), ("4096B", 4096), ("2TiB", 2 << 40)],
)
def test_a_size_parses_exactly(literal: str, size_bytes: int) -> None:
    assert parse_size(literal) == size_bytes


@pytest.mark.parametrize(
    "literal",
    ["4GB", "4G", "4gib", "4 GiB", " 4GiB", "4GiB\n", "4.5GiB", "-4GiB", "+4GiB", "4", "GiB", "", "0GiB",
     "0x4GiB", "4GiB4MiB", "1_000MiB", "٤GiB", "9" * 40 + "GiB", 4096, None, True, ["4GiB"]],
)  # fmt: skip
def test_any_other_size_is_refused(literal: object) -> None:
    with pytest.raises(ValueError, match="size"):
        parse_size(literal)


@pytest.mark.parametrize(
    ("literal", "seconds"), [("90s", 90.0), ("5min", 300.0), ("250ms", 0.25), ("2h", 7200.0)]
)
def test_a_duration_parses_exactly(literal: str, seconds: float) -> None:
    assert parse_duration_s(literal) == seconds


@pytest.mark.parametrize("literal", ["90", "90 s", "5m", "1.5s", "0s", "-1s", "1h30min", "s", "inf", 90, 1.5])
def test_any_other_duration_is_refused(literal: object) -> None:
    with pytest.raises(ValueError, match="duration"):
        parse_duration_s(literal)


def test_systemd_directories_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/run/user/1000")
    assert Config.load().runtime_dir == Path("/run/user/1000/cuzkd")
    monkeypatch.setenv("RUNTIME_DIRECTORY", "/run/cuzkd:/run/second")
    monkeypatch.setenv("STATE_DIRECTORY", "/var/lib/cuzkd")
    config = Config.load()
    assert (config.runtime_dir, config.state_dir) == (Path("/run/cuzkd"), Path("/var/lib/cuzkd"))


def test_only_the_runtime_directory_has_to_be_short_enough_for_a_socket(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    long = "/var/lib/" + 20 * "directory/"
    monkeypatch.setenv("STATE_DIRECTORY", long)
    assert Config.load().state_dir == Path(long)
    monkeypatch.setenv("RUNTIME_DIRECTORY", long)
    with pytest.raises(BadConfig, match="short enough for a socket"):
        Config.load()


def test_the_runtime_directory_without_any_environment_depends_on_the_user(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert Config.load().runtime_dir == Path("/run/cuzkd")
    monkeypatch.setattr(os, "geteuid", lambda: 1234)
    assert Config.load().runtime_dir == Path("/tmp/cuzkd-1234")


def test_a_useless_environment_variable_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUNTIME_DIRECTORY", "relative")
    with pytest.raises(BadConfig, match="RUNTIME_DIRECTORY"):
        Config.load()
