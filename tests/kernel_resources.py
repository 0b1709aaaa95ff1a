"""What a thread of each kernel takes on the device, as the assembler reports it, and the recorded table of it.

    .venv/bin/python tests/kernel_resources.py

records the table anew (tests/kernels/resources.json): look at the difference before it is committed, because a kernel
that spills, or takes more registers than its launch bounds meant it to, is slow. No device is needed.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from cuzkd.kernels import loader
from cuzkd.kernels.curve import Group
from cuzkd.kernels.loader import Module
from cuzkd.model import Curve

TABLE = Path(__file__).resolve().parent / "kernels" / "resources.json"
_FORMAT = 1  # of what `parsed` gives
_CACHE = Path(__file__).resolve().parents[1] / "build" / "resources"

# Machine code for every module on the architecture of record. On the others the assembler, which takes most of the
# time, sees one curve and group without the transforms: the rest is the same operations over more limbs. The others
# are compiled for their instruction sets, to PTX.
ASSEMBLED = [("sm_90", module) for module in loader.modules()] + [
    (arch, module)
    for arch in ("sm_80", "sm_120")
    for module in loader.modules()
    if module.curve is Curve.BN254 and module.group is not Group.G2 and module.name != "ntt"
]
VIRTUAL = [
    (f"compute_{number}", module)
    for number in ("80", "120")
    for module in loader.modules()
    if (f"sm_{number}", module) not in ASSEMBLED
]

Usage = Mapping[str, str]
"""By kernel: "registers / bytes of local memory / bytes spilled to it"."""


def name_of(job: tuple[str, Module]) -> str:
    return f"{job[0]} {job[1]}"


def compiler() -> str:
    from cupy.cuda import nvrtc

    return ".".join(map(str, nvrtc.getVersion()))


def usage(arch: str, module: Module) -> Usage:
    """Of every kernel of a module; none for a virtual architecture, whose code is only compiled. Kept in build/."""
    flags = loader.options(module, arch)
    if not arch.startswith("compute_"):
        flags = (*flags, "-Xptxas=-v")
    kept = _CACHE / f"{loader.digest(module.name, flags, (_FORMAT, compiler()))}.json"
    if kept.exists():
        found: Usage = json.loads(kept.read_text())
        return found
    _, log = loader.compile_module(module.name, flags)
    found = {} if arch.startswith("compute_") else parsed(log)
    _CACHE.mkdir(parents=True, exist_ok=True)
    new = kept.with_suffix(f".{os.getpid()}")
    new.write_text(json.dumps(found))
    new.rename(kept)
    return found


def parsed(log: str) -> Usage:
    """The assembler's report on each kernel, which ends with the functions that it calls."""
    found = {}
    for part in log.split("Compiling entry function '")[1:]:
        name = part[: part.index("'")]
        own = re.search(
            rf"Function properties for {name}\n\D*(\d+) bytes stack frame, (\d+) bytes spill stores", part
        )
        registers = re.search(r"Used (\d+) registers", part)
        assert own is not None, part
        assert registers is not None, part
        total = re.search(r"(\d+) bytes cumulative stack size", part)
        spilled = sum(map(int, re.findall(r"(\d+) bytes spill stores", part)))
        found[name] = f"{registers[1]} / {(total or own)[1]} / {spilled}"
    return found


def started(jobs: Iterable[tuple[str, Module]]) -> dict[str, Future[Usage]]:
    """All jobs, as many at once as there are processors."""
    pool = ThreadPoolExecutor(len(os.sched_getaffinity(0)))
    return {name_of(job): pool.submit(usage, *job) for job in jobs}


def main() -> None:
    table = {name: future.result() for name, future in started(ASSEMBLED).items()}
    TABLE.write_text(json.dumps({"compiler": compiler(), "kernels": table}, indent=1) + "\n")
    print(f"recorded {sum(map(len, table.values()))} kernels in {TABLE}", file=sys.stderr)


if __name__ == "__main__":
    main()
