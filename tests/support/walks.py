"""Generated clips: a walk with known contacts, the same with added foot skate, a swing and a bow."""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

import poise
from poise import Motion, Solver
from poise.goals import Goal, Orient, Reach, Rest

__all__ = ["PERIOD", "PHASES", "STANCE", "make_bow", "make_swing", "make_walk", "put_skate_in", "stands"]

PERIOD, STANCE, STRIDE, LIFT = 1.2, 0.62, 0.45, 0.09  # s, share of the period, m a period, m
PHASES = {"l": 0.0, "r": 0.5}


def place_foot(
    phase: float,
    start: NDArray[np.float64],
    forward: NDArray[np.float64],
    up: NDArray[np.float64],
    rise: float = 0.0,
) -> NDArray[np.float64]:
    """Return the position of a foot: still in its stance, then on a smooth arc to the next place, `rise` higher."""
    step, u = np.floor(phase), phase - np.floor(phase)
    T = start.copy()
    if u < STANCE:
        T[:3, 3] += forward * STRIDE * step + up * rise * step
        return T
    v = (u - STANCE) / (1.0 - STANCE)
    along = v * v * v * (10.0 + v * (6.0 * v - 15.0))
    arc = (LIFT + 0.5 * rise) * np.sin(np.pi * v) ** 2
    T[:3, 3] += forward * STRIDE * (step + along) + up * (rise * (step + along) + arc)
    return T


def stands(side: str, frames: int, fps: float) -> NDArray[np.bool_]:
    """Return a mask of the frames in which a foot stands."""
    phase = np.arange(frames) / fps / PERIOD + PHASES[side]
    found: NDArray[np.bool_] = phase - np.floor(phase) < STANCE
    return found


@lru_cache
def make_walk(frames: int = 120, fps: float = 30.0, rise: float = 0.0) -> Motion:
    """Return a walk of the built-in humanoid, with flat feet during stance; up stairs of height `rise`, STRIDE deep."""
    model = poise.load("humanoid")
    up, forward = model.up_direction, np.array([0.0, 0.0, 1.0])
    feet = {side: model.fk(model.rest, f"foot_{side}") for side in PHASES}
    pelvis = model.fk(model.rest, "pelvis")
    goals: list[Goal] = [Reach(f"foot_{side}", feet[side], name=side) for side in PHASES]
    goals += [Reach("pelvis", pelvis[:3, 3], name="pelvis", priority=1), Rest(weight=1.0)]
    solver = Solver(model, [*goals, Orient("pelvis", pelvis[:3, :3], name="upright", priority=1)])
    q, out = model.rest, []
    for t in np.arange(frames) / fps:
        targets = {
            side: place_foot(t / PERIOD + phase, feet[side], forward, up, rise) for side, phase in PHASES.items()
        }
        targets["pelvis"] = pelvis[:3, 3] + (forward * STRIDE + up * rise) * (t / PERIOD - 0.06) - 0.06 * up
        q = solver.solve(q, targets).q
        out.append(q)
    return Motion(model, np.array(out), fps)


def put_skate_in(walk: Motion, size: float = 0.002, seed: int = 1) -> Motion:
    """Return the walk with small motions of every joint, so that the feet slip and lift by millimetres."""
    model, t = walk.model, walk.times[:, None]
    rng = np.random.default_rng(seed)
    scale = np.where(np.arange(model.nv) < 3, 0.5, 1.0) * size
    sway = sum(
        scale * rng.normal(size=model.nv) * np.sin(2.0 * np.pi * (hz * t + rng.random(model.nv)))
        for hz in (0.5, 1.0, 2.0)
    )
    return Motion(model, model.clamp(model.integrate(walk.q, sway)), walk.fps)


def make_swing(frames: int = 61) -> poise.Motion:
    """Make a clip in which an arm swings, at 30 frames per second."""
    model = poise.load("humanoid")
    q = np.repeat(np.array(model.rest)[None], frames, axis=0)
    q[:, model.joint("elbow_l").q] = -0.8 + 0.4 * np.sin(np.arange(frames) / 10)[:, None]
    return poise.Motion(model, q, 30.0)


def make_bow(frames: int = 60) -> poise.Motion:
    """A clip of somebody who bows with bent elbows."""
    model = poise.load("humanoid")
    poses = []
    for t in np.linspace(0.0, 6.0, frames):
        dv = np.zeros(model.nv)
        dv[model.joint("spine_1").v] = (0.35 + 0.1 * np.sin(t), 0.0, 0.0)
        for name in ("elbow_l", "elbow_r"):
            dv[model.joint(name).v] = -1.4 + 0.2 * np.cos(t)
        poses.append(model.clamp(model.integrate(model.rest, dv)))
    return poise.Motion(model, np.array(poses), 30.0)
