"""Problems whose code for a GPU is built and compared with the CPU."""

from typing import Any

import numpy as np

import poise
from poise.goals import Align, Goal, LookAt, Orient, Reach, Rest

__all__ = ["ROWS", "build_six_joints", "draw_mixed", "humanoid", "make_gaze", "panda", "prepare", "tree", "turn_goals"]

ROWS = 60


def panda() -> tuple[poise.Model, list[Goal], dict[str, Any]]:
    model = poise.load("panda")
    tool = model.frames[-1]
    targets = model.fk(model.random(np.random.default_rng(0), ROWS), tool)
    targets[5, 0, 3] = np.nan
    targets[9, :3, 3] = 30.0
    return model, [Reach(tool, np.eye(4), tolerance=(1e-4, 1e-3))], {tool: targets}


def draw_mixed() -> tuple[poise.Model, list[Goal], dict[str, Any]]:
    """Transforms of which no pose reaches about half."""
    model, goals, targets = panda()
    (tool,) = targets
    targets[tool][:, :3, 3] += np.random.default_rng(5).normal(scale=0.3, size=(ROWS, 3))
    return model, goals, targets


def build_six_joints() -> tuple[poise.Model, list[Goal], dict[str, Any]]:
    """Transforms of a six-axis arm, of which some are out of reach; its nearest branches answer most rows."""
    model = poise.load("ur5e")
    tool = model.frames[-1]
    targets = model.fk(model.random(np.random.default_rng(0), ROWS), tool)
    targets[9, :3, 3] = 30.0
    targets[10:14, :3, 3] *= 1.5
    return model, [Reach(tool, np.eye(4), tolerance=(1e-4, 1e-3))], {tool: targets}


def humanoid() -> tuple[poise.Model, list[Goal], dict[str, Any]]:
    model = poise.load("humanoid")
    names = ("hand_l", "hand_r", "foot_l", "foot_r")
    bodies = model.integrate(model.rest, np.random.default_rng(1).uniform(-0.2, 0.2, (ROWS, model.nv)))
    return model, [Reach(n, np.eye(4)) for n in names], {n: model.fk(bodies, n) for n in names}


def tree() -> tuple[poise.Model, list[Goal], dict[str, Any]]:
    model = poise.load("tree30")
    names = model.frames[-2:]
    return model, [Reach(n, np.zeros(3)) for n in names], {}


def turn_goals() -> tuple[poise.Model, list[Goal], dict[str, Any]]:
    model = poise.load("iiwa14")
    tool = model.frames[-1]
    targets = model.fk(model.random(np.random.default_rng(2), ROWS), tool)[:, :3, :3]
    return model, [Orient(tool, np.eye(3), axes="xz"), Rest()], {tool: targets}


def make_gaze() -> tuple[poise.Model, list[Goal], dict[str, Any]]:
    """A figure that looks, leans and reaches, also in the coordinates of its own chest."""
    model = poise.load("humanoid")
    bodies = model.integrate(model.rest, np.random.default_rng(4).uniform(-0.2, 0.2, (ROWS, model.nv)))
    chest, hand, eyes = (model.fk(bodies, name) for name in ("chest", "hand_r", "eyes"))
    targets = {
        "hand_l": model.fk(bodies, "hand_l")[:, :3, 3],
        "hand_r": np.linalg.inv(chest) @ hand,
        "eyes": eyes[:, :3, 3] + 2.0 * eyes[:, :3, 2],
        "lean": 3.0 * chest[:, :3, 1],  # of any length
    }
    goals = [
        Reach("hand_l", np.zeros(3)),
        Reach("hand_r", np.eye(4), relative_to="chest"),
        LookAt("eyes", np.zeros(3), axis="z"),
        Align("chest", "y", (0, 1, 0), name="lean"),
    ]
    return model, goals, targets


def prepare(model: poise.Model, goals: list[Goal], **options: Any) -> poise.Solver:
    """A solver with all its proofs, as a batch has it."""
    solver = poise.Solver(model, goals, **options)
    solver.problem.complete_proofs()
    return solver
