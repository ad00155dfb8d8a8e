// Draws solids with WebGL, or as plain outlines on a canvas if WebGL is missing. Nothing is fetched or stored.
//
// A solid is a core (a segment, a cylinder or a box) and a radius around it: every vertex is
//     T (base * half + normal * round)
// with `base` and `normal` from one of three small meshes, so bodies, targets and lines are all drawn by one program.
"use strict";

const SOLID_VERTEX = `
  attribute vec3 base, normal;
  uniform mat4 view; uniform mat4 place; uniform vec3 half_size; uniform vec2 rounding;
  varying vec3 n, p;
  void main() {
    float around = mix(rounding.x, rounding.y, base.z * 0.5 + 0.5);
    vec4 world = place * vec4(base * half_size + normal * around, 1.0);
    n = (place * vec4(normal, 0.0)).xyz; p = world.xyz;
    gl_Position = view * world;
  }`;

const SOLID_FRAGMENT = `
  precision mediump float;
  varying vec3 n, p;
  uniform vec4 color; uniform vec3 eye, up, side; uniform float glow;
  void main() {
    vec3 N = normalize(n), V = normalize(eye - p), key = normalize(V + 0.9 * up - 0.7 * side);
    vec3 albedo = color.rgb * color.rgb;
    float sky = 0.5 + 0.5 * dot(N, up);
    vec3 light = mix(vec3(0.20, 0.19, 0.21), vec3(0.62, 0.66, 0.72), sky);
    light += 0.78 * vec3(1.0, 0.97, 0.92) * max(dot(N, key), 0.0);
    float shine = pow(max(dot(N, normalize(key + V)), 0.0), 42.0) * 0.13;
    float rim = pow(1.0 - max(dot(N, V), 0.0), 3.0) * 0.20 * sky;
    vec3 lit = mix(albedo * light + shine + rim, albedo, glow);
    gl_FragColor = vec4(sqrt(lit) * color.a, color.a);
  }`;

// rendered from below, keeping the lowest surface: parts near the ground are darkest
const SHADOW_FRAGMENT = `
  precision mediump float;
  varying vec3 n, p;
  uniform vec3 up; uniform float floor_height, fade;
  void main() { gl_FragColor = vec4(exp(-max(dot(p, up) - floor_height, 0.0) / fade)); }`;

const QUAD_VERTEX = `
  attribute vec2 corner;
  varying vec2 uv;
  void main() { uv = corner * 0.5 + 0.5; gl_Position = vec4(corner, 0.0, 1.0); }`;

const BLUR_FRAGMENT = `
  precision mediump float;
  varying vec2 uv;
  uniform sampler2D image; uniform vec2 step_size;
  void main() {
    vec4 sum = vec4(0.0); float weight = 0.0;
    for (int k = -8; k <= 8; k++) {
      float w = exp(-float(k * k) / 30.0);
      sum += w * texture2D(image, uv + float(k) * step_size); weight += w;
    }
    gl_FragColor = sum / weight;
  }`;

const GROUND_VERTEX = `
  attribute vec2 corner;
  uniform mat4 view; uniform vec3 middle, ahead, aside; uniform float size;
  varying vec2 uv, at;
  void main() {
    vec3 p = middle + size * (corner.x * ahead + corner.y * aside);
    at = vec2(dot(p, ahead), dot(p, aside)); uv = corner * 0.5 + 0.5; gl_Position = view * vec4(p, 1.0);
  }`;

const GROUND_FRAGMENT = `
  #extension GL_OES_standard_derivatives : enable
  precision highp float;
  varying vec2 uv, at;
  uniform sampler2D image; uniform vec3 ink, pencil; uniform float cell;
  float line(vec2 x) {
    vec2 d = abs(fract(x - 0.5) - 0.5) / max(fwidth(x), vec2(1e-6));
    return 1.0 - min(min(d.x, d.y), 1.0);
  }
  void main() {
    float far = smoothstep(1.0, 0.25, length(uv - 0.5) * 2.0);
    float shade = texture2D(image, uv).a * 0.42;
    float grid = 0.13 * line(at / cell) + 0.05 * line(at / cell * 5.0);
    gl_FragColor = far * (vec4(pencil * grid, grid) * (1.0 - shade) + vec4(ink * shade, shade));
  }`;

