"""Times cuzkd against snarkjs on the same keys and witnesses; usage: see scripts/bench.

A row is one circuit: snarkjs' `groth16.prove` in one warm process with the files in memory, beside the
daemon's own time for a job of one witness (from the copy of the witness to the verified proof) whose circuit
is compiled. Both take the median of the rounds. Keys are made once and kept in the cache folder.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from cuzkd.client import Client
from cuzkd.errors import DaemonUnreachable
from cuzkd.formats.wtns_writer import write_wtns
from cuzkd.formats.zkey_writer import write_zkey
from cuzkd.kernels.native import arithmetic
from cuzkd.model import Curve, Role
from cuzkd.setup.proving_key import make_proving_key
from cuzkd.setup.secrets import ToxicWaste
from cuzkd.setup.workloads import Workload, make_instance

HERE = Path(__file__).resolve().parent
START_LIMIT_S = 60.0


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table; seconds are medians, `pss_over_idle` is in bytes."""

    curve: Curve
    workload: Workload
    log_n: int
    key_bytes: int
    snarkjs_s: float
    cuzkd_s: float
    pss_over_idle: int

    def markdown(self) -> str:
        ratio = self.snarkjs_s / self.cuzkd_s
        memory = f"{self.pss_over_idle / self.key_bytes:.2f}"
        return (
            f"| {self.curve} | {self.workload} | 2^{self.log_n} | {self.snarkjs_s:.3f} s | {self.cuzkd_s:.3f} s "
            f"| {ratio:.1f} × | {memory} |"
        )


def files(cache: Path, curve: Curve, workload: Workload, log_n: int, threads: int) -> tuple[Path, Path]:
    """The key and the witness, made when the cache does not have them."""
    stem = cache / f"{curve}-{workload}-{log_n}"
    zkey, wtns = stem.with_suffix(".zkey"), stem.with_suffix(".wtns")
    if not (zkey.exists() and wtns.exists()):
        instance = make_instance(curve, workload, log_n)
        with wtns.open("wb") as out:
            write_wtns(out, curve, instance.witness)
        partial = zkey.with_suffix(".partial")
        with partial.open("wb") as out:
            write_zkey(
                out, make_proving_key(instance.system, ToxicWaste.draw(curve), threads), "benchmark only"
            )
        partial.rename(zkey)
    return zkey, wtns


def snarkjs_seconds(modules: Path, zkey: Path, wtns: Path, rounds: int) -> float:
    command = ["node", str(HERE / "prove.mjs"), str(modules), str(zkey), str(wtns), str(rounds)]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return statistics.median(json.loads(output.splitlines()[-1]))


def pss_bytes(pid: int) -> int:
    """Proportional set size: shared pages are counted once over all who map them."""
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError("smaps_rollup has no Pss")


def total_pss(client: Client, daemon: int) -> int:
    return sum(pss_bytes(pid) for pid in [daemon, *(worker.pid for worker in client.status().workers)])


def cuzkd_seconds(zkey: Path, wtns: Path, rounds: int) -> tuple[float, int]:
    """Median seconds of a job, and the memory that the daemon's processes took above idle."""
    with tempfile.TemporaryDirectory(prefix="cuzkd-bench-") as folder:
        runtime = Path(folder) / "run"
        places = [f"--runtime-dir={runtime}", f"--state-dir={Path(folder) / 'state'}"]
        command = [sys.executable, "-m", "cuzkd", "serve", *places, "--backend", "host"]
        with subprocess.Popen(command, stderr=subprocess.DEVNULL) as daemon:
            try:
                return _measure(runtime / "cuzkd.sock", daemon.pid, zkey, wtns, rounds)
            finally:
                daemon.terminate()


def _measure(socket: Path, daemon: int, zkey: Path, wtns: Path, rounds: int) -> tuple[float, int]:
    with Client(socket) as client:
        _wait_for(client)
        idle = total_pss(client, daemon)
        client.prove(zkey, [wtns])
        seconds = [client.prove(zkey, [wtns]).seconds for _ in range(rounds)]
        return statistics.median(seconds), total_pss(client, daemon) - idle


def _wait_for(client: Client) -> None:
    deadline = time.monotonic() + START_LIMIT_S
    while True:
        try:
            if any(w.role is Role.GPU and w.ready for w in client.status().workers):
                return
        except DaemonUnreachable:
            pass
        if time.monotonic() > deadline:
            raise TimeoutError("the daemon did not start")
        time.sleep(0.05)


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/bench", description="Time cuzkd against snarkjs.")
    parser.add_argument("cache", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--curves", nargs="+", type=Curve, choices=list(Curve), default=list(Curve))
    parser.add_argument(
        "--workloads", nargs="+", type=Workload, choices=list(Workload), default=list(Workload)
    )
    parser.add_argument("--log-n", nargs="+", type=int, default=[14, 17], help="log2 of the domain sizes")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    keys = arguments.cache / "bench"
    keys.mkdir(parents=True, exist_ok=True)
    threads = len(os.sched_getaffinity(0))
    print(
        f"{platform.processor() or platform.machine()}, {threads} cores, {arithmetic}, {datetime.date.today()}"
    )
    print("\n| curve | circuit | domain | snarkjs | cuzkd | ratio | memory over idle / key |")
    print("|---|---|---|---|---|---|---|", flush=True)
    for curve in arguments.curves:
        for workload in arguments.workloads:
            for log_n in arguments.log_n:
                zkey, wtns = files(keys, curve, workload, log_n, threads)
                theirs = snarkjs_seconds(arguments.cache, zkey, wtns, arguments.rounds)
                ours, memory = cuzkd_seconds(zkey, wtns, arguments.rounds)
                row = Row(curve, workload, log_n, zkey.stat().st_size, theirs, ours, memory)
                print(row.markdown(), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
