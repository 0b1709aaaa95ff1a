// Has cuzkd prove over its socket, with files that travel in pieces (PROTOCOL.md describes every frame):
//   node example.mjs SOCKET CIRCUIT.zkey WITNESS.wtns     prints {"proof": …, "publicSignals": […]} as snarkjs does
import { readFileSync } from "node:fs";
import { connect } from "node:net";
const tagged = (tag, n, ...parts) => Buffer.concat([Buffer.from([tag, n >>> 24, n >>> 16, n >>> 8, n]), ...parts]);
function pack(v) {
  if (v === null || typeof v === "boolean") return Buffer.of(v === null ? 0xc0 : v ? 0xc3 : 0xc2);
  if (typeof v === "number") return tagged(0xce, v);
  if (typeof v === "string") return tagged(0xdb, Buffer.byteLength(v), Buffer.from(v));
  if (Buffer.isBuffer(v)) return tagged(0xc6, v.length, v);
  if (Array.isArray(v)) return tagged(0xdd, v.length, ...v.map(pack));
  return tagged(0xdf, Object.keys(v).length, ...Object.entries(v).flat().map(pack));
}
function unpack(b, at = { i: 0 }) {
  const tag = b[at.i++], take = (n) => b.subarray(at.i, (at.i += n)), size = (n) => take(n).readUIntBE(0, n);
  const array = (n) => Array.from({ length: n }, () => unpack(b, at));
  const map = (n) => Object.fromEntries(Array.from({ length: n }, () => [unpack(b, at), unpack(b, at)]));
  if (tag < 0xa0) return tag < 0x80 ? tag : tag < 0x90 ? map(tag & 15) : array(tag & 15);
  if (tag < 0xc0) return take(tag & 31).toString();
  if (tag < 0xc4) return { 0xc0: null, 0xc2: false, 0xc3: true }[tag];
  if (tag < 0xc7) return take(size(1 << (tag - 0xc4)));
  if (tag === 0xcb) return take(8).readDoubleBE();
  if (tag < 0xcf) return size(1 << (tag - 0xcc)); // integers beyond 32 bits do not come in what is asked here
  if (tag < 0xdc) return take(size(1 << (tag - 0xd9))).toString();
  return tag < 0xde ? array(size(2 << (tag - 0xdc))) : map(size(2 << (tag - 0xde)));
}
async function* frames(socket, held = Buffer.alloc(0), end = 0) {
  for await (const chunk of socket)
    for (held = Buffer.concat([held, chunk]); held.length >= 16; held = held.subarray(end)) {
      if (held.length < (end = 16 + held.readUInt32LE(8))) break;
      yield [held.readUInt16LE(4), unpack(held.subarray(16, end))];
    }
}
const [path, zkey, wtns] = process.argv.slice(2), socket = connect(path), incoming = frames(socket);
function send(type, fields) {
  const head = Buffer.from("c55a0100000000000000000001000000", "hex"), payload = pack(fields);
  head.writeUInt16LE(type, 4), head.writeUInt32LE(payload.length, 8), socket.write(Buffer.concat([head, payload]));
}
async function answer(wanted) {
  const [type, fields] = (await incoming.next()).value ?? [0, { message: "the daemon closed the connection" }];
  if (type !== wanted) throw new Error(`${fields.code ?? type}: ${fields.message}; ${fields.advice}`);
  return fields;
}
async function upload(name, data = readFileSync(name)) {
  send(28, { name, size_bytes: data.length });
  for (let i = 0; i < data.length; i += 1e6) send(29, { data: data.subarray(i, i + 1e6) });
  return send(30, {}), (await answer(19)).total - 1;
}
const integer = (b) => BigInt("0x" + Buffer.from(b).reverse().toString("hex")).toString();
const integers = (b, n) => Array.from({ length: b.length / n }, (_, i) => integer(b.subarray(i * n, i * n + n)));
send(16, { min_version: 1, max_version: 1, client: "example.mjs" }), await answer(17);
const files = { zkey: await upload(zkey), wasm: null, r1cs: null, witnesses: [await upload(wtns)], inputs: [] };
send(20, { circuit: null, ...files, points: "full", progress: false, cancel_on_disconnect: true });
send(22, { job: (await answer(21)).job, timeout_s: null, progress: false });
const { curve } = await answer(23), { proof, public: publics } = await answer(26);
const [ax, ay, bx0, bx1, by0, by1, cx, cy] = integers(proof, proof.length / 8);
const points = { pi_a: [ax, ay, "1"], pi_b: [[bx0, bx1], [by0, by1], ["1", "0"]], pi_c: [cx, cy, "1"] };
console.log(JSON.stringify({ proof: { ...points, protocol: "groth16", curve }, publicSignals: integers(publics, 32) }));
socket.end();
