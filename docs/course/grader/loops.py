"""Exercises 7, 8 and 14: a sweep of cyclic coordinate descent, the loop, and a whole body."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from grader.arm import Arm, draw_arm, name_arm
from grader.case import ExerciseCase
from poise.model import Model
from poise.models import build
from poise.textbook.bodies import forward_kinematics, integrate
from poise.textbook.iteration import ccd_angle
from poise.textbook.loop import list_ranged
from poise.textbook.rotations import Array

FRAMES = ("hand_l", "hand_r", "foot_l", "foot_r")
NEAR = 0.01  # m, tolerance of exercise 14
ARRIVED = 1e-3  # m, tolerance of exercise 8


def ask_ccd_sweep(rng: np.random.Generator, joints: int) -> ExerciseCase:
    """Create exercise 7: ``ccd_sweep(offsets, axes, angles, goal) -> angles`` after one sweep from tip to root."""
    arm = draw_arm(rng, joints)
    goal = draw_arm(rng, joints).tip
    inwards = range(joints - 1, -1, -1)
    right = _sweep(arm, goal, inwards)

    def make_slips() -> dict[str, Array]:
        return {
            "the sweep runs from the root to the tip; start with the last joint.": _sweep(arm, goal, range(joints)),
            "every joint turns the wrong way: from the tip towards the goal is positive.": _sweep(
                arm, goal, inwards, sign=-1
            ),
            "the angle has no sign, as arccos has none: use arctan2, with axis . (e x g) as its first argument.": (
                _sweep(arm, goal, inwards, signed=False)
            ),
            "the tip is not computed again after a joint has turned: each joint must see where the tip is now.": (
                _sweep(arm, goal, inwards, fresh=False)
            ),
            "the arms are not brought into the hinge's plane: take away the part along the axis from both.": (
                _sweep(arm, goal, inwards, flat=False)
            ),
            "only the changes are returned; the angles after the sweep are wanted.": right - arm.angles,
            "nothing has moved: the angles are those that were given.": arm.angles,
        }

    given = {"offsets": arm.offsets, "axes": arm.axes, "angles": arm.angles, "goal": goal}

    def judge(answer: Array) -> str | None:
        """Compare modulo 2 pi, since full turns give the same pose."""
        away = np.angle(np.exp(1j * (answer - right)))
        return None if np.abs(away).max() < 1e-8 else plain.read(answer)

    plain = ExerciseCase(name_arm(joints), given, right, make_slips)
    return replace(plain, judge=judge)


def ask_loop(rng: np.random.Generator, joints: int, far: bool = False) -> ExerciseCase:
    """Create exercise 8: ``find_angles(position, jacobian, angles, goal) -> (n,)``; `far`: out of reach."""
    arm = draw_arm(rng, joints)
    goal = replace(arm, angles=arm.angles + rng.uniform(-0.6, 0.6, joints)).tip
    if far:
        goal *= 1.2 * np.linalg.norm(arm.offsets[:, :3, 3], axis=1).sum() / np.linalg.norm(goal)

    def position(angles: Array) -> Array:
        return np.asarray(arm.model.fk(angles, "tip")[:3, 3])

    def jacobian(angles: Array) -> Array:
        return np.asarray(arm.model.jacobian(angles, "tip")[:3])

    def judge(answer: Array) -> str | None:
        before, away = (float(np.linalg.norm(goal - position(angles))) for angles in (arm.angles, answer))
        if away <= (before if far else ARRIVED):
            return None
        if np.allclose(answer, arm.angles):
            return "nothing has moved: the angles are those that were given."
        hint = "are the steps shortened?" if far else "is the error goal - position?"
        return (
            f"the tip is {away:.3f} m from the goal; {before:.3f} m at the start{': ' + hint if away > before else '.'}"
        )

    given = {"position": position, "jacobian": jacobian, "angles": arm.angles, "goal": goal}
    return ExerciseCase(name_arm(joints) + ", a goal out of reach" * far, given, None, judge=judge, shape=(joints,))


def ask_whole_body(rng: np.random.Generator, joints: int) -> ExerciseCase:
    """Create exercise 14: ``pose_body(model, start, targets) -> q``; ``joints`` is the number of hands and feet."""
    model = build("humanoid")
    pose = integrate(model, model.rest, rng.uniform(-0.15, 0.15, model.nv))
    for joint in list_ranged(model):
        pose[joint.q] = np.clip(pose[joint.q], model.lower[joint.v], model.upper[joint.v])
    targets = {frame: forward_kinematics(model, pose, frame)[:3, 3] for frame in FRAMES[:joints]}
    given = {"model": model, "start": model.rest, "targets": targets}

    def judge(answer: Array) -> str | None:
        return describe_errors(model, answer, targets)

    return ExerciseCase(f"the humanoid, {joints} targets", given, None, judge=judge, shape=(model.nq,))


def describe_errors(model: Model, q: Array, targets: Mapping[str, Array]) -> str | None:
    """Describe the first error of a pose: a quaternion, a range, or a target; None if it has none."""
    for joint in model.joints:
        first = {"ball": 0, "free": 3}.get(joint.kind)
        if first is not None and abs(np.linalg.norm(q[joint.q][first:]) - 1.0) > 1e-6:
            return (
                f"the quaternion of {joint.name} is not of unit length. Step with model.integrate(q, dq), not q + dq."
            )
    for joint in list_ranged(model):
        over = np.maximum(q[joint.q] - model.upper[joint.v], model.lower[joint.v] - q[joint.q]).max(initial=0.0)
        if over > 1e-9:
            return f"{joint.name} is {over:.3g} beyond its range. Keep model.lower and model.upper (model.clamp)."
    away = {
        name: float(np.linalg.norm(forward_kinematics(model, q, name)[:3, 3] - goal)) for name, goal in targets.items()
    }
    worst = max(away, key=lambda name: away[name])
    if away[worst] > NEAR:
        near = sum(distance <= NEAR for distance in away.values())
        return f"{worst} is {away[worst]:.3f} m from its target; {near} of {len(away)} are within {NEAR} m."
    return None


def _sweep(
    arm: Arm,
    goal: Array,
    order: Iterable[int],
    *,
    sign: float = 1.0,
    signed: bool = True,
    fresh: bool = True,
    flat: bool = True,
) -> Array:
    """Return the angles after one sweep in this order, with an optional mistake."""
    angles = arm.angles.copy()
    for i in order:
        now = replace(arm, angles=angles) if fresh else arm
        axis, pivot = now.find_hinge(i)
        turn = ccd_angle(axis, pivot, now.tip, goal)
        if not flat:
            effector, target = now.tip - pivot, goal - pivot
            turn = float(np.arctan2(axis @ np.cross(effector, target), effector @ target))
        angles[i] += sign * (turn if signed else abs(turn))
    return angles
