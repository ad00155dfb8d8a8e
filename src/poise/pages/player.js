// Plays a scene: decodes it, moves the camera and the time, and updates the table, the labels and the curves.
"use strict";

const KINDS = ["capsule", "cylinder", "box"];
const find = (id) => document.getElementById(id);

const floats = (text) => new Float32Array(bytesOf(text));

class Player {
  constructor(scene, canvas) {
    this.scene = scene; this.canvas = canvas; this.data = floats(scene.data); this.path = floats(scene.follow); this.time = 0; this.speed = 1; this.drawn = 0;
    this.solids = scene.solids.map(([track, kind, local, half, round, color, flags]) => ({
      track, kind: KINDS[kind], local: new Float32Array(local), half, round, color, shadow: flags & 1, glow: flags & 2, standIn: flags & 4, place: new Float32Array(local),
    }));
    const axes = {x: [[0, 1, 0], [0, 0, 1], [1, 0, 0]], y: [[0, 0, 1], [1, 0, 0], [0, 1, 0]], z: [[1, 0, 0], [0, 1, 0], [0, 0, 1]]}[scene.up];
    [this.ahead, this.aside, this.up] = axes;
    const ground = V.add(scene.ground, V.times(this.up, scene.floor - V.dot(scene.ground, this.up)));
    this.world = {up: this.up, ahead: this.ahead, aside: this.aside, middle: ground, reach: 2.6 * scene.radius};
    this.home(); this.painter = this.choosePainter();
    if (this.painter.bodies) { this.solids = this.solids.filter((solid) => !solid.standIn); document.body.dataset.meshes = scene.meshes.length; }
    this.playing = scene.frames > 1; this.last = null;
    this.listen(); this.fillPanels();
    new ResizeObserver(() => { this.resize(); this.dirty = false; this.draw(); }).observe(this.canvas); new ResizeObserver(() => this.measurePanel()).observe(find("panel")); this.resize();
    requestAnimationFrame((now) => this.tick(now));
  }

  choosePainter() {
    try { return new GLPainter(this.canvas, this.scene); } catch (problem) {
      console.info(`drawing without WebGL: ${problem.message}`);
      const fresh = this.canvas.cloneNode(); this.canvas.replaceWith(fresh); this.canvas = fresh;  // a canvas keeps its first context type
      document.body.dataset.painter = "flat";
      return new FlatPainter(fresh);
    }
  }

  home() {
    this.azimuth = this.scene.azimuth; this.elevation = this.scene.elevation; this.zoom = this.scene.drag || this.scene.live ? 1.2 : 1;  // with room to drag
    this.middle = [...this.scene.middle];
  }

  // ---------------------------------------------------------------------------------------------- time

  get end() { return this.scene.frames - 1; }

  tick(now) {
    if (this.playing && this.last !== null) {
      this.time += ((now - this.last) / 1000) * this.scene.fps * this.speed;
      if (this.time > this.end + (this.scene.hold || 0)) this.time = 0;
    }
    this.last = now; this.dirty = this.dirty || this.playing;
    if (this.painter.stale) { this.painter.stale = false; this.dirty = true; }
    if (this.puppet) this.puppet.step();
    if (this.dirty) { this.dirty = false; this.draw(); }
    requestAnimationFrame((next) => this.tick(next));
  }

  seek(frame) { this.time = Math.max(0, Math.min(this.end, frame)); if (this.puppet) this.puppet.leave(); this.dirty = true; }

  play(yes) { this.playing = yes && this.end > 0; if (this.playing && this.time >= this.end) this.time = 0; if (this.playing && this.puppet) this.puppet.leave(); find("play").dataset.playing = this.playing; find("play").setAttribute("aria-label", this.playing ? "Pause" : "Play"); this.dirty = true; }

  // the transform of a track between two frames: linear positions, rotations along the shorter arc
  transform(track, time) {
    const dragged = this.puppet && this.puppet.transform(track);
    if (dragged) return dragged;
    const low = Math.min(Math.floor(time), this.end), high = Math.min(low + 1, this.end), t = time - low, n = this.scene.tracks;
    const a = 7 * (low * n + track), b = 7 * (high * n + track), d = this.data, q = [];
    let dot = 0;
    for (let k = 3; k < 7; k++) dot += d[a + k] * d[b + k];
    for (let k = 0; k < 7; k++) q.push((1 - t) * d[a + k] + t * (k > 2 && dot < 0 ? -d[b + k] : d[b + k]));
    const length = Math.hypot(q[3], q[4], q[5], q[6]) || 1;
    return M.transform(q[0], q[1], q[2], q[3] / length, q[4] / length, q[5] / length, q[6] / length);
  }

