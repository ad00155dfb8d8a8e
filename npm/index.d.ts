/** Three numbers, or an object such as a THREE.Vector3. */
export type Point = ArrayLike<number> | {x: number; y: number; z: number};

/** A quaternion [x, y, z, w], an object such as a THREE.Quaternion, or the three rows of a matrix. */
export type RotationLike =
  | ArrayLike<number>
  | {x: number; y: number; z: number; w: number}
  | [ArrayLike<number>, ArrayLike<number>, ArrayLike<number>];

/** A position, or a position and a rotation, in the world of the body. */
export type Target = Point | {position: Point; rotation?: RotationLike};

export interface Transform {
  position: [number, number, number];
  /** [x, y, z, w] */
  quaternion: [number, number, number, number];
  /** 4x4, row by row: `new THREE.Matrix4().set(...matrix)` */
  matrix: Float64Array;
}

export interface Joint {
  readonly name: string;
  readonly kind: string;
  /** Its first coordinate in q. */
  readonly first: number;
  /** The number of its coordinates in q. */
  readonly count: number;
  /** The range of its coordinate, or of each one; infinite without a range. Other limits, such as cones, are kept as well. */
  readonly lower: number | readonly number[];
  readonly upper: number | readonly number[];
}

export interface Handle {
  readonly name: string;
  readonly frame: string;
  readonly kind: string;
  /** Whether it is a foot, which can be planted. */
  readonly stands: boolean;
}

export interface GoalError {
  /** In units of the body, usually metres. */
  position: number;
  /** In radians. */
  rotation: number;
  reached: boolean;
}

export interface Result {
  q: Float64Array;
  /** The errors of targets, pins and planted feet by the name of the handle, and of the balance. */
  errors: Record<string, GoalError>;
  /** Whether all targets, pins and planted feet are reached. */
  reached: boolean;
  transforms: Record<string, Transform>;
}

export interface SolveOptions {
  /** Other poses to start from if a target is missed; 8 by default. 0 never jumps, for frame after frame. */
  restarts?: number;
  /** A point to look at. */
  look?: Point;
}

export interface Pose {
  q: Float64Array;
  transforms: Record<string, Transform>;
}

export class Rig {
  private constructor();
  readonly name: string;
  /** The up axis. */
  readonly up: "x" | "y" | "z";
  readonly frames: readonly string[];
  readonly joints: readonly Joint[];
  readonly handles: readonly Handle[];
  /** A copy of the configuration; setting it checks the ranges. */
  get q(): Float64Array;
  set q(values: ArrayLike<number>);
  readonly pose: Pose;
  /** The role of each held handle. */
  readonly held: Record<string, "pin" | "plant" | "reach">;
  /** The transform of a frame in the current pose. */
  transform(frame: string): Transform;
  /** Move handles to targets from the current pose; pins, planted feet and joint ranges are kept. */
  solve(targets?: Record<string, Target>, options?: SolveOptions): Result;
  /** Keep a handle where it is, or at a target, in all following solves. */
  pin(name: string, target?: Target): void;
  /** Keep a foot where it stands, with balance above it. */
  plant(name: string): void;
  /** Release a handle, or all handles. */
  release(name?: string): void;
  /** Return to the pose, the pins and the planted feet of the file. */
  reset(): void;
}

export interface Bone {
  name: string;
  position: {x: number; y: number; z: number; set(x: number, y: number, z: number): unknown};
  quaternion: {x: number; y: number; z: number; w: number; set(x: number, y: number, z: number, w: number): unknown};
  parent?: unknown;
}

export interface LoadOptions {
  /** The address or the bytes of kernels.wasm, if it is not next to index.js. */
  kernels?: string | URL | ArrayBuffer | Uint8Array;
}

/** Load a body that Python has saved by `poise.save(model, "robot.ik")`: a path, an address or bytes. */
export function load(source: string | URL | ArrayBuffer | Uint8Array, options?: LoadOptions): Promise<Rig>;

/**
 * Bind the bones of a skeleton, such as a THREE.Skeleton, to the frames of the same names, and return a function that
 * poses them as the rig. Bind while both are in the same pose. `scale` is a unit of the rig in units of the bones.
 */
export function bindSkeleton(rig: Rig, bones: Bone[] | {bones: Bone[]}, options?: {scale?: number}): () => void;

/** The version of Poise that this package belongs to. */
export const VERSION: string;
