// Race of poise-ik against three.js CCDIKSolver and closed-chain-ik on one arm: `node race.mjs race.json kernels-folder`.
//
// Every solver starts from the same pose, and gets a position of the end effector that it can reach. CCDIKSolver and
// closed-chain-ik get `iterations` instead of their defaults (1 and 5). Prints a JSON row for each.

import {readFileSync} from "node:fs";
import {join} from "node:path";
import {Bone, Object3D, Skeleton, SkinnedMesh, Vector3, BufferGeometry} from "three";
import {CCDIKSolver} from "three/addons/animation/CCDIKSolver.js";
import {DOF, Goal, Joint, Link, Solver} from "closed-chain-ik/src/core/index.js"; // its package names no file for Node

const [task, folder] = process.argv.slice(2);
const {joints, tool, targets, handle, frame, iterations} = JSON.parse(readFileSync(task, "utf-8"));
const {load} = await import(join(folder, "index.js"));

async function makePoise() {
  const rig = await load(join(folder, "arm.ik"));
  return (target) => {
    rig.reset();
    const begun = performance.now();
    const answer = rig.solve({[handle]: target});
    return {time: performance.now() - begun, q: [...answer.q], at: rig.transform(frame).position};
  };
}

function makeThree() {
  const root = new Object3D(), bones = [];
  let above = root;
  for (const {position, quaternion} of joints) {
    const offset = new Object3D(), bone = new Bone();
    offset.position.set(...position); offset.quaternion.set(...quaternion);
    above.add(offset); offset.add(bone); bones.push(bone);
    above = bone;
  }
  const effector = new Bone(), target = new Bone();
  effector.position.set(...tool);
  above.add(effector); root.add(target);
  const all = [...bones, effector, target], last = bones.length - 1;
  root.updateMatrixWorld(true);
  const mesh = new SkinnedMesh(new BufferGeometry());
  mesh.bind(new Skeleton(all));
  const links = joints.map(({lower, upper}, k) => ({index: k, limitation: new Vector3(0, 0, 1),
    rotationMin: new Vector3(0, 0, lower), rotationMax: new Vector3(0, 0, upper)})).reverse();
  const solver = new CCDIKSolver(mesh, [{target: last + 2, effector: last + 1, links, iteration: iterations}]);
  return (point) => {
    bones.forEach((bone, k) => bone.rotation.set(0, 0, joints[k].start));
    target.position.set(...point);
    root.updateMatrixWorld(true);
    const begun = performance.now();
    solver.update();
    const time = performance.now() - begun;
    root.updateMatrixWorld(true);
    return {time, q: bones.map((bone) => 2 * Math.atan2(bone.quaternion.z, bone.quaternion.w)),
      at: new Vector3().setFromMatrixPosition(effector.matrixWorld).toArray()};
  };
}

function makeChain() {
  const root = new Link(), made = [];
  let above = root;
  for (const {position, quaternion, lower, upper} of joints) {
    const joint = new Joint(), link = new Link();
    joint.setDoF(DOF.EZ); joint.setPosition(...position); joint.setQuaternion(...quaternion);
    joint.setMinLimits(lower); joint.setMaxLimits(upper);
    above.addChild(joint); joint.addChild(link); made.push(joint);
    above = link;
  }
  const fixed = new Joint(), end = new Link();
  fixed.setPosition(...tool);
  above.addChild(fixed); fixed.addChild(end);
  const goal = new Goal();
  goal.setGoalDoF(DOF.X, DOF.Y, DOF.Z); goal.makeClosure(end);
  const solver = new Solver(root);
  solver.maxIterations = iterations;
  return (point) => {
    made.forEach((joint, k) => joint.setDoFValues(joints[k].start));
    goal.setPosition(...point);
    const begun = performance.now();
    solver.solve();
    const time = performance.now() - begun, at = [0, 0, 0];
    end.updateMatrixWorld(true); end.getWorldPosition(at);
    return {time, q: made.map((joint) => joint.getDoFValue(DOF.EZ)), at};
  };
}

function race(solve) {
  for (let k = 0; k < 200; k++) solve(targets[k % targets.length]);  // compiled before it is timed
  const answers = targets.map((target) => ({target, ...solve(target)}));
  const sorted = (values) => values.sort((a, b) => a - b);
  const errors = sorted(answers.map(({at, target}) => Math.hypot(...at.map((x, i) => x - target[i]))));
  const times = sorted(answers.map(({time}) => time));
  const outside = answers.filter(({q}) => joints.some(({lower, upper}, k) => q[k] < lower - 1e-4 || q[k] > upper + 1e-4));
  const at = (list, share) => list[Math.floor(share * (list.length - 1))];
  return {reached: errors.filter((error) => error < 1e-3).length / errors.length, median_error: at(errors, 0.5),
    worst_error: at(errors, 1), outside: outside.length, median_ms: at(times, 0.5), slow_ms: at(times, 0.99)};
}

const solvers = {"poise-ik": await makePoise(), CCDIKSolver: makeThree(), "closed-chain-ik": makeChain()};
for (const [name, solve] of Object.entries(solvers)) console.log(JSON.stringify({name, ...race(solve)}));
