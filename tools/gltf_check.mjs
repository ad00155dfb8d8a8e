// Runs the Khronos glTF validator over files and fails on any error or warning.
//   cd where/npm/has/installed/gltf-validator && node .../tools/gltf_check.mjs file.glb ...
// Hints do not count: a bare skeleton has a skin and no mesh.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

const require = createRequire(join(process.cwd(), "here.js"));
const { validateBytes } = require("gltf-validator");

let bad = 0;
for (const path of process.argv.slice(2)) {
  const report = await validateBytes(new Uint8Array(readFileSync(path)), {
    uri: path,
    maxIssues: 100,
    externalResourceFunction: async (uri) => new Uint8Array(readFileSync(join(dirname(path), decodeURIComponent(uri)))),
  });
  const { numErrors, numWarnings, messages } = report.issues;
  console.log(`${path}: ${numErrors} errors, ${numWarnings} warnings, ${messages.length - numErrors - numWarnings} hints`);
  for (const issue of messages) {
    if (issue.severity < 2) console.log(`  ${issue.code} ${issue.pointer ?? ""}: ${issue.message}`);
  }
  bad += numErrors + numWarnings;
}
process.exit(bad ? 1 : 0);
