// A race that is run again where its target is dragged: every method solves from the same start.
//
// While a target is dragged, the page shows the poses that the methods end in; then it plays their searches step by step.
"use strict";

const SOLVE_BUDGET = 8;  // milliseconds of solving in a frame while a target is dragged; the other racers follow in the next one
const KEY_PAUSE = 300;  // milliseconds after the last arrow key
const TIMED = 6;  // milliseconds over which the solves of a racer are timed: the clock of some browsers counts whole ones

// the rotation of a 4x4 matrix, row by row, as a quaternion wxyz: the largest component first
function quaternionOf(m) {
  const squares = [m[0] + m[5] + m[10], m[0] - m[5] - m[10], m[5] - m[0] - m[10], m[10] - m[0] - m[5]], k = squares.indexOf(Math.max(...squares));
  const [x, y, z] = [m[9] - m[6], m[2] - m[8], m[4] - m[1]], [a, b, c] = [m[4] + m[1], m[2] + m[8], m[9] + m[6]], w = 1 + squares[k];
  const q = [[w, x, y, z], [x, w, a, b], [y, a, w, c], [z, b, c, w]][k], length = Math.hypot(...q);
  return q.map((part) => part / length);
}

class LiveRace extends HandleLayer {
  static async open(player, data) {
    const kernels = await Kernels.load(await unpack(data.module)), racers = [];
    for (const race of data.races) {
      const body = kernels.readBody(await unpack(race.body)), start = Float64Array.from(race.start), normal = race.planar ? [2, 5, 8].map((k) => race.turn[k]) : null;
      race.first = [...race.target];
      for (const racer of race.racers) racers.push({...racer, race, body, start, normal, kind: "end", length: race.length, problem: kernels.readProblem(await unpack(racer.problem))});
    }
    return new LiveRace(player, data, racers);
  }

  constructor(player, data, racers) {
    super(player, racers);
    this.data = data; this.stale = new Set(); this.waiting = 0;
    find("handles").setAttribute("aria-label", "Targets: drag them, or move them with arrow keys");
    for (const racer of racers) this.addKnob(racer).setAttribute("aria-label", `target of ${racer.name}`);
    find("bar").hidden = false; find("bar").append(find("reset"));
    find("reset").addEventListener("click", () => { for (const race of data.races) race.target = [...race.first]; this.run(); });
    this.buildTable(); this.run();
  }

  // ---------------------------------------------------------------------------------------------- dragging

  // a point of a racer's body on the page, and back
  locate({race, offset}, p) { const t = race.turn; return [0, 3, 6].map((r, k) => race.scale * (t[r] * p[0] + t[r + 1] * p[1] + t[r + 2] * p[2]) + offset[k]); }
  locateBack({race, offset}, p) { const d = V.sub(p, offset), t = race.turn; return [0, 1, 2].map((c) => (t[c] * d[0] + t[c + 3] * d[1] + t[c + 6] * d[2]) / race.scale); }

  position(racer) { return this.locate(racer, racer.race.target); }

  grab(racer) { this.dragged = racer; this.player.play(false); this.show(1, this.handles.map(({path, start}) => [path ? path.at(-1).q : start])); }

  pull(point) {
    const {race} = this.dragged;
    race.target = this.locateBack(this.dragged, point);
    if (race.planar) race.target[2] = race.first[2];
    for (const racer of this.handles) if (racer.race === race) { this.stale.add(racer); this.moveBall(racer); }
    this.player.dirty = true;
  }

  // a held arrow key would run the searches many times a second
  drop(byKey) {
    this.dragged = null; clearTimeout(this.waiting);
    if (byKey) this.waiting = setTimeout(() => this.run(), KEY_PAUSE); else this.run();
  }

  // solves for this frame
  step() {
    const begun = performance.now();
    for (const racer of [...this.stale]) {
      if (performance.now() - begun > SOLVE_BUDGET) break;
      this.stale.delete(racer); this.solve(racer); this.write(racer, racer.path.at(-1).q, 0); this.fillRow(racer); this.player.dirty = true;
    }
  }

  solve(racer) { racer.problem.point(racer.problem.count("goals") - 1).set(racer.race.target); Object.assign(racer, racer.problem.trace(racer.start)); }

