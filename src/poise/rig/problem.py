"""From wishes to goals on strict levels, and the solvers of them, prepared once for each set of wishes.

0  pins                            3  poles, and elbows and knees that are dragged or reach
1  the handles that are dragged    4  balance, gazes and aims
2  the other reaches               and the rest pose below all
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from poise.goals import Align, Balance, Goal, LookAt, Reach, Rest
from poise.limits import Limit
from poise.model import Model
from poise.rig.asking import RigProblem, SolverMaker, make_solver
from poise.rig.handles import Handle
from poise.rig.limbs import Limb
from poise.rig.state import Blend, State
from poise.solvers import Solver

__all__ = ["Problems"]

PINS, DRAGGED, REACHES, POLES, KEPT = range(5)
AIM_WEIGHT = 0.3  # beside a balance of weight 1
MOST_SOLVERS = 64
PINNED = 1e-6  # metres (times L below 1) and radians: how near a pin must be to count as reached
NO_WISH = "nothing"  # a solver needs a row: this one asks for nothing


class Problems:
    """The solvers of a rig, by what is wished."""

    def __init__(
        self,
        model: Model,
        handles: dict[str, Handle],
        limbs: dict[str, Limb],
        *,
        limits: Sequence[Limit] | Limit,
        balance: Any,
        rest: Rest | None,
        maker: SolverMaker = make_solver,
    ) -> None:
        self.model, self.handles, self.limbs = model, handles, limbs
        self.limits, self.balance, self.rest = limits, balance, rest
        self.maker = maker
        self._solvers: dict[tuple[Any, ...], Solver] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_solvers": {}}  # made again when they are asked for, and remember nothing of a pose

    def change(self, **changed: Any) -> None:
        """Set some of the attributes; solvers are made anew from the next frame on."""
        for name, value in changed.items():
            setattr(self, name, value)
        self._solvers.clear()

    def solver(self, state: State) -> Solver:
        """The solver for a state's wishes; its targets are not those of the state yet."""
        key = self.key(state)
        found = self._solvers.get(key)
        if found is None:
            if len(self._solvers) >= MOST_SOLVERS:
                del self._solvers[next(iter(self._solvers))]
            found = self._solvers[key] = self.maker(self.problem(key))
        return found

    def key(self, state: State) -> tuple[Any, ...]:
        """What of a state its solver depends on: everything but the targets."""
        silent = self.silent(state) if state.strengths or state.blends else ()
        dragged = state.dragged
        return (
            tuple(
                (name, self.level(name, wish.kind, dragged), wish.target.ndim, wish.weight)
                for name, wish in state.places.items()
                if name not in silent
            ),
            tuple((name, wish.axis) for name, wish in state.aims.items() if name not in silent),
            tuple(state.poles),
            state.frozen,
            bool(state.blends),  # those rest elsewhere from frame to frame, see Frames
        )

    def problem(self, key: tuple[Any, ...]) -> RigProblem:
        """Return the problem of a key, without targets."""
        places, aims, poles, frozen, _ = key
        return RigProblem(self.model, tuple(self.goals(places, aims, poles)), self.limits, frozen)

    def blend(self, state: State, handle: Handle) -> Blend | None:
        """The blend of a handle's limb, if its place is served through one."""
        return None if handle.limb is None or handle.kind == "pole" else state.blends.get(handle.limb)

    def share(self, state: State, handle: Handle) -> float:
        """How much of a handle's wish is served: its strength times its limb's blend."""
        share, blend = state.strengths.get(handle.name, 1.0), self.blend(state, handle)
        return share if blend is None else share * blend.ik

    def silent(self, state: State) -> set[str]:
        """The handles whose wishes are not served at all."""
        return {name for name, handle in self.handles.items() if self.share(state, handle) == 0.0}

    def level(self, name: str, kind: str, dragged: Sequence[str]) -> int:
        """The level on which a handle's place is served."""
        if kind == "pin" and name not in dragged:
            return PINS
        if self.handles[name].kind == "pole":
            return POLES
        return DRAGGED if name in dragged else REACHES

    def goals(self, places: Sequence[Any], aims: Sequence[Any], poles: Sequence[str]) -> list[Goal]:
        """The goals of those wishes, each on its level; their targets are not those of a state yet."""
        goals: list[Goal] = []
        for name, level, ndim, weight in places:
            target = np.eye(4) if ndim == 2 else np.zeros(3)
            near = PINNED * min(1.0, self.model.length), PINNED
            goals.append(
                Reach(
                    self.handles[name].frame,
                    target,
                    weight=weight,
                    priority=level,
                    name=name,
                    tolerance=near if level == PINS else None,
                )
            )
        goals += [self.pole(limb) for limb in poles]
        support = self.supports([name for name, level, _, _ in places if level == PINS])
        if support is not None:
            goals.append(support)
        for name, axis in aims:
            frame = self.eye(name)
            aim = LookAt(frame, np.zeros(3), axis=axis, weight=AIM_WEIGHT, priority=KEPT, name=aim_name(name))
            goals.append(aim)
        if not goals:
            goals.append(Reach(self.model.frames[0], np.zeros(3), weight=0.0, tolerance=1e9, name=NO_WISH))
        if self.rest is not None:
            goals.append(self.rest)
        return goals

    def pole(self, name: str) -> Goal:
        """The goal that turns a limb's plane of bending."""
        limb = self.limbs[name]
        if limb.hinge is not None:
            return Align(str(limb.middle), limb.hinge, "x", priority=POLES, name=pole_name(name))
        assert limb.bone is not None, "a limb without a middle has no pole"
        return Align(limb.bone[0], limb.bone[1], "x", priority=POLES, name=pole_name(name))

    def supports(self, pinned: Sequence[str]) -> Balance | None:
        """The balance over pinned feet, or the one that was asked for; None where there is none to keep."""
        if isinstance(self.balance, Balance):
            return self.balance
        if self.balance == "auto":
            feet = [self.handles[name].frame for name in pinned if self.handles[name].stands]
            if feet and self.model.mass > 0.0:
                return Balance(feet, priority=KEPT, name="balance")
        return None

    def eye(self, name: str) -> str:
        """The frame that looks where a handle does."""
        handle = self.handles[name]
        return str(self.model.roles.get("eyes", handle.frame)) if handle.kind == "gaze" else handle.frame


def aim_name(handle: str) -> str:
    """The name of a handle's aim in a solution."""
    return f"{handle}.look_at"


def pole_name(limb: str) -> str:
    """The name of a limb's pole in a solution."""
    return f"{limb}.pole"
