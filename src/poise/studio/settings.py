"""Solvers of the studio: any method, with the settings of the panel.

The default method supports strict priority levels. Methods without levels get the same goals by weight, pins heaviest;
goals that a method does not support are left out and listed. A method that cannot move a floating base keeps it fixed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from poise.errors import InvalidValue
from poise.goals import Balance, Goal, Reach, Rest, Style
from poise.limits import Clearance, Limit
from poise.methods import Method, find_method
from poise.model import Model
from poise.rig import RigProblem
from poise.solvers import Solver
from poise.solvers.capability import name_kind
from poise.studio.styles.postures import mix_postures

__all__ = ["Settings", "StudioSolvers", "list_movable"]

PIN_LEVEL = 0  # priority of pins
PIN_WEIGHT = 30.0  # weight of pins for methods without levels
MAX_FRAME_STEPS = 25  # solver steps per frame at most


@dataclass(frozen=True, slots=True)
class Settings:
    """The solver settings of the studio.

    Attributes:
        method: The method, with its own settings.
        limit_handling: "active", "freeze", "penalty", "clamp" or "off".
        step_limit: The largest change of a joint per frame [rad].
        max_steps: The largest number of steps per frame.
        stiffness: Stiffness by joint name, overriding the model's.
        weights: Weights by handle name.
        levels: Priorities by handle name, overriding the default.
        balance: Whether to keep the centre of mass over pinned feet.
        clearance: Whether to avoid self-collisions.
        style: The style of the posture, or None for the rest pose.
        share: The share of the style, from 0 (rest pose) to 1 (style).
    """

    method: Method = field(default_factory=lambda: find_method("auto"))
    limit_handling: str = "active"
    step_limit: float = 0.2
    max_steps: int = MAX_FRAME_STEPS
    stiffness: Mapping[str, float] = field(default_factory=dict)
    weights: Mapping[str, float] = field(default_factory=dict)
    levels: Mapping[str, int] = field(default_factory=dict)
    balance: bool = True
    clearance: bool = False
    style: Style | None = None
    share: float = 0.0


class StudioSolvers:
    """A factory of a rig's solvers, with the settings of the panel.

    Attributes:
        settings: The solver settings.
        note: The goals that the method left out of the last problem, as text.
    """

    def __init__(self, settings: Settings | None = None) -> None:
        self.settings = Settings() if settings is None else settings
        self.note = ""

    def __call__(self, problem: RigProblem) -> Solver:
        """Return the solver of a problem.

        Raises:
            InvalidValue: The method does not support the problem.
        """
        return self.prepare(problem)

    def prepare(self, problem: RigProblem, *, flat: bool = False, **options: Any) -> Solver:
        """Return a solver with other options; `flat` puts all goals on one level and leaves the posture out.

        Raises:
            InvalidValue: The method does not support the problem.
        """
        method = self.settings.method
        changed = self.change_goals(problem.model, problem.goals)
        goals, left_out = fit_goals(method, problem.model, changed, flat)
        self.note = f"{method.name} leaves out {', '.join(left_out)}" if left_out else ""
        if not goals:
            raise InvalidValue(f"method {method.name!r} supports none of these goals.")
        base = {joint.name for joint in problem.model.joints if joint.kind == "free"}
        try:
            return self.make(problem, goals, options)
        except InvalidValue:
            if not base or base <= problem.frozen or method.levels:
                raise
        made = self.make(replace(problem, frozen=problem.frozen | base), goals, options)
        self.note = f"{method.name} holds {', '.join(sorted(base))} still"
        return made

    def make(self, problem: RigProblem, goals: list[Goal], options: Mapping[str, Any]) -> Solver:
        """Return a solver of these goals; frozen joints do not move."""
        settings = self.settings
        chosen: dict[str, Any] = {
            "method": settings.method,
            "limits": self.find_limits(problem),
            "limit_handling": settings.limit_handling,
            "joints": problem.joints,
            "stiffness": find_stiffness(problem, settings.stiffness),
            "step_limit": settings.step_limit,
            "max_steps": settings.max_steps,
            "restarts": 0,
            "mode": "continuous",
        }
        return Solver(problem.model, goals, **{**chosen, **options})

    def find_limits(self, problem: RigProblem) -> tuple[Limit, ...]:
        """Return the limits; methods without levels support only joint limits."""
        if not self.settings.method.levels:
            return ()
        given = (problem.limits,) if isinstance(problem.limits, Limit) else tuple(problem.limits)
        return (*given, Clearance()) if self.settings.clearance else given

    def change_goals(self, model: Model, goals: tuple[Goal, ...]) -> list[Goal]:
        """Return the goals with the settings of the panel applied: weights, levels, style, balance."""
        weights, levels, style = self.settings.weights, self.settings.levels, self.settings.style
        out: list[Goal] = []
        for goal in goals:
            name = str(goal.name)
            if isinstance(goal, Balance) and not self.settings.balance:
                continue
            if isinstance(goal, Rest) and style is not None:
                out += mix_postures(model, goal, style, self.settings.share)
            elif name in weights or name in levels:
                weight, level = weights.get(name, goal.weight), levels.get(name, goal.priority)
                out.append(replace(goal, weight=weight, priority=level))
            else:
                out.append(goal)
        return out


def list_movable(model: Model) -> tuple[str, ...]:
    """List the joints that move by themselves, which can be frozen and have a stiffness."""
    return tuple(joint.name for joint in model.joints if joint.nv and not joint.mimic)


def find_stiffness(problem: RigProblem, changed: Mapping[str, float]) -> NDArray[np.float64] | None:
    """Return the stiffness of every velocity: the rig's, with the changes by joint."""
    if not changed:
        return problem.stiffness
    out = np.array(problem.model.stiffness if problem.stiffness is None else problem.stiffness, dtype=np.float64)
    for name, value in changed.items():
        out[problem.model.joint(name).v] = value
    return out


def fit_goals(method: Method, model: Model, goals: list[Goal], flat: bool = False) -> tuple[list[Goal], list[str]]:
    """Return the goals in a form the method supports, and the names of those it does not support."""
    if method.levels and not flat:
        return goals, []
    kept: list[Goal] = []
    left_out: list[str] = []
    for goal in goals:
        kind = "posture" if isinstance(goal, Rest) else name_kind(goal.rows(model))
        if kind not in method.goal_kinds or kind == "posture":
            if kind != "posture" or isinstance(goal, Style):
                left_out.append(goal.name or goal.default_name)
            continue
        pinned = isinstance(goal, Reach) and goal.priority == PIN_LEVEL
        kept.append(replace(goal, priority=0, weight=np.multiply(goal.weight, PIN_WEIGHT if pinned else 1.0).tolist()))
    return kept, left_out
