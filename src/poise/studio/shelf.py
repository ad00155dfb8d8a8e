"""The wishes of a rig under any method of the shelf, with the panel's settings.

The usual method serves strict levels. Those that know one level get the same goals by weight, pins heaviest; goals that
a method does not serve are left out, by name. A method that cannot move a floating base holds it still.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from poise.errors import InvalidValue
from poise.goals import Goal, Reach, Rest
from poise.limits import Clearance
from poise.methods import Method, by_name
from poise.model import Model
from poise.rig.problem import PINS, Problems
from poise.solvers import Solution, Solver
from poise.solvers.serves import kind_of

__all__ = ["Settings", "Shelf"]

PIN_WEIGHT = 30.0  # of pins, where a method knows one level
STEPS = 25  # most steps of a frame


@dataclass(frozen=True, slots=True)
class Settings:
    """How the body is solved.

    Attributes:
        method: The shelf's method, with its settings.
        limit_handling: "active", "freeze", "penalty", "clamp" or "off".
        step_limit: Most radians of a joint in one frame.
        max_steps: Most steps in one frame.
        stiffness: Joint name to stiffness, over the model's own.
        weights: Handle name to weight.
        levels: Handle name to priority, over the usual order.
        balance: Keep the centre of mass over pinned feet.
        clearance: Keep the body's parts apart.
    """

    method: Method = field(default_factory=lambda: by_name("auto"))
    limit_handling: str = "active"
    step_limit: float = 0.2
    max_steps: int = STEPS
    stiffness: Mapping[str, float] = field(default_factory=dict)
    weights: Mapping[str, float] = field(default_factory=dict)
    levels: Mapping[str, int] = field(default_factory=dict)
    balance: bool = True
    clearance: bool = False


class Willing(Solver):
    """A solver that is told of more targets than it has goals, and takes its own."""

    __slots__ = ()

    def _run(self, start: Any, targets: Mapping[str, Any] | None, window: Any = None) -> Solution:
        own = {name: target for name, target in (targets or {}).items() if name in self.goals}
        return super()._run(start, own, window)


class Shelf(Problems):
    """A rig's problems, solved as the settings say."""

    settings = Settings()
    note = ""  # what the method leaves out, in words
    lifted: frozenset[str] = frozenset()  # pinned feet that are held in the air: nothing stands on them

    def use(self, settings: Settings) -> None:
        """Other settings from the next frame on."""
        self.settings = settings
        self._solvers.clear()

    def make(self, places: Sequence[Any], aims: Sequence[Any], poles: Sequence[str], frozen: frozenset[str]) -> Solver:
        """A solver of those wishes with the settings."""
        return self.prepare(places, aims, poles, frozen)

    def supports(self, pinned: Sequence[str]) -> Any:
        """Over the feet that stand; None where balance is switched off."""
        return super().supports([n for n in pinned if n not in self.lifted]) if self.settings.balance else None

    def stand(self, lifted: frozenset[str]) -> None:
        """These pinned handles are in the air."""
        if lifted != self.lifted:
            self.lifted = lifted
            self._solvers.clear()

    def prepare(
        self,
        places: Sequence[Any],
        aims: Sequence[Any],
        poles: Sequence[str],
        frozen: frozenset[str],
        *,
        flat: bool = False,
        **options: Any,
    ) -> Solver:
        """As `make`, with other options of the solver; `flat` puts all goals on one level and leaves the posture out.

        Raises:
            InvalidValue: The method does not serve this at all; the message says which do.
        """
        method = self.settings.method
        goals, left_out = serve(method, self.model, self.weighed(self.goals(places, aims, poles)), flat)
        self.note = f"{method.name} leaves out {', '.join(left_out)}" if left_out else ""
        if not goals:
            raise InvalidValue(f"method {method.name!r} serves nothing of what is asked here.")
        base = {joint.name for joint in self.model.joints if joint.kind == "free"}
        try:
            return self.solver_of(goals, frozen, options)
        except InvalidValue:
            if not base or base <= frozen or method.levels:
                raise
        made = self.solver_of(goals, frozen | base, options)
        self.note = f"{method.name} holds {', '.join(sorted(base))} still"
        return made

    def solver_of(self, goals: list[Goal], frozen: frozenset[str], options: Mapping[str, Any]) -> Solver:
        """A solver of goals; frozen joints do not move."""
        settings = self.settings
        moving = [j.name for j in self.model.joints if j.nv and not j.mimic and j.name not in frozen]
        chosen: dict[str, Any] = {
            "method": settings.method,
            "limits": (Clearance(),) if settings.clearance and settings.method.levels else (),
            "limit_handling": settings.limit_handling,
            "joints": moving if frozen else None,
            "stiffness": dict(settings.stiffness) or None,
            "step_limit": settings.step_limit,
            "max_steps": settings.max_steps,
            "restarts": 0,
            "mode": "continuous",
        }
        return Willing(self.model, goals, **{**chosen, **options})

    def weighed(self, goals: list[Goal]) -> list[Goal]:
        """The goals with the weights and levels that the panel gave them."""
        weights, levels = self.settings.weights, self.settings.levels
        return [
            replace(
                goal,
                weight=weights.get(str(goal.name), goal.weight),
                priority=levels.get(str(goal.name), goal.priority),
            )
            if goal.name in weights or goal.name in levels
            else goal
            for goal in goals
        ]


def serve(method: Method, model: Model, goals: list[Goal], flat: bool = False) -> tuple[list[Goal], list[str]]:
    """The goals as a method can take them, and the names of those that it cannot."""
    if method.levels and not flat:
        return goals, []
    kept: list[Goal] = []
    left_out: list[str] = []
    for goal in goals:
        kind = "posture" if isinstance(goal, Rest) else kind_of(goal.rows(model))
        if kind not in method.goal_kinds or kind == "posture":
            if kind != "posture":
                left_out.append(goal.name or goal.default_name)
            continue
        pinned = isinstance(goal, Reach) and goal.priority == PINS
        kept.append(replace(goal, priority=0, weight=np.multiply(goal.weight, PIN_WEIGHT if pinned else 1.0).tolist()))
    return kept, left_out