  // the time of a solve: the shortest mean of a batch that the clock can measure
  time(racer) {
    racer.microseconds = Infinity;
    for (let spent = 0, batch = 1; spent < TIMED || racer.microseconds === Infinity; ) {
      const begun = performance.now();
      for (let k = 0; k < batch; k++) racer.problem.solve(racer.start);
      const took = performance.now() - begun;
      spent += took;
      if (took < TIMED / 2) batch *= 2; else racer.microseconds = Math.min(racer.microseconds, (1000 * took) / batch);
    }
  }

  // runs all searches, times them, and plays them
  run() {
    this.stale.clear(); clearTimeout(this.waiting);
    for (const racer of this.handles) { this.solve(racer); this.time(racer); this.fillRow(racer); }
    const frames = Math.min(this.data.most, Math.max(2, ...this.handles.map(({path}) => path.length)));
    this.show(frames, this.handles.map(({path}) => path.slice(0, frames).map(({q}) => q)));
    this.player.time = 0; this.player.play(true);
  }

  // ---------------------------------------------------------------------------------------------- drawing

  // replaces the frames of the scene by those of all racers; a shorter search stays at its end
  show(frames, paths) {
    const {player} = this, {scene} = player;
    scene.frames = frames; scene.fps = Math.max(8, frames / 12); scene.hold = 1.2 * scene.fps; player.time = Math.min(player.time, player.end);
    player.data = new Float32Array(7 * frames * scene.tracks); find("slider").max = player.end;
    this.handles.forEach((racer, k) => {
      for (let frame = 0; frame < frames; frame++) this.write(racer, paths[k][Math.min(frame, paths[k].length - 1)], frame);
      this.moveBall(racer);
      scene.curves[k].values = racer.path ? racer.path.slice(0, this.data.most).map(({errors}) => Math.max(...errors)) : [];
    });
    player.dirty = true;
  }

  write(racer, q, frame) {
    const {data, scene} = this.player, places = racer.body.fk(q), t = racer.race.turn, m = new Float64Array(12);
    for (const [track, at] of racer.tracks) {
      const T = places.subarray(16 * at, 16 * at + 16);
      for (let r = 0; r < 3; r++) for (let c = 0; c < 3; c++) m[4 * r + c] = t[3 * r] * T[c] + t[3 * r + 1] * T[4 + c] + t[3 * r + 2] * T[8 + c];
      data.set([...this.locate(racer, [T[3], T[7], T[11]]), ...quaternionOf(m)], 7 * (frame * scene.tracks + track));
    }
  }

  moveBall(racer) {
    const {data, scene} = this.player;
    for (let frame = 0; frame < scene.frames; frame++) data.set([...this.position(racer), 1, 0, 0, 0], 7 * (frame * scene.tracks + racer.ball));
  }

  buildTable() {
    const table = find("table"), line = (tag, cells) => { const row = table.insertRow(); for (const text of cells) { const cell = document.createElement(tag); cell.textContent = text; row.append(cell); } return row; };
    table.replaceChildren(); line("th", ["method", "error", "steps", "us", "reached"]);
    for (const racer of this.handles) racer.row = line("td", [racer.name, "", "", "", ""]);
  }

  fillRow(racer) {
    const [, error, steps, time, reached] = racer.row.cells, yes = racer.outcome === "reached", {errors} = racer.path.at(-1);
    error.textContent = `${(1000 * racer.race.metres * errors[0]).toFixed(1)} mm` + (errors[1] ? `, ${(57.29578 * errors[1]).toFixed(1)}°` : "");
    steps.textContent = racer.steps; time.textContent = racer.microseconds.toFixed(0);
    reached.textContent = yes ? "yes" : "no"; reached.className = yes ? "yes" : "no";
    this.sum(this.handles.filter(({outcome}) => outcome !== "reached").length, this.handles.length);
  }

  summarize() {
    const list = (yes) => this.handles.filter(({outcome}) => (outcome === "reached") === yes).map(({name}) => name).join(", ") || "none";
    return `Reached: ${list(true)}. Missed: ${list(false)}.`;
  }

  // the methods that a player calls; the frames of the scene are all that moves
  transform() { return undefined; }
  follow() {}
  leave() {}
}

startDragging(window.player, LiveRace);
