// A headset that plays STREAM, a list of [pressed, x, y, z, qw, qx, qy, qz] of the right controller, or null if it is not seen.
window.played = 0; window.problems = [];
const seen = (at) => at && {transform: {position: {x: at[1], y: at[2], z: at[3]}, orientation: {w: at[4], x: at[5], y: at[6], z: at[7]}}};
const eye = (x) => ({projectionMatrix: new Float32Array([1.2, 0, 0, 0, 0, 1.2, 0, 0, 0, 0, -1, -1, 0, 0, -0.1, 0]), transform: {position: {x, y: 1.6, z: 0},
  matrix: new Float32Array([1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, x, 1.6, 0, 1]), inverse: {matrix: new Float32Array([1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, -x, -1.6, 0, 1])}}, x});
class Session extends EventTarget {
  inputSources = [{handedness: "right", gripSpace: "grip"}];
  updateRenderState() {}
  async requestReferenceSpace(kind) { return kind; }
  requestAnimationFrame(call) {
    setTimeout(() => {
      const at = STREAM[Math.min(window.played, STREAM.length - 1)], [source] = this.inputSources;
      const frame = {session: this, getPose: () => seen(at), getViewerPose: () => ({views: [eye(-0.03), eye(0.03)]})};
      const pressed = at ? at[0] : this.pressed;
      if (pressed !== this.pressed) this.dispatchEvent(Object.assign(new Event(pressed ? "selectstart" : "selectend"), {inputSource: source, frame}));
      this.pressed = pressed; window.played += 1;
      try { call(performance.now(), frame); } catch (problem) { window.problems.push(String(problem)); }
    }, 15);
  }
}
window.XRWebGLLayer = class { framebuffer = null; getViewport(view) { return {x: view.x < 0 ? 0 : innerWidth / 2, y: 0, width: innerWidth / 2, height: innerHeight}; } };
WebGLRenderingContext.prototype.makeXRCompatible = async () => {};
Object.defineProperty(navigator, "xr", {value: {isSessionSupported: async (mode) => mode === "immersive-vr", requestSession: async () => (window.session = new Session())}});
