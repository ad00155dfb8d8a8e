// A body that is dragged by its handles: the goals in use, one solve per frame, undo, and the table of errors.
//
// goal_choice.js chooses among the goals that Python has prepared; the page sets their targets, and kernels.js solves.
"use strict";

const SETTLED = 1e-5;  // a frame in which no coordinate moves more has settled
const FRAME_BUDGET = 2.5;  // milliseconds of solving in a frame: a distant target takes several solves
const MOST_UNDO = 200;

class Puppet extends HandleLayer {
  static async open(player, data) {
    const parts = await Promise.all([data.module, data.body, data.problem, data.q].map(unpack));
    const kernels = await Kernels.load(parts[0]);
    return new Puppet(player, data, kernels.readBody(parts[1]), kernels.readProblem(parts[2]), new Float64Array(parts[3].buffer));
  }

  constructor(player, data, body, catalogue, poses) {
    super(player, data.handles.map((handle) => Object.assign(handle, {length: data.length, normal: data.planar ? [0, 0, 1] : null})));
    Object.assign(this, {data, body, catalogue, poses});
    this.choice = new GoalChoice(data, catalogue); this.done = []; this.undone = []; this.times = [];
    this.frames = new Map(data.tracks); this.held = new Map(); this.errors = []; this.looking = true; this.selected = null;
    this.begin(0);
    for (const handle of this.moves ? [] : this.handles) if (handle.held) this.held.set(handle.name, handle.held);
    for (const handle of this.moves ? [] : this.handles) if (handle.held && handle.held !== "reach") this.holdHere(handle, handle.held);
    this.first = this.snapshot(); this.lesson = data.lesson && new Lesson(this, data.lesson, body.kernels); this.buildHandles(); this.buildTools(); this.fillTable();
  }

  // ---------------------------------------------------------------------------------------------- state

  // takes the pose of a frame of the motion; the handles in contact are held there
  begin(frame) {
    const nq = this.data.nq;
    this.frame = frame; this.q = this.poses.slice(nq * frame, nq * frame + nq); this.live = false; this.moving = false;
    if (this.moves) {
      this.held = this.listContacts(frame); this.done = []; this.undone = [];
      for (const handle of this.handles) if (this.held.has(handle.name)) this.holdHere(handle, this.held.get(handle.name));
    }
    this.places = this.body.fk(this.q).slice();
  }

  get moves() { return this.poses.length > this.data.nq; }

  // the handles in contact at a frame of the motion, and their roles
  listContacts(frame) { return new Map(this.handles.filter(({name}) => this.data.stands[frame].includes(name)).map(({name, stands}) => [name, stands ? "plant" : "pin"])); }

  // shows the handles at a frame of the motion
  follow(frame) {
    if (this.frame === frame) return;
    const held = this.listContacts(frame);
    this.frame = frame; this.q = this.poses.slice(this.data.nq * frame, this.data.nq * (frame + 1)); this.places = this.body.fk(this.q).slice();
    if (String([...held]) !== String([...this.held])) { this.held = held; this.markHandles(); }
  }

  // leaves the motion for the pose of its frame, from which Reset starts again
  enter() {
    const player = this.player;
    if (this.live || !this.moves) return;
    player.play(false); player.seek(Math.round(player.time)); this.begin(player.time); this.first = this.snapshot();
  }

  // goes back to the motion, if there is one, even to the frame it was dragged from
  leave() { if (!this.moves) return; if (this.live) this.frame = -1; this.live = this.moving = false; }

  snapshot() { return {frame: this.frame, q: this.q, watched: this.watched, held: new Map(this.held), targets: this.catalogue.targets.slice()}; }

  restore(state) {
    if (this.moves && state.frame !== this.player.time) { this.player.play(false); this.player.seek(state.frame); }
    this.frame = state.frame; this.q = state.q; this.watched = state.watched; this.held = new Map(state.held); this.catalogue.targets.set(state.targets); this.dragged = null;
    this.live = true; this.moving = true; this.show();
  }

  remember() { this.done.push(this.snapshot()); this.undone = []; if (this.done.length > MOST_UNDO) this.done.shift(); }

  undo() { if (this.done.length) { this.undone.push(this.snapshot()); this.restore(this.done.pop()); } }

  redo() { if (this.undone.length) { this.done.push(this.snapshot()); this.restore(this.undone.pop()); } }

  reset() { this.enter(); this.remember(); this.restore(this.first); }

  holdHere(handle, role) { this.choice.hold(handle, role, this.q); }

  // pins or plants a handle where it is, or releases it
  toggle(handle) {
    this.enter(); this.remember();
    const role = handle.stands ? "plant" : "pin";
    if (this.held.get(handle.name) === role) this.held.delete(handle.name);
    else { this.held.set(handle.name, role); this.holdHere(handle, role); }
    this.live = true; this.moving = true; this.show();
  }

