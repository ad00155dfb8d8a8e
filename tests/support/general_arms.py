"""Arms with guessed poses: random axes, or axes that are nearly those of a family."""

from typing import Any

import numpy as np

import poise
from poise.arrays import Floats

SIX = [f"j{k}" for k in range(6)]
FRAMES = {"ur5e": "tool0", "panda": "panda_hand_tcp", "iiwa14": "iiwa_link_ee"}
PUMA = (
    ((0, 0, 0.672), "z", 2.8), ((0, 0.2435, 0), "y", 2.6), ((0.4318, -0.0934, 0), "y", 2.6),
    ((-0.0203, 0, 0.4331), "z", 2.9), ((0, 0, 0), "y", 1.75), ((0, 0, 0), "z", 3.0),
)  # fmt: skip
HARD = {1: (6, 61, 87, 132), 3: (9,)}  # by arm: rows of `draw_transforms` that searches from all seeds miss


def draw_general(seed: int, *, turns: int = 6, reach: float = 3.0, gripper: bool = False) -> poise.Model:
    """Return an arm with a frame "tool"; the gripper is a joint after it, which does not move it.

    Args:
        seed: Seed of the axes.
        turns: Number of revolute joints.
        reach: Range of each joint, in both directions [rad].
        gripper: Whether to add a gripper joint.
    """
    rng = np.random.default_rng(seed)
    builder, parent = poise.ModelBuilder("general"), None
    for k in range(turns):
        axis = rng.normal(size=3)
        offset = poise.Transform(translation=0.2 * rng.normal(size=3))
        builder.add_joint(f"j{k}", parent, "revolute", offset=offset, axis=axis, lower=-reach, upper=reach)
        parent = f"j{k}"
    builder.add_frame("tool", parent, poise.Transform(translation=(0.1, 0.05, 0.2)))
    if gripper:
        builder.add_joint("gripper", parent, "revolute", axis=(1, 0, 0), lower=-0.5, upper=0.5)
    return builder.build()


def draw_transforms(seed: int, count: int = 150) -> Floats:
    """Return transforms (count, 4, 4) that the six-joint arm reaches."""
    model = draw_general(seed)
    return model.fk(model.random(np.random.default_rng(seed), count), "tool")


def draw_hard(seed: int) -> Floats:
    """Return the transforms that searches from all seeds miss, and that are reached from a guess."""
    return draw_transforms(seed)[list(HARD[seed])]


def make_puma() -> poise.Model:
    """Return a PUMA, whose wrist is spherical."""
    builder, parent = poise.ModelBuilder("puma"), None
    for k, (place, axis, reach) in enumerate(PUMA):
        turn = np.eye(3)["xyz".index(axis)]
        offset = poise.Transform(translation=place)
        builder.add_joint(f"j{k}", parent, "revolute", offset=offset, axis=turn, lower=-reach, upper=reach)
        parent = f"j{k}"
    return builder.add_frame("tool", parent, poise.Transform(translation=(0, 0, 0.1))).build()


def calibrate(name: str, size: float, seed: int = 0) -> poise.Model:
    """Return a calibrated arm: axes rotated by about `size` radians, and moved by a third of it."""
    model, rng = make_puma() if name == "puma" else poise.load(name), np.random.default_rng(seed)
    chain = model.family(FRAMES.get(name, "tool")).chain
    assert chain is not None
    parent: str | None
    builder, parent, at = poise.ModelBuilder(name), None, np.zeros(3)
    for k, axis in enumerate(chain.axes):
        h, p = axis.h + 0.6 * size * rng.normal(size=3), axis.p + 0.2 * size * rng.normal(size=3)
        offset = poise.Transform(translation=p - at)
        builder.add_joint(f"j{k}", parent, "revolute", offset=offset, axis=h, lower=axis.lower, upper=axis.upper)
        parent, at = f"j{k}", p
    T = chain.T.copy()
    T[:3, 3] -= at
    return builder.add_frame("tool", parent, poise.Transform.from_matrix(T)).build()


def scale_model(model: poise.Model, by: float) -> poise.Model:
    """Return the body with every length so many times as long; masses and mimics are left out."""
    builder = poise.ModelBuilder(f"{model.name} x {by:g}")
    for name in model.frames:
        frame = model.frame(name)
        offset = np.array(frame.offset.matrix)
        offset[:3, 3] *= by
        if frame.joint is None:
            builder.add_frame(name, frame.parent, offset)
            continue
        joint = model.joint(frame.joint)
        stretch = by if joint.kind == "prismatic" else 1.0
        given: dict[str, Any] = {} if joint.kind == "fixed" else {"axis": joint.axis}
        if joint.kind not in ("fixed", "continuous"):
            given |= {"lower": stretch * joint.lower, "upper": stretch * joint.upper}
        builder.add_joint(joint.name, frame.parent, joint.kind, frame=name, offset=offset, **given)
    return builder.build()