  // ---------------------------------------------------------------------------------------------- camera

  camera() {
    const {width, height} = this.canvas, fov = 0.52, aspect = width / height, taken = this.covered / this.wide;
    const far = this.fit(Math.tan(fov / 2), aspect * (1 - taken)) * this.zoom;
    const flat = V.add(V.times(this.ahead, Math.cos(this.azimuth)), V.times(this.aside, Math.sin(this.azimuth)));
    const back = V.add(V.times(flat, Math.cos(this.elevation)), V.times(this.up, Math.sin(this.elevation)));
    const middle = V.add(this.middle, this.followed(Math.min(this.time, this.end)));
    const eye = V.add(middle, V.times(back, far)), look = M.lookAt(eye, middle, this.up);
    const lens = M.perspective(fov, aspect, far / 50, far * 20), side = [look[0], look[4], look[8]], above = [look[1], look[5], look[9]];
    lens[8] = taken;
    const matrix = M.product(lens, look);
    const project = (p) => {
      const w = matrix[3] * p[0] + matrix[7] * p[1] + matrix[11] * p[2] + matrix[15];
      return [...M.point(matrix, p).slice(0, 2).map((x) => x / w), w];
    };
    const unproject = (x, y, depth) => V.sub(V.add(eye, V.add(V.times(side, ((x + taken) * depth * aspect) / lens[5]), V.times(above, (y * depth) / lens[5]))), V.times(back, depth));
    return {eye, matrix, project, unproject, side, above, far, focal: 1 / Math.tan(fov / 2)};
  }

  // the displacement of the camera along the path it follows
  followed(time) {
    if (!this.path.length) return [0, 0, 0];
    const low = Math.floor(time), high = Math.min(low + 1, this.end), t = time - low;
    return [0, 1, 2].map((axis) => (1 - t) * this.path[3 * low + axis] + t * this.path[3 * high + axis]);
  }

  // the distance at which the initial view shows the whole bounding box of the scene
  fit(tall, aspect) {
    const {box, azimuth, elevation} = this.scene, flat = V.add(V.times(this.ahead, Math.cos(azimuth)), V.times(this.aside, Math.sin(azimuth)));
    const back = V.add(V.times(flat, Math.cos(elevation)), V.times(this.up, Math.sin(elevation))), right = V.cross(this.up, flat), above = V.cross(back, right);
    let far = 0;
    for (let k = 0; k < 8; k++) {
      const corner = [0, 1, 2].map((axis) => (k & (1 << axis) ? 1 : -1) * box[axis]);
      const room = Math.max(Math.abs(V.dot(corner, right)) / (0.92 * tall * aspect), Math.abs(V.dot(corner, above)) / (0.8 * tall));
      far = Math.max(far, room + V.dot(corner, back));
    }
    return far;
  }

  // the width that the panel covers: bodies are drawn next to it, not underneath
  measurePanel() {
    const panel = find("panel"), covered = panel.hidden || innerWidth <= 760 ? 0 : panel.offsetWidth + 16;
    if (covered !== this.covered) { this.covered = covered; this.dirty = true; }
  }

  resize() {
    const dots = window.devicePixelRatio || 1, box = this.canvas.getBoundingClientRect();
    this.wide = box.width; this.tall = box.height; this.measurePanel();  // not while drawing: reading sizes after writing styles lays the page out again
    this.canvas.width = Math.max(1, Math.round(box.width * dots)); this.canvas.height = Math.max(1, Math.round(box.height * dots));
    this.dirty = true;
  }

  // ---------------------------------------------------------------------------------------------- drawing

  move() {
    const time = Math.min(this.time, this.end), moved = new Map();
    const now = (track) => { if (!moved.has(track)) moved.set(track, this.transform(track, time)); return moved.get(track); };
    for (const solid of this.solids) if (solid.track >= 0) solid.place = M.product(now(solid.track), solid.local);
    if (this.painter.bodies) this.painter.bodies.move(now);
  }

  show(solids, camera, night) { this.painter.paint(solids, this.world, camera, night ? {ink: [0, 0, 0], pencil: [0.8, 0.86, 0.92]} : {ink: [0.16, 0.2, 0.26], pencil: [0.16, 0.2, 0.26]}); }

