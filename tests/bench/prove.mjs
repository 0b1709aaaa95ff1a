// Times snarkjs' groth16.prove in one process, files in memory, the first proof not counted.
// usage: node prove.mjs FOLDER_WITH_NODE_MODULES KEY.zkey WITNESS.wtns ROUNDS; prints a JSON list of seconds.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const [modules, zkey, wtns, rounds] = process.argv.slice(2);
const snarkjs = createRequire(modules + "/")("snarkjs");
const memory = (path) => ({ type: "mem", data: new Uint8Array(readFileSync(path)) });
const seconds = [];
for (let round = 0; round <= Number(rounds); round += 1) {
  const key = memory(zkey);
  const witness = memory(wtns);
  const start = performance.now();
  await snarkjs.groth16.prove(key, witness);
  if (round > 0) seconds.push((performance.now() - start) / 1000);
}
console.log(JSON.stringify(seconds));
process.exit(0);
