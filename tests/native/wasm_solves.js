// Runs the kernels of a page under Node: reads a request as JSON from stdin, writes the results as JSON to stdout.
"use strict";

const {readFileSync} = require("node:fs");
const [, , script, module_] = process.argv;
const Kernels = new Function(`${readFileSync(script, "utf-8")}; return Kernels;`)();
const request = JSON.parse(readFileSync(0, "utf-8"));
const bytes = (text) => new Uint8Array(Buffer.from(text, "base64"));
const lists = (rows) => rows.map((row) => Array.from(row));

Kernels.load(readFileSync(module_)).then((kernels) => {
  const out = {};
  if (request.body) {
    const body = kernels.readBody(bytes(request.body)), poses = request.q.map((q) => new Float64Array(q));
    out.fk = lists(poses.map((q) => body.fk(q).slice()));
    out.jacobians = lists(poses.map((q) => body.jacobian(request.frame, q, request.nv)));
  }
  if (request.problem) {
    let problem = kernels.readProblem(bytes(request.problem));
    if (request.targets) problem.targets.set(request.targets);
    if (request.masks) problem = problem.choose(...request.masks.map((mask) => new Uint8Array(mask)));
    if (request.phases) out.searches = lists(problem.search(new Float64Array(request.start), request.phases));
    if (request.trace) out.trace = problem.trace(new Float64Array(request.trace)).path.map(({errors, q}) => ({errors, q: Array.from(q)}));
    out.solves = (request.solves || []).map(({start, targets}) => {
      if (targets) problem.targets.set(targets);
      const begun = performance.now(), found = problem.solve(new Float64Array(start));
      return {...found, q: Array.from(found.q), errors: Array.from(found.errors), milliseconds: performance.now() - begun};
    });
  }
  if (request.matrix) out.sigma = kernels.singularValues(new Float64Array(request.matrix), request.rows);
  if ("broken" in request) {
    try { kernels.readProblem(bytes(request.broken)); out.broken = "read"; } catch (problem) { out.broken = problem.message; }
  }
  process.stdout.write(JSON.stringify(out));
});