  draw() {
    const time = Math.min(this.time, this.end), camera = this.camera();
    this.move(); this.show(this.solids, camera, matchMedia("(prefers-color-scheme: dark)").matches);
    if (this.puppet) this.placeHandles(camera, time);
    this.placeLabels(camera, time); this.showTime(time); this.drawCurves(time);
    this.drawn += 1; document.body.dataset.drawn = this.drawn;
  }

  placeHandles(camera, time) {
    if (!this.puppet.live) this.puppet.follow(Math.round(time));
    this.puppet.place(camera, this.wide, this.tall);
  }

  placeLabels(camera, time) {
    this.scene.labels.forEach((label, k) => {
      const m = label.track < 0 ? null : this.transform(label.track, time), [x, y, w] = camera.project(m ? M.point(m, label.at) : label.at);
      const node = find("labels").children[k], half = (label.half = label.half || node.offsetWidth / 2);
      const right = Math.max(half, Math.min(this.wide - half, ((x + 1) / 2) * this.wide));  // not beyond an edge
      node.style.transform = `translate(-50%, -50%) translate(${right}px, ${((1 - y) / 2) * this.tall}px)`;
      node.style.display = w > 0 ? "" : "none";
    });
  }

  showTime(time) {
    if (this.end < 1) return;
    const s = this.scene;
    find("slider").value = time;
    find("clock").textContent = s.stepwise ? `step ${Math.floor(time + 1e-6)} of ${this.end}` : `${(time / s.fps).toFixed(2)} / ${(this.end / s.fps).toFixed(2)} s`;
    find("slider").setAttribute("aria-valuetext", find("clock").textContent);
  }

  drawCurves(time) {
    const {curves} = this.scene;
    if (!curves.length) return;
    const chart = find("chart"), dots = window.devicePixelRatio || 1, w = chart.clientWidth, h = chart.clientHeight;
    if (!w) return;
    if (chart.width !== Math.round(w * dots)) { chart.width = Math.round(w * dots); chart.height = Math.round(h * dots); }
    const pen = chart.getContext("2d"), ink = getComputedStyle(document.body).getPropertyValue("--soft");
    pen.setTransform(dots, 0, 0, dots, 0, 0); pen.clearRect(0, 0, w, h);
    const positive = curves.flatMap((c) => c.values).filter((v) => v > 1e-12);
    if (!positive.length) return;
    const low = Math.floor(Math.log10(Math.max(1e-9, positive.reduce((a, b) => Math.min(a, b))))), high = Math.ceil(Math.log10(positive.reduce((a, b) => Math.max(a, b))) + 1e-9);
    const longest = Math.max(...curves.map((c) => c.values.length), 2) - 1, left = 34, bottom = h - 16;
    const x = (k) => left + (k / longest) * (w - left - 4), y = (v) => 6 + ((high - Math.log10(Math.max(v, 10 ** (low - 1)))) / (high - low)) * (bottom - 6);
    pen.font = "10px system-ui, sans-serif"; pen.fillStyle = ink; pen.strokeStyle = ink; pen.lineWidth = 0.4;
    for (let p = low; p <= high; p += Math.max(1, Math.round((high - low) / 5))) {
      pen.globalAlpha = 0.5; pen.beginPath(); pen.moveTo(left, y(10 ** p)); pen.lineTo(w - 4, y(10 ** p)); pen.stroke();
      pen.globalAlpha = 1; pen.fillText(`1e${p}`, 2, y(10 ** p) + 3);
    }
    pen.save(); pen.beginPath(); pen.rect(left, 0, w, bottom); pen.clip(); pen.lineWidth = 1.6;
    for (const curve of curves) {
      pen.strokeStyle = curve.color; pen.beginPath();
      curve.values.forEach((v, k) => (k ? pen.lineTo(x(k), y(v)) : pen.moveTo(x(k), y(v))));
      pen.stroke();
      const now = Math.min(time, curve.values.length - 1);
      pen.fillStyle = curve.color; pen.beginPath(); pen.arc(x(now), y(curve.values[Math.round(now)]), 3, 0, 7); pen.fill();
    }
    pen.restore();
    pen.fillStyle = ink; pen.fillText("step", w - 26, h - 4);
  }

  // ---------------------------------------------------------------------------------------------- panels and hands