// ------------------------------------------------------------------------------------------------ small algebra

const V = {
  add: (a, b) => a.map((x, i) => x + b[i]), sub: (a, b) => a.map((x, i) => x - b[i]), times: (a, s) => a.map((x) => x * s),
  dot: (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2], length: (a) => Math.hypot(...a), unit: (a) => V.times(a, 1 / (V.length(a) || 1)),
  cross: (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]],
};

// 4x4 matrices are in column-major order, as in WebGL
const M = {
  product(a, b) {
    const out = new Float32Array(16);
    for (let c = 0; c < 4; c++) for (let r = 0; r < 4; r++) {
      let sum = 0;
      for (let k = 0; k < 4; k++) sum += a[4 * k + r] * b[4 * c + k];
      out[4 * c + r] = sum;
    }
    return out;
  },
  lookAt(eye, at, up) {
    const z = V.unit(V.sub(eye, at)), x = V.unit(V.cross(up, z)), y = V.cross(z, x);
    return [x[0], y[0], z[0], 0, x[1], y[1], z[1], 0, x[2], y[2], z[2], 0, -V.dot(x, eye), -V.dot(y, eye), -V.dot(z, eye), 1];
  },
  perspective(fov, aspect, near, far) {
    const f = 1 / Math.tan(fov / 2);
    return [f / aspect, 0, 0, 0, 0, f, 0, 0, 0, 0, (far + near) / (near - far), -1, 0, 0, (2 * far * near) / (near - far), 0];
  },
  transform(x, y, z, qw, qx, qy, qz) {
    return [
      1 - 2 * (qy * qy + qz * qz), 2 * (qx * qy + qw * qz), 2 * (qx * qz - qw * qy), 0,
      2 * (qx * qy - qw * qz), 1 - 2 * (qx * qx + qz * qz), 2 * (qy * qz + qw * qx), 0,
      2 * (qx * qz + qw * qy), 2 * (qy * qz - qw * qx), 1 - 2 * (qx * qx + qy * qy), 0, x, y, z, 1,
    ];
  },
  point: (m, p) => [0, 1, 2].map((r) => m[r] * p[0] + m[4 + r] * p[1] + m[8 + r] * p[2] + m[12 + r]),
};

// ------------------------------------------------------------------------------------------------ meshes

function roundMesh(flat) {
  const around = 28, rings = flat ? 1 : 8, base = [], normal = [], index = [];
  const row = (z, n, up) => {
    for (let k = 0; k <= around; k++) {
      const t = (2 * Math.PI * k) / around, c = Math.cos(t), s = Math.sin(t);
      base.push(...(flat ? [n.wide * c, n.wide * s, z] : [0, 0, z])); normal.push(up.out * c, up.out * s, up.along);
    }
  };
  if (flat) {  // bottom cap, edge, wall, edge, top cap
    row(-1, {wide: 0}, {out: 0, along: -1}); row(-1, {wide: 1}, {out: 0, along: -1});
    row(-1, {wide: 1}, {out: 1, along: 0}); row(1, {wide: 1}, {out: 1, along: 0});
    row(1, {wide: 1}, {out: 0, along: 1}); row(1, {wide: 0}, {out: 0, along: 1});
  } else {
    for (const z of [-1, 1]) for (let k = 0; k <= rings; k++) {
      const t = (Math.PI / 2) * (z < 0 ? k / rings - 1 : k / rings);
      row(z, {}, {out: Math.cos(t), along: Math.sin(t)});
    }
  }
  const rows = base.length / 3 / (around + 1);
  for (let r = 0; r + 1 < rows; r++) for (let k = 0; k < around; k++) {
    const a = r * (around + 1) + k, b = a + around + 1;
    index.push(a, a + 1, b, b, a + 1, b + 1);
  }
  return {base, normal, index};
}

