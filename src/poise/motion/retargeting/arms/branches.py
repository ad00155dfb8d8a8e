"""Limbs of a target: their goals and joints, solved after the trunk, so that arms hardly move the trunk.

An arm that cannot follow the source, because of its ranges or because it is in the wrong branch, would otherwise tilt
the whole body. So its targets are moved to at most `SHARED_RAD` from the pose that it reaches while the trunk follows
the source. Arms made of hinges have several branches, and one frame may have its best answer in one of them and the
next frame in another. If an arm jumps or misses its goals, about 30 frames per second are solved again from several
poses, one answer of each is chosen over the whole clip by dynamic programming, and the clip is solved from these:

    minimise  sum_t cost(t, i_t) dt + sum_t |q(t, i_t) - q(t-1, i_{t-1})|^2

A leg is solved in the same way if it misses its goals by far, such as that of a body that kneels on one leg and sits.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from poise.arrays import Floats, Ints
from poise.goals import Align, Orient
from poise.kinematics import Motion
from poise.model import Joint, Model
from poise.motion.clips.whole_clip import ClipAnswer, ClipGoal, Kernel, cut_windows, solve_whole
from poise.motion.retargeting.arms.hinges import find_leader
from poise.motion.retargeting.bones import HINGES
from poise.motion.retargeting.correspondence import CarryOver
from poise.motion.retargeting.result import HOLD_WEIGHT
from poise.spatial import Rotation

__all__ = [
    "FREE_REST",
    "RATE",
    "RobotLimb",
    "approach_directions",
    "approach_rotations",
    "find_arms",
    "find_wrong_limbs",
    "leave_out",
    "list_seeds",
    "make_reachable",
    "solve_limbs",
]

JUMP_RAD, MISSED_RAD = 0.4, 0.15  # a larger step at 30 frames per second, or a larger error, may be a wrong branch
# Error of a bone of a leg that is in a wrong branch, and its least time [s]; legs that kick lag by up to 0.55 rad.
LEG_MISSED_RAD, LEG_MISSED_S = 0.6, 0.07
SHARED_RAD = 0.15  # of the error of an arm: the largest part that the trunk shares
FULL_TURN = 2.0 * np.pi
SEEDS = 12  # poses from which every frame is solved
FREE_REST = 1e-4  # rad, or lengths of the body: a shorter step of a motion without contacts is its last one
ARM_STEPS, SEED_STEPS = 12, 16  # of a whole clip, and of its frames from one of these poses
FLIP_COST = 1.0  # of a step by one radian, relative to a bone that is off by one radian for a frame at 30 fps
RATE = 30.0  # frames per second that costs of frames are relative to


@dataclass(frozen=True, eq=False)
class RobotLimb:
    """An arm or a leg of the target.

    Attributes:
        rows: The indices of its goals.
        joints: Its joints, from the trunk on.
        columns: Their columns in the configuration.
        hinged: Whether it has hinges only.
        endless: Whether each column is a hinge without a range, (columns,).
    """

    rows: tuple[int, ...]
    joints: tuple[Joint, ...]
    columns: Ints
    hinged: bool
    endless: NDArray[np.bool_]

    def measure_steps(self, q: Floats) -> Floats:
        """Return the steps of a path of its columns, (frames - 1, columns), the short way around for endless hinges."""
        return self.subtract(q[1:], q[:-1])

    def unwrap(self, q: Floats) -> Floats:
        """Return a path of its columns without jumps by whole turns of endless hinges."""
        return np.concatenate([q[:1], q[:1] + self.measure_steps(q).cumsum(axis=0)])

    def subtract(self, a: Floats, b: Floats) -> Floats:
        """Return a - b by column, (..., columns), the short way around for endless hinges."""
        d: Floats = a - b
        d[..., self.endless] -= FULL_TURN * np.round(d[..., self.endless] / FULL_TURN)
        return d


def find_arms(carrying: CarryOver) -> list[RobotLimb]:
    """List the arms that follow the source by directions; none if hands are placed relative to the hips."""
    if carrying.scales.arms is not None:
        return []
    return find_limbs(carrying, ("clavicle", "shoulder", "elbow"), "hand")


def find_limbs(carrying: CarryOver, bones: Sequence[str], end: str) -> list[RobotLimb]:
    """List the limbs of both sides that have bones of given parts, without the joints that they share."""
    rows = {side: list_rows(carrying, bones, end, side) for side in "lr"}
    above = {side: list_joints(carrying, rows[side]) for side in "lr"}
    shared = {joint.name for joint in above["l"]} & {joint.name for joint in above["r"]}
    trunk = [carrying.ours[part] for part in ("pelvis", "chest") if part in carrying.ours]
    shared |= {joint.name for frame in trunk for joint in carrying.model.joints_above(frame)}
    found = (make_limb(rows[side], [joint for joint in above[side] if joint.name not in shared]) for side in "lr")
    return [limb for limb in found if limb is not None]


def find_wrong_limbs(
    carrying: CarryOver, guide: Motion, wanted: list[ClipGoal], solve: Callable[[Motion, list[ClipGoal]], ClipAnswer]
) -> tuple[ClipAnswer, list[RobotLimb], list[RobotLimb]]:
    """Return the answer of a motion, and the arms and legs that are wrong in it.

    Arms are judged at about `RATE` frames per second first. If they are wrong there, the clip is not solved at its full
    rate, and the answer has only those frames.
    """
    at, motions = list_sparse(guide), [(guide, wanted)]
    if len(at) < len(guide):
        motions.insert(0, thin_out(guide, wanted, at))
    for motion, goals in motions:
        answer = solve(motion, goals)
        arms, legs = find_wrong_arms(carrying, answer, motion.fps), find_wrong_legs(carrying, answer, motion.fps)
        if arms and not legs:  # few frames do not show how long a leg is wrong
            break
    return answer, arms, legs


def find_wrong_arms(carrying: CarryOver, answer: ClipAnswer, fps: float) -> list[RobotLimb]:
    """List all arms if one of them jumps or misses its goals in some frame; otherwise none."""
    arms, misses = find_arms(carrying), carrying.targets.weights * answer.errors[:, :, 1]
    return arms if any(may_be_wrong(arm, answer.q, misses[:, arm.rows], fps) for arm in arms if arm.hinged) else []


def find_wrong_legs(carrying: CarryOver, answer: ClipAnswer, fps: float) -> list[RobotLimb]:
    """List the legs with a bone far from its direction for `LEG_MISSED_S`: a single frame may be a T-pose."""
    run = max(2, round(LEG_MISSED_S * fps))
    if carrying.scales.given or carrying.tips or len(answer.q) < run:  # ankles that are placed have other goals
        return []
    bones = [i for i, (_, kind, _) in enumerate(carrying.goal_rows) if kind == "bone"]
    lasting = sliding_window_view(answer.errors[:, :, 1], run, axis=0).min(axis=2).max(axis=0)
    legs = find_limbs(carrying, ("hip", "knee"), "foot")
    return [leg for leg in legs if leg.hinged and any(lasting[i] > LEG_MISSED_RAD for i in leg.rows if i in bones)]


def leave_out(wanted: Sequence[ClipGoal], limbs: Sequence[RobotLimb]) -> list[ClipGoal]:
    """Return the goals without those of limbs."""
    rows = {i for limb in limbs for i in limb.rows}
    return [goal for i, goal in enumerate(wanted) if i not in rows]


def list_rows(carrying: CarryOver, bones: Sequence[str], end: str, side: str) -> list[int]:
    """List the indices of the goals of a limb: the directions of its bones, and the rotation of its end."""
    frames = {carrying.ours.get(f"{part}_{side}") for part in bones}
    return [
        i
        for i, (goal, kind, how) in enumerate(carrying.goal_rows)
        if (kind == end and how == side)
        or (kind in ("bone", "clavicle") and isinstance(goal, Align) and goal.frame in frames)
    ]


def list_joints(carrying: CarryOver, rows: Sequence[int]) -> list[Joint]:
    """List the joints that move the frames of goals and may move, in the order of the model."""
    model, allowed, found = carrying.model, carrying.joints, set[str]()
    for i in rows:
        goal = carrying.goal_rows[i][0]
        assert isinstance(goal, (Align, Orient))
        found |= {find_leader(model, joint).name for joint in model.joints_above(goal.frame)}
    return [
        joint
        for joint in model.joints
        if joint.name in found and joint.nv and (allowed is None or joint.name in allowed or joint.frame in allowed)
    ]


def make_limb(rows: list[int], joints: list[Joint]) -> RobotLimb | None:
    """Return a limb, or None if it has no joints or no goals."""
    if not rows or not joints:
        return None
    columns = np.concatenate([np.arange(joint.q.start, joint.q.stop) for joint in joints])
    endless = np.array([joint.kind == "continuous" for joint in joints for _ in range(joint.q.start, joint.q.stop)])
    return RobotLimb(tuple(rows), tuple(joints), columns, all(joint.kind in HINGES for joint in joints), endless)


def solve_limbs(body: Motion, limbs: Sequence[RobotLimb], wanted: Sequence[ClipGoal], smooth: float) -> Motion:
    """Return the motion of a trunk with that of its limbs.

    Args:
        body: The motion of the trunk, with the limbs in their initial poses.
        limbs: The arms and legs.
        wanted: The goals of all parts.
        smooth: The spread of changes in time; 1 is 0.1 s.
    """
    own = [wanted[i] for limb in limbs for i in limb.rows]
    weights = np.stack([goal.weights for goal in own], axis=1)
    joints = [joint.name for limb in limbs for joint in limb.joints]
    ends = np.cumsum([0, *(len(limb.rows) for limb in limbs)])

    def relax(start: Floats) -> tuple[Floats, Floats]:
        found = solve_whole(
            body, own, start=start, hold=HOLD_WEIGHT, smooth=smooth, joints=joints, steps=ARM_STEPS, rest=FREE_REST
        )
        return found.q, weights * found.errors[:, :, 1]

    q, misses = relax(body.q)
    parts = [(limb, slice(*ends[k : k + 2])) for k, limb in enumerate(limbs) if limb.hinged]
    wrong = [(limb, part) for limb, part in parts if may_be_wrong(limb, q, misses[:, part], body.fps)]
    if wrong:
        at = list_sparse(body)
        sparse, some = thin_out(body, own, at)
        listed = [(q[at], misses[at]), *list_answers(sparse, some, joints, [limb for limb, _ in wrong])]
        layers, costs = (np.stack(each, axis=1) for each in zip(*listed, strict=True))
        start, times = q.copy(), np.arange(len(body))
        for limb, part in wrong:
            path = choose_answers(limb, layers[:, :, limb.columns], costs[:, :, part], sparse.fps)
            start[:, limb.columns] = np.stack([np.interp(times, at, column) for column in path.T], axis=1)
        other, then = relax(start)
        for limb, part in wrong:
            before, after = (measure_cost(limb, *x, body.fps) for x in ((q, misses[:, part]), (other, then[:, part])))
            q[:, limb.columns] = limb.unwrap((other if after < before else q)[:, limb.columns])
    return Motion(body.model, q, body.fps)


def list_sparse(motion: Motion) -> Ints:
    """List about `RATE` frames per second of a motion."""
    return np.arange(0, len(motion), max(1, round(motion.fps / RATE)))


def thin_out(motion: Motion, wanted: Sequence[ClipGoal], at: Ints) -> tuple[Motion, list[ClipGoal]]:
    """Return frames of a motion, equally far apart, and its goals there."""
    picked = (None if goal.targets is None else goal.targets[at] for goal in wanted)
    goals = [replace(goal, targets=each, weights=goal.weights[at]) for goal, each in zip(wanted, picked, strict=True)]
    every = int(at[1]) if len(at) > 1 else 1
    return Motion(motion.model, motion.q[at], motion.fps / every), goals


def may_be_wrong(limb: RobotLimb, q: Floats, misses: Floats, fps: float) -> bool:
    """Return whether a limb jumps or misses its goals in some frame of a clip, (frames, nq)."""
    step = np.abs(limb.measure_steps(q[:, limb.columns])).max(initial=0.0) * fps / RATE
    return bool(step > JUMP_RAD or misses.max(initial=0.0) > MISSED_RAD)


def measure_cost(limb: RobotLimb, q: Floats, misses: Floats, fps: float) -> float:
    """Return the cost of a limb over a clip, (frames, nq), as minimised by `choose_answers`."""
    return float((misses**2).sum() * RATE / fps + FLIP_COST * (limb.measure_steps(q[:, limb.columns]) ** 2).sum())


def list_seeds(model: Model, limb: RobotLimb) -> Floats:
    """List poses of a limb that are spread over its ranges, (seeds, columns); ranges beyond half a turn are cut."""
    at = np.concatenate([np.arange(joint.v.start, joint.v.stop) for joint in limb.joints])
    rest = model.rest[limb.columns]
    low, high = np.maximum(model.lower[at], rest - np.pi), np.minimum(model.upper[at], rest + np.pi)
    # the additive recurrence of the plastic constant's generalisation (Roberts 2018) fills a box evenly
    root = 2.0
    for _ in range(30):
        root = (1.0 + root) ** (1.0 / (len(at) + 1.0))
    spread = (0.5 + np.outer(np.arange(1, SEEDS + 1), root ** -np.arange(1.0, len(at) + 1.0))) % 1.0
    seeds: Floats = low + spread * (high - low)
    return seeds


def list_answers(
    body: Motion, own: Sequence[ClipGoal], joints: Sequence[str], arms: Sequence[RobotLimb]
) -> list[tuple[Floats, Floats]]:
    """List answers for all frames and their weighted errors, (frames, goals), each frame solved by itself."""
    kernel = Kernel(body, own, HOLD_WEIGHT, 1.0, 0.0, joints, (), SEED_STEPS, FREE_REST)
    seeds = [list_seeds(body.model, arm) for arm in arms]
    out = []
    for k in range(SEEDS):
        start = np.array(body.q)
        for arm, each in zip(arms, seeds, strict=True):
            start[:, arm.columns] = each[k]
        out.append(solve_frames(kernel, start, SEED_STEPS))
    return out


def solve_frames(kernel: Kernel, start: Floats, steps: int) -> tuple[Floats, Floats]:
    """Solve frames from a start in so many steps; return them and their weighted errors, (frames, goals)."""
    q, errors = start.copy(), np.zeros((len(start), len(kernel.hard), 2))
    for a, b, _ in cut_windows(len(start)):
        found = kernel.solve(q[a:b], a, b, np.zeros(b - a, dtype=bool), steps)
        q[a:b], errors[a:b] = found.q, found.errors
    return q, (kernel.weights * errors[:, :, 1])[:, kernel.order]


def choose_answers(limb: RobotLimb, layers: Floats, misses: Floats, fps: float) -> Floats:
    """Return the path of a limb through the answers of its frames, (frames, columns), with the least cost.

    Args:
        limb: The limb.
        layers: The answers of each frame, (frames, answers, columns).
        misses: Their weighted errors, (frames, answers, goals).
        fps: Frames per second.
    """
    costs = (misses**2).sum(axis=2) * RATE / fps
    total, back = costs[0], np.zeros(layers.shape[:2], dtype=np.int64)
    for t in range(1, len(layers)):
        away = (limb.subtract(layers[t][None], layers[t - 1][:, None]) ** 2).sum(axis=2)
        tried = total[:, None] + FLIP_COST * away
        back[t] = tried.argmin(axis=0)
        total = tried.min(axis=0) + costs[t]
    at, path = int(total.argmin()), np.empty((len(layers), layers.shape[2]))
    for t in range(len(layers) - 1, -1, -1):
        path[t] = layers[t, at]
        at = int(back[t, at])
    return limb.unwrap(path)


def make_reachable(model: Model, arms: Sequence[RobotLimb], wanted: Sequence[ClipGoal], q: Floats) -> list[ClipGoal]:
    """Return the goals with targets of arms that poses, (frames, nq), miss by at most `SHARED_RAD`."""
    out = list(wanted)
    for i in (i for arm in arms for i in arm.rows):
        goal, targets = wanted[i].goal, wanted[i].targets
        assert isinstance(goal, (Align, Orient))
        assert targets is not None
        turned, near = np.array(model.fk(q, goal.frame))[:, :3, :3], targets.copy()
        if isinstance(goal, Align):
            near[:, 9:] = approach_directions(turned @ np.array(goal.axis), targets[:, 9:])
        else:
            near[:, :9] = approach_rotations(turned, targets[:, :9].reshape(-1, 3, 3)).reshape(-1, 9)
        out[i] = replace(wanted[i], targets=near)
    return out


def approach_directions(reached: Floats, wanted: Floats) -> Floats:
    """Return directions, (..., 3), between the reached and the wanted ones, by the angle that the trunk shares."""
    cosine = (reached * wanted).sum(axis=-1, keepdims=True)
    across = wanted - cosine * reached
    sine = np.sqrt((across * across).sum(axis=-1, keepdims=True))
    shared = share(np.arctan2(sine, cosine))
    out: Floats = np.cos(shared) * reached + np.sin(shared) * across / np.maximum(sine, 1e-12)
    return out


def approach_rotations(reached: Floats, wanted: Floats) -> Floats:
    """Return rotations, (..., 3, 3), between the reached and the wanted ones, by the angle that the trunk shares."""
    cosine = 0.5 * ((reached * wanted).sum(axis=(-2, -1)) - 1.0)
    if (cosine >= np.cos(SHARED_RAD)).all():
        return wanted
    turn = Rotation.from_matrix(wanted @ np.swapaxes(reached, -1, -2))
    angle = np.maximum(turn.angle, 1e-12)[..., None]
    out: Floats = Rotation.from_vector(turn.log() * share(angle) / angle).matrix @ reached
    return out


def share(angle: Floats) -> Floats:
    """Return the part of an error that the trunk shares: all of a small one, nothing of a large one."""
    shared: Floats = np.clip(2.0 * SHARED_RAD - angle, 0.0, angle)
    return shared
