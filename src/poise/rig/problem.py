"""From the goals of handles to those of solvers on strict levels, prepared once for each set of them.

levels.py lists the levels.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from poise.goals import Align, Balance, Goal, LookAt, OnPlane, Orient, Reach, Rest
from poise.goals.goal import ANGULAR
from poise.limits import Limit
from poise.model import Model
from poise.rig.handles import GROUND, Handle
from poise.rig.levels import (
    AIM_WEIGHT,
    DRAGGED,
    KEPT,
    KNEE_WEIGHT,
    LIFTED_WEIGHT,
    PINS,
    POLES,
    REACHES,
    UPRIGHT_WEIGHT,
    near_pin,
)
from poise.rig.limbs.limb import Limb
from poise.rig.limbs.stiffness import find_stiffness
from poise.rig.places import Place
from poise.rig.solver_factory import RigProblem, SolverMaker, make_solver
from poise.rig.standing.floor import Floor
from poise.rig.standing.stance import Feet, Flat
from poise.rig.state import Blend, HandleGoal, State
from poise.solvers import Solution, Solver

__all__ = ["Problems", "aim_name", "knee_name", "pole_name", "turn_name"]

MOST_SOLVERS = 64
FLAT = 1e-3  # radians: a foot that is turned by less lies flat
AT_END = 0.05  # radians: so near to the end of its range an ankle may need the heel up in the next frame
NO_GOALS = (), (), (), frozenset[str](), False  # the key of a state without goals
NO_WISH = "nothing"  # a solver needs a row: this one asks for nothing


class Knee(OnPlane):
    """A knee without a hinge looks ahead, as its foot does; it is never missed. Its targets are of `knee_plane`."""

    counts = False

    def _convert(self, target: Any) -> NDArray[np.float64]:
        return np.asarray(target, dtype=np.float64)


class Asked(NamedTuple):
    """What of a handle's place its solver depends on.

    Attributes:
        name: The handle.
        level: The level on which it is served.
        ndim: 1 for a place, 2 for a transform.
        weight: Importance among other reaches.
        kind: "pin", "plant" or "reach".
        ground: Of a planted foot that is not dragged: how high it stands [m].
        carries: Whether it is a foot that carries the body: held, and no higher than the lowest one.
        raised: Whether it is a planted foot with its heel so high that the heel carries nothing.
        kept: Whether it is a tool that is dragged and keeps its rotation.
        lies: Whether it is a planted foot in one piece that lies flat, see `Problems.lies`.
    """

    name: str
    level: int
    ndim: int
    weight: float
    kind: str
    ground: float | None = None
    carries: bool = False
    raised: bool = False
    kept: bool = False
    lies: bool = False


class Problems:
    """The solvers of a rig, by what is asked."""

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
        feet: Feet | None = None,
        floor: float | None = None,
    ) -> None:
        self.model, self.handles, self.limbs = model, handles, limbs
        self.limits, self.balance, self.rest = limits, balance, rest
        self.maker, self.floor = maker, floor
        self.feet = Feet(model, handles) if feet is None else feet
        self.stiffness = find_stiffness(model, handles)
        self._solvers: dict[tuple[Any, ...], Solver] = {}
        self._ankles: dict[str, list[tuple[int, float, float]]] = {}
        self._allowed: dict[int, tuple[Solver, NDArray[np.float64] | None]] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_solvers": {}, "_allowed": {}}  # made again when they are asked for

    def check(self) -> None:
        """Raise an error if no solver takes the limits, the balance or the rest pose."""
        make_solver(self.problem(NO_GOALS))

    def change(self, **changed: Any) -> None:
        """Set some of the attributes; solvers are made anew from the next frame on."""
        trial = copy.copy(self)
        vars(trial).update(changed)
        trial.check()
        for name, value in changed.items():
            setattr(self, name, value)
        self._solvers.clear()
        self._allowed.clear()

    def solver(self, state: State) -> Solver:
        """The solver for a state's goals; its targets are not those of the state yet."""
        key = self.key(state)
        found = self._solvers.get(key)
        if found is None:
            if len(self._solvers) >= MOST_SOLVERS:
                self._allowed.pop(id(self._solvers.pop(next(iter(self._solvers)))), None)
            found = self._solvers[key] = self.maker(self.problem(key))
        return found

    def find_allowed(self, solver: Solver) -> NDArray[np.float64] | None:
        """Return what each goal may be missed by: metres and radians, without end for what does not count.

        None where everything counts; the solver then knows itself what is reached.
        """
        known, allowed = self._allowed.get(id(solver), (None, None))
        if known is not solver:
            goals = [solver.goals[name] for name in solver.row_names]
            if not all(goal.counts for goal in goals):
                own = [goal.tolerances(self.model, goal.rows(self.model).op in ANGULAR) for goal in goals]
                allowed = np.array(own)
                allowed[[not goal.counts for goal in goals]] = np.inf
            self._allowed[id(solver)] = solver, allowed
        return allowed

    def measure_pins(self, solution: Solution) -> float:
        """Return the largest error of a goal of the level of pins, in tolerances; 0 if there is none."""
        model, worst = self.model, 0.0
        for name, goal in solution.solver.goals.items():
            if goal.priority == PINS and name in solution.errors:
                allowed = goal.tolerances(model, goal.rows(model).op in ANGULAR)
                worst = max(worst, *np.divide(solution.errors[name], allowed))
        return float(worst)

    def key(self, state: State) -> tuple[Any, ...]:
        """What of a state its solver depends on: everything but the targets."""
        silent = self.silent(state) if state.strengths or state.blends else ()
        places = {name: goal for name, goal in state.places.items() if name not in silent}
        low = self.find_low(state, places)
        return (
            tuple(self.ask(state, name, goal, low) for name, goal in places.items()),
            tuple((name, goal.axis) for name, goal in state.aims.items() if name not in silent),
            tuple(state.poles),
            state.frozen,
            bool(state.blends),  # those rest elsewhere from frame to frame, see Frames
        )

    def ask(self, state: State, name: str, goal: HandleGoal, low: float) -> Asked:
        """Return what of a handle's place its solver depends on; `low` is where the lowest held foot stands."""
        level, ndim, weight, kind = self.level(name, goal.kind, state.dragged), goal.target.ndim, goal.weight, goal.kind
        if level != PINS or not self.handles[name].stands:
            return Asked(name, level, ndim, weight, kind, kept=goal.kept and level == DRAGGED)
        if goal.stance is None:
            return Asked(name, level, ndim, weight, kind, None, self.height(name, goal) <= low)
        ground = goal.stance.ground
        lies = self.lies(state, name, goal)
        raised = not lies and self.model.mass > 0.0 and self.feet.is_raised(name, state.q)
        return Asked(name, level, ndim, weight, kind, ground, ground <= low, raised, lies=lies)

    def lies(self, state: State, name: str, goal: HandleGoal) -> bool:
        """Return whether a planted foot in one piece lies flat and nothing needs its heel up: it is then held in six.

        That is what its goals would come to, and is solved faster. The heel may be needed up where an ankle is at its
        end, and by a handle that missed its target.
        """
        foot, stance = self.feet[name], goal.stance
        if foot.toes is not None or stance is None or stance.flat is None or state.strengths or state.blends:
            return False
        if any(missed not in state.places or state.places[missed].kind != "plant" for missed in state.missed):
            return False
        R = self.model.fk(state.q, foot.frame)[:3, :3]
        if not 3.0 - float(np.vdot(R, stance.flat)) < FLAT * FLAT:
            return False
        return not any(q <= low or q >= high for q, low, high in self.list_ankle(name, state.q))

    def list_ankle(self, name: str, q: NDArray[np.float64]) -> list[tuple[float, float, float]]:
        """Return where the joints between a knee and its foot are, and the ends of their ranges."""
        if name not in self._ankles:
            limb = self.limbs.get(self.handles[name].limb or "")
            chain = self.model.ancestors(self.feet[name].frame)
            knee = None if limb is None else limb.middle
            own = chain[: chain.index(knee)] if knee in chain else chain[:1]
            names = [joint for frame in own if (joint := self.model.frame(frame).joint) is not None]
            joints = [joint for joint in map(self.model.joint, names) if joint.nv == 1 and not joint.mimic]
            self._ankles[name] = [(joint.q.start, float(joint.lower), float(joint.upper)) for joint in joints]
        return [(float(q[k]), low + AT_END, high - AT_END) for k, low, high in self._ankles[name]]

    def find_low(self, state: State, places: Mapping[str, HandleGoal]) -> float:
        """Return the height up to which held feet carry the body: a little above the lowest of them."""
        held = {n: w for n, w in places.items() if w.kind != "reach" and n not in state.dragged}
        heights = [self.height(name, goal) for name, goal in held.items() if self.handles[name].stands]
        return min(heights, default=0.0) + GROUND * self.model.length

    def height(self, name: str, goal: HandleGoal) -> float:
        """Return how high a pinned or planted foot stands."""
        if goal.stance is not None:
            return goal.stance.ground
        at = goal.target[:3, 3] if goal.target.ndim == 2 else goal.target
        return float(at @ self.model.up_direction) - self.feet.find_lift(name)

    def problem(self, key: tuple[Any, ...]) -> RigProblem:
        """Return the problem of a key, without targets."""
        places, aims, poles, frozen, _ = key
        limits = [self.limits] if isinstance(self.limits, Limit) else list(self.limits)
        above = self.find_floor(places)
        if above:
            limits.append(Floor(above))
        goals = tuple(self.goals(places, aims, poles))
        return RigProblem(self.model, goals, tuple(limits), frozen, stiffness=self.stiffness)

    def find_floor(self, places: Sequence[Asked]) -> tuple[tuple[Place, float], ...]:
        """Return the points of feet that a solve could move below their floor, and how high that is.

        The heels of planted feet stay above the ground on which these stand, the soles of all others above the floor.
        """
        held = {place.name: place for place in places if place.level == PINS}
        above: list[tuple[Place, float]] = []
        for name in self.feet.names:
            place = held.get(name)
            if place is not None and place.lies:
                continue
            if place is not None and place.ground is not None:
                above += [(point, place.ground) for point in self.feet[name].heel]
            elif self.floor is not None and (place is None or place.ndim == 1):
                above += [(point, self.floor) for point in self.feet[name].sole]
        return tuple(above)

    def blend(self, state: State, handle: Handle) -> Blend | None:
        """The blend of a handle's limb, if its place is served through one."""
        return None if handle.limb is None or handle.kind == "pole" else state.blends.get(handle.limb)

    def share(self, state: State, handle: Handle) -> float:
        """How much of a handle's goal is served: its strength times its limb's blend."""
        share, blend = state.strengths.get(handle.name, 1.0), self.blend(state, handle)
        return share if blend is None else share * blend.ik

    def silent(self, state: State) -> set[str]:
        """The handles whose goals are not served at all."""
        return {name for name, handle in self.handles.items() if self.share(state, handle) == 0.0}

    def level(self, name: str, kind: str, dragged: Sequence[str]) -> int:
        """The level on which a handle's place is served."""
        if kind in ("pin", "plant") and name not in dragged:
            return PINS
        if self.handles[name].kind == "pole":
            return POLES
        return DRAGGED if name in dragged else REACHES

    def goals(self, places: Sequence[Asked], aims: Sequence[Any], poles: Sequence[str]) -> list[Goal]:
        """The goals that solvers are given for them, each on its level; their targets are not those of a state yet."""
        goals: list[Goal] = []
        for place in places:
            goals += self.place(place)
        goals += self.upright(places)
        goals += [self.pole(limb) for limb in poles]
        goals += [self.knee(limb) for limb in self.list_hinted([place.name for place in places], poles)]
        support = self.supports(places)
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

    def place(self, place: Asked) -> list[Goal]:
        """The goals of a pin, a planted foot, a reach or a drag."""
        if place.ground is not None:
            return self.feet.make_goals(place.name, place.weight, lies=place.lies)
        frame, near = self.handles[place.name].frame, near_pin(self.model) if place.level == PINS else None
        target = np.eye(4) if place.ndim == 2 and not place.kept else np.zeros(3)
        goals: list[Goal] = [
            Reach(frame, target, weight=place.weight, priority=place.level, name=place.name, tolerance=near)
        ]
        if place.kind == "plant" and self.has_flat(place):
            goals.append(self.feet.make_flat(place.name, LIFTED_WEIGHT))  # a planted foot that is dragged
        if place.kept:  # as it is turned, nothing that is pinned turns it: it is kept before anything is dragged
            turn = turn_name(place.name)
            goals.append(Orient(frame, np.eye(3), priority=PINS, name=turn, tolerance=near_pin(self.model)[1]))
        return goals

    def upright(self, places: Sequence[Asked]) -> list[Goal]:
        """The goal of a body that stays as it rests, beside feet that lie flat; none where it is asked to turn."""
        body = next((handle for handle in self.handles.values() if handle.kind == "body"), None)
        flat = any(place.kind == "plant" and not place.lies and self.has_flat(place) for place in places)
        if body is None or self.rest is None or not flat:
            return []
        if any(place.name == body.name and place.ndim == 2 for place in places):
            return []
        rotation = self.model.fk(self.rest.find_wanted(self.model), body.frame)[:3, :3]
        return [Flat(body.frame, rotation, weight=UPRIGHT_WEIGHT, priority=KEPT, name=f"{body.name}.upright")]

    def has_flat(self, place: Asked) -> bool:
        """Whether a planted foot has a goal to lie flat: dragged by a place, or in one piece."""
        foot = self.feet[place.name]
        dragged = place.level == DRAGGED and place.ndim == 1
        return foot.side is not None and (dragged or (place.level == PINS and foot.toes is None))

    def pole(self, name: str) -> Goal:
        """The goal that turns a limb's plane of bending."""
        limb = self.limbs[name]
        if limb.hinge is not None:
            return Align(str(limb.middle), limb.hinge, "x", priority=POLES, name=pole_name(name))
        assert limb.bone is not None, "a limb without a middle has no pole"
        return Align(limb.bone[0], limb.bone[1], "x", priority=POLES, name=pole_name(name))

    def list_hinted(self, held: Sequence[str], poles: Sequence[str]) -> list[str]:
        """The legs without a pole whose knees may bend any way, and whose feet are held."""
        return [
            name
            for name, limb in self.limbs.items()
            if limb.bone is not None and name not in poles and limb.handle in held and self.looks(limb.handle)
        ]

    def looks(self, handle: str) -> bool:
        """Whether a handle is a foot that points somewhere."""
        return self.handles[handle].stands and self.feet[handle].side is not None

    def knee(self, name: str) -> Goal:
        """The goal that lets a knee look ahead."""
        knee = str(self.limbs[name].middle)
        return Knee(knee, np.zeros(3), "x", weight=KNEE_WEIGHT, priority=KEPT, name=knee_name(name))

    def supports(self, places: Sequence[Asked]) -> Balance | None:
        """The balance over held feet, or the one that was asked for; None where there is none to keep."""
        if isinstance(self.balance, Balance):
            return self.balance
        feet: list[Any] = []
        for place in places if self.balance == "auto" and self.model.mass > 0.0 else ():
            if place.carries:
                planted = place.ground is not None
                frame = self.handles[place.name].frame
                feet += self.feet.find_support(place.name, place.raised) if planted else [frame]
        return Balance(feet, priority=KEPT, name="balance") if feet else None

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


def turn_name(handle: str) -> str:
    """The name of the goal that keeps the rotation of a tool that is dragged."""
    return f"{handle}.turn"


def knee_name(limb: str) -> str:
    """The name of the goal that lets a limb's knee look ahead."""
    return f"{limb}.knee"
