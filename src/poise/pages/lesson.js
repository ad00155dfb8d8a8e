// The numbers of a small arm: the Jacobian of its end, the singular values, and the first step of each method from the initial pose.
"use strict";

const FIRST_PHASES = 6;  // of a search: its first step is among them

class Lesson {
  constructor(puppet, data, kernels) {
    Object.assign(this, {puppet, data, kernels});
    this.problems = Object.entries(data.problems).map(([method, text]) => [method, kernels.readProblem(new Uint8Array(bytesOf(text)))]);
    this.handle = puppet.handles.find((handle) => handle.name === data.handle);
    find("lesson").hidden = false; find("lesson").addEventListener("toggle", () => this.fill());
  }

  // the target of the end, or its position if it has none
  target() {
    const {puppet, handle} = this, role = handle === puppet.dragged ? "drag" : puppet.held.get(handle.name);
    return role ? [...puppet.catalogue.point(handle.goals[role][0])] : puppet.position(handle);
  }

  // the first step of a method from the initial pose; zeros if it does not move
  step(problem, target) {
    const {q} = this.puppet.first;
    problem.point(0).set(target);
    const end = problem.search(q, FIRST_PHASES).find((now) => now.some((x, k) => x !== q[k]));
    return Array.from(q, (x, k) => (end ? end[k] - x : 0));
  }

  fill() {
    if (!find("lesson").open) return;
    const {data, puppet} = this, n = data.joints.length, J = puppet.body.jacobian(this.handle.frame, puppet.q, n), target = this.target();
    const rows = [...Array(data.rows).keys()].map((r) => J.subarray(n * r, n * r + n)), write = (x) => x.toFixed(3);
    const sigma = this.kernels.singularValues(J.slice(0, n * data.rows), data.rows).sort((a, b) => b - a);
    const columns = data.joints.map((_, k) => `q${k + 1}`);  // names of joints are too wide for a phone
    find("joints").textContent = data.joints.map((name, k) => `${columns[k]} ${name}`).join(", ");
    this.table("jacobian", ["J", ...columns], rows.map((row, r) => ["xyz"[r], ...Array.from(row, write)]));
    find("sigma").textContent = `Singular values of J: ${sigma.map(write).join(", ")} ${data.unit}`;
    this.table("steps", ["first step", ...columns], this.problems.map(([method, problem]) => [method, ...this.step(problem, target).map(write)]));
  }

  table(id, head, rows) {
    find(id).replaceChildren();
    for (const [k, cells] of [head, ...rows].entries()) {
      const row = find(id).insertRow();
      for (const text of cells) { const cell = document.createElement(k ? "td" : "th"); cell.textContent = text; row.append(cell); }
    }
  }
}
