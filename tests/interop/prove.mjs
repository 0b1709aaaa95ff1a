// Has the real snarkjs use keys that were not made by it: proves, exports the verification key, verifies.
// usage: node prove.mjs FOLDER_WITH_NODE_MODULES < claims.json
// claims: [{name, zkey, wtns, vkey, ours: {proof, public}}], paths of files; vkey is where the exported key is written,
// ours a proof of the same witness by somebody else. prints one line a claim that does not hold, and exits 1 if any.
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";

const snarkjs = createRequire(process.argv[2] + "/")("snarkjs");
const load = (path) => JSON.parse(readFileSync(path, "utf8"));
let wrong = 0;

for (const claim of JSON.parse(readFileSync(0, "utf8"))) {
  const say = (holds, what) => {
    if (!holds) {
      console.log(`${claim.name}: ${what}`);
      wrong += 1;
    }
  };
  try {
    const vkey = await snarkjs.zKey.exportVerificationKey(claim.zkey);
    writeFileSync(claim.vkey, JSON.stringify(vkey, null, 1));
    const { proof, publicSignals } = await snarkjs.groth16.prove(claim.zkey, claim.wtns);
    say(await snarkjs.groth16.verify(vkey, publicSignals, proof), "snarkjs does not verify its own proof");
    const { proof: ours, public: inputs } = claim.ours;
    say(await snarkjs.groth16.verify(vkey, load(inputs), load(ours)), "snarkjs does not verify our proof");
    const spoilt = publicSignals.map((value, i) => (i ? value : String(BigInt(value) + 1n)));
    if (spoilt.length) say(!(await snarkjs.groth16.verify(vkey, spoilt, proof)), "snarkjs verifies anything");
  } catch (error) {
    say(false, `snarkjs fails: ${error}`);
  }
}
process.exit(wrong ? 1 : 0);