  // swaps left and right: the pose, pins, planted feet and targets, which then are where the handles are
  mirror() {
    const {entries, shift} = this.data.mirror, q = Float64Array.from(shift), held = new Map();
    this.enter(); this.remember();
    for (const [row, column, factor] of entries) q[row] += factor * this.q[column];
    for (const handle of this.handles) if (this.held.has(handle.name)) held.set(handle.mirror || handle.name, this.held.get(handle.name));
    this.q = q; this.held = held; this.places = this.body.fk(q).slice();
    const seen = this.watched && this.handles.find((handle) => handle.name === (this.watched.mirror || this.watched.name));
    if (seen) this.look(seen, this.position(seen));
    for (const handle of this.handles) if (held.has(handle.name)) this.holdHere(handle, held.get(handle.name));
    this.live = true; this.moving = true; this.show();
  }

  // ---------------------------------------------------------------------------------------------- dragging

  grab(handle) {
    this.enter(); this.remember(); this.dragged = handle; this.holdHere(handle, "drag"); this.live = true; this.select(handle);
  }

  pull(point) {
    const handle = this.dragged;
    this.catalogue.point(handle.goals.drag[0]).set(point);
    if (this.looking && handle.kind === "end" && !handle.stands) this.look(handle, point);
    this.moving = true; this.player.dirty = true;
  }

  look(handle, point) { this.watched = handle; for (const goal of this.data.looks) this.catalogue.point(goal).set(point); }

  // a pin or a foot is held where it is now; others keep the target
  drop() {
    const handle = this.dragged, role = this.held.get(handle.name) || "reach";
    const target = [...this.catalogue.point(handle.goals.drag[0])];
    this.holdHere(handle, role);
    if (role === "reach") { this.catalogue.point(handle.goals.reach[0]).set(target); this.held.set(handle.name, "reach"); }
    this.dragged = null; this.moving = true; this.show();
  }

  // the problem of the goals in use, and their indices
  choose() {
    const roles = new Map(this.held);
    if (this.dragged) roles.set(this.dragged.name, "drag");
    const looking = this.looking && this.handles.some((h) => h.kind === "end" && !h.stands && roles.has(h.name));
    return this.choice.choose(roles, (handle) => this.height(handle), looking);
  }

  // solves for this frame, if anything moves
  step() {
    if (!this.moving) return;
    const begun = performance.now(), {problem, list} = this.choose();
    let moved = 0;
    if (!problem) { this.errors = []; this.moving = false; this.show(); return; }
    for (let k = 0; k < 8 && (k === 0 || (moved > 1e-4 && performance.now() - begun < FRAME_BUDGET)); k++) {
      const from = performance.now(), found = problem.solve(this.q);
      this.times.push(performance.now() - from);
      moved = found.q.reduce((most, x, i) => Math.max(most, Math.abs(x - this.q[i])), 0);
      this.q = found.q;
      this.errors = list.map((goal, i) => ({goal, metres: found.errors[2 * i], radians: found.errors[2 * i + 1]}));
    }
    if (this.times.length > 4000) this.times.splice(0, 2000);
    this.places = this.body.fk(this.q).slice();
    this.moving = moved > SETTLED; this.fillTable(); this.player.dirty = true;
  }

  show() { this.places = this.body.fk(this.q).slice(); this.fillTable(); this.markHandles(); this.player.dirty = true; }

  // the transform of a track, or undefined if the body does not move it
  transform(track) {
    const frame = this.frames.get(track), p = this.places;
    if (!this.live || frame === undefined) return undefined;
    const out = new Float32Array(16);
    for (let r = 0; r < 4; r++) for (let c = 0; c < 4; c++) out[4 * c + r] = p[16 * frame + 4 * r + c];
    return out;
  }

  position(handle) { const p = this.places, at = 16 * handle.frame; return [p[at + 3], p[at + 7], p[at + 11]]; }

  // the height of the ground under a foot
  height(handle) { return V.dot(this.position(handle), this.player.up) - handle.lift; }

  // ---------------------------------------------------------------------------------------------- handles

  buildHandles() {
    for (const handle of this.handles) {
      this.addKnob(handle).addEventListener("focus", () => this.select(handle));
      for (const [part, name] of [["mark", "target"], ["thread", "thread"]]) { handle[part] = document.createElement("span"); handle[part].className = name; find("labels").after(handle[part]); }
    }
    this.markHandles();
  }

  // a missed handle is red, with a line to its target
  place(camera, width, height) {
    super.place(camera, width, height);
    for (const handle of this.handles) {
      const target = this.findMissed(handle), to = this.put(handle.mark, target, camera, width, height), from = to && handle.seen;
      handle.knob.classList.toggle("missed", target !== null);
      handle.thread.style.display = from ? "" : "none";
      if (!from) continue;
      handle.thread.style.width = `${Math.hypot(to[0] - from[0], to[1] - from[1])}px`;
      handle.thread.style.transform = `translate(${from[0]}px, ${from[1]}px) rotate(${Math.atan2(to[1] - from[1], to[0] - from[0])}rad)`;
    }
  }

  // the target of a handle that is not there, or null
  findMissed(handle) {
    const role = handle === this.dragged ? "drag" : this.held.get(handle.name), goals = (role && handle.goals[role]) || [];
    const missed = this.errors.find(({goal, metres}) => goals.includes(goal) && this.data.goals[goal].label && metres > this.data.goals[goal].near[0]);
    return missed && (this.live || !this.moves) ? [...this.catalogue.point(missed.goal)] : null;
  }

