// Asks the real snarkjs about many proofs in one process.
// usage: node verify.mjs FOLDER_WITH_NODE_MODULES < claims.json
// claims: [{name, vkey, proof, public, valid}], paths of files and what snarkjs is expected to say.
// prints one line a claim that does not hold, and exits 1 if there is any.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const snarkjs = createRequire(process.argv[2] + "/")("snarkjs");
const load = (path) => JSON.parse(readFileSync(path, "utf8"));
const keys = new Map();
let wrong = 0;

for (const claim of JSON.parse(readFileSync(0, "utf8"))) {
  if (!keys.has(claim.vkey)) keys.set(claim.vkey, load(claim.vkey));
  const valid = await snarkjs.groth16.verify(keys.get(claim.vkey), load(claim.public), load(claim.proof));
  if (valid !== claim.valid) {
    console.log(`${claim.name}: snarkjs says ${valid ? "valid" : "INVALID"}`);
    wrong += 1;
  }
}
process.exit(wrong ? 1 : 0);
