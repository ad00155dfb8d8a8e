// A body that follows: its handles, and the controllers or hands of a headset, send targets to `poise follow`, which moves it.
"use strict";

const LONGEST_STEP = 0.1;  // s: after a pause the body moves slower, not farther
const RETRY = 1000;  // milliseconds
const EYE_HEIGHT = 1.4;  // m, of headsets that do not know the floor
const STILL = [1, 0, 0, 0];
const HELP = "Drag a dot: the body follows until you let go.";

// p -> scale turn (p - from) + to
function mapPoints([w, x, y, z], scale, from, to) {
  const out = M.transform(0, 0, 0, w, x, y, z).map((value, k) => (k < 12 ? scale * value : value));
  return out.map((value, k) => (k < 12 || k === 15 ? value : value + to[k - 12] - M.point(out, from)[k - 12]));
}

class LiveLayer extends HandleLayer {
  constructor(player, data) {
    super(player, data.goals.map((goal) => ({...goal, kind: "end"})));
    Object.assign(this, {data, live: true, places: new Map(), points: [], targets: {}, commands: [], held: new Map(), waiting: 0, sent: 0});
    for (const handle of this.handles) this.addKnob(handle).setAttribute("aria-label", handle.name);
    this.connect(); this.offerHeadset();
  }

  // ---------------------------------------------------------------------------------------------- the connection

  connect() {
    const address = new URL(location.href);
    address.protocol = address.protocol.replace("http", "ws"); address.hash = "";
    this.line = new WebSocket(address); this.waiting = 1;
    this.line.onmessage = (e) => this.read(JSON.parse(e.data));
    this.line.onclose = () => {
      if (!this.refused) this.say("Not connected. Is poise follow still running?");
      for (const {name} of this.handles) this.release(name);  // the next connection begins with nothing engaged
      this.refused = false; this.dragged = null; this.commands = []; this.held.clear(); setTimeout(() => this.connect(), RETRY);
    };
  }

  read(answer) {
    this.waiting -= 1;
    if (answer.error) { this.refused = true; this.say(answer.error); }
    if (answer.places) {
      answer.places.forEach((place, k) => this.places.set(this.data.tracks[k], M.transform(...place)));
      this.points = answer.points; this.player.dirty = true; document.body.dataset.live = answer.state || "connected";
    }
    if (answer.state) this.say(this.describe(answer));
  }

  describe({state, missed, gaps}) {
    const far = ([name, [distance, angle]]) => `${name} misses its target by ${(1000 * this.data.metres * distance).toFixed(0)} mm, ${(57.29578 * angle).toFixed(0)}\u00b0`;
    const reasons = [...Object.entries(missed).map(far), ...Object.entries(gaps).map(([name, gap]) => `the target of ${name} ${gap}`)];
    return state === "held" ? HELP : [state, reasons.join("; ")].filter(Boolean).join(": ");
  }

  say(text) { if (find("note").textContent !== text) { find("note").textContent = text; this.announce(); } }

  summarize() { return find("note").textContent; }

  // sends the newest targets, if the last ones were answered
  step() {
    const now = performance.now(), dt = Math.min((now - this.sent) / 1000, LONGEST_STEP);
    if (this.waiting || this.line.readyState !== 1 || dt <= 0) return;
    this.sent = now;
    for (const message of [...this.commands.splice(0), {targets: this.targets, dt}]) { this.line.send(JSON.stringify(message)); this.waiting += 1; }
  }

  engage(goal, pose, mapping) { this.commands.push({engage: goal, pose, ...mapping}); this.targets[goal] = pose; this.mark(goal, "reach"); }

  release(goal) { this.commands.push({release: goal}); delete this.targets[goal]; this.mark(goal, "free"); }

  mark(goal, held) { for (const handle of this.handles) if (handle.name === goal) handle.knob.dataset.held = held; }

  // ---------------------------------------------------------------------------------------------- the pointer

  transform(track) { return this.places.get(track); }

  position(handle) { return this.points[this.handles.indexOf(handle)] || null; }

  grab(handle) { this.dragged = handle; this.engage(handle.name, {position: this.position(handle), quaternion: STILL}); }

  pull(point) { this.targets[this.dragged.name] = {position: point, quaternion: STILL}; }

  drop(typed) { if (!typed) this.release(this.dragged.name); this.dragged = null; }  // after a key, the body goes on to the target

