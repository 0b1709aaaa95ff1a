"""Checks a daemon against the real snarkjs; usage: check.py FOLDER_WITH_NODE_MODULES (see scripts/interop).

For every case, from its witness and from its inputs: 20 `cuzkctl prove` at once over one socket, each proof valid
in snarkjs (and invalid with another public input), each public.json and the exported verification key
byte-identical to snarkjs' own, and one proof verified by the snarkjs program itself. One proof more is made by the
example client that `ipc/PROTOCOL.md` names.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS))
import fixtures  # noqa: E402  # a neighbour of this folder, found through the line above
from fixtures import Case  # noqa: E402

PARALLEL = 20
START_LIMIT_S = 60
COMMAND_LIMIT_S = 300
BIN = Path(sys.executable).parent
EXAMPLE = TESTS.parent / "ipc" / "example.mjs"


@dataclass
class Tally:
    """What held and what did not."""

    passed: int = 0
    problems: list[str] = field(default_factory=list)

    def expect(self, holds: bool, claim: str) -> None:
        if holds:
            self.passed += 1
        else:
            self.problems.append(claim)
            print(f"FAILED {claim}", flush=True)


def run(*command: object, text: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, with this text on its standard input."""
    words = [str(word) for word in command]
    return subprocess.run(
        words, input=text, capture_output=True, text=True, timeout=COMMAND_LIMIT_S, check=False
    )


def label(case: Case) -> str:
    """A name for a case that no other has; the bundled set and a larger one share some names."""
    return case.name if case.path.parent == fixtures.DATA else f"larger-{case.name}"