function boxMesh() {
  const base = [], normal = [], index = [];
  for (let axis = 0; axis < 3; axis++) for (const sign of [-1, 1]) {
    const first = base.length / 3;
    for (const [u, v] of [[-1, -1], [1, -1], [1, 1], [-1, 1]]) {
      const p = [0, 0, 0], n = [0, 0, 0];
      p[axis] = sign; p[(axis + 1) % 3] = u; p[(axis + 2) % 3] = v; n[axis] = sign;
      base.push(...p); normal.push(...n);
    }
    index.push(first, first + 1, first + 2, first, first + 2, first + 3);
  }
  return {base, normal, index};
}

// ------------------------------------------------------------------------------------------------ WebGL

class GLPainter {
  constructor(canvas, scene) {
    const gl = canvas.getContext("webgl", {antialias: true, alpha: true, premultipliedAlpha: true, preserveDrawingBuffer: true});
    if (!gl) throw new Error("no WebGL");
    gl.getExtension("OES_standard_derivatives");
    this.gl = gl; this.scene = scene; this.canvas = canvas;
    this.solid = this.program(SOLID_VERTEX, SOLID_FRAGMENT); this.dark = this.program(SOLID_VERTEX, SHADOW_FRAGMENT);
    this.blur = this.program(QUAD_VERTEX, BLUR_FRAGMENT); this.ground = this.program(GROUND_VERTEX, GROUND_FRAGMENT);
    this.meshes = {capsule: this.mesh(roundMesh(false)), cylinder: this.mesh(roundMesh(true)), box: this.mesh(boxMesh())};
    this.quad = gl.createBuffer();
    gl.bindBuffer(gl.ARRAY_BUFFER, this.quad);
    gl.bufferData(gl.ARRAY_BUFFER, new Float32Array([-1, -1, 1, -1, -1, 1, 1, 1]), gl.STATIC_DRAW);
    this.size = 512; this.targets = [this.target(), this.target()];
    this.bodies = null;
    if (scene.meshes.length) {
      try { this.bodies = new MeshPainter(this, scene, () => { this.stale = true; }); } catch (problem) { console.info(`drawing without meshes: ${problem.message}`); }
    }
  }

