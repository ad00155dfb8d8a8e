// Inverse kinematics in Node and browsers, for bodies that Python has saved: poise.save(model, "robot.ik").
export {load} from "./load.js";
export {Rig} from "./rig.js";
export {bindSkeleton} from "./skeleton.js";
export {VERSION} from "./version.js";
