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
from numpy.typing import NDArray

from poise.model import Model
from poise.rig.handles import Handle
from poise.rig.limbs import Limb
from poise.rig.problem import Problems
from poise.rig.state import State
from poise.rig.unfolding import bend, bend_leg, comes_down, hinge_joint
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
        self._legs: dict[str, list[Limb]] = {}
        self._balls = [slice(joint.v.stop - 3, joint.v.stop) for joint in model.joints if joint.quaternion]

    def solve(self, solver: Solver, state: State, targets: dict[str, Any]) -> tuple[Solution, int]:
        """A frame, and for how many frames to try no more to bring missed handles to their targets."""
        if not state.missed:
            lowered = [name for name in state.dragged if self.problems.handles[name].kind == "body"]
            bent = self.bent(state, targets, lowered) if lowered and len(state.places) > 1 else None
            if bent is None:
                return solver.solve(state.q, targets), 0
            return solver._run(bent[0], targets, self.window(bent[1])), 0
        return self.solve_missed(solver, state, targets)

    def solve_missed(self, solver: Solver, state: State, targets: dict[str, Any]) -> tuple[Solution, int]:
        """The same from a state whose last frame missed some targets."""
        bent = self.bent(state, targets, state.missed)
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

    def bent(self, state: State, targets: dict[str, Any], handles: Sequence[str]) -> tuple[Floats, Floats] | None:
        """Where to start with limbs bent that some handles are stuck with, and by what; None if none is stuck."""
        q, turned = state.q.copy(), np.zeros(self.model.nv)
        for name in handles:
            handle, wish = self.problems.handles[name], state.places.get(name)
            if wish is None or name not in targets:
                continue
            target = targets[name] if targets[name].ndim == 1 else targets[name][:3, 3]
            if handle.limb is None:
                self.bend_legs(state, handle, target, q, turned)
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

    def bend_legs(self, state: State, handle: Handle, target: Floats, q: Floats, turned: Floats) -> None:
        """Bend straight legs on held feet, on which a handle such as the pelvis comes down: writes q and turned."""
        way, ways = target - self.model.fk(state.q, handle.frame)[:3, 3], []
        dq = np.zeros(self.model.nv)
        for limb in self.find_legs(handle.frame):
            if not self.carries(state, limb) or not comes_down(self.model, q, limb, way):
                continue
            joint = hinge_joint(self.model, limb)
            if joint is not None:  # the foot is as far from where the way takes the hip, as it must be from the hip
                end = self.model.fk(q, limb.end)[:3, 3] - way
                dq[joint.v] = bend(self.model, q, limb, joint, limb.end, end, as_made=True)
            elif self.problems.looks(limb.handle):
                side = self.problems.feet.find_side(limb.handle, q)
                own, moved = bend_leg(self.model, q, limb, side, way)
                dq += own
                ways += [moved] if own.any() else []
        if not dq.any():
            return
        dq = np.clip(dq, -CONTINUOUS_SPAN, CONTINUOUS_SPAN)
        if ways:
            dq += self.shift(q, handle.frame, np.mean(ways, axis=0))
        turned += dq
        q[:] = self.model.integrate(q, dq)

    def find_legs(self, frame: str) -> list[Limb]:
        """The limbs with a middle and a foot that hang on a frame."""
        if frame not in self._legs:
            limbs, handles = self.problems.limbs.values(), self.problems.handles
            legs = [limb for limb in limbs if limb.middle is not None and handles[limb.handle].stands]
            self._legs[frame] = [limb for limb in legs if frame in self.model.ancestors(limb.root)]
        return self._legs[frame]

    def carries(self, state: State, limb: Limb) -> bool:
        """Whether a leg is on a foot that is held, and has a knee that may move."""
        wish = state.places.get(limb.handle)
        if wish is None or wish.kind == "reach" or limb.handle in state.dragged:
            return False
        return not state.frozen or self.model.frame(str(limb.middle)).joint not in state.frozen

    def shift(self, q: Floats, frame: str, way: Floats) -> Floats:
        """The velocities of the slides above a frame that move it by a way, (nv,)."""
        above = {self.model.frame(name).joint for name in self.model.ancestors(frame)}
        slides = np.zeros(self.model.nv, dtype=bool)
        for joint in self.model.joints:
            if joint.name in above:
                slides[joint.v] = self.model.slides[joint.v]
        dq, columns = np.zeros(self.model.nv), np.flatnonzero(slides)
        if len(columns):
            J = self.model.jacobian(q, frame)[:3, columns]
            dq[columns] = np.linalg.lstsq(J, way, rcond=1e-9)[0]
        return np.clip(dq, -self._span, self._span)

    def pinned_below(self, state: State, limb: Limb) -> bool:
        """Whether something is pinned that the limb's hinge moves."""
        pins = [name for name, wish in state.places.items() if wish.kind != "reach" and name not in state.dragged]
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
