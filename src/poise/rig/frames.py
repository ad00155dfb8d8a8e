"""One frame: from a state to the next one. Targets eased by strengths and blends, one solve, limbs blended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from poise.arrays import Floats
from poise.model import Model
from poise.rig.handles import Handle
from poise.rig.limbs.poles import knee_plane, pole_target
from poise.rig.problem import NO_WISH, Problems, aim_name, knee_name, pole_name, turn_name
from poise.rig.solver_factory import RigProblem
from poise.rig.standing.feet import Foot
from poise.rig.standing.stance import flat_name, side_name
from poise.rig.state import Blend, HandleGoal, Pole, State, set_entry
from poise.rig.stuck import Stuck
from poise.rig.targets import ease_gaze, ease_place
from poise.solvers import Solution, Solver
from poise.solvers.table import combine_postures

__all__ = ["Frames"]

Indices = NDArray[np.intp]


class Frames:
    """Makes frames. `home` is the configuration to which a limb returns that nothing holds."""

    def __init__(self, model: Model, problems: Problems, home: Floats) -> None:
        self.model, self.problems, self.home = model, problems, home
        self._stuck = Stuck(model, problems)
        self._parts: dict[str, Indices] = {}

    def next(self, state: State) -> tuple[State, Solution]:
        """The state one frame later, and the solution that led there."""
        weak = self._weak(state)
        starts = {name: self._without(state, name) for name in weak}
        others = {name: self._frame(start, starts)[0] for name, start in starts.items()}
        after, solution = self._frame(state, others)
        return (replace(after, without=others) if others or state.without else after), solution

    def _frame(self, state: State, without: Mapping[str, State]) -> tuple[State, Solution]:
        """The same, given how the body would be without the goal of each handle that has part of its strength."""
        solver = self.problems.solver(state)
        asked, poles = self._targets(state, without)
        targets = {name: target for name, target in asked.items() if name in solver.goals}
        if state.blends:
            solver.rest_at(*self.find_rest(state))
        solution, resting = self._stuck.solve(solver, state, targets)
        if not solution.reached:
            solution.reached = self._is_reached(solver, solution)
        q = solution.q
        q.setflags(write=False)
        shown = self._blended(state, q) if state.blends else q
        missed = () if solution.reached else self._missed(state, solver, solution)
        return replace(state, q=q, shown=shown, poles=poles, missed=missed, resting=resting), solution

    def _is_reached(self, solver: Solver, solution: Solution) -> bool:
        """Whether everything is reached that counts: that a foot lies flat, and where a knee looks, does not."""
        if NO_WISH in solver.goals:
            return True
        allowed = self.problems.find_allowed(solver)
        return allowed is not None and bool((solution.answer.errors <= allowed).all())

    def ask(self, state: State) -> RigProblem:
        """Return what a state asks for, with the targets of its next frame."""
        problem = self.problems.problem(self.problems.key(state))
        asked, _ = self._targets(state, {**dict.fromkeys(self._weak(state), state), **state.without})
        names = {goal.name for goal in problem.goals}
        return replace(problem, targets={name: target for name, target in asked.items() if name in names})

    def _targets(self, state: State, without: Mapping[str, State]) -> tuple[dict[str, Any], dict[str, Pole]]:
        """The targets of all goals, served or not, and the poles with the planes in which they bend now."""
        targets: dict[str, Any] = {}
        poles: dict[str, Pole] = {}
        plain = not state.strengths and not state.blends
        for name, goal in state.places.items():
            if goal.stance is None:
                targets[name] = goal.target if plain else self._ease_target(state, name, goal, without)
                if goal.kept and name in state.dragged:
                    targets[turn_name(name)], targets[name] = targets[name][:3, :3], targets[name][:3, 3]
            else:
                targets |= self._stance_targets(state, name, goal, without)
        for name in self.problems.list_hinted(tuple(state.places), tuple(state.poles)):
            limb = self.problems.limbs[name]
            side = self.problems.feet.find_side(limb.handle, state.q)
            targets[knee_name(name)] = knee_plane(self.model, state.q, limb, side)
        for name, goal in state.aims.items():
            targets[aim_name(name)] = goal.target if plain else self._ease_aim(state, name, goal, without)
        for name, pole in state.poles.items():
            limb = self.problems.limbs[name]
            targets[pole_name(name)], poles[name] = pole_target(self.model, state.q, limb, pole)
        return targets, poles

    def _stance_targets(
        self, state: State, name: str, goal: HandleGoal, without: Mapping[str, State]
    ) -> dict[str, Any]:
        """The targets of a planted foot; of one that is dragged, the place that it is dragged to."""
        stance, foot = goal.stance, self.problems.feet[name]
        assert stance is not None, "a planted foot stands somewhere"
        if name in state.dragged:
            return {name: goal.target, flat_name(name): stance.flat}
        if self.problems.lies(state, name, goal):
            return {name: stance.lying}
        ball, side = stance.ball, stance.side
        if state.strengths or state.blends:
            for share, q in self._shares(state, self.problems.handles[name], without):
                ball = ease_place(ball, self.foot_place(foot, q), share)
                if side is not None:
                    side = (1.0 - share) * self.problems.feet.find_side(name, q) + share * side
        return {name: ball, side_name(name): side, flat_name(name): stance.flat}

    def foot_place(self, foot: Foot, q: Floats) -> Floats:
        """The transform of a foot's toes; of one in one piece, of its ball."""
        place: Floats = np.array(self.model.fk(q, foot.toes or foot.frame))
        if foot.toes is None:
            place[:3, 3] += place[:3, :3] @ np.array(foot.ball)
        return place

    def _missed(self, state: State, solver: Solver, solution: Solution) -> tuple[str, ...]:
        """The handles that are still on their way; none under a method without levels, which gets no help."""
        if not solver.options.method.levels:
            return ()
        errors, most = solution.errors, 1e-3 * self.model.length
        return tuple(name for name in state.places if name in errors and errors[name][0] > most)

    # -------------------------------------------------------------------------------------------- eased targets

    def _weak(self, state: State) -> list[str]:
        """The handles that have a goal and part of their strength."""
        held = {*state.places, *state.aims}
        return [name for name, strength in state.strengths.items() if 0.0 < strength < 1.0 and name in held]

    def _without(self, state: State, name: str) -> State:
        """The body as it would be without a handle's goal, before the next frame: it goes on from frame to frame.

        It begins as the body is when the strength leaves 1 or 0, so that nothing jumps there.
        """
        silent = replace(state, strengths=set_entry(state.strengths, name, 0.0), without={})
        before = state.without.get(name)
        if before is None:
            return silent
        q, held = before.q.copy(), self.indices(tuple(sorted(state.frozen)))
        q[held] = state.q[held]
        q.setflags(write=False)
        poles = {limb: keep_plane(before.poles.get(limb), pole) for limb, pole in state.poles.items()}
        return replace(silent, q=q, shown=before.shown, poles=poles, missed=before.missed, resting=before.resting)

    def own_pose(self, state: State, handle: Handle, blend: Blend) -> Floats:
        """The body as it is, with the own angles of a handle's limb."""
        q, part = state.q.copy(), self.part(str(handle.limb))
        q[part] = blend.own[part]
        return q

    def find_rest(self, state: State) -> tuple[Floats, Floats]:
        """Find where the body rests, and how strongly each velocity is drawn there.

        At home; blended limbs as far on their way there from their own angles as they are blended, and by as much less.
        So a limb at 0 asks nothing of the body that carries it, and just above 0 hardly anything.
        """
        rest = self.problems.rest
        gain = None if rest is None else combine_postures(self.model, [rest])[0]
        gains = np.zeros(self.model.nv) if gain is None else gain.copy()
        out = self.home.copy()
        for name, blend in state.blends.items():
            part = self.part(name)
            out[part] = self.mix_blend(blend, self.home)[part]
            for joint in self.problems.limbs[name].joints:
                gains[self.model.joint(joint).v] *= blend.ik
        return out, gains

    def mix_blend(self, blend: Blend, q: Floats) -> Floats:
        """Return a pose between the own angles of a blend and those of q."""
        out: Floats = self.model.integrate(blend.own, blend.ik * self.model.difference(blend.own, q))
        return out

    def part(self, limb: str) -> Indices:
        """Where in q a limb is."""
        if limb not in self._parts:
            self._parts[limb] = self.indices(self.problems.limbs[limb].joints)
        return self._parts[limb]

    def indices(self, joints: tuple[str, ...]) -> Indices:
        """Where in q some joints are."""
        found = [np.arange(self.model.nq)[self.model.joint(name).q] for name in joints]
        return np.concatenate([np.zeros(0, dtype=np.intp), *found])

    def _shares(self, state: State, handle: Handle, without: Mapping[str, State]) -> list[tuple[float, Floats]]:
        """What is left of a handle's goal, and the pose with the rest of it: for its strength, for its limb's blend."""
        shares = []
        strength = state.strengths.get(handle.name, 1.0)
        if 0.0 < strength < 1.0:
            shares.append((strength, without[handle.name].q))
        blend = self.problems.blend(state, handle)
        if blend is not None:
            shares.append((blend.ik, self.own_pose(state, handle, blend)))
        return shares

    def _ease_target(self, state: State, name: str, goal: HandleGoal, without: Mapping[str, State]) -> Floats:
        target = goal.target
        for share, q in self._shares(state, self.problems.handles[name], without):
            target = ease_place(target, self.model.fk(q, self.problems.eye(name)), share)
        return target

    def _ease_aim(self, state: State, name: str, goal: HandleGoal, without: Mapping[str, State]) -> Floats:
        target = goal.target
        for share, q in self._shares(state, self.problems.handles[name], without):
            origin = self.model.fk(q, self.problems.eye(name))
            target = ease_gaze(target, origin[:3, 3], origin[:3, :3] @ np.array(goal.axis), share)
        return target

    # -------------------------------------------------------------------------------------------- blended limbs

    def _blended(self, state: State, q: Floats) -> Floats:
        """q with each blended limb between its own angles and those of q; frozen joints as they were.

        Nothing is farther from where it was seen than the bound of a frame.
        """
        out = q.copy()
        for name, blend in state.blends.items():
            joints = tuple(j for j in self.problems.limbs[name].joints if j not in state.frozen)
            part = self.indices(joints)
            wanted = blend.own if blend.ik == 0.0 else self.mix_blend(blend, q)
            step = self.model.difference(state.shown, wanted)
            far = max((self._stuck.far(state.shown, wanted, self.model.joint(j).v) for j in joints), default=0.0)
            out[part] = (wanted if far <= 1.0 else self.model.integrate(state.shown, step / far))[part]
        return out


def keep_plane(before: Pole | None, pole: Pole) -> Pole:
    """Return a pole with the plane in which it bent before, if it points where it did."""
    return pole if before is None or (before.direction != pole.direction).any() else before