  fillPanels() {
    const s = this.scene, make = (tag, text, parent, kind) => { const e = document.createElement(tag); e.textContent = text; if (kind) e.className = kind; parent.append(e); return e; };
    find("title").textContent = s.title; find("note").textContent = s.note; document.title = s.title || "Poise";
    for (const label of s.labels) make("span", label.text, find("labels")).style.color = label.color || "";
    if (s.table) {
      const head = make("tr", "", find("table"));
      s.table.head.forEach((cell) => make("th", cell, head));
      for (const row of s.table.rows) {
        const line = make("tr", "", find("table"));
        row.forEach((cell) => make("td", cell, line, cell === "no" ? "no" : cell === "yes" ? "yes" : ""));
      }
    }
    find("words").textContent = s.words;
    for (const curve of s.curves) make("span", curve.name, find("legend")).style.setProperty("--dot", curve.color);
    find("panel").hidden = !s.table && !s.words && !s.curves.length;
    find("panel").open = innerWidth > 760;
    find("chart").hidden = !s.curves.length; find("bar").hidden = this.end < 1;
    find("slider").max = this.end; this.play(this.playing);
  }

  turn(around, higher) { this.azimuth -= around; this.elevation = Math.max(-0.3, Math.min(1.5, this.elevation + higher)); this.dirty = true; }

  approach(share) { this.zoom = Math.min(6, Math.max(0.15, this.zoom * share)); this.dirty = true; }

  listen() {
    const c = this.canvas, pointers = new Map();
    let gap = 0, pointed = false;
    c.addEventListener("mousedown", () => { pointed = true; });  // focused by the mouse: the arrow keys still step through the frames
    c.addEventListener("blur", () => { pointed = pointed && document.activeElement === c; });  // not if the window loses it
    c.addEventListener("pointerdown", (e) => { c.setPointerCapture(e.pointerId); pointers.set(e.pointerId, [e.clientX, e.clientY]); gap = 0; });
    const lift = (e) => { pointers.delete(e.pointerId); gap = 0; };
    c.addEventListener("pointerup", lift); c.addEventListener("pointercancel", lift);
    c.addEventListener("pointermove", (e) => {
      if (!pointers.has(e.pointerId)) return;
      const [x, y] = pointers.get(e.pointerId), dx = e.clientX - x, dy = e.clientY - y;
      pointers.set(e.pointerId, [e.clientX, e.clientY]);
      if (pointers.size > 1) {
        const [a, b] = [...pointers.values()], now = Math.hypot(a[0] - b[0], a[1] - b[1]);
        if (gap) this.approach(gap / now);
        gap = now;
      } else if (e.shiftKey || e.buttons & 6) {
        const view = this.camera(), scale = (2 * view.far * Math.tan(0.26)) / c.clientHeight;
        this.middle = V.add(this.middle, V.add(V.times(view.side, -dx * scale), V.times(view.above, dy * scale)));
      } else this.turn(dx * 0.008, dy * 0.006);
      this.dirty = true;
    });
    c.addEventListener("contextmenu", (e) => e.preventDefault());
    c.addEventListener("wheel", (e) => { e.preventDefault(); this.approach(Math.exp(e.deltaY * 0.0012)); }, {passive: false});
    c.addEventListener("keydown", (e) => {
      const turn = {ArrowLeft: [0.1, 0], ArrowRight: [-0.1, 0], ArrowUp: [0, 0.1], ArrowDown: [0, -0.1]}[e.key], share = {"+": 0.9, "=": 0.9, "-": 1.1}[e.key];
      if (e.ctrlKey || e.metaKey || !(turn || share || e.key === "0") || (turn && turn[0] && pointed && this.end > 0)) return;
      e.preventDefault(); e.stopPropagation();
      if (turn) this.turn(...turn); else if (share) this.approach(share); else { this.home(); this.dirty = true; }
    });
    c.addEventListener("dblclick", () => { this.home(); this.dirty = true; });
    find("play").addEventListener("click", () => this.play(!this.playing));
    find("slider").addEventListener("input", (e) => { this.play(false); this.seek(Number(e.target.value)); });
    find("speed").addEventListener("change", (e) => { this.speed = Number(e.target.value); });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { this.dirty = true; });
    document.addEventListener("keydown", (e) => {
      if (e.target.tagName === "SELECT" || e.ctrlKey || e.metaKey || (e.key === " " && e.target.closest("button, input, summary"))) return;
      const jump = {ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity}[e.key];
      if (e.key === " ") { e.preventDefault(); this.play(!this.playing); }
      else if (jump) { e.preventDefault(); this.play(false); this.seek(Math.round(this.time) + jump); }
    });
  }
}

window.player = new Player(JSON.parse(find("scene").textContent), find("view"));