  markHandles() {
    for (const handle of this.handles) {
      const role = this.held.get(handle.name) || "free";
      handle.knob.dataset.held = role;
      handle.knob.setAttribute("aria-label", `${handle.name}, ${{free: "free", reach: "keeps its target", pin: "pinned", plant: "planted"}[role]}`);
      handle.knob.setAttribute("aria-pressed", role === "pin" || role === "plant");
    }
    find("undo").disabled = !this.done.length; find("redo").disabled = !this.undone.length;
    const chosen = this.selected;
    find("hold").disabled = !chosen;
    find("hold").textContent = !chosen ? "Pin" : ["pin", "plant"].includes(this.held.get(chosen.name)) ? `Release ${chosen.name}` : `${chosen.stands ? "Plant" : "Pin"} ${chosen.name}`;
  }

  select(handle) { this.selected = handle; for (const other of this.handles) other.knob.classList.toggle("selected", other === handle); this.markHandles(); }

  // ---------------------------------------------------------------------------------------------- panels

  buildTools() {
    find("tools").hidden = false;
    find("undo").addEventListener("click", () => this.undo()); find("redo").addEventListener("click", () => this.redo());
    find("reset").addEventListener("click", () => this.reset());
    find("hold").addEventListener("click", () => this.selected && this.toggle(this.selected));
    find("mirror").hidden = !this.data.mirror; find("mirror").addEventListener("click", () => this.mirror());
    find("gaze").hidden = !this.data.looks.length;
    find("looks").addEventListener("change", (e) => { this.looking = e.target.checked; this.moving = this.live; });
    document.addEventListener("keydown", (e) => {
      if (!(e.ctrlKey || e.metaKey) || e.key.toLowerCase() !== "z") return;
      e.preventDefault(); if (e.shiftKey) this.redo(); else this.undo();
    });
  }

  isMissed({goal, metres, radians}) { const [near, turn] = this.data.goals[goal].near; return metres > near || radians > turn; }

  fillTable() {
    const shown = this.errors.filter((error) => this.data.goals[error.goal].label), table = find("table");
    while (table.rows.length <= shown.length) { const row = table.insertRow(); for (let k = 0; k < 4; k++) row.append(document.createElement(table.rows.length === 1 ? "th" : "td")); }
    while (table.rows.length > shown.length + 1) table.deleteRow(-1);
    const write = (row, cells) => cells.forEach((text, k) => { if (row.cells[k].textContent !== text) row.cells[k].textContent = text; });
    write(table.rows[0], ["goal", "mm", "degrees", "reached"]);
    shown.forEach((error, k) => {
      const yes = !this.isMissed(error), row = table.rows[k + 1];
      write(row, [this.data.goals[error.goal].label, (1000 * this.data.metres * error.metres).toFixed(1), (57.29578 * error.radians).toFixed(1), yes ? "yes" : "no"]);
      row.cells[3].className = yes ? "yes" : "no";
    });
    if (this.lesson) this.lesson.fill();
    const missed = shown.filter((error) => this.isMissed(error)), words = this.say(missed, shown.length);
    table.hidden = !shown.length; find("panel").hidden = false; if (find("words").textContent !== words) find("words").textContent = words;
    this.sum(missed.length, shown.length);
  }

  summarize() {
    const chosen = this.selected, at = chosen && this.position(chosen).map((x) => (this.data.metres * x).toFixed(3)).join(", ");
    return (chosen ? `${chosen.name} at ${at} m. ` : "") + (this.errors.length ? find("words").textContent || "All goals are reached." : "");
  }

  // why a goal is missed, in one sentence with the joints that move it: a handle's before balance and gaze, then the largest error
  say(missed, shown) {
    if (!missed.length) return this.errors.length ? "" : this.player.scene.words || "Drag a handle. Double-click or Enter pins it; arrow keys move it.";
    const shared = [...this.data.standing, ...this.data.looks];
    const [{goal, metres, radians}] = [...missed].sort((a, b) => shared.includes(a.goal) - shared.includes(b.goal) || b.metres - a.metres || b.radians - a.radians), {label, near, movers} = this.data.goals[goal];
    const size = metres > near[0] ? `${(1000 * this.data.metres * metres).toFixed(0)} mm` : `${(57.29578 * radians).toFixed(1)} degrees`;
    const ends = movers.map((k) => this.data.ranges[k]).filter(([, at, low, high]) => this.q[at] <= low + 1e-6 || this.q[at] >= high - 1e-6).map(([name]) => name);
    const named = ends.length > 4 ? [...ends.slice(0, 4), "others"] : ends;
    const reason = ends.length ? `${named.join(", ").replace(/, ([^,]*)$/, " and $1")} ${ends.length > 1 ? "are at the ends of their ranges" : "is at the end of its range"}` : `it is out of reach from this pose${shown > 1 ? ", or another goal holds it" : ""}`;
    return `${label} is missed by ${size}: ${reason}.`;
  }
}

if (window.player.scene.drag) startDragging(window.player, Puppet);
