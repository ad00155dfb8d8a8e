// Meshes of a body: rigid meshes on a track, skinned meshes on up to eight tracks per vertex, with their images.
//
// A vertex of a skin moves to  sum_k w_k B_k v,  B_k = (transform of track k) (its constant bind matrix). The matrices of all
// frames of a mesh are stored in a small float texture, three pixels (rows of the matrix) each.
"use strict";

const MESH_VERTEX = `
  attribute vec3 point, normal; attribute vec2 uv;
  attribute vec4 joints_a, weights_a, joints_b, weights_b;
  uniform mat4 view, place; uniform vec3 middle, half_size; uniform highp sampler2D bones; uniform float bone_count, skinned;
  varying vec3 n, p; varying vec2 at;
  void add(inout vec3 q, inout vec3 m, vec4 v, float joint, float weight) {
    float y = (joint + 0.5) / bone_count;
    vec4 a = texture2D(bones, vec2(0.125, y)), b = texture2D(bones, vec2(0.375, y)), c = texture2D(bones, vec2(0.625, y));
    q += weight * vec3(dot(a, v), dot(b, v), dot(c, v));
    m += weight * vec3(dot(a.xyz, normal), dot(b.xyz, normal), dot(c.xyz, normal));
  }
  void main() {
    vec4 v = vec4(middle + half_size * point, 1.0);
    at = uv;
    if (skinned > 0.5) {
      vec3 q = vec3(0.0), m = vec3(0.0);
      float total = dot(weights_a, vec4(1.0)) + dot(weights_b, vec4(1.0));
      for (int k = 0; k < 4; k++) {
        if (weights_a[k] > 0.0) add(q, m, v, joints_a[k], weights_a[k] / total);
        if (weights_b[k] > 0.0) add(q, m, v, joints_b[k], weights_b[k] / total);
      }
      p = q; n = m;
    } else { p = (place * v).xyz; n = mat3(place[0].xyz, place[1].xyz, place[2].xyz) * normal; }
    gl_Position = view * vec4(p, 1.0);
  }`;

const MESH_FRAGMENT = `
  precision mediump float;
  varying vec3 n, p; varying vec2 at;
  uniform vec4 color; uniform vec3 eye, up, side; uniform sampler2D image; uniform float cutout, textured;
  void main() {
    vec4 base = textured > 0.5 ? texture2D(image, at) * color : color;
    if (base.a < cutout) discard;
    vec3 N = normalize(n), V = normalize(eye - p), key = normalize(V + 0.9 * up - 0.7 * side);
    if (dot(N, V) < 0.0) N = -N;
    vec3 albedo = base.rgb * base.rgb;
    float sky = 0.5 + 0.5 * dot(N, up);
    vec3 light = mix(vec3(0.24, 0.23, 0.25), vec3(0.60, 0.63, 0.68), sky);
    light += 0.74 * vec3(1.0, 0.97, 0.92) * max(dot(N, key), 0.0);
    float shine = pow(max(dot(N, normalize(key + V)), 0.0), 42.0) * 0.06;
    float a = cutout > 0.0 && color.a > 0.99 ? max(base.a, cutout) : color.a;
    gl_FragColor = vec4(sqrt(albedo * light + shine) * a, a);
  }`;

class MeshPainter {
  constructor(painter, scene, redraw) {
    const gl = painter.gl;
    this.gl = gl; this.painter = painter; this.loaded = 0;
    if (!gl.getExtension("OES_element_index_uint")) throw new Error("no large meshes");
    const skins = scene.meshes.some((m) => m.skinned);
    if (skins && (!gl.getExtension("OES_texture_float") || !gl.getParameter(gl.MAX_VERTEX_TEXTURE_IMAGE_UNITS))) throw new Error("no skins");
    this.mesh = painter.program(MESH_VERTEX, MESH_FRAGMENT); this.dark = painter.program(MESH_VERTEX, SHADOW_FRAGMENT);
    this.patches = scene.patches.map((patch) => this.upload(patch));
    this.meshes = scene.meshes.map((m) => this.dress(m));
    this.images = scene.images.map((uri) => this.image(uri, redraw));
    this.white = this.texture(); this.fill(this.white, 1, 1, new Uint8Array([255, 255, 255, 255]));
  }

  buffer(kind, data) {
    const gl = this.gl, made = gl.createBuffer();
    gl.bindBuffer(kind, made); gl.bufferData(kind, data, gl.STATIC_DRAW);
    return made;
  }

  upload(patch) {
    const gl = this.gl, words = patch.influences * 4;
    const index = new Uint32Array(bytesOf(patch.index));
    return {
      ...patch, length: index.length, order: this.buffer(gl.ELEMENT_ARRAY_BUFFER, index),
      at: this.buffer(gl.ARRAY_BUFFER, new Int16Array(bytesOf(patch.points))), up: this.buffer(gl.ARRAY_BUFFER, new Int8Array(bytesOf(patch.normals))),
      map: patch.uv ? this.buffer(gl.ARRAY_BUFFER, new Float32Array(bytesOf(patch.uv))) : null,
      joint: words ? this.buffer(gl.ARRAY_BUFFER, new Uint16Array(bytesOf(patch.joints))) : null,
      weight: words ? this.buffer(gl.ARRAY_BUFFER, new Uint8Array(bytesOf(patch.weights))) : null,
    };
  }

  dress(m) {
    const binds = new Float32Array(bytesOf(m.binds)), count = m.tracks.length;
    const made = {...m, binds: m.tracks.map((_, k) => binds.subarray(16 * k, 16 * k + 16)), place: new Float32Array(16)};
    if (m.skinned) { made.rows = new Float32Array(16 * count); made.bones = this.texture(); }
    return made;
  }

