// Reads a body and the kernels: from a path, an address or bytes.
import {unpack} from "./bytes.js";
import {Kernels} from "./kernels.js";
import {Rig} from "./rig.js";
import {VERSION} from "./version.js";

const FORMAT = 1;  // the version of the file
const SAVE = 'Write one in Python: poise.save(model, "robot.ik").';

// Returns the rig of a body. `kernels` is the address or the bytes of kernels.wasm, if it is not next to this file.
export async function load(source, {kernels = new URL("./kernels.wasm", import.meta.url)} = {}) {
  const data = parse(await read(source, "source"), nameSource(source));
  const module = await read(kernels, "kernels");
  if (!WebAssembly.validate(module)) throw new Error(`load: kernels is not a WebAssembly module that this program can run (${nameSource(kernels)}). Pass the address or the bytes of kernels.wasm from this package; SIMD is needed.`);
  const loaded = await Kernels.load(module);
  try {
    const [body, problem, q] = await Promise.all([data.body, data.problem, data.q].map(unpack));
    return new Rig(data, loaded.readBody(body), loaded.readProblem(problem), new Float64Array(q.buffer));
  } catch (problem) { throw new Error(`load: source is damaged (${nameSource(source)}): ${problem.message}. ${SAVE}`, {cause: problem}); }
}

function parse(bytes, name) {
  let data = null;
  try { data = JSON.parse(new TextDecoder().decode(bytes)); } catch { /* reported below */ }
  if (!data || data.poise !== "solver") throw new Error(`load: source is not a body for poise-ik (${name}). ${SAVE}`);
  if (data.version !== FORMAT) throw new Error(`load: source has version ${data.version} (${name}); this package reads version ${FORMAT}. Install poise-ik@${data.library}.`);
  if (data.library !== VERSION) throw new Error(`load: source was saved by Poise ${data.library} (${name}); this package is ${VERSION}. Save the body again by Poise ${VERSION}, or install poise-ik@${data.library}.`);
  return data;
}

const nameSource = (source) => (typeof source === "string" || source instanceof URL ? String(source) : "bytes");

async function read(source, argument) {
  if (source instanceof ArrayBuffer) return new Uint8Array(source);
  if (ArrayBuffer.isView(source)) return new Uint8Array(source.buffer, source.byteOffset, source.byteLength);
  if (typeof source !== "string" && !(source instanceof URL)) throw new TypeError(`load: ${argument} is ${typeof source}; it must be a path, a URL, an ArrayBuffer or a Uint8Array.`);
  const isNode = typeof process === "object" && Boolean(process.versions?.node), isRemote = /^(https?|data|blob):/i.test(String(source));
  try {
    if (isNode && !isRemote) return await (await import(/* webpackIgnore: true */ /* @vite-ignore */ "node:fs/promises")).readFile(/^file:/i.test(String(source)) ? new URL(source) : source);
    const answer = await fetch(source);
    if (!answer.ok) throw new Error(`HTTP ${answer.status}`);
    return new Uint8Array(await answer.arrayBuffer());
  } catch (problem) {
    throw new Error(`load: ${argument} cannot be read: ${source} (${problem.message}). Check the path or the address.`, {cause: problem});
  }
}
