"""Frames that a search alone does not lead through: ways on where it goes no further.

A search that only goes downhill can stop too early. Two ways on are tried, both inside the bound of one frame:

1. A straight limb is bent by its two bones before the solve, see unfolding.py: of a handle that missed its target, and
   the legs under a pelvis that is dragged down, which would turn the whole body instead.
2. Where a frame follows one that missed, and hardly anything moved, the missed handles are asked for a short part of
   their way, and the solve goes on from there to the whole of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from poise.arrays import Floats
from poise.model import Model
from poise.rig.limbs.limb import Limb
from poise.rig.limbs.straight_limbs import bend, hinge_joint
from poise.rig.problem import Problems
from poise.rig.standing.legs import Legs
from poise.rig.state import State
from poise.solvers import Solution, Solver
from poise.solvers.options import CONTINUOUS_SPAN

__all__ = ["Stuck"]

STILL = 0.05  # of the bound of a frame: moving less is being stuck
PART = 0.007  # of L: a short part of the way
BALLS = 0.9  # of the bound, for what is left of it after a first solve: turns of a ball do not simply add up
REST = 8  # frames without another try after one that did not help


class Stuck:
    """Solves frames that may be stuck."""

    def __init__(self, model: Model, problems: Problems) -> None:
        self.model, self.problems = model, problems
        self._span = np.where(~model.slides, CONTINUOUS_SPAN, CONTINUOUS_SPAN * model.length)
        self._legs = Legs(model, problems, self._span)
        self._balls = [slice(joint.v.stop - 3, joint.v.stop) for joint in model.joints if joint.quaternion]

    def solve(self, solver: Solver, state: State, targets: dict[str, Any]) -> tuple[Solution, int]:
        """A frame, and for how many frames to try no more to bring missed handles to their targets."""
        if state.missed:
            return self.solve_missed(solver, state, targets)
        lowered = [name for name in state.dragged if self.problems.handles[name].kind == "body"]
        bent = self.bend_stuck(state, targets, lowered) if lowered and len(state.places) > 1 else None
        return self.run(solver, state, targets, bent), 0

    def solve_missed(self, solver: Solver, state: State, targets: dict[str, Any]) -> tuple[Solution, int]:
        """The same from a state whose last frame missed some targets."""
        bent = self.bend_stuck(state, targets, state.missed)
        solution = self.run(solver, state, targets, bent)
        if bent is not None or solution.reached or self.far(state.q, solution.q) > STILL:
            return solution, 0
        if state.resting > 0:
            return solution, state.resting - 1
        other = self.part_way(solver, state, targets, solution)
        return other, REST if other is solution else 0

    def run(
        self, solver: Solver, state: State, targets: dict[str, Any], bent: tuple[Floats, Floats] | None
    ) -> Solution:
        """A solve from where limbs are bent, if some are, unless that costs what is pinned its place."""
        if bent is None:
            return self.run_from(solver, state, targets, state.q, None)
        solution = self.run_from(solver, state, targets, *bent)
        off = self.problems.measure_pins(solution)
        if off <= 1.0:
            return solution
        plain = self.run_from(solver, state, targets, state.q, None)
        return solution if off < self.problems.measure_pins(plain) else plain

    def run_from(
        self, solver: Solver, state: State, targets: dict[str, Any], q: Floats, moved: Floats | None
    ) -> Solution:
        """A solve from a pose that a frame has moved to, in which knees that carry the body do not bend back."""
        knees = self._legs.find_knees(state)
        if moved is None and not any(room < CONTINUOUS_SPAN for _, _, room in knees):
            return solver.solve(q, targets)
        window = self.window(np.zeros(self.model.nv) if moved is None else moved)
        for v, way, _ in knees:
            room = max(0.0, self._legs.measure_room(v, way, q))
            window[v, 0 if way > 0.0 else 1] = max(-room, window[v, 0]) if way > 0.0 else min(room, window[v, 1])
        return solver.search(q, targets, window)

    def part_way(self, solver: Solver, state: State, targets: dict[str, Any], solution: Solution) -> Solution:
        """The same frame by way of a nearer target; the solution that was there if that is no better."""
        nearer = {name: self.nearer(state, name, targets[name]) for name in state.missed if name in targets}
        if not nearer:
            return solution
        first = solver.solve(state.q, {**targets, **nearer})
        if self.far(state.q, first.q) <= STILL:
            solver.solve(state.q, targets)  # the solver remembers its last targets
            return solution
        window = self.window(self.model.difference(state.q, first.q))
        second = solver.search(first.q, targets, window)
        before, after = solution.errors, second.errors
        better = sum(after[name][0] for name in nearer) < sum(before[name][0] for name in nearer)
        return second if better else solution

    def nearer(self, state: State, name: str, target: Floats) -> Floats:
        """A target at most a short part of the way from where the handle is."""
        now = self.model.fk(state.q, self.problems.handles[name].frame)[:3, 3]
        line = (target if target.ndim == 1 else target[:3, 3]) - now
        share = min(1.0, PART * self.model.length / max(float(np.linalg.norm(line)), 1e-300))
        out = target.copy()
        if target.ndim == 1:
            out[:] = now + share * line
        else:
            out[:3, 3] = now + share * line
        return out

    def bend_stuck(self, state: State, targets: dict[str, Any], handles: Sequence[str]) -> tuple[Floats, Floats] | None:
        """Where to start with limbs bent that some handles are stuck with, and by what; None if none is stuck."""
        q, turned = state.q.copy(), np.zeros(self.model.nv)
        for name in handles:
            handle, goal = self.problems.handles[name], state.places.get(name)
            if goal is None or name not in targets:
                continue
            target = targets[name] if targets[name].ndim == 1 else targets[name][:3, 3]
            if handle.limb is None:
                self._legs.bend(state, handle, target, q, turned)
                continue
            limb = self.problems.limbs[handle.limb]
            joint = hinge_joint(self.model, limb)
            if joint is None or turned[joint.v].any():  # another handle of the limb has bent it
                continue
            if joint.name not in state.frozen and not self.pinned_below(state, limb):
                turn = bend(self.model, q, limb, joint, handle.frame, target)
                turned[joint.v] = min(CONTINUOUS_SPAN, max(-CONTINUOUS_SPAN, turn))
                q[joint.q] += turned[joint.v]
        if not turned.any():
            return None
        q = self.model.clamp(q)
        for joint in map(self.model.joint, state.frozen):  # a quaternion made unit once more may be a bit off
            q[joint.q] = state.q[joint.q]
        return q, turned

    def pinned_below(self, state: State, limb: Limb) -> bool:
        """Whether something is pinned that the limb's hinge moves."""
        pins = [name for name, goal in state.places.items() if goal.kind != "reach" and name not in state.dragged]
        return any(limb.middle in self.model.ancestors(self.problems.handles[name].frame) for name in pins)

    def window(self, moved: Floats) -> Floats:
        """How far each velocity may still lead in a frame, having moved so far: lowest and highest, (nv, 2)."""
        low, high = -self._span - moved, self._span - moved
        for ball in self._balls:
            left = max(0.0, BALLS * CONTINUOUS_SPAN - float(np.abs(moved[ball]).max()))
            low[ball], high[ball] = -left, left
        return np.ascontiguousarray(np.stack([np.minimum(low, 0.0), np.maximum(high, 0.0)], axis=1))

    def far(self, q0: Floats, q1: Floats, part: slice = slice(None)) -> float:
        """The largest motion, in units of the bound of a frame."""
        return float((np.abs(self.model.difference(q0, q1)) / self._span)[part].max(initial=0.0))