  program(vertex, fragment) {
    const gl = this.gl, made = gl.createProgram();
    for (const [kind, source] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment.trim()]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, source); gl.compileShader(shader);
      if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(shader));
      gl.attachShader(made, shader);
    }
    gl.linkProgram(made);
    if (!gl.getProgramParameter(made, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(made));
    const at = {};
    for (let k = 0; k < gl.getProgramParameter(made, gl.ACTIVE_UNIFORMS); k++) {
      const name = gl.getActiveUniform(made, k).name;
      at[name] = gl.getUniformLocation(made, name);
    }
    return {made, at};
  }

  mesh({base, normal, index}) {
    const gl = this.gl, data = gl.createBuffer(), order = gl.createBuffer(), both = [];
    for (let k = 0; k < base.length; k += 3) both.push(...base.slice(k, k + 3), ...normal.slice(k, k + 3));
    gl.bindBuffer(gl.ARRAY_BUFFER, data); gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(both), gl.STATIC_DRAW);
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, order);
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, new Uint16Array(index), gl.STATIC_DRAW);
    return {data, order, count: index.length};
  }

  target() {
    const gl = this.gl, image = gl.createTexture(), frame = gl.createFramebuffer(), depth = gl.createRenderbuffer();
    gl.bindTexture(gl.TEXTURE_2D, image);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, this.size, this.size, 0, gl.RGBA, gl.UNSIGNED_BYTE, null);
    for (const side of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) gl.texParameteri(gl.TEXTURE_2D, side, gl.LINEAR);
    for (const side of [gl.TEXTURE_WRAP_S, gl.TEXTURE_WRAP_T]) gl.texParameteri(gl.TEXTURE_2D, side, gl.CLAMP_TO_EDGE);
    gl.bindRenderbuffer(gl.RENDERBUFFER, depth);
    gl.renderbufferStorage(gl.RENDERBUFFER, gl.DEPTH_COMPONENT16, this.size, this.size);
    gl.bindFramebuffer(gl.FRAMEBUFFER, frame);
    gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.TEXTURE_2D, image, 0);
    gl.framebufferRenderbuffer(gl.FRAMEBUFFER, gl.DEPTH_ATTACHMENT, gl.RENDERBUFFER, depth);
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    return {image, frame};
  }

  drawSolids(program, solids, each) {
    const gl = this.gl;
    let bound = null;
    for (const solid of solids) {
      const mesh = this.meshes[solid.kind];
      if (mesh !== bound) {
        bound = mesh;
        gl.bindBuffer(gl.ARRAY_BUFFER, mesh.data); gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, mesh.order);
        ["base", "normal"].forEach((name, k) => {
          const at = gl.getAttribLocation(program.made, name);
          if (at < 0) return;
          gl.enableVertexAttribArray(at); gl.vertexAttribPointer(at, 3, gl.FLOAT, false, 24, 12 * k);
        });
      }
      gl.uniformMatrix4fv(program.at.place, false, solid.place);
      gl.uniform3fv(program.at.half_size, solid.half); gl.uniform2fv(program.at.rounding, solid.round);
      each(solid);
      gl.drawElements(gl.TRIANGLES, mesh.count, gl.UNSIGNED_SHORT, 0);
    }
  }

  paintQuad(program) {
    const gl = this.gl, at = gl.getAttribLocation(program.made, "corner");
    gl.bindBuffer(gl.ARRAY_BUFFER, this.quad);
    gl.enableVertexAttribArray(at); gl.vertexAttribPointer(at, 2, gl.FLOAT, false, 0, 0);
    gl.drawArrays(gl.TRIANGLE_STRIP, 0, 4);
  }

  paintShadow(solids, world) {
    const gl = this.gl, {up, ahead, aside, middle, reach} = world, s = 1 / reach;
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.targets[0].frame); gl.viewport(0, 0, this.size, this.size);
    gl.disable(gl.BLEND); gl.enable(gl.DEPTH_TEST); gl.clearColor(0, 0, 0, 0); gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    gl.useProgram(this.dark.made);
    const row = (v, scale) => [...V.times(v, scale), -V.dot(v, middle) * scale], x = row(ahead, s), y = row(aside, s), z = row(up, s / 2);
    const view = [0, 1, 2, 3].flatMap((c) => [x[c], y[c], z[c] - (c === 3 ? 0.5 : 0), c === 3 ? 1 : 0]);
    gl.uniformMatrix4fv(this.dark.at.view, false, view); gl.uniform3fv(this.dark.at.up, up);
    gl.uniform1f(this.dark.at.floor_height, this.scene.floor); gl.uniform1f(this.dark.at.fade, 0.22 * this.scene.size);
    this.drawSolids(this.dark, solids, () => {});
    if (this.bodies) {
      const dark = this.bodies.meshes.filter((m) => !m.clear);
      this.bodies.paint(this.bodies.dark, dark, view, (at) => { gl.uniform3fv(at.up, up); gl.uniform1f(at.floor_height, this.scene.floor); gl.uniform1f(at.fade, 0.22 * this.scene.size); });
    }
    gl.disable(gl.DEPTH_TEST); gl.useProgram(this.blur.made);
    const texel = (1.1 * this.scene.size) / reach / this.size;
    for (const [from, to, step] of [[0, 1, [texel, 0]], [1, 0, [0, texel]]]) {
      gl.bindFramebuffer(gl.FRAMEBUFFER, this.targets[to].frame); gl.bindTexture(gl.TEXTURE_2D, this.targets[from].image);
      gl.uniform2fv(this.blur.at.step_size, step); this.paintQuad(this.blur);
    }
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
  }

  paint(solids, world, camera, colors) {
    const gl = this.gl, opaque = solids.filter((s) => s.color[3] > 0.99), clear = solids.filter((s) => s.color[3] <= 0.99);
    if (!camera.second) this.paintShadow(opaque.filter((s) => s.shadow), world);  // not for the other eye of a headset
    gl.bindFramebuffer(gl.FRAMEBUFFER, camera.screen || null); gl.viewport(...(camera.port || [0, 0, this.canvas.width, this.canvas.height]));
    if (!camera.second) { gl.clearColor(0, 0, 0, 0); gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT); }
    gl.enable(gl.DEPTH_TEST); gl.enable(gl.BLEND); gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    gl.depthMask(false); gl.useProgram(this.ground.made); gl.bindTexture(gl.TEXTURE_2D, this.targets[0].image);
    const at = this.ground.at;
    gl.uniformMatrix4fv(at.view, false, camera.matrix); gl.uniform3fv(at.middle, world.middle); gl.uniform3fv(at.ahead, world.ahead);
    gl.uniform3fv(at.aside, world.aside); gl.uniform1f(at.size, world.reach); gl.uniform3fv(at.ink, colors.ink);
    gl.uniform3fv(at.pencil, colors.pencil);
    gl.uniform1f(at.cell, this.scene.cell);
    this.paintQuad(this.ground); gl.depthMask(true);
    gl.useProgram(this.solid.made);
    gl.uniformMatrix4fv(this.solid.at.view, false, camera.matrix); gl.uniform3fv(this.solid.at.eye, camera.eye);
    gl.uniform3fv(this.solid.at.up, world.up); gl.uniform3fv(this.solid.at.side, camera.side);
    const dress = (solid) => { gl.uniform4fv(this.solid.at.color, solid.color); gl.uniform1f(this.solid.at.glow, solid.glow ? 0.75 : 0); };
    this.drawSolids(this.solid, opaque, dress);
    if (this.bodies) {
      const seen = (at) => { gl.uniform3fv(at.eye, camera.eye); gl.uniform3fv(at.up, world.up); gl.uniform3fv(at.side, camera.side); };
      this.bodies.paint(this.bodies.mesh, this.bodies.meshes.filter((m) => !m.clear), camera.matrix, seen);
      this.bodies.paint(this.bodies.mesh, this.bodies.meshes.filter((m) => m.clear), camera.matrix, seen);
      gl.useProgram(this.solid.made);
    }
    if (clear.length) {  // depth first, then colour: parts of a ghost do not show through each other
      gl.colorMask(false, false, false, false); this.drawSolids(this.solid, clear, dress);
      gl.colorMask(true, true, true, true); gl.depthFunc(gl.LEQUAL); this.drawSolids(this.solid, clear, dress); gl.depthFunc(gl.LESS);
    }
  }
}