  texture() {
    const gl = this.gl, made = gl.createTexture();
    gl.bindTexture(gl.TEXTURE_2D, made);
    for (const side of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) gl.texParameteri(gl.TEXTURE_2D, side, gl.NEAREST);
    for (const side of [gl.TEXTURE_WRAP_S, gl.TEXTURE_WRAP_T]) gl.texParameteri(gl.TEXTURE_2D, side, gl.CLAMP_TO_EDGE);
    return made;
  }

  fill(made, width, height, pixels) {
    const gl = this.gl;
    gl.bindTexture(gl.TEXTURE_2D, made);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, width, height, 0, gl.RGBA, pixels instanceof Float32Array ? gl.FLOAT : gl.UNSIGNED_BYTE, pixels);
  }

  // an image, resized to powers of two, which WebGL requires of repeating textures
  image(uri, redraw) {
    const gl = this.gl, made = this.texture(), picture = new Image();
    this.fill(made, 1, 1, new Uint8Array([210, 210, 210, 255]));
    picture.onload = () => {
      const side = (n) => 2 ** Math.min(11, Math.max(0, Math.round(Math.log2(n))));
      const canvas = document.createElement("canvas");
      canvas.width = side(picture.naturalWidth); canvas.height = side(picture.naturalHeight);
      canvas.getContext("2d").drawImage(picture, 0, 0, canvas.width, canvas.height);
      gl.bindTexture(gl.TEXTURE_2D, made);
      gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, gl.RGBA, gl.UNSIGNED_BYTE, canvas); gl.generateMipmap(gl.TEXTURE_2D);
      gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.LINEAR_MIPMAP_LINEAR); gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, gl.LINEAR);
      for (const wrap of [gl.TEXTURE_WRAP_S, gl.TEXTURE_WRAP_T]) gl.texParameteri(gl.TEXTURE_2D, wrap, gl.REPEAT);
      this.loaded += 1; document.body.dataset.images = this.loaded; redraw();
    };
    picture.src = uri;
    return made;
  }

  // move every mesh; `transform(track)` returns the current matrix of a track
  move(transform) {
    for (const m of this.meshes) {
      if (!m.skinned) { m.place = M.product(transform(m.tracks[0]), m.binds[0]); continue; }
      m.tracks.forEach((track, k) => {
        const B = M.product(transform(track), m.binds[k]);
        for (let r = 0; r < 3; r++) for (let c = 0; c < 4; c++) m.rows[16 * k + 4 * r + c] = B[4 * c + r];
      });
      this.fill(m.bones, 4, m.tracks.length, m.rows);
    }
  }

  paint(program, meshes, view, set) {
    const gl = this.gl, at = program.at;
    gl.useProgram(program.made); gl.uniformMatrix4fv(at.view, false, view); set(at);
    if (at.image) gl.uniform1i(at.image, 0);
    if (at.bones) gl.uniform1i(at.bones, 1);
    for (const m of meshes) {
      const patch = this.patches[m.patch];
      this.bind(program, patch);
      gl.activeTexture(gl.TEXTURE1); gl.bindTexture(gl.TEXTURE_2D, m.skinned ? m.bones : this.white);
      gl.activeTexture(gl.TEXTURE0); gl.bindTexture(gl.TEXTURE_2D, m.image >= 0 ? this.images[m.image] : this.white);
      gl.uniformMatrix4fv(at.place, false, m.place); gl.uniform3fv(at.middle, patch.middle); gl.uniform3fv(at.half_size, patch.half);
      gl.uniform1f(at.bone_count, m.tracks.length); gl.uniform1f(at.skinned, m.skinned ? 1 : 0);
      if (at.color) gl.uniform4fv(at.color, m.color);
      if (at.cutout) gl.uniform1f(at.cutout, m.cutout);
      if (at.textured) gl.uniform1f(at.textured, m.image >= 0 ? 1 : 0);
      gl.drawElements(gl.TRIANGLES, patch.length, gl.UNSIGNED_INT, 0);
    }
    for (let k = 0; k < 8; k++) gl.disableVertexAttribArray(k);
  }

  bind(program, patch) {
    const gl = this.gl, wide = patch.influences * 4;
    const set = (name, buffer, size, kind, norm, stride, offset, rest) => {
      const at = gl.getAttribLocation(program.made, name);
      if (at < 0) return;
      if (!buffer) { gl.disableVertexAttribArray(at); gl.vertexAttrib4f(at, ...rest); return; }
      gl.bindBuffer(gl.ARRAY_BUFFER, buffer); gl.enableVertexAttribArray(at); gl.vertexAttribPointer(at, size, kind, norm, stride, offset);
    };
    set("point", patch.at, 3, gl.SHORT, true, 8, 0); set("normal", patch.up, 3, gl.BYTE, true, 4, 0);
    set("uv", patch.map, 2, gl.FLOAT, false, 8, 0, [0, 0, 0, 1]);
    for (const [k, row] of ["a", "b"].entries()) {
      set(`joints_${row}`, k < patch.influences ? patch.joint : null, 4, gl.UNSIGNED_SHORT, false, 2 * wide, 8 * k, [0, 0, 0, 0]);
      set(`weights_${row}`, k < patch.influences ? patch.weight : null, 4, gl.UNSIGNED_BYTE, true, wide, 4 * k, [0, 0, 0, 0]);
    }
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, patch.order);
  }
}
