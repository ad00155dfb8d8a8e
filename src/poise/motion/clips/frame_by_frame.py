"""Frames of a clip solved in sequence, each from the previous one, contacts first."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from poise.arrays import Floats
from poise.goals import Goal, Reach, Rest
from poise.limits import Limit
from poise.model import Model
from poise.motion.clips.clip_limits import find_locked
from poise.motion.contact.ledger import Contacts, Place
from poise.solvers import Solution, Solver
from poise.solvers.table import combine_postures

__all__ = ["FrameByFrame"]

Key = tuple[str, Place]
BRANCH_JUMP = 0.3  # rad per frame: a larger step is a change of branch
CLIP_POSTURE = "clip"  # the name of the posture that is set for each frame


@dataclass(eq=False)
class FrameByFrame:
    """The goals of every frame of a clip, with a solver for each set of contacts.

    Attributes:
        model: The body.
        goals: The goals; each has a name.
        paths: The targets over time, by the name of the goal.
        ledger: The contacts, which come before the goals.
        limits: Limits of a pose.
        restarts: The number of restarts from other poses after a search fails.
        asked: The frames in which a goal applies, by its name, (frames,); by default all.
    """

    model: Model
    goals: Sequence[Goal]
    paths: Mapping[str, Floats]
    ledger: Contacts
    limits: Sequence[Limit] = ()
    restarts: int = 0
    asked: Mapping[str, NDArray[np.bool_]] = field(default_factory=dict)
    solvers: dict[tuple[tuple[Key, ...], frozenset[str], bool], Solver] = field(default_factory=dict)

    def run(
        self,
        begin: Floats,
        *,
        postures: Sequence[Goal] | None = None,
        rest: Floats | None = None,
        carry: float = 1.0,
        first: int = 0,
    ) -> tuple[Floats, dict[str, NDArray[np.bool_]]]:
        """Solve every frame; return (frames, nq) and, by the name of each goal, a flag per frame that reaches it.

        Args:
            begin: A pose for each frame: the search starts at the first one, and locked joints follow these poses.
            postures: Goals for the remaining freedom of every frame.
            rest: Poses to stay near to, in place of postures, (frames, nq).
            carry: The weight of moving the whole body to another place.
            first: The frame that is solved first, from its own pose; the solve continues to the end, then back to the
                beginning.
        """
        own: list[Goal] = [Rest(name=CLIP_POSTURE)] if postures is None else list(postures)
        gains, locked = weigh_joints(self.model, carry), find_locked(self.model)
        out, met = np.array(begin), np.zeros(len(begin), dtype=bool)
        within = {str(goal.name): goal.tolerances(self.model, False) for goal in self.goals}
        reached = {name: np.zeros(len(begin), dtype=bool) for name in within}

        def come_from(t: int, q: Floats) -> Solution:
            place = np.array(q)
            place[locked] = begin[t][locked]
            return self.solve(t, place, own, None if rest is None else rest[t], gains)

        def keep(t: int, solution: Solution) -> None:
            out[t], met[t] = solution.q, solution.reached
            for name, most in within.items():
                errors = solution.errors.get(name, (np.inf, np.inf))
                reached[name][t] = all(error <= least for error, least in zip(errors, most, strict=True))

        for t, before in list_steps(first, len(begin)):
            solution = come_from(t, out[before])
            if not solution.reached and rest is not None:
                other = come_from(t, begin[t])
                solution = other if other.reached else solution
            if not solution.reached:  # near the limit of its reach a frame may fail because of its posture
                other = self.solve(t, np.array(solution.q), (), None, gains)
                solution = other if other.reached else solution
            keep(t, solution)
        self.join_branches(out, met, come_from, keep)
        return out, reached

    def join_branches(
        self,
        q: Floats,
        met: NDArray[np.bool_],
        come_from: Callable[[int, Floats], Solution],
        keep: Callable[[int, Solution], None],
    ) -> None:
        """Move frames onto the branch of their neighbours, if the clip jumps there and they can follow."""
        for way in (-1, 1):
            order = range(len(q) - 2, -1, -1) if way < 0 else range(1, len(q))
            for t in order:
                beside = q[t - way]
                if met[t - way] and (not met[t] or measure_jump(self.model, beside, q[t]) > BRANCH_JUMP):
                    solution = come_from(t, beside)
                    if solution.reached and measure_jump(self.model, beside, solution.q) < BRANCH_JUMP:
                        keep(t, solution)

    def solve(self, t: int, q: Floats, postures: Sequence[Goal], rest: Floats | None, gains: Floats) -> Solution:
        """Solve one frame, starting from pose `q`."""
        standing = {(contact.frame, contact.point): contact for contact in self.ledger.list_at(t)}
        key = tuple(sorted(standing))
        absent = frozenset(name for name, flags in self.asked.items() if not flags[t])
        made = (key, absent, bool(postures))
        if made not in self.solvers:
            self.solvers[made] = self.make_solver(key, absent, postures)
        solver = self.solvers[made]
        targets: dict[str, Any] = {name: path[t] for name, path in self.paths.items() if name not in absent}
        targets |= {f"contact {i}": np.array(standing[each].place) for i, each in enumerate(key)}
        if rest is not None:
            solver.rest_at(rest, gains)
        return solver.solve(q, targets)

    def make_solver(self, key: tuple[Key, ...], absent: frozenset[str], postures: Sequence[Goal]) -> Solver:
        """Return a solver for one set of contacts, without the goals that do not apply."""
        held: list[Goal] = [
            Reach(frame, (0.0, 0.0, 0.0), point=point, name=f"contact {i}") for i, (frame, point) in enumerate(key)
        ]
        below = 1 if held else 0
        asked = [replace(goal, priority=goal.priority + below) for goal in self.goals if goal.name not in absent]
        return Solver(self.model, [*held, *asked, *postures], limits=list(self.limits), restarts=self.restarts)


def list_steps(first: int, frames: int) -> list[tuple[int, int]]:
    """List the frames in solving order, each with the frame that it starts from."""
    on = [(t, t - 1) for t in range(first + 1, frames)]
    back = [(t, t + 1) for t in range(first - 1, -1, -1)]
    return [(first, first), *on, *back]


def measure_jump(model: Model, a: Floats, b: Floats) -> float:
    """Return the largest rotation of a joint between two poses [rad]."""
    turns = np.asarray(model.difference(a, b))[~model.slides]
    return float(np.abs(turns).max(initial=0.0))


def weigh_joints(model: Model, carry: float) -> Floats:
    """Return the weight of each degree of freedom for staying near a pose, (nv,): higher for stiff joints.

    Limbs are used before the back, and the back before a turn of the whole body; `carry` scales the cost of moving the
    whole body to another place.
    """
    gains = combine_postures(model, [Rest()])[0]
    out = (np.ones(model.nv) if gains is None else np.array(gains)) * (1.0 + model.stiffness)
    for joint in model.joints:
        if joint.nv and not joint.mimic and joint.parent is None and any(joint.slides):
            out[joint.v] *= np.where(joint.slides, carry, 1.0)
    return out
