"""Checks keys that `cuzkd setup` makes against the real snarkjs; usage: keys.py FOLDER_WITH_NODE_MODULES.

For every circuit at hand and 50 random ones on each curve (without products, with unused wires, with no or only public
signals, with full domains): snarkjs exports the key's verification key, byte for byte as `cuzkd export-vkey` does,
proves with the key and verifies, and verifies the proof that is made here.
"""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
import sys
import tempfile
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS))

import fixtures  # noqa: E402 - found through the path above
from hypothesis import HealthCheck, Phase, given, seed, settings  # noqa: E402
from proving import prove_files  # noqa: E402
from random_circuits import Circuit, circuits, r1cs_bytes  # noqa: E402

from cuzkd import cli  # noqa: E402
from cuzkd.formats.proof import dump_proof, dump_public  # noqa: E402
from cuzkd.formats.wtns_writer import write_wtns  # noqa: E402
from cuzkd.kernels.field import scalars_from_ints  # noqa: E402
from cuzkd.model import Curve  # noqa: E402

RANDOM = 50
LARGEST_R1CS_BYTES = 2_000_000


def random_circuits(curve: Curve) -> list[Circuit]:
    """The same ones at every call; the odd shapes are among them."""
    found: list[Circuit] = []

    @seed(1)
    @settings(
        max_examples=RANDOM,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(circuits((curve,)))
    def collect(circuit: Circuit) -> None:
        found.append(circuit)

    collect()
    return found


def claim(name: str, r1cs: Path, wtns: Path, folder: Path) -> dict[str, object]:
    """Set up and prove; what snarkjs is to find."""
    folder.mkdir(exist_ok=True)
    zkey = folder / "own.zkey"
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        for words in (
            ("setup", "--r1cs", r1cs, "--flavour", "snarkjs", "-o", zkey),
            ("export-vkey", "--zkey", zkey, "-o", folder / "ours.json"),
        ):
            if cli.main([str(word) for word in words]):
                raise SystemExit(f"{name}: cuzkd {words[0]} failed")
    proof, public, _ = prove_files(zkey, wtns, folder / "circuits")
    (folder / "proof.json").write_text(dump_proof(proof))
    (folder / "public.json").write_text(dump_public(public))
    return {
        "name": name,
        "zkey": str(zkey),
        "wtns": str(wtns),
        "vkey": str(folder / "theirs.json"),
        "ours": {"proof": str(folder / "proof.json"), "public": str(folder / "public.json")},
    }


def claims(work: Path) -> list[dict[str, object]]:
    """One for each circuit."""
    made = [
        claim(f"{case.path.parent.name}/{case.name}", case.r1cs, case.witness, work / f"case{number}")
        for number, case in enumerate(fixtures.all_cases())
        if case.r1cs.stat().st_size <= LARGEST_R1CS_BYTES
    ]
    for curve in Curve:
        for number, circuit in enumerate(random_circuits(curve)):
            folder = work / f"{curve}{number}"
            folder.mkdir()
            (folder / "circuit.r1cs").write_bytes(r1cs_bytes(circuit))
            with (folder / "witness.wtns").open("wb") as out:
                write_wtns(out, curve, scalars_from_ints(circuit.witness))
            name = f"random {curve} {number}"
            made.append(claim(name, folder / "circuit.r1cs", folder / "witness.wtns", folder))
    return made


def main() -> int:
    """Check every circuit; the exit code is 0 when everything holds."""
    with tempfile.TemporaryDirectory(prefix="cuzkd-keys-") as name:
        asked = claims(Path(name))
        verdict = subprocess.run(
            ["node", TESTS / "interop" / "prove.mjs", sys.argv[1]],
            input=json.dumps(asked),
            capture_output=True,
            text=True,
            check=False,
        )
        problems = verdict.stdout.splitlines()
        if bool(problems) != bool(verdict.returncode):
            problems.append(f"snarkjs did not judge every claim: {verdict.stderr.strip()}")
        for one in asked:
            theirs, ours = Path(str(one["vkey"])), Path(str(one["zkey"])).with_name("ours.json")
            if not theirs.exists() or theirs.read_bytes() != ours.read_bytes():
                problems.append(f"{one['name']}: the verification key is not the one that snarkjs exports")
    for problem in problems:
        print(f"FAILED {problem}")
    print(f"keys: {len(asked)} circuits set up and proved by snarkjs, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
