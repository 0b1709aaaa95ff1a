"""The configuration: defaults that work, and nothing accepted that is not understood exactly."""

import os
import re
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from cuzkd.cli import render_config
from cuzkd.config import Access, Backend, Changes, Config
from cuzkd.configfile import flatten
from cuzkd.configkeys import KEYS, TABLES
from cuzkd.errors import BadConfig

SHIPPED = Path(__file__).parent.parent / "systemd" / "cuzkd.toml"
OF_THE_MACHINE = {"synthesis.workers", "synthesis.threads", "gpu.threads", "pool.limit"}


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RUNTIME_DIRECTORY", "STATE_DIRECTORY", "XDG_RUNTIME_DIR", "XDG_STATE_HOME"):
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
        [access]
        group = "root"
        operators = ["root", 1234]
        [synthesis]
        workers = 3
        threads = 5
        [gpu]
        threads = 7
        [pool]
        limit = "12GiB"
        [jobs]
        max_queued = 10
        max_queued_per_uid = 4
        max_partitions = 20
        max_attempts = 2
        [limits]
        payload = "512MiB"
        upload_per_uid = "1GiB"
        witness_time = "90s"
        witness_memory = "3GiB"
        phase_time = "3s"
        read_stall = "20s"
        """,
    )
    assert (config.runtime_dir, config.state_dir) == (Path("/run/other"), Path("/var/lib/other"))
    assert config.socket_path == Path("/run/other/cuzkd.sock")
    assert config.backend is Backend.HOST
    assert (config.boot_timeout_s, config.drain_timeout_s) == (300.0, 1.5)
    assert (config.synthesis.workers, config.synthesis.threads, config.gpu.threads) == (3, 5, 7)
    assert config.pool.limit_bytes == 12 << 30
    assert config.access == Access("root", (0, 1234))
    jobs, limits = config.jobs, config.limits
    assert (jobs.max_queued, jobs.max_queued_per_uid, jobs.max_partitions, jobs.max_attempts) == (
        10,
        4,
        20,
        2,
    )
    assert (limits.payload_bytes, limits.upload_per_uid_bytes) == (512 << 20, 1 << 30)
    assert (limits.witness_time_s, limits.witness_memory_bytes) == (90.0, 3 << 30)
    assert (limits.phase_time_s, limits.read_stall_s) == (3.0, 20.0)


@pytest.mark.parametrize(("all_jobs", "of_one_user"), [(1, 1), (2, 1), (3, 2), (256, 128)])
def test_a_user_may_queue_half_of_all_jobs_and_always_one(all_jobs: int, of_one_user: int) -> None:
    jobs = Config.load(overrides={"jobs.max_queued": all_jobs}).jobs
    assert jobs.max_queued_per_uid == of_one_user


def test_overrides_win_over_the_file(tmp_path: Path) -> None:
    text = '[pool]\nlimit = "1GiB"\n[jobs]\nmax_attempts = 9\n'
    config = load(tmp_path, text, **{"pool.limit": "2GiB", "runtime_dir": tmp_path})
    assert config.pool.limit_bytes == 2 << 30
    assert config.jobs.max_attempts == 9
    assert config.runtime_dir == tmp_path


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ('[access]\ngroup = "no such group"', "access.group"),
        ("[access]\ngroup = 0", "access.group"),
        ('[access]\noperators = "root"', "access.operators"),
        ('[access]\noperators = ["no such user"]', "access.operators"),
        ("[access]\noperators = [true]", "access.operators"),
        ("[access]\noperators = [-1]", "access.operators"),
        ('[access]\noperators = ["a\\u0000b"]', "access.operators"),
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
        ('[limits]\nphase_time = "2999ms"', "limits.phase_time"),
        ('[limits]\nread_stall = "1s"', "limits.read_stall"),
        ('runtime_dir = "relative"', "runtime_dir"),
        ('runtime_dir = "/run/a\\u0000b"', "runtime_dir"),
        (f'runtime_dir = "/{"x" * 120}"', "runtime_dir"),
        ("runtime_dir = 3", "runtime_dir"),
    ],
)
def test_what_is_not_understood_is_refused_by_file_and_key(tmp_path: Path, text: str, names: str) -> None:
    with pytest.raises(BadConfig) as caught:
        load(tmp_path, "# a comment\n" + text)
    line = 2 + (text.count("\n") if names != "colours" else 0)
    assert caught.value.message.startswith(f"{tmp_path / 'cuzkd.toml'}:{line}: ")
    assert names in caught.value.message


def test_broken_toml_is_refused_by_file_and_line(tmp_path: Path) -> None:
    with pytest.raises(BadConfig, match=r"cuzkd\.toml: .*line 2"):
        load(tmp_path, "backend = 'host'\nworkers = = 2\n")


@pytest.mark.parametrize(
    ("before", "line"),
    [
        ("", 1),
        ("\n\n# colour = 2\n", 4),
        ('runtime_dir = """/run\\\n  /a\\\n  /colour"""\n', 4),
        ("backend = 'host' # colour = 1\n", 2),
        ("jobs = { max_queued = 1,\tmax_attempts = 2 }\n", 2),
    ],
)
def test_the_line_named_is_where_the_key_is_set_whatever_stands_before_it(
    tmp_path: Path, before: str, line: int
) -> None:
    with pytest.raises(BadConfig, match=rf"cuzkd\.toml:{line}: there is no key 'colour'"):
        load(tmp_path, f"{before}colour = [\n  1,\n  2,\n]\n[gpu]\nthreads = 1\n")


def test_a_key_of_an_inline_table_is_named_by_its_line(tmp_path: Path) -> None:
    with pytest.raises(BadConfig, match=r"cuzkd\.toml:2: pool\.limit = 3 should be a size"):
        load(tmp_path, "\npool = { limit = 3 }\n")


def test_a_file_that_is_not_text_or_not_there_is_refused(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    for path in (tmp_path / "binary", tmp_path / "missing", tmp_path):
        with pytest.raises(BadConfig, match=str(path)):
            Config.load(path)


def test_a_wrong_override_names_the_command_line() -> None:
    with pytest.raises(BadConfig, match="command line: backend"):
        Config.load(None, {"backend": "tpu"})


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


def test_the_directories_without_any_environment_depend_on_the_user(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """State never lies below the runtime directory, which is often in memory and swept at boot."""
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    config = Config.load()
    assert (config.runtime_dir, config.state_dir) == (Path("/run/cuzkd"), Path("/var/lib/cuzkd"))
    monkeypatch.setattr(os, "geteuid", lambda: 1234)
    monkeypatch.setenv("HOME", "/home/someone")
    config = Config.load()
    assert config.runtime_dir == Path("/tmp/cuzkd-1234")
    assert config.state_dir == Path("/home/someone/.local/state/cuzkd")
    monkeypatch.setenv("XDG_STATE_HOME", "/home/someone/state")
    assert Config.load().state_dir == Path("/home/someone/state/cuzkd")
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.delenv("HOME")
    with pytest.raises(BadConfig, match="HOME"):
        Config.load()


def test_changes_are_told_by_when_they_count(tmp_path: Path) -> None:
    """A default that depends on the machine's free memory is no change."""
    old = load(tmp_path, "[jobs]\nmax_queued = 10\n")
    new = load(tmp_path, 'drain_timeout = "5s"\n[jobs]\nmax_queued = 20\n[synthesis]\nworkers = 7\n')
    (tmp_path / "cuzkd.toml").unlink()
    changes = old.changes_to(new)
    assert changes.live == ("drain_timeout", "jobs.max_queued", "jobs.max_queued_per_uid")
    assert changes.at_restart == ("synthesis.workers",)
    merged = old.with_live_of(new)
    assert (merged.drain_timeout_s, merged.jobs.max_queued, merged.jobs.max_queued_per_uid) == (5.0, 20, 10)
    assert merged.synthesis == old.synthesis
    assert merged.changes_to(new).live == ()
    other_memory = replace(old, values={**old.values, "pool.limit": 1 << 40})
    assert old.changes_to(other_memory) == Changes((), ())


def test_what_is_shown_of_a_configuration_is_a_file_of_it(tmp_path: Path) -> None:
    config = load(tmp_path, '[access]\noperators = ["root"]\n[pool]\nlimit = "3GiB"\n')
    text = render_config(config.shown(), config.given)
    assert "operators = [0]\n" in text
    assert 'limit = "3GiB"\n' in text
    assert 'drain_timeout = "1min"  # default\n' in text
    assert load(tmp_path, text).values == config.values


def test_the_shipped_file_sets_nothing_and_shows_every_key() -> None:
    text = SHIPPED.read_text()
    assert Config.load(SHIPPED).given == frozenset()
    uncommented = "\n".join(re.sub(r"^#(?=\S)", "", line) for line in text.splitlines())
    shown = flatten(tomllib.loads(uncommented), TABLES)
    assert list(shown) == list(KEYS)
    config = Config.load()
    for key in KEYS.keys() - OF_THE_MACHINE:
        assert KEYS[key].parse(shown[key]) == config.values[key], key


def test_a_useless_environment_variable_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUNTIME_DIRECTORY", "relative")
    with pytest.raises(BadConfig, match="RUNTIME_DIRECTORY"):
        Config.load()