// ------------------------------------------------------------------------------------------------ without WebGL

class FlatPainter {
  constructor(canvas) { this.canvas = canvas; this.pen = canvas.getContext("2d"); }

  paint(solids, world, camera, colors) {
    const {width, height} = this.canvas, pen = this.pen;
    pen.clearRect(0, 0, width, height); pen.lineCap = "round";
    const seen = (p) => { const q = camera.project(p); return [(q[0] * 0.5 + 0.5) * width, (0.5 - q[1] * 0.5) * height, q[2]]; };
    const strokes = solids.map((solid) => {
      const ends = [-1, 1].map((z) => seen(M.point(solid.place, [0, 0, z * solid.half[2]]))), thick = Math.max(...solid.round, solid.half[0]);
      return {ends, color: solid.color, depth: (ends[0][2] + ends[1][2]) / 2, wide: (thick * height * camera.focal) / ((ends[0][2] + ends[1][2]) / 2)};
    }).sort((a, b) => b.depth - a.depth);
    for (const {ends, color, wide} of strokes) for (const [scale, tone] of [[1, 0.62], [0.72, 0.85], [0.36, 1.05]]) {
      pen.strokeStyle = `rgba(${color.slice(0, 3).map((c) => Math.min(255, Math.round(255 * c * tone))).join(",")},${color[3]})`;
      pen.lineWidth = Math.max(wide * scale, 1);
      pen.beginPath(); pen.moveTo(ends[0][0], ends[0][1]); pen.lineTo(ends[1][0] + 0.01, ends[1][1]); pen.stroke();
    }
  }
}
