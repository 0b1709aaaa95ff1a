"""Compiled witness programs, kept on disk: found by the digest of the program and the compiler's version.

What is read back runs as native code. So an entry counts only when it and its directory belong to this
process's user, nobody else can write them, and the entry's own digest holds; anything else is compiled again.
"""

from __future__ import annotations

import hashlib
import logging
import os
import stat
import tempfile
from importlib.metadata import version
from pathlib import Path

from wasmtime import Module, WasmtimeError

from cuzkd.circom.wasm_limits import engine, first_line
from cuzkd.errors import BadFile

_log = logging.getLogger(__name__)
_MAGIC = b"\0asm\x01\0\0\0"
_DIGEST_BYTES = 32


def compiled(wasm: bytes, cache_dir: Path | None) -> tuple[Module, bool]:
    """The module of a program, and whether it came from `cache_dir`; BadFile when it is no WebAssembly.

    A module that cannot be kept (a full or foreign directory) is used all the same, with a warning.
    """
    # Without this check wasmtime would take other bytes for WebAssembly's text format.
    if not wasm.startswith(_MAGIC):
        raise BadFile("the witness program is no WebAssembly (version 1) file")
    if cache_dir is None:
        return _compile(wasm), False
    name = f"{hashlib.sha256(wasm).hexdigest()}-{version('wasmtime')}.cwasm"
    module = _load(cache_dir / name)
    if module is not None:
        return module, True
    module = _compile(wasm)
    try:
        _store(cache_dir, name, bytes(module.serialize()))
    except OSError as error:
        _log.warning("the compiled witness program is not kept: %s", error)
    return module, False


def _compile(wasm: bytes) -> Module:
    try:
        return Module(engine(), wasm)
    except WasmtimeError as error:
        raise BadFile(f"the witness program is no valid WebAssembly: {first_line(error)}") from None


def _load(path: Path) -> Module | None:
    try:
        data = _read_own(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        _log.warning("the kept witness program %s is not used: %s", path.name, error)
        return None
    payload = data[_DIGEST_BYTES:]
    if hashlib.sha256(payload).digest() != data[:_DIGEST_BYTES]:
        _log.warning("the kept witness program %s is damaged: compiling it again", path.name)
        return None
    try:
        return Module.deserialize(engine(), payload)
    except WasmtimeError as error:
        _log.warning("the kept witness program %s does not load: %s", path.name, first_line(error))
        return None


def _read_own(path: Path) -> bytes:
    directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        _check_own(os.fstat(directory))
        handle = os.open(
            path.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=directory
        )
    finally:
        os.close(directory)
    with open(handle, "rb") as file:
        status = os.fstat(handle)
        _check_own(status)
        if not stat.S_ISREG(status.st_mode):
            raise PermissionError("it is no regular file")
        return file.read()


def _check_own(status: os.stat_result) -> None:
    if status.st_uid != os.geteuid() or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise PermissionError("others may have written it")


def _store(directory: Path, name: str, payload: bytes) -> None:
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    _check_own(directory.stat())
    handle, temporary = tempfile.mkstemp(prefix=".cwasm-", dir=directory)  # 0600
    try:
        with open(handle, "wb") as file:
            file.write(hashlib.sha256(payload).digest())
            file.write(payload)
            file.flush()
            os.fsync(handle)
        os.rename(temporary, directory / name)
    except BaseException:
        os.unlink(temporary)
        raise
