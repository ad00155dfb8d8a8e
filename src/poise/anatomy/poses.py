"""The pose and up direction that show the anatomy best: the rest pose, a named pose, or a frame of a clip."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from poise.anatomy.parts import Body, list_parts
from poise.anatomy.shape import BodyShape, read_shape
from poise.anatomy.symmetry import BodySymmetry, find_symmetry
from poise.arrays import Floats
from poise.model import Model

__all__ = ["read_best_shape"]

CLIP_FRAMES = 6  # frames of a clip that are read
KIND_SCORES = {"biped": 3.0, "quadruped": 3.0, "many legs": 2.5, "two arms": 1.5, "": 0.0}
LEG_JOINTS = range(8, 41)  # numbers of hinges of a robot on four legs, with or without an arm
HEAD_SCORE = 0.5  # of a pose that shows a head; a clear pose counts as one
LONG_LIMBS = 0.2  # relative to the body's size: shorter pairs are neither legs nor arms
UP_HANDICAP, POSE_HANDICAP = 0.4, 0.5  # of another up direction, in the rest pose and in other poses
CLEAR_LIKENESS = 0.95  # likeness of two sides at which no other pose is tried


def read_best_shape(model: Model, frames: Floats | None = None) -> BodyShape:
    """Read the shape of a body in the pose that shows it best: standing on its legs, symmetric, head up."""
    some = [] if frames is None else [frames[i] for i in sample_frames(len(frames))]
    poses = [model.rest, *some, *model.poses.values()]
    seen = PoseReader(model, poses)
    best = seen.read(0, model.up_direction)
    most = score_shape(best)
    if most >= CLEAR_LIKENESS * KIND_SCORES["biped"] or (
        frames is None and best.kind == "two arms" and not has_unread_limbs(best)
    ):
        return best
    for pose, up, handicap in list_views(model, len(poses)):
        shape = seen.read(pose, up)
        worth = score_shape(shape) - handicap
        if handicap and "head" not in shape.roles:
            continue  # another up direction is only accepted with a head above
        if worth > most + 1e-9:
            best, most = shape, worth
        if most >= CLEAR_LIKENESS * KIND_SCORES["biped"]:
            break
    return best if best.kind else read_middle_shape(model, best)


def read_middle_shape(model: Model, other: BodyShape) -> BodyShape:
    """Read the shape of a robot on four legs that are folded in its rest pose, from the middle of its joint ranges."""
    ranged = [joint for joint in model.joints if joint.kind == "revolute" and joint.nv and not joint.mimic]
    q = np.array(model.rest)
    for joint in ranged:
        low, high = float(model.lower[joint.v][0]), float(model.upper[joint.v][0])
        q[joint.q] = 0.5 * (low + high) if np.isfinite(low + high) else q[joint.q]
    if len(ranged) not in LEG_JOINTS or np.array_equal(q, model.rest):
        return other
    shape = PoseReader(model, [q]).read(0, model.up_direction)
    return shape if shape.kind == "quadruped" else other


class PoseReader:
    """Shapes of a model in several poses and up directions; parts and symmetry plane are found once per pose."""

    def __init__(self, model: Model, poses: Sequence[ArrayLike]) -> None:
        self.model, self.poses = model, poses
        self.found: dict[int, tuple[Body, BodySymmetry | None]] = {}

    def read(self, pose: int, up: Floats) -> BodyShape:
        """Read the shape of the body in a pose."""
        if pose not in self.found:
            body = list_parts(self.model, self.poses[pose], up)
            self.found[pose] = body, find_symmetry(body)
        body, symmetry = self.found[pose]
        return read_shape(replace(body, up=up), symmetry)


def score_shape(shape: BodyShape) -> float:
    """Return a score of how clearly a pose shows the anatomy, from stance, symmetry and head."""
    if shape.stance is None:
        return 0.0
    limbs = shape.stance.legs or ([shape.stance.arms] if shape.stance.arms else [])
    alike = min((limb.pair.alike for limb in limbs), default=0.0)
    return (
        (KIND_SCORES[shape.kind] + HEAD_SCORE * ("head" in shape.roles)) * alike**2
        if alike < CLEAR_LIKENESS
        else KIND_SCORES[shape.kind] + HEAD_SCORE
    )


def has_unread_limbs(shape: BodyShape) -> bool:
    """Return whether long pairs of limbs remain that are neither legs nor arms."""
    if shape.symmetry is None or shape.stance is None:
        return True
    long = [pair for pair in shape.symmetry.pairs if pair.length > LONG_LIMBS * shape.body.size]
    return len(long) > 1 and not shape.stance.legs


def list_views(model: Model, poses: int) -> Iterator[tuple[int, Floats, float]]:
    """List other poses and up directions, each with its handicap; pose 0 is the rest pose."""
    for pose in range(1, poses):
        yield pose, model.up_direction, 0.0
    others = [sign * axis for axis in np.eye(3) for sign in (1.0, -1.0) if sign * axis @ model.up_direction < 0.5]
    for up in others:
        yield 0, up, UP_HANDICAP
    for pose in range(1, min(poses, 3)):
        for up in others:
            yield pose, up, POSE_HANDICAP


def sample_frames(count: int) -> list[int]:
    """List the indices of a few frames of a clip, including the first."""
    return sorted({int(i) for i in np.linspace(0, count - 1, min(CLIP_FRAMES, count))})
