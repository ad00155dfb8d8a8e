// Handles on the screen, moved by mouse, finger or arrow keys, and the start of a page that solves.
"use strict";

const PULL_STEP = 0.01;  // of an arrow key, relative to the body's length
const SPEECH_PAUSE = 1000;  // milliseconds between results for screen readers
const WITHOUT = "This browser has no WebAssembly SIMD or no DecompressionStream, so the body cannot be dragged here. It needs Chrome 91, Firefox 113, Safari 16.4 or later.";

// A handle has a name, a kind, the length of its body, and the normal of its plane if the body is planar. A subclass has position,
// grab, pull, drop, step and summarize, and toggle if handles can be pinned.
class HandleLayer {
  constructor(player, handles) { Object.assign(this, {player, handles, dragged: null}); }

  addKnob(handle) {
    const knob = document.createElement("span");
    knob.className = `handle ${handle.kind}`; knob.tabIndex = 0; knob.setAttribute("role", "button"); knob.title = handle.name;
    handle.knob = knob; find("handles").append(knob);
    knob.addEventListener("pointerdown", (e) => this.press(e, handle));
    knob.addEventListener("dblclick", (e) => { e.preventDefault(); if (this.toggle) this.toggle(handle); });
    knob.addEventListener("keydown", (e) => this.type(e, handle));
    return knob;
  }

  press(e, handle) {
    if (e.button > 0 || this.dragged) return;
    e.preventDefault(); e.stopPropagation(); handle.knob.focus({preventScroll: true}); handle.knob.setPointerCapture(e.pointerId);
    const from = [e.clientX, e.clientY];
    let depth = null, offset = null;
    const move = (now) => {
      if (this.dragged && this.dragged !== handle) return;  // another finger
      if (!this.dragged && Math.hypot(now.clientX - from[0], now.clientY - from[1]) < 3) return;
      if (!this.dragged) {
        this.grab(handle);
        const camera = this.player.camera(), at = this.position(handle);
        depth = camera.project(at)[2]; offset = V.sub(at, this.aim(handle, from, depth) || at);
      }
      const point = this.aim(handle, [now.clientX, now.clientY], depth);
      if (point) this.pull(V.add(point, offset));
    };
    const end = () => {
      for (const [kind, call] of [["pointermove", move], ["pointerup", end], ["pointercancel", end]]) handle.knob.removeEventListener(kind, call);
      if (this.dragged === handle) this.drop();
    };
    for (const [kind, call] of [["pointermove", move], ["pointerup", end], ["pointercancel", end]]) handle.knob.addEventListener(kind, call);
  }

  // the point under the pointer: at a depth, or for a planar body in its plane; null if it is not in front of the camera
  aim(handle, [x, y], depth) {
    const camera = this.player.camera(), box = this.player.canvas.getBoundingClientRect();
    const seen = [(2 * (x - box.left)) / box.width - 1, 1 - (2 * (y - box.top)) / box.height];
    const far = camera.unproject(...seen, depth), {normal} = handle;
    if (!normal) return far;
    const ray = V.sub(far, camera.eye), share = V.dot(V.sub(this.position(handle), camera.eye), normal) / V.dot(ray, normal);
    return share > 0 && Number.isFinite(share) ? V.add(camera.eye, V.times(ray, share)) : null;
  }

  type(e, handle) {
    const camera = this.player.camera(), step = PULL_STEP * handle.length * (e.shiftKey ? 5 : 1);
    const way = {ArrowLeft: V.times(camera.side, -1), ArrowRight: camera.side, ArrowUp: camera.above, ArrowDown: V.times(camera.above, -1), ...(handle.normal ? {} : {PageUp: V.cross(camera.above, camera.side), PageDown: V.cross(camera.side, camera.above)})}[e.key];
    if (way) {
      const along = handle.normal ? V.sub(way, V.times(handle.normal, V.dot(way, handle.normal))) : way;  // within the plane of a planar body
      this.grab(handle); this.pull(V.add(this.position(handle), V.times(along, step))); this.step(); this.drop(true);
    } else if (this.toggle && ["Enter", " ", "p"].includes(e.key)) this.toggle(handle);
    else return;
    e.preventDefault(); e.stopPropagation();
  }

  // tells screen readers the results, the latest ones if they change often
  announce() { this.telling = this.telling || setTimeout(() => { this.telling = 0; find("said").textContent = this.summarize(); }, SPEECH_PAUSE); }

  place(camera, width, height) {
    for (const handle of this.handles) handle.seen = this.put(handle.knob, this.position(handle), camera, width, height);
  }

  // moves an element to a point of the scene, or hides it; returns its place on the screen, or null
  put(element, point, camera, width, height) {
    const [x, y, w] = point ? camera.project(point) : [0, 0, 0], at = [((x + 1) / 2) * width, ((1 - y) / 2) * height];
    element.style.transform = `translate(-50%, -50%) translate(${at[0]}px, ${at[1]}px)`;
    element.style.display = w > 0 ? "" : "none";
    return w > 0 ? at : null;
  }

  // shows results in short, also where the panel is closed, and tells them to screen readers
  sum(missed, all) {
    const short = find("short"), words = missed ? `${missed} of ${all} missed` : all ? "all reached" : "";
    if (short.textContent !== words) { short.textContent = words; short.className = missed ? "no" : "yes"; }
    this.announce();
  }
}

// a module with one SIMD instruction: i32x4.splat
const SIMD = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 8, 1, 6, 0, 65, 0, 253, 17, 11]);

async function startDragging(player, Layer) {
  const able = typeof WebAssembly === "object" && WebAssembly.validate(SIMD) && typeof DecompressionStream === "function";
  try {
    if (!able) throw WITHOUT;
    player.puppet = await Layer.open(player, player.scene.drag);
    player.resize(); player.draw(); document.body.dataset.drag = "ready";  // with the handles in place
  } catch (problem) {
    find("panel").hidden = false; find("panel").open = true; find("words").textContent = find("said").textContent = problem === WITHOUT ? WITHOUT : `The body cannot be dragged here: ${problem.message}.`; document.body.dataset.drag = "failed";
  }
}
