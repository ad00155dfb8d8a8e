// Drives the bones of a skeleton, such as a THREE.Skeleton: anything with name, position, quaternion and parent.
import {conjugate, multiply, rotate} from "./rotations.js";

const listPosition = ({x, y, z}) => [x, y, z], listQuaternion = ({x, y, z, w}) => [x, y, z, w];
const clean = (name) => name.replace(/\s/g, "_").replace(/[[\].:/]/g, "");  // as THREE.GLTFLoader names bones
const UNTURNED = [0, 0, 0, 1];

// Returns a function that poses the bones as the rig. Bind while both are in the same pose, usually the rest pose. `scale` is a
// unit of the rig in units of the bones.
export function bindSkeleton(rig, bones, {scale = 1} = {}) {
  const list = bones && Array.isArray(bones.bones) ? bones.bones : bones;
  if (!Array.isArray(list) || !list.length || list.some((bone) => !bone || !bone.position || !bone.quaternion)) throw new TypeError("bindSkeleton: bones must be a THREE.Skeleton or a list of bones with name, position and quaternion.");
  if (!(scale > 0 && Number.isFinite(scale))) throw new RangeError(`bindSkeleton: scale is ${scale}; it must be a positive number.`);
  const frames = new Map(rig.frames.flatMap((name) => [[clean(name), name], [name, name]]));
  const bound = new Map(list.flatMap((bone) => { const frame = frames.get(bone.name) ?? frames.get(clean(String(bone.name))); return frame === undefined ? [] : [[bone, frame]]; }));
  if (!bound.size) throw new RangeError(`bindSkeleton: no bone has the name of a frame. Bones: ${list.slice(0, 10).map(({name}) => name).join(", ")}; frames: ${rig.frames.slice(0, 10).join(", ")}.`);
  const turns = new Map();  // of each bone in the world, when bound
  const turnOf = (bone) => {
    if (!bone || !bone.quaternion) return UNTURNED;
    if (!turns.has(bone)) turns.set(bone, multiply(turnOf(bone.parent), listQuaternion(bone.quaternion)));
    return turns.get(bone);
  };
  const {transforms} = rig.pose;
  const links = [...bound].map(([bone, frame]) => {
    let above = bone.parent;
    while (above && !bound.has(above)) above = above.parent;
    const base = above ? bound.get(above) : null, local = relate(transforms, base, frame);
    return {
      bone, base, frame, first: local.position, rest: listPosition(bone.position),
      before: multiply(conjugate(turnOf(bone.parent)), base ? transforms[base].quaternion : UNTURNED),
      after: multiply(conjugate(transforms[frame].quaternion), turnOf(bone)),
    };
  });
  return () => {
    const now = rig.pose.transforms;
    for (const {bone, base, frame, first, rest, before, after} of links) {
      const {position, quaternion} = relate(now, base, frame), shift = rotate(before, position.map((x, k) => x - first[k]));
      bone.quaternion.set(...multiply(multiply(before, quaternion), after));
      bone.position.set(...rest.map((x, k) => x + scale * shift[k]));
    }
  };
}

// the transform of a frame in another one, or in the world
function relate(transforms, base, frame) {
  const {position, quaternion} = transforms[frame];
  if (!base) return {position, quaternion};
  const from = transforms[base], back = conjugate(from.quaternion);
  return {position: rotate(back, position.map((x, k) => x - from.position[k])), quaternion: multiply(back, quaternion)};
}
