"""Frames that follow one which missed its target: ways on where the search alone goes no further.

A search that only goes downhill can stop too early. Two ways on are tried, both inside the bound of one frame:

1. A straight limb is bent by its two bones before the solve, see unfolding.py.
2. Where hardly anything moved, the missed handles are asked for a short part of their way, and the solve goes on from
   there to the whole of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from poise.model import Model
from poise.rig.limbs import Limb
from poise.rig.problem import Problems
from poise.rig.state import State
from poise.rig.unfolding import bend, hinge_joint
from poise.solvers import Solution, Solver
from poise.solvers.options import CONTINUOUS_SPAN

__all__ = ["Stuck"]

Floats = NDArray[np.float64]
STILL = 0.05  # of the bound of a frame: moving less is being stuck
PART = 0.007  # of L: a short part of the way
BALLS = 0.9  # of the bound, for what is left of it after a first solve: turns of a ball do not simply add up
REST = 8  # frames without another try after one that did not help


class Stuck:
    """Solves frames that may be stuck."""

    def __init__(self, model: Model, problems: Problems) -> None:
        self.model, self.problems = model, problems
        self._span = np.where(~model.slides, CONTINUOUS_SPAN, CONTINUOUS_SPAN * model.length)
        self._balls = [slice(joint.v.stop - 3, joint.v.stop) for joint in model.joints if joint.quaternion]

    def solve(self, solver: Solver, state: State, targets: dict[str, Any]) -> tuple[Solution, int]:
        """A frame from a state whose last one missed some targets, and for how many frames to try no more."""
        bent = self.bent(state, targets)
        if bent is not None:
            return solver._run(bent[0], targets, self.window(bent[1])), 0
        solution = solver.solve(state.q, targets)
        if solution.reached or self.far(state.q, solution.q) > STILL:
            return solution, 0
        if state.resting > 0:
            return solution, state.resting - 1
        other = self.part_way(solver, state, targets, solution)
        return other, REST if other is solution else 0

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
        second = solver._run(first.q, targets, window)
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

    def bent(self, state: State, targets: dict[str, Any]) -> tuple[Floats, Floats] | None:
        """Where to start with stuck limbs bent, each hinge once, and by what; None if none is stuck."""
        q, turned = state.q.copy(), np.zeros(self.model.nv)
        for name in state.missed:
            handle, wish = self.problems.handles[name], state.places.get(name)
            if handle.limb is None or wish is None or name not in targets:
                continue
            limb = self.problems.limbs[handle.limb]
            joint = hinge_joint(self.model, limb)
            if joint is None or turned[joint.v].any():  # another handle of the limb has bent it
                continue
            if joint.name not in state.frozen and not self.pinned_below(state, limb):
                target = targets[name] if targets[name].ndim == 1 else targets[name][:3, 3]
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
        pins = [name for name, wish in state.places.items() if wish.kind == "pin" and name not in state.dragged]
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
