"""Solve one frame, with remedies for frames in which a local search gets stuck.

A descent can stop too early. Two remedies are tried, both within the motion limit of one frame:

1. A straight limb is bent by its two bones before the solve, see straight_limbs.py: the limb of a handle that missed
   its target, and the legs under a pelvis that is dragged down, which would otherwise rotate the whole body.
2. If the previous frame missed its targets and hardly anything moved, the missed handles first get a nearer target,
   and the solve continues from there to the full target.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from poise.arrays import Floats
from poise.model import Model
from poise.rig.limbs.limb import Limb
from poise.rig.limbs.straight_limbs import find_bend, find_hinge
from poise.rig.problem import Problems
from poise.rig.snapshot import Snapshot
from poise.rig.standing.legs import Legs
from poise.solvers import Solution, Solver
from poise.solvers.options import CONTINUOUS_SPAN

__all__ = ["FrameSolver"]

STUCK_MOTION = 0.05  # relative to the motion limit of a frame: the body is stuck if it moves less
NEAR_TARGET_DISTANCE = 0.007  # relative to L: from the handle to a nearer target
BALL_SHARE = 0.9  # of the motion limit left after a first solve: rotations of a ball joint do not simply add up
PAUSE_FRAMES = 8  # frames without another attempt after one that did not help


class FrameSolver:
    """The solver of one frame, with remedies if the search gets stuck."""

    def __init__(self, model: Model, problems: Problems) -> None:
        self.model, self.problems = model, problems
        self._span = np.where(~model.slides, CONTINUOUS_SPAN, CONTINUOUS_SPAN * model.length)
        self._legs = Legs(model, problems, self._span)
        self._balls = [slice(joint.v.stop - 3, joint.v.stop) for joint in model.joints if joint.quaternion]

    def solve(self, solver: Solver, state: Snapshot, targets: dict[str, Any]) -> tuple[Solution, int]:
        """Solve a frame; return the solution, and the number of frames until the next attempt at missed targets."""
        if state.missed:
            return self.solve_missed(solver, state, targets)
        lowered = [name for name in state.dragged if self.problems.handles[name].kind == "body"]
        bent = self.bend_stuck(state, targets, lowered) if lowered and len(state.places) > 1 else None
        return self.solve_bent(solver, state, targets, bent), 0

    def solve_missed(self, solver: Solver, state: Snapshot, targets: dict[str, Any]) -> tuple[Solution, int]:
        """Solve a frame after one that missed some targets."""
        bent = self.bend_stuck(state, targets, state.missed)
        solution = self.solve_bent(solver, state, targets, bent)
        if bent is not None or solution.reached or self.measure_motion(state.q, solution.q) > STUCK_MOTION:
            return solution, 0
        if state.resting > 0:
            return solution, state.resting - 1
        other = self.solve_part_way(solver, state, targets, solution)
        return other, PAUSE_FRAMES if other is solution else 0

    def solve_bent(
        self, solver: Solver, state: Snapshot, targets: dict[str, Any], bent: tuple[Floats, Floats] | None
    ) -> Solution:
        """Solve from a pose with bent limbs, if any, unless this worsens the pins."""
        if bent is None:
            return self.solve_from(solver, state, targets, state.q, None)
        solution = self.solve_from(solver, state, targets, *bent)
        off = self.problems.measure_pins(solution)
        if off <= 1.0:
            return solution
        plain = self.solve_from(solver, state, targets, state.q, None)
        return solution if off < self.problems.measure_pins(plain) else plain

    def solve_from(
        self, solver: Solver, state: Snapshot, targets: dict[str, Any], q: Floats, moved: Floats | None
    ) -> Solution:
        """Solve from a pose within the frame; knees of supporting legs do not bend backwards."""
        knees = self._legs.find_knees(state)
        if moved is None and not any(room < CONTINUOUS_SPAN for _, _, room in knees):
            return solver.solve(q, targets)
        window = self.find_window(np.zeros(self.model.nv) if moved is None else moved)
        for v, way, _ in knees:
            room = max(0.0, self._legs.measure_room(v, way, q))
            window[v, 0 if way > 0.0 else 1] = max(-room, window[v, 0]) if way > 0.0 else min(room, window[v, 1])
        return solver.search(q, targets, window)

    def solve_part_way(self, solver: Solver, state: Snapshot, targets: dict[str, Any], solution: Solution) -> Solution:
        """Solve the frame by way of a nearer target; return the given solution if that is not better."""
        nearer = {name: self.bring_nearer(state, name, targets[name]) for name in state.missed if name in targets}
        if not nearer:
            return solution
        first = solver.solve(state.q, {**targets, **nearer})
        if self.measure_motion(state.q, first.q) <= STUCK_MOTION:
            solver.solve(state.q, targets)  # restores the solver's last targets
            return solution
        window = self.find_window(self.model.difference(state.q, first.q))
        second = solver.search(first.q, targets, window)
        before, after = solution.errors, second.errors
        better = sum(after[name][0] for name in nearer) < sum(before[name][0] for name in nearer)
        return second if better else solution

    def bring_nearer(self, state: Snapshot, name: str, target: Floats) -> Floats:
        """Return a target at most NEAR_TARGET_DISTANCE from the handle."""
        now = self.model.fk(state.q, self.problems.handles[name].frame)[:3, 3]
        line = (target if target.ndim == 1 else target[:3, 3]) - now
        share = min(1.0, NEAR_TARGET_DISTANCE * self.model.length / max(float(np.linalg.norm(line)), 1e-300))
        out = target.copy()
        if target.ndim == 1:
            out[:] = now + share * line
        else:
            out[:3, 3] = now + share * line
        return out

    def bend_stuck(
        self, state: Snapshot, targets: dict[str, Any], handles: Sequence[str]
    ) -> tuple[Floats, Floats] | None:
        """Return a start with the stuck limbs of some handles bent, and the step to it, or None if none is stuck."""
        q, turned = state.q.copy(), np.zeros(self.model.nv)
        for name in handles:
            handle, goal = self.problems.handles[name], state.places.get(name)
            if goal is None or name not in targets:
                continue
            target = targets[name] if targets[name].ndim == 1 else targets[name][:3, 3]
            if handle.limb is None:
                self._legs.bend_legs(state, handle, target, q, turned)
                continue
            limb = self.problems.limbs[handle.limb]
            joint = find_hinge(self.model, limb)
            if joint is None or turned[joint.v].any():  # already bent for another handle of the limb
                continue
            if joint.name not in state.frozen and not self.is_pinned_below(state, limb):
                turn = find_bend(self.model, q, limb, joint, handle.frame, target)
                turned[joint.v] = min(CONTINUOUS_SPAN, max(-CONTINUOUS_SPAN, turn))
                q[joint.q] += turned[joint.v]
        if not turned.any():
            return None
        q = self.model.clamp(q)
        for joint in map(self.model.joint, state.frozen):  # normalising a quaternion may change its last bits
            q[joint.q] = state.q[joint.q]
        return q, turned

    def is_pinned_below(self, state: Snapshot, limb: Limb) -> bool:
        """Return whether the limb's hinge moves a pinned handle."""
        pins = [name for name, goal in state.places.items() if goal.kind != "reach" and name not in state.dragged]
        return any(limb.middle in self.model.ancestors(self.problems.handles[name].frame) for name in pins)

    def find_window(self, moved: Floats) -> Floats:
        """Return the remaining bounds of a frame after a step: lowest and highest, (nv, 2)."""
        low, high = -self._span - moved, self._span - moved
        for ball in self._balls:
            left = max(0.0, BALL_SHARE * CONTINUOUS_SPAN - float(np.abs(moved[ball]).max()))
            low[ball], high[ball] = -left, left
        return np.ascontiguousarray(np.stack([np.minimum(low, 0.0), np.maximum(high, 0.0)], axis=1))

    def measure_motion(self, q0: Floats, q1: Floats, part: slice = slice(None)) -> float:
        """Return the largest motion between two poses, relative to the motion limit of a frame."""
        return float((np.abs(self.model.difference(q0, q1)) / self._span)[part].max(initial=0.0))
