// The kernels of Poise in WebAssembly: bodies, problems and solves, by the functions of native/wasm/interface.cpp.
"use strict";

const COUNTS = {q: 0, v: 1, rows: 2, goals: 3, points: 4, limits: 5, targets: 6, steps: 7, searches: 8, proved: 9, history: 10};
const NUMBERS = {start: 0, targets: 1, q: 2, errors: 3, searchQ: 4, searchRows: 5, searchStep: 6, searchErrors: 7, history: 8};
const HISTORY_HEAD = 3;  // search, cost, damping; then come the errors of each goal, then q (run/history.h)
const OUTCOMES = ["running", "reached", "stalled", "out of steps"];

class Kernels {
  static async load(bytes) {
    let memory = null;
    const clock = (_, __, at) => { new DataView(memory.buffer).setBigUint64(at, BigInt(Math.round(performance.now() * 1e6)), true); return 0; };
    const system = new Proxy({}, {get: (_, name) => (name === "clock_time_get" ? clock : () => 0)});
    const {instance} = await WebAssembly.instantiate(bytes, {wasi_snapshot_preview1: system});
    memory = instance.exports.memory;
    if (instance.exports._initialize) instance.exports._initialize();
    return new Kernels(instance.exports);
  }

  constructor(calls) { this.calls = calls; }

  // a view of the module's memory; it is detached when the memory grows, so it is used at once
  view(at, count) { return new Float64Array(this.calls.memory.buffer, at, count); }

  put(values) {
    const bytes = new Uint8Array(values.buffer, values.byteOffset, values.byteLength), at = this.calls.poise_allocate(bytes.length || 1);
    new Uint8Array(this.calls.memory.buffer, at, bytes.length).set(bytes);
    return at;
  }

  read(call, bytes, what) {
    const at = this.put(bytes), made = this.calls[call](at, bytes.length);
    this.calls.poise_release(at);
    if (!made) throw new Error(`these bytes are not ${what}`);
    return made;
  }

  readBody(bytes) { return new KernelBody(this, this.read("poise_read_body", bytes, "a body")); }

  // of a matrix with as many rows, row by row; in no particular order
  singularValues(A, rows) {
    const at = this.put(A), out = this.put(new Float64Array(rows));
    this.calls.poise_singular_values(rows, A.length / rows, at, out);
    const sigma = [...this.view(out, rows)];
    for (const used of [at, out]) this.calls.poise_release(used);
    return sigma;
  }

  readProblem(bytes) { return new KernelProblem(this, this.read("poise_read_problem", bytes, "a problem")); }
}

class KernelBody {
  constructor(kernels, at) {
    this.kernels = kernels; this.at = at; this.frames = kernels.calls.poise_count_frames(at);
    this.room = kernels.put(new Float64Array(16 * this.frames));
  }

  // the transforms of all frames, 4x4 each, row by row
  fk(q) {
    const at = this.kernels.put(q);
    this.kernels.calls.poise_fk(this.at, at, this.room);
    this.kernels.calls.poise_release(at);
    return this.kernels.view(this.room, 16 * this.frames);
  }

  jacobian(frame, q, nv) {
    const at = this.kernels.put(q), out = this.kernels.put(new Float64Array(6 * nv));
    this.kernels.calls.poise_jacobian(this.at, frame, at, out);
    const J = this.kernels.view(out, 6 * nv).slice();
    for (const used of [at, out]) this.kernels.calls.poise_release(used);
    return J;
  }
}

class KernelProblem {
  constructor(kernels, at) { this.kernels = kernels; this.at = at; }

  count(what) { return this.kernels.calls.poise_count(this.at, COUNTS[what]); }

  numbers(what, count) { return this.kernels.view(this.kernels.calls.poise_numbers(this.at, NUMBERS[what]), count); }

  get targets() { return this.numbers("targets", this.count("targets")); }

  // a goal's target: a rotation, row by row, then a position
  target(goal) { const at = this.kernels.calls.poise_find_target(this.at, goal); return this.targets.subarray(at, at + 12); }

  // the position of a goal's target: a point, a direction, or the translation of a transform
  point(goal) { return this.target(goal).subarray(9); }

  hold(goal, q) {
    const at = this.kernels.put(q);
    this.kernels.calls.poise_hold(this.at, goal, at);
    this.kernels.calls.poise_release(at);
  }

  // the problem of some goals, points of supports and limits, given as bytes that are 0 or 1
  choose(goals, points, limits) {
    const masks = [goals, points, limits].map((mask) => this.kernels.put(mask));
    const made = this.kernels.calls.poise_choose(this.at, ...masks);
    for (const mask of masks) this.kernels.calls.poise_release(mask);
    return made ? new KernelProblem(this.kernels, made) : null;
  }

  solve(q) {
    this.numbers("start", q.length).set(q);
    const outcome = OUTCOMES[this.kernels.calls.poise_solve(this.at)];
    return {outcome, q: this.numbers("q", q.length).slice(), errors: this.numbers("errors", 2 * this.count("goals")).slice(), steps: this.count("steps"), searches: this.count("searches"), proved: this.count("proved") === 1};
  }

  // the poses of one search, step by step
  search(q, phases) {
    const out = [];
    this.numbers("start", q.length).set(q);
    this.kernels.calls.poise_restart(this.at);
    for (let k = 0; k < phases; k++) { this.kernels.calls.poise_advance(this.at); out.push(this.numbers("searchQ", q.length).slice()); }
    return out;
  }

  // solves, and lists the errors of the last goal [m, rad] and the pose at every step, repeated poses left out
  trace(q) {
    this.kernels.calls.poise_record(this.at);
    const found = this.solve(q), goals = this.count("goals"), first = HISTORY_HEAD + 2 * goals, wide = first + q.length;
    const rows = this.numbers("history", this.count("history")), path = [];
    const add = (errors, pose) => { if (!path.length || pose.some((x, k) => x !== path.at(-1).q[k])) path.push({errors: [...errors], q: pose.slice()}); };
    for (let at = 0; at < rows.length; at += wide) add(rows.subarray(at + first - 2, at + first), rows.subarray(at + first, at + wide));
    add(found.errors.slice(-2), found.q);
    return {...found, path};
  }

  release() { this.kernels.calls.poise_release_problem(this.at); }
}
