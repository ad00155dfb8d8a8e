// Checks arguments; an error names the argument and what to pass.
import {toMatrix} from "./rotations.js";

const isList = (value) => Array.isArray(value) || (ArrayBuffer.isView(value) && !(value instanceof DataView));

function show(value) {
  const text = isList(value) ? `[${Array.from(value).join(", ")}]` : typeof value === "string" ? JSON.stringify(value) : value && typeof value === "object" ? `{${Object.keys(value).join(", ")}}` : String(value);
  return text.length > 60 ? `${text.slice(0, 60)}...` : text;
}

const areFinite = (list, count) => list.length === count && list.every((x) => typeof x === "number" && Number.isFinite(x));

// Returns a list of `count` finite numbers.
export function readList(value, count, argument) {
  const list = isList(value) ? Array.from(value) : [];
  if (areFinite(list, count)) return list;
  throw new TypeError(`${argument} is ${show(value)}; it must be a list of ${count} finite numbers.`);
}

// Returns a finite number for each key, such as "xyz", from a list or an object such as a Vector3.
export function readNumbers(value, keys, argument) {
  const list = isList(value) ? Array.from(value) : value && typeof value === "object" ? [...keys].map((key) => value[key]) : [];
  if (areFinite(list, keys.length)) return list;
  throw new TypeError(`${argument} is ${show(value)}; it must be ${keys.length} finite numbers [${[...keys].join(", ")}], or an object with these keys.`);
}

// Returns 9 numbers, row by row, from a quaternion or three rows.
function readRotation(value, argument) {
  if (isList(value) && value.length === 3 && Array.from(value).every(isList)) {
    const R = [...value].flatMap((row, k) => readNumbers(row, "xyz", `${argument}[${k}]`));
    for (let a = 0; a < 3; a++) for (let b = 0; b < 3; b++) {
      const dot = R[3 * a] * R[3 * b] + R[3 * a + 1] * R[3 * b + 1] + R[3 * a + 2] * R[3 * b + 2];
      if (Math.abs(dot - (a === b)) > 1e-6) throw new RangeError(`${argument} is not a rotation: its rows must be perpendicular and of length 1.`);
    }
    const volume = R[0] * (R[4] * R[8] - R[5] * R[7]) - R[1] * (R[3] * R[8] - R[5] * R[6]) + R[2] * (R[3] * R[7] - R[4] * R[6]);
    if (volume < 0) throw new RangeError(`${argument} is a mirror image, not a rotation: reverse one row.`);
    return R;
  }
  const q = readNumbers(value, "xyzw", argument), size = Math.hypot(...q);
  if (size < 1e-6) throw new RangeError(`${argument} is a quaternion of length 0; without a rotation use [0, 0, 0, 1].`);
  return toMatrix(q.map((x) => x / size));
}

// Returns {position, rotation} of a target: a point, or an object with a position and perhaps a rotation.
export function readTarget(value, argument) {
  const whole = value && typeof value === "object" && !isList(value) && ("position" in value || "rotation" in value);
  if (!whole) return {position: readNumbers(value, "xyz", argument), rotation: null};
  const odd = Object.keys(value).filter((key) => !["position", "rotation"].includes(key));
  if (odd.length) throw new TypeError(`${argument} has the key ${show(odd[0])}; its keys are position and rotation.`);
  if (value.position === undefined) throw new TypeError(`${argument} has no position; add position: [x, y, z].`);
  return {position: readNumbers(value.position, "xyz", `${argument}.position`), rotation: value.rotation === undefined ? null : readRotation(value.rotation, `${argument}.rotation`)};
}

// Returns the entry with a name; otherwise an error lists the names.
export function findNamed(entries, name, argument, advice = "") {
  const found = entries.find((entry) => entry.name === name);
  if (found) return found;
  const names = entries.map((entry) => entry.name), listed = names.length > 30 ? [...names.slice(0, 30), "..."] : names;
  throw new RangeError(`${argument} is ${show(name)}; it must be one of: ${listed.join(", ")}.${advice}`);
}

export function readOptions(value, known, argument) {
  if (!value || typeof value !== "object") throw new TypeError(`${argument} is ${show(value)}; it must be an object such as {${known[0]}: ...}.`);
  const odd = Object.keys(value).find((key) => !known.includes(key));
  if (odd !== undefined) throw new TypeError(`${argument} has the key ${show(odd)}; its keys are ${known.join(", ")}.`);
  return value;
}