def start_daemon(runtime_dir: Path, log: Path) -> subprocess.Popen[bytes]:
    with log.open("wb") as output:
        daemon = subprocess.Popen(
            [BIN / "cuzkd", "serve", "--runtime-dir", runtime_dir, "--state-dir", runtime_dir / "state"],
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    limit = time.monotonic() + START_LIMIT_S
    while run(BIN / "cuzkctl", "--socket", runtime_dir / "cuzkd.sock", "status").returncode:
        if daemon.poll() is not None or time.monotonic() > limit:
            daemon.kill()
            raise SystemExit(f"the daemon did not start:\n{log.read_text()}")
        time.sleep(0.05)
    return daemon


def prove_case(case: Case, out: Path, socket: Path, tally: Tally) -> None:
    """20 proofs of a case at once from its witness, then 20 from its inputs, each by its own cuzkctl."""
    ways = {
        "witness": ("--zkey", case.zkey, "--wtns", case.witness),
        "inputs": ("--zkey", case.zkey, "--wasm", case.wasm, "--r1cs", case.r1cs, "--input", case.input),
    }

    def prove(name: str, files: Sequence[object]) -> subprocess.CompletedProcess[str]:
        return run(BIN / "cuzkctl", "--socket", socket, "prove", *files, "-o", out / name)

    for way, files in ways.items():
        names = [f"{way}-{index}" for index in range(PARALLEL)]
        with ThreadPoolExecutor(PARALLEL) as pool:
            answers = list(pool.map(lambda name: prove(name, files), names))  # noqa: B023  # done in this turn
        for index, done in zip(names, answers, strict=True):
            name = f"{label(case)} {index}"
            tally.expect(done.returncode == 0, f"{name}: cuzkctl prove exits 0: {done.stderr.strip()}")
            public = out / index / "public.json"
            same = public.exists() and public.read_bytes() == case.public.read_bytes()
            tally.expect(same, f"{name}: public.json is the one that snarkjs writes")


def prove_by_example(case: Case, out: Path, socket: Path, tally: Tally) -> None:
    """One proof by the example client of ipc/PROTOCOL.md, which shares no code with cuzkd."""
    done = run("node", EXAMPLE, socket, case.zkey, case.witness)
    tally.expect(done.returncode == 0, f"{label(case)}: the example client exits 0: {done.stderr.strip()}")
    if done.returncode == 0:
        made = json.loads(done.stdout)
        folder = out / "example"
        folder.mkdir(parents=True)
        (folder / "proof.json").write_text(json.dumps(made["proof"]))
        (folder / "public.json").write_text(json.dumps(made["publicSignals"]))
        same = made["publicSignals"] == json.loads(case.public.read_text())
        tally.expect(same, f"{label(case)}: the example client prints the public inputs")


def claims(case: Case, out: Path) -> list[dict[str, object]]:
    """What snarkjs is to say of the case's proofs, and of the first one beside a wrong public input."""
    made = sorted(path.parent for path in out.glob("*/proof.json"))
    asked: list[dict[str, object]] = [
        {
            "name": f"{label(case)} {folder.name}",
            "vkey": str(case.verification_key),
            "proof": str(folder / "proof.json"),
            "public": str(folder / "public.json"),
            "valid": True,
        }
        for folder in made
    ]
    public = json.loads(case.public.read_text())
    if made and public:
        wrong = out / "wrong.json"
        wrong.write_text(json.dumps([str(int(public[0]) + 1), *public[1:]]))
        asked.append(
            asked[0] | {"name": f"{label(case)}, wrong public", "public": str(wrong), "valid": False}
        )
    return asked


def ask_snarkjs(modules: Path, asked: list[dict[str, object]], tally: Tally) -> None:
    """Have snarkjs judge every claim in one process."""
    verdict = run("node", TESTS / "interop" / "verify.mjs", modules, text=json.dumps(asked))
    wrong = verdict.stdout.splitlines()
    tally.expect(verdict.returncode == bool(wrong), f"snarkjs judges every claim: {verdict.stderr.strip()}")
    tally.passed += len(asked) - len(wrong)
    for line in wrong:
        tally.expect(False, line)


def check_program(case: Case, out: Path, snarkjs: Path, tally: Tally) -> None:
    """The snarkjs program exports the same verification key, and accepts the case's first proof."""
    ours, theirs = out / "ours.json", out / "theirs.json"
    run(BIN / "cuzkd", "export-vkey", "--zkey", case.zkey, "-o", ours)
    run("node", snarkjs, "zkey", "export", "verificationkey", case.zkey, theirs)
    same = ours.exists() and theirs.exists() and ours.read_bytes() == theirs.read_bytes()
    tally.expect(same, f"{label(case)}: the verification key is the one that snarkjs exports")

    done = run(
        "node",
        snarkjs,
        "groth16",
        "verify",
        theirs,
        out / "witness-0" / "public.json",
        out / "witness-0" / "proof.json",
    )
    tally.expect(
        done.returncode == 0 and "OK!" in done.stdout, f"{label(case)}: snarkjs groth16 verify says OK"
    )


def main() -> int:
    """Check every case; the exit code is 0 when everything holds."""
    modules = Path(sys.argv[1])
    snarkjs = modules / "node_modules" / "snarkjs" / "build" / "cli.cjs"
    cases = fixtures.all_cases()
    tally = Tally()
    with tempfile.TemporaryDirectory(prefix="cuzkd-interop-") as folder:
        work = Path(folder)
        daemon = start_daemon(work / "run", work / "log")
        try:
            for case in cases:
                start = time.monotonic()
                prove_case(case, work / label(case), work / "run" / "cuzkd.sock", tally)
                prove_by_example(case, work / label(case), work / "run" / "cuzkd.sock", tally)
                print(f"{label(case)}: {2 * PARALLEL} proofs in {time.monotonic() - start:.1f} s", flush=True)
        finally:
            daemon.terminate()
            daemon.wait(START_LIMIT_S)
        asked = [claim for case in cases for claim in claims(case, work / label(case))]
        ask_snarkjs(modules, asked, tally)
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(lambda case: check_program(case, work / label(case), snarkjs, tally), cases))
    print(f"{len(cases)} circuits against snarkjs")
    print(f"interop: {tally.passed} passed, {len(tally.problems)} failed")
    return 1 if tally.problems else 0


if __name__ == "__main__":
    sys.exit(main())
