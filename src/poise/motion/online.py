"""Follow targets one frame after the other, as a live stream gives them: no frame sees what comes after it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from poise.goals import Goal, Reach
from poise.kinematics import Motion, Pose
from poise.limits import Limit
from poise.model import Model
from poise.motion.ledger import Contact, Contacts
from poise.motion.result import Track
from poise.motion.whole_clip import Progress
from poise.solvers import Solver

__all__ = ["follow"]

Floats = NDArray[np.float64]


def follow(
    model: Model,
    goals: Mapping[str, Goal],
    paths: Mapping[str, Floats],
    fps: float,
    start: ArrayLike | Pose | None,
    ledger: Contacts,
    limits: Sequence[Limit],
    progress: Progress | None,
) -> Track:
    """Return the motion that serves each frame from the one before; its cost a frame does not grow.

    A contact holds its point where the body had it when it began, on a level above the goals.
    """
    frames = len(next(iter(paths.values())))
    solvers: dict[frozenset[int], Solver] = {}
    places: dict[int, Floats] = {}
    q = model.rest if start is None else start.q if isinstance(start, Pose) else np.asarray(start, dtype=np.float64)
    out, errors = np.empty((frames, model.nq)), {name: np.zeros((frames, 2)) for name in goals}
    for t in range(frames):
        active = {i: contact for i, contact in enumerate(ledger) if contact.start <= t < contact.end}
        for i, contact in active.items():
            if i not in places:
                places[i] = point_of(model, q, contact) if t else np.array(contact.place or point_of(model, q, contact))
        key = frozenset(active)
        if key not in solvers:
            solvers[key] = make_solver(model, goals, active, places, limits)
        solution = solvers[key].solve(q, {name: path[t] for name, path in paths.items()})
        q = out[t] = solution.q
        for name in goals:
            errors[name][t] = solution.errors[name]
        if progress is not None:
            progress(t + 1, frames)
    tolerances = {name: goal.tolerances(model, False) for name, goal in goals.items()}
    return Track(Motion(model, out, fps), errors, tolerances, ledger)


def make_solver(
    model: Model,
    goals: Mapping[str, Goal],
    active: Mapping[int, Contact],
    places: Mapping[int, Floats],
    limits: Sequence[Limit],
) -> Solver:
    """Return a solver for one set of contacts, that keeps its branch from frame to frame."""
    below = 1 if active else 0
    listed: list[Goal] = [
        Reach(contact.frame, places[i], point=contact.point, name=f"contact {i}") for i, contact in active.items()
    ]
    listed += [replace(goal, name=name, priority=goal.priority + below) for name, goal in goals.items()]
    return Solver(model, listed, limits=list(limits), mode="continuous", step_limit=0.3)


def point_of(model: Model, q: Floats, contact: Contact) -> Floats:
    """Return where the point of a contact is."""
    T = model.fk(q, contact.frame)
    out: Floats = T[:3, :3] @ np.array(contact.point) + T[:3, 3]
    return out
