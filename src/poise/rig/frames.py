"""One frame of a rig: blend the targets by strength, solve once, blend limbs."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from poise.arrays import Floats
from poise.model import Model
from poise.native.answer import read_errors
from poise.rig.frame_solver import FrameSolver
from poise.rig.handle import Handle
from poise.rig.limbs.poles import find_knee_plane, find_pole_target
from poise.rig.problem import NO_GOAL, Problems, name_aim, name_knee, name_pole, name_turn
from poise.rig.snapshot import Blend, HandleGoal, Pole, Snapshot, set_entry
from poise.rig.solver_factory import RigProblem
from poise.rig.standing.stance import name_flat, name_side
from poise.rig.targets import ease_gaze, ease_place
from poise.solvers import Solution, Solver
from poise.solvers.table import combine_postures

__all__ = ["Frames"]

Indices = NDArray[np.intp]


class Frames:
    """The frames of a rig. `home` is the configuration to which free limbs return."""

    def __init__(self, model: Model, problems: Problems, home: Floats) -> None:
        self.model, self.problems, self.home = model, problems, home
        self._frame_solver = FrameSolver(model, problems)
        self._parts: dict[str, Indices] = {}

    def make_frame(self, state: Snapshot) -> tuple[Snapshot, Solution]:
        """Return the state one frame later, and its solution."""
        weak = self._list_weak(state)
        starts = {name: self._leave_out(state, name) for name in weak}
        others = {name: self._solve_frame(start, starts)[0] for name, start in starts.items()}
        after, solution = self._solve_frame(state, others)
        return (replace(after, without=others) if others or state.without else after), solution

    def _solve_frame(self, state: Snapshot, without: Mapping[str, Snapshot]) -> tuple[Snapshot, Solution]:
        """Solve one frame, given the body without the goal of each handle with partial strength."""
        solver = self.problems.find_solver(state)
        found, poles = self._find_targets(state, without)
        targets = {name: target for name, target in found.items() if name in solver.goals}
        if state.blends:
            solver.rest_at(*self.find_rest(state))
        solution, resting = self._frame_solver.solve(solver, state, targets)
        if not solution.reached and self._is_reached(solver, solution):
            solution = solution.accept()
        q = solution.q
        q.setflags(write=False)
        shown = self._blend_limbs(state, q) if state.blends else q
        missed = () if solution.reached else self._list_missed(state, solver, solution)
        return replace(state, q=q, shown=shown, poles=poles, missed=missed, resting=resting), solution

    def _is_reached(self, solver: Solver, solution: Solution) -> bool:
        """Return whether every goal that counts is reached; flat feet and knee directions do not count."""
        if NO_GOAL in solver.goals:
            return True
        allowed = self.problems.find_allowed(solver)
        return allowed is not None and bool((read_errors(solution.answer) <= allowed).all())

    def make_problem(self, state: Snapshot) -> RigProblem:
        """Return the problem of a state, with the targets of its next frame."""
        problem = self.problems.make_problem(self.problems.make_key(state))
        found, _ = self._find_targets(state, {**dict.fromkeys(self._list_weak(state), state), **state.without})
        names = {goal.name for goal in problem.goals}
        return replace(problem, targets={name: target for name, target in found.items() if name in names})

    def _find_targets(self, state: Snapshot, without: Mapping[str, Snapshot]) -> tuple[dict[str, Any], dict[str, Pole]]:
        """Return the targets of all goals, active or not, and the poles with their current planes."""
        targets: dict[str, Any] = {}
        poles: dict[str, Pole] = {}
        plain = not state.strengths and not state.blends
        for name, goal in state.places.items():
            if goal.stance is None:
                targets[name] = goal.target if plain else self._ease_target(state, name, goal, without)
                if goal.kept and name in state.dragged:
                    targets[name_turn(name)], targets[name] = targets[name][:3, :3], targets[name][:3, 3]
            else:
                targets |= self._find_stance_targets(state, name, goal, without)
        for name in self.problems.list_hinted(tuple(state.places), tuple(state.poles)):
            limb = self.problems.limbs[name]
            side = self.problems.feet[limb.handle].find_side(state.q)
            targets[name_knee(name)] = find_knee_plane(self.model, state.q, limb, side)
        for name, goal in state.aims.items():
            targets[name_aim(name)] = goal.target if plain else self._ease_aim(state, name, goal, without)
        for name, pole in state.poles.items():
            limb = self.problems.limbs[name]
            targets[name_pole(name)], poles[name] = find_pole_target(self.model, state.q, limb, pole)
        return targets, poles

    def _find_stance_targets(
        self, state: Snapshot, name: str, goal: HandleGoal, without: Mapping[str, Snapshot]
    ) -> dict[str, Any]:
        """Return the targets of a planted foot; while it is dragged, the target of the drag."""
        stance, foot = goal.stance, self.problems.feet[name]
        assert stance is not None, "a planted foot stands somewhere"
        if name in state.dragged:
            return {name: goal.target, name_flat(name): stance.flat}
        if self.problems.lies_flat(state, name, goal):
            return {name: stance.lying}
        ball, side = stance.ball, stance.side
        if state.strengths or state.blends:
            for share, q in self._list_shares(state, self.problems.handles[name], without):
                ball = ease_place(ball, foot.find_front(q), share)
                if side is not None:
                    side = (1.0 - share) * foot.find_side(q) + share * side
        return {name: ball, name_side(name): side, name_flat(name): stance.flat}

    def _list_missed(self, state: Snapshot, solver: Solver, solution: Solution) -> tuple[str, ...]:
        """List the handles that have not arrived; empty for a method without levels."""
        if not solver.options.method.levels:
            return ()
        errors, most = solution.errors, 1e-3 * self.model.length
        return tuple(name for name in state.places if name in errors and errors[name][0] > most)

    # -------------------------------------------------------------------------------------------- eased targets

    def _list_weak(self, state: Snapshot) -> list[str]:
        """List the handles with a goal and partial strength."""
        held = {*state.places, *state.aims}
        return [name for name, strength in state.strengths.items() if 0.0 < strength < 1.0 and name in held]

    def _leave_out(self, state: Snapshot, name: str) -> Snapshot:
        """Return the state without a handle's goal, which advances frame by frame in parallel to the body.

        It starts from the body's state when the strength leaves 1 or 0, so that nothing jumps.
        """
        silent = replace(state, strengths=set_entry(state.strengths, name, 0.0), without={})
        before = state.without.get(name)
        if before is None:
            return silent
        q, held = before.q.copy(), self.find_indices(tuple(sorted(state.frozen)))
        q[held] = state.q[held]
        q.setflags(write=False)
        poles = {limb: keep_plane(before.poles.get(limb), pole) for limb, pole in state.poles.items()}
        return replace(silent, q=q, shown=before.shown, poles=poles, missed=before.missed, resting=before.resting)

    def make_own_pose(self, state: Snapshot, handle: Handle, blend: Blend) -> Floats:
        """Return the pose with the FK angles of a handle's limb."""
        q, part = state.q.copy(), self.find_part(str(handle.limb))
        q[part] = blend.own[part]
        return q

    def find_rest(self, state: Snapshot) -> tuple[Floats, Floats]:
        """Return the posture to which the body returns, and the gain of each velocity.

        Blended limbs return to a pose between their own angles and home, by their blend, with a gain scaled by the
        blend. So a limb with a blend near 0 has almost no effect on the rest of the body.
        """
        rest = self.problems.rest
        gain = None if rest is None else combine_postures(self.model, [rest])[0]
        gains = np.zeros(self.model.nv) if gain is None else gain.copy()
        out = self.home.copy()
        for name, blend in state.blends.items():
            part = self.find_part(name)
            out[part] = self.mix_blend(blend, self.home)[part]
            for joint in self.problems.limbs[name].joints:
                gains[self.model.joint(joint).v] *= blend.ik
        return out, gains

    def mix_blend(self, blend: Blend, q: Floats) -> Floats:
        """Return a pose between the own angles of a blend and those of q."""
        out: Floats = self.model.integrate(blend.own, blend.ik * self.model.difference(blend.own, q))
        return out

    def find_part(self, limb: str) -> Indices:
        """Return the indices of a limb in q."""
        if limb not in self._parts:
            self._parts[limb] = self.find_indices(self.problems.limbs[limb].joints)
        return self._parts[limb]

    def find_indices(self, joints: tuple[str, ...]) -> Indices:
        """Return the indices of some joints in q."""
        found = [np.arange(self.model.nq)[self.model.joint(name).q] for name in joints]
        return np.concatenate([np.zeros(0, dtype=np.intp), *found])

    def _list_shares(
        self, state: Snapshot, handle: Handle, without: Mapping[str, Snapshot]
    ) -> list[tuple[float, Floats]]:
        """List the fractions of a handle's goal from its strength and its blend, each with the pose without it."""
        shares = []
        strength = state.strengths.get(handle.name, 1.0)
        if 0.0 < strength < 1.0:
            shares.append((strength, without[handle.name].q))
        blend = self.problems.find_blend(state, handle)
        if blend is not None:
            shares.append((blend.ik, self.make_own_pose(state, handle, blend)))
        return shares

    def _ease_target(self, state: Snapshot, name: str, goal: HandleGoal, without: Mapping[str, Snapshot]) -> Floats:
        target = goal.target
        for share, q in self._list_shares(state, self.problems.handles[name], without):
            target = ease_place(target, self.model.fk(q, self.problems.find_eye(name)), share)
        return target

    def _ease_aim(self, state: Snapshot, name: str, goal: HandleGoal, without: Mapping[str, Snapshot]) -> Floats:
        target = goal.target
        for share, q in self._list_shares(state, self.problems.handles[name], without):
            origin = self.model.fk(q, self.problems.find_eye(name))
            target = ease_gaze(target, origin[:3, 3], origin[:3, :3] @ np.array(goal.axis), share)
        return target

    # -------------------------------------------------------------------------------------------- blended limbs

    def _blend_limbs(self, state: Snapshot, q: Floats) -> Floats:
        """Return q with blended limbs between their FK angles and q; frozen joints do not move.

        No joint moves farther from its shown pose than the motion limit of a frame.
        """
        out = q.copy()
        for name, blend in state.blends.items():
            joints = tuple(j for j in self.problems.limbs[name].joints if j not in state.frozen)
            part = self.find_indices(joints)
            wanted = blend.own if blend.ik == 0.0 else self.mix_blend(blend, q)
            step = self.model.difference(state.shown, wanted)
            far = max(
                (self._frame_solver.measure_motion(state.shown, wanted, self.model.joint(j).v) for j in joints),
                default=0.0,
            )
            out[part] = (wanted if far <= 1.0 else self.model.integrate(state.shown, step / far))[part]
        return out


def keep_plane(before: Pole | None, pole: Pole) -> Pole:
    """Return a pole with its previous bending plane, if its direction is unchanged."""
    return pole if before is None or (before.direction != pole.direction).any() else before
