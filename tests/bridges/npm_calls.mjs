// Calls the npm package: reads a request as JSON from stdin, writes the results as JSON to stdout.
//
// A request has a list of calls, [name, ...arguments]; an error is returned as its message.
import {readFileSync} from "node:fs";
import {pathToFileURL} from "node:url";

const [, , folder] = process.argv, request = JSON.parse(readFileSync(0, "utf-8"));
const {load, bindSkeleton} = await import(pathToFileURL(`${folder}/index.js`));
const {Kernels} = await import(pathToFileURL(`${folder}/kernels.js`)), {GoalChoice} = await import(pathToFileURL(`${folder}/goal_choice.js`)), {unpack} = await import(pathToFileURL(`${folder}/bytes.js`));
let rig = null, update = null, bones = [];

class Values {
  constructor(values) { this.set(...values); }
  set(x, y, z, w) { Object.assign(this, {x, y, z}); if (w !== undefined) this.w = w; }
}

const names = {
  load: async (...given) => { rig = await load(...given); return {frames: rig.frames, joints: rig.joints, handles: rig.handles, held: rig.held, q: rig.q}; },
  loadBytes: async (path) => { rig = await load(new Uint8Array(readFileSync(path))); return rig.name; },
  get: (name) => rig[name],
  setQ: (q) => { rig.q = q; return rig.q; },
  time: (name, targets) => targets.map((target) => { const begun = performance.now(); rig.solve({[name]: target}); return performance.now() - begun; }),
  // the solves of a page with a dragged handle, until nothing moves
  page: async (data, name, target) => {
    const kernels = await Kernels.load(readFileSync(`${folder}/kernels.wasm`)), catalogue = kernels.readProblem(await unpack(data.problem));
    const roles = new Map(data.handles.filter(({held}) => held).map(({name, held}) => [name, held])), choice = new GoalChoice(data, catalogue);
    let q = new Float64Array((await unpack(data.q)).buffer), moved = 1;
    for (const handle of data.handles) if (handle.held) choice.hold(handle, handle.held, q);
    roles.set(name, "drag");
    catalogue.point(data.handles.find((handle) => handle.name === name).goals.drag[0]).set(target);
    for (let k = 0; k < 100 && moved > 1e-9; k++) {
      const found = choice.choose(roles, () => 0, false).problem.solve(q);
      moved = Math.max(...found.q.map((x, i) => Math.abs(x - q[i]))); q = found.q;
    }
    return q;
  },
  // bones with a name, the index of a parent, a position and a quaternion
  bind: (list, options) => {
    bones = list.map(({name, position, quaternion}) => ({name, position: new Values(position), quaternion: new Values(quaternion), parent: null}));
    list.forEach(({parent}, k) => { bones[k].parent = parent < 0 ? null : bones[parent]; });
    update = bindSkeleton(rig, {bones: bones.slice(request.unbound || 0)}, options);
  },
  update: () => { update(); return bones.map(({position: p, quaternion: q}) => ({position: [p.x, p.y, p.z], quaternion: [q.x, q.y, q.z, q.w]})); },
};

const plain = (_, value) => (ArrayBuffer.isView(value) ? Array.from(value) : typeof value === "number" && !Number.isFinite(value) ? String(value) : value);
const out = [];
for (const [name, ...given] of request.calls) {
  try { out.push((names[name] ? await names[name](...given) : rig[name](...given)) ?? null); } catch (problem) { out.push({error: problem.message}); }
}
process.stdout.write(JSON.stringify({results: out}, plain));
