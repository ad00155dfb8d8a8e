// A body with handles: targets, pins and planted feet are solved as by a page or by poise.Rig.
import {findNamed, readList, readNumbers, readOptions, readTarget} from "./arguments.js";
import {GoalChoice} from "./goal_choice.js";
import {toQuaternion} from "./rotations.js";

const SETTLED = 1e-9, CALM = 1e-4;  // a solve that moves no coordinate more has settled; CALM, once the handles are exact
const EXACT = 1e-9;  // of a body's length, and rad
const MOST_ROUNDS = 40, RESTARTS = 8;
const AXES = {x: [1, 0, 0], y: [0, 1, 0], z: [0, 0, 1]};
const ADD = ' Other frames get a handle in Python: rig = poise.Rig(model); rig.handles.add(frame, frame, "end"); poise.save(rig, path).';

const readEnds = (ends, none) => { const list = ends.map((x) => x ?? none); return list.length === 1 ? list[0] : Object.freeze(list); };

export class Rig {
  #data; #body; #catalogue; #choice; #handles; #ranges; #q; #first; #held; #places;

  constructor(data, body, catalogue, q) {
    this.#data = data; this.#body = body; this.#catalogue = catalogue; this.#choice = new GoalChoice(data, catalogue);
    this.#handles = data.handles;
    for (const {goals} of this.#handles) { goals.point = [goals.drag[0]]; goals.pose = [goals.pin[0]]; }
    this.joints = data.joints.map((joint) => Object.freeze({...joint, lower: readEnds(joint.lower, -Infinity), upper: readEnds(joint.upper, Infinity)}));
    this.#ranges = this.joints.flatMap(({name, first, lower, upper}) => [lower].flat().map((low, k) => ({name, at: first + k, lower: low, upper: [upper].flat()[k]})));
    this.name = data.name; this.up = data.up; this.frames = data.frames;
    this.handles = this.#handles.map(({name, frame, kind, stands}) => Object.freeze({name, frame: data.frames[frame], kind, stands}));
    this.#move(q);
    this.#held = new Map(this.#handles.filter(({held}) => held).map(({name, held}) => [name, held]));
    for (const handle of this.#handles) if (handle.held && handle.held !== "reach") this.#choice.hold(handle, handle.held, q);
    this.#first = {q, held: new Map(this.#held), targets: catalogue.targets.slice()};
    Object.freeze(this.joints); Object.freeze(this.frames); Object.freeze(this.handles);
  }

  // ---------------------------------------------------------------------------------------------- pose

  get q() { return this.#q.slice(); }

  set q(values) {
    const q = Float64Array.from(readList(values, this.#q.length, "q"));
    for (const {name, at, lower, upper} of this.#ranges) if (q[at] < lower - 1e-9 || q[at] > upper + 1e-9) throw new RangeError(`q[${at}], of joint "${name}", is ${q[at]}, outside its range from ${lower} to ${upper}.`);
    this.#move(q);
  }

  // the current configuration, and the transforms of all frames by name
  get pose() { return {q: this.q, transforms: this.#listTransforms()}; }

  // a frame's position, quaternion [x, y, z, w] and matrix of 16 numbers, row by row
  transform(frame) {
    const index = this.frames.indexOf(frame);
    if (index < 0) findNamed(this.frames.map((name) => ({name})), frame, "transform: frame");
    return this.#readTransform(index);
  }

  // returns to the pose, the pins and the planted feet of the file
  reset() {
    this.#held = new Map(this.#first.held); this.#catalogue.targets.set(this.#first.targets);
    this.#move(this.#first.q);
  }

  // ---------------------------------------------------------------------------------------------- pins

  // the role of each held handle: "pin", "plant" or "reach"
  get held() { return Object.fromEntries(this.#held); }

  // keeps a handle where it is, or at a target, in all following solves
  pin(name, target) {
    const handle = findNamed(this.#handles, name, "pin: name", ADD), [goal] = handle.goals.pin;
    const place = target === undefined ? null : this.#readPlace(handle, target, "pin: target");
    this.#choice.hold(handle, "pin", this.#q);
    if (place) this.#setTarget(goal, place);
    this.#held.set(name, "pin");
  }

  // keeps a foot where it stands: flat, with balance above it
  plant(name) {
    const feet = this.#handles.filter(({stands}) => stands);
    if (!feet.length) throw new RangeError(`plant: ${this.name} has no feet; use pin.`);
    const handle = findNamed(feet, name, "plant: name", " For other handles use pin.");
    this.#choice.hold(handle, "plant", this.#q);
    this.#held.set(name, "plant");
  }

  // releases a handle, or all handles
  release(name) {
    if (name === undefined) this.#held.clear();
    else this.#held.delete(findNamed(this.#handles, name, "release: name").name);
  }

  // ---------------------------------------------------------------------------------------------- solving

  // Moves handles to targets, {name: [x, y, z]} or {name: {position, rotation}}, from the current pose. Pins and planted feet are kept.
  // If a target is missed, `restarts` other poses are tried; `look` is a point to look at.
  solve(targets = {}, options = {}) {
    const {restarts = RESTARTS, look} = readOptions(options, ["restarts", "look"], "options");
    if (!Number.isInteger(restarts) || restarts < 0) throw new RangeError(`options.restarts is ${restarts}; it must be an integer from 0.`);
    const wanted = this.#readTargets(targets), gaze = look === undefined ? null : readNumbers(look, "xyz", "options.look");
    if (gaze && !this.#data.looks.length) throw new RangeError(`options.look: ${this.name} has no head that looks; leave it out.`);
    const kept = this.#catalogue.targets.slice(), roles = new Map(this.#held);
    for (const {handle, place} of wanted) {
      const role = place.rotation ? "pose" : "point";
      roles.set(handle.name, role); this.#setTarget(handle.goals[role][0], place);
    }
    if (gaze) for (const goal of this.#data.looks) this.#catalogue.point(goal).set(gaze);
    try {
      const {problem, list} = this.#choose(roles, Boolean(gaze));
      let found = this.#descend(problem, list, this.#q);
      for (let k = 0; k < restarts && problem && !found.reached; k++) {
        const other = this.#descend(problem, list, this.#draw(k));
        if (other.reached) found = other;
      }
      this.#move(found.q);
      return {q: this.q, errors: found.errors, reached: found.reached, transforms: this.#listTransforms()};
    } finally { this.#catalogue.targets.set(kept); }
  }

  #readTargets(targets) {
    if (!targets || typeof targets !== "object" || Array.isArray(targets)) throw new TypeError(`targets is ${targets}; it must be an object such as {${this.#handles[0].name}: [x, y, z]}.`);
    return Object.entries(targets).map(([name, value]) => {
      const handle = findNamed(this.#handles, name, "targets: a name", ADD);
      return {handle, place: this.#readPlace(handle, value, `targets.${name}`)};
    });
  }

  #readPlace(handle, value, argument) {
    const place = readTarget(value, argument);
    if (place.rotation && !this.#data.goals[handle.goals.pin[0]].turns) throw new RangeError(`${argument}.rotation: "${handle.name}" was saved with a pin at a point. Leave the rotation out, or release the handle in Python and save the body again.`);
    return place;
  }

  #setTarget(goal, {position, rotation}) {
    const target = this.#catalogue.target(goal);
    if (rotation) target.set(rotation);
    target.set(position, 9);
  }

  #choose(roles, looking) {
    const up = AXES[this.up], height = ({frame, lift}) => this.#readTransform(frame).position.reduce((sum, x, k) => sum + x * up[k], -lift);
    return this.#choice.choose(roles, height, looking);
  }

  // solves from a pose until it settles
  #descend(problem, list, start) {
    let q = start, judged = this.#judge([], []), moved = problem ? Infinity : 0;
    for (let k = 0; k < MOST_ROUNDS && moved > (judged.exact ? CALM : SETTLED); k++) {
      const found = problem.solve(q);
      moved = found.q.reduce((most, x, i) => Math.max(most, Math.abs(x - q[i])), 0);
      q = found.q; judged = this.#judge(list, found.errors);
    }
    return {q, ...judged};
  }

  // the largest error of each goal, and whether all handles are reached, and exactly
  #judge(list, numbers) {
    const errors = {}, names = new Set(this.#handles.map(({name}) => name));
    list.forEach((goal, k) => {
      const {label, near} = this.#data.goals[goal], position = numbers[2 * k], rotation = numbers[2 * k + 1];
      if (!label) return;
      const known = errors[label] || {position: 0, rotation: 0, reached: true};
      errors[label] = {position: Math.max(known.position, position), rotation: Math.max(known.rotation, rotation), reached: known.reached && position <= near[0] && rotation <= near[1]};
    });
    const own = Object.entries(errors).filter(([name]) => names.has(name)).map(([, error]) => error);
    return {errors, reached: own.every((error) => error.reached), exact: own.every(({position, rotation}) => position < EXACT * this.#data.length && rotation < EXACT)};
  }

  // Returns the k-th pose for a restart: coordinates with a range anywhere in it, the others as they are.
  #draw(k) {
    const q = this.q, frozen = new Set(this.#data.frozen);
    let state = 0x9e3779b9 * (k + 1);
    for (const {name, at, lower, upper} of this.#ranges) {
      state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x6d2b79f5) | 0;
      const low = Math.max(lower, -Math.PI), high = Math.min(upper, Math.PI), share = ((state ^ (state >>> 13)) >>> 0) / 2 ** 32;
      if (!frozen.has(name) && (lower > -Infinity || upper < Infinity) && low < high) q[at] = low + share * (high - low);
    }
    return q;
  }

  #move(q) { this.#q = q.slice(); this.#places = this.#body.fk(this.#q).slice(); }

  #readTransform(index) {
    const m = this.#places.slice(16 * index, 16 * index + 16);
    return {position: [m[3], m[7], m[11]], quaternion: toQuaternion([m[0], m[1], m[2], m[4], m[5], m[6], m[8], m[9], m[10]]), matrix: m};
  }

  #listTransforms() { return Object.fromEntries(this.frames.map((name, k) => [name, this.#readTransform(k)])); }
}