  leave() {}

  // ---------------------------------------------------------------------------------------------- the headset

  async offerHeadset() {
    if (!navigator.xr || !this.player.painter.gl) return;
    for (const mode of ["immersive-ar", "immersive-vr"]) {
      if (!(await navigator.xr.isSessionSupported(mode).catch(() => false))) continue;
      const button = document.createElement("button");
      button.textContent = "Start headset";
      button.addEventListener("click", () => this.enter(mode).catch((problem) => this.say(`The headset cannot start: ${problem.message}`)));
      find("tools").replaceChildren(button); find("tools").hidden = false;
      return;
    }
  }

  async enter(mode) {
    const {gl} = this.player.painter, session = await navigator.xr.requestSession(mode, {optionalFeatures: ["local-floor", "hand-tracking"]});
    await gl.makeXRCompatible();
    const layer = new XRWebGLLayer(session, gl), {held} = this;  // goals by controller
    session.updateRenderState({baseLayer: layer});
    let floor = 0;
    const space = await session.requestReferenceSpace("local-floor").catch(() => { floor = -EYE_HEIGHT; return session.requestReferenceSpace("local"); });
    const mapping = {scale: 1 / this.data.metres, axes: this.data.axes}, stage = this.choosePlace(floor);
    session.addEventListener("selectstart", ({inputSource, frame}) => {
      const goal = this.handles.at(inputSource.handedness === "right" ? -1 : 0).name, pose = this.readPose(frame, inputSource, space);
      if (pose) { held.set(inputSource, goal); this.engage(goal, pose, mapping); }
    });
    const release = (source) => { if (held.has(source)) this.release(held.get(source)); held.delete(source); };
    session.addEventListener("selectend", (e) => release(e.inputSource));
    session.addEventListener("end", () => { [...held.keys()].forEach(release); this.player.resize(); });
    const draw = (_, frame) => {
      session.requestAnimationFrame(draw);
      for (const [source, goal] of held) this.targets[goal] = this.readPose(frame, source, space);
      this.step(); this.drawViews(frame, layer, space, stage, held);
    };
    session.requestAnimationFrame(draw);
  }

  // the pose of a controller, a hand or, for touches of a phone, of the phone; null if it is not seen
  readPose(frame, source, space) {
    const pose = frame.getPose(source.gripSpace || source.targetRaySpace, space);
    if (!pose) return null;
    const {position: p, orientation: o} = pose.transform;
    return {position: [p.x, p.y, p.z], quaternion: [o.w, o.x, o.y, o.z]};
  }

  // the body stands in front of the viewer and looks away; small bodies are lifted. Returns the maps from and to its coordinates.
  choosePlace(floor) {
    const {scene, world} = this.player, {metres, axes: [w, x, y, z]} = this.data;
    const at = [0, floor + Math.max(0, 1 - 0.6 * metres * scene.size), -(0.6 + metres * scene.radius)];
    return {there: mapPoints([w, -x, -y, -z], metres, world.middle, at), back: mapPoints([w, x, y, z], 1 / metres, at, world.middle)};
  }

  drawViews(frame, layer, space, {there, back}, held) {
    const {player} = this, seen = frame.getViewerPose(space), round = 0.02 / this.data.metres;
    if (!seen) return;
    player.move();
    const marks = [...frame.session.inputSources].flatMap((source) => {
      const pose = this.readPose(frame, source, space), color = held.has(source) ? [0.96, 0.65, 0.14, 1] : [0.09, 0.66, 0.61, 1];
      return pose ? [{kind: "capsule", place: M.transform(...M.point(back, pose.position), ...STILL), half: [0, 0, 0], round: [round, round], color, glow: 1}] : [];
    });
    seen.views.forEach((view, k) => {
      const {x, y, width, height} = layer.getViewport(view), {position: p, inverse, matrix: m} = view.transform;
      const matrix = M.product(M.product(view.projectionMatrix, inverse.matrix), there), eye = M.point(back, [p.x, p.y, p.z]);
      const side = V.unit(V.sub(M.point(back, [p.x + m[0], p.y + m[1], p.z + m[2]]), eye));
      player.show([...player.solids, ...marks], {matrix, eye, side, port: [x, y, width, height], screen: layer.framebuffer, second: k > 0}, true);
    });
  }
}

if (window.player.scene.live) window.player.puppet = new LiveLayer(window.player, window.player.scene.live);
