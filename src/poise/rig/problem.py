"""Goals and solvers of a rig: handle goals on strict levels (levels.py), with one solver per set of goals."""

import copy
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from poise.goals import Align, Balance, Goal, LookAt, OnPlane, Orient, Reach, Rest
from poise.kinematics.parts import Place
from poise.limits import Limit
from poise.rig.handle import GROUND_LAYER, Handle
from poise.rig.handles import Handles
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
    find_pin_tolerance,
)
from poise.rig.limbs.stiffness import find_stiffness
from poise.rig.snapshot import Blend, HandleGoal, Snapshot
from poise.rig.solver_factory import RigProblem, SolverMaker, make_solver
from poise.rig.standing.floor import Floor
from poise.rig.standing.stance import Flat
from poise.solvers import Solution, Solver
from poise.solvers.proofs import find_tolerances

__all__ = ["Problems", "name_aim", "name_knee", "name_pole", "name_turn"]

MAX_SOLVERS = 64
FLAT_ANGLE = 1e-3  # rad: a foot rotated by less lies flat
ANKLE_MARGIN = 0.05  # rad from the end of its range: the heel may have to rise in the next frame
NO_GOALS = (), (), (), frozenset[str](), False  # the key of a state without goals
NO_GOAL = "nothing"  # a solver needs a row: this goal is always reached


class Knee(OnPlane):
    """A goal for a knee without a hinge to point ahead, as its foot does; never counts as missed."""

    counts = False

    def _convert(self, target: Any) -> NDArray[np.float64]:
        return np.asarray(target, dtype=np.float64)


class PlacedHandle(NamedTuple):
    """The part of a handle's goal that its solver depends on.

    Attributes:
        name: The handle.
        level: The priority level.
        ndim: 1 for a position, 2 for a transform.
        weight: Weight among other reaches.
        kind: "pin", "plant" or "reach".
        ground: For a planted foot that is not dragged: the height of its sole [m].
        carries: Whether it is a supporting foot: held, and about as low as the lowest one.
        raised: Whether it is a planted foot with its heel too high to carry weight.
        kept: Whether it is a dragged tool that keeps its rotation.
        lies: Whether it is a planted foot in one piece that lies flat, see `Problems.lies_flat`.
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
    """The solvers of a rig, one for each set of goals."""

    def __init__(
        self,
        handles: Handles,
        *,
        limits: Sequence[Limit] | Limit,
        balance: Any,
        rest: Rest | None,
        maker: SolverMaker = make_solver,
        floor: float | None = None,
    ) -> None:
        self.model, self.handles, self.limbs = handles.model, handles.by_name, handles.limbs
        self.limits, self.balance, self.rest = limits, balance, rest
        self.maker, self.floor = maker, floor
        self.feet = handles.feet
        self.stiffness = find_stiffness(self.model, self.handles)
        self._solvers: dict[tuple[Any, ...], Solver] = {}
        self._ankles: dict[str, list[tuple[int, float, float]]] = {}
        self._allowed: dict[int, tuple[Solver, NDArray[np.float64] | None]] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_solvers": {}, "_allowed": {}}  # recreated on first use

    def check(self) -> None:
        """Raise an error if no solver accepts the limits, the balance or the rest pose."""
        make_solver(self.make_problem(NO_GOALS))

    def change(self, **changed: Any) -> None:
        """Set some of the attributes; solvers are recreated from the next frame on."""
        trial = copy.copy(self)
        vars(trial).update(changed)
        trial.check()
        for name, value in changed.items():
            setattr(self, name, value)
        self._solvers.clear()
        self._allowed.clear()

    def find_solver(self, state: Snapshot) -> Solver:
        """Return the solver for a state's goals; its targets are set later."""
        key = self.make_key(state)
        found = self._solvers.get(key)
        if found is None:
            if len(self._solvers) >= MAX_SOLVERS:
                self._allowed.pop(id(self._solvers.pop(next(iter(self._solvers)))), None)
            found = self._solvers[key] = self.maker(self.make_problem(key))
        return found

    def find_allowed(self, solver: Solver) -> NDArray[np.float64] | None:
        """Return the tolerance of each goal [m, rad], infinite for goals that do not count.

        None if every goal counts, so that the solver's own result applies.
        """
        known, allowed = self._allowed.get(id(solver), (None, None))
        if known is not solver:
            goals = [solver.goals[name] for name in solver.row_names]
            if not all(goal.counts for goal in goals):
                allowed = np.array([find_tolerances(self.model, goal) for goal in goals])
                allowed[[not goal.counts for goal in goals]] = np.inf
            self._allowed[id(solver)] = solver, allowed
        return allowed

    def measure_pins(self, solution: Solution) -> float:
        """Return the largest error of the goals on the level of pins, relative to their tolerance; 0 without pins."""
        pins = {name: goal for name, goal in solution.solver.goals.items() if goal.priority == PINS}
        shares = [
            np.divide(solution.errors[name], find_tolerances(self.model, goal))
            for name, goal in pins.items()
            if name in solution.errors
        ]
        return float(np.max(shares, initial=0.0))

    def make_key(self, state: Snapshot) -> tuple[Any, ...]:
        """Return the key of a state's solver: everything but the targets."""
        silent = self.list_silent(state) if state.strengths or state.blends else ()
        places = {name: goal for name, goal in state.places.items() if name not in silent}
        low = self.find_low(state, places)
        return (
            tuple(self.describe_place(state, name, goal, low) for name, goal in places.items()),
            tuple((name, goal.axis) for name, goal in state.aims.items() if name not in silent),
            tuple(state.poles),
            state.frozen,
            bool(state.blends),  # their rest pose changes from frame to frame, see Frames
        )

    def describe_place(self, state: Snapshot, name: str, goal: HandleGoal, low: float) -> PlacedHandle:
        """Return the part of a handle's goal that its solver depends on; `low` is the value of `find_low`."""
        level, ndim, weight, kind = (
            self.choose_level(name, goal.kind, state.dragged),
            goal.target.ndim,
            goal.weight,
            goal.kind,
        )
        if level != PINS or not self.handles[name].stands:
            return PlacedHandle(name, level, ndim, weight, kind, kept=goal.kept and level == DRAGGED)
        if goal.stance is None:
            return PlacedHandle(name, level, ndim, weight, kind, None, self.measure_height(name, goal) <= low)
        ground = goal.stance.ground
        lies = self.lies_flat(state, name, goal)
        raised = not lies and self.model.mass > 0.0 and self.feet[name].is_raised(state.q)
        return PlacedHandle(name, level, ndim, weight, kind, ground, ground <= low, raised, lies=lies)

    def lies_flat(self, state: Snapshot, name: str, goal: HandleGoal) -> bool:
        """Return whether a planted foot in one piece lies flat and may be held as a full transform.

        This equals the result of its separate goals, and is faster to solve. The heel may have to rise if an ankle is
        at its limit, or if a handle missed its target.
        """
        foot, stance = self.feet[name], goal.stance
        if foot.toes is not None or stance is None or stance.flat is None or state.strengths or state.blends:
            return False
        if any(missed not in state.places or state.places[missed].kind != "plant" for missed in state.missed):
            return False
        R = self.model.fk(state.q, foot.frame)[:3, :3]
        if not 3.0 - float(np.vdot(R, stance.flat)) < FLAT_ANGLE * FLAT_ANGLE:
            return False
        return not any(q <= low or q >= high for q, low, high in self.list_ankle(name, state.q))

    def list_ankle(self, name: str, q: NDArray[np.float64]) -> list[tuple[float, float, float]]:
        """Return the values of the joints between a knee and its foot, with the ends of their ranges less a margin."""
        if name not in self._ankles:
            limb = self.limbs.get(self.handles[name].limb or "")
            chain = self.model.ancestors(self.feet[name].frame)
            knee = None if limb is None else limb.middle
            own = chain[: chain.index(knee)] if knee in chain else chain[:1]
            names = [joint for frame in own if (joint := self.model.frame(frame).joint) is not None]
            joints = [joint for joint in map(self.model.joint, names) if joint.nv == 1 and not joint.mimic]
            self._ankles[name] = [(joint.q.start, float(joint.lower), float(joint.upper)) for joint in joints]
        return [(float(q[k]), low + ANKLE_MARGIN, high - ANKLE_MARGIN) for k, low, high in self._ankles[name]]

    def find_low(self, state: Snapshot, places: Mapping[str, HandleGoal]) -> float:
        """Return the height up to which held feet carry the body [m]: slightly above the lowest of them."""
        held = {n: w for n, w in places.items() if w.kind != "reach" and n not in state.dragged}
        heights = [self.measure_height(name, goal) for name, goal in held.items() if self.handles[name].stands]
        return min(heights, default=0.0) + GROUND_LAYER * self.model.length

    def measure_height(self, name: str, goal: HandleGoal) -> float:
        """Return the height of a pinned or planted foot [m]."""
        if goal.stance is not None:
            return goal.stance.ground
        at = goal.target[:3, 3] if goal.target.ndim == 2 else goal.target
        return float(at @ self.model.up_direction) - self.feet[name].lift

    def make_problem(self, key: tuple[Any, ...]) -> RigProblem:
        """Return the problem of a key, without targets."""
        places, aims, poles, frozen, _ = key
        limits = [self.limits] if isinstance(self.limits, Limit) else list(self.limits)
        above = self.find_floor(places)
        if above:
            limits.append(Floor(above))
        goals = tuple(self.make_goals(places, aims, poles))
        return RigProblem(self.model, goals, tuple(limits), frozen, stiffness=self.stiffness)

    def find_floor(self, places: Sequence[PlacedHandle]) -> tuple[tuple[Place, float], ...]:
        """Return the points of feet that a solve could move below the floor, with the height of the floor [m].

        The heels of planted feet stay above their own ground, the soles of all other feet above the floor.
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

    def find_blend(self, state: Snapshot, handle: Handle) -> Blend | None:
        """Return the blend of a handle's limb, or None."""
        return None if handle.limb is None or handle.kind == "pole" else state.blends.get(handle.limb)

    def measure_share(self, state: Snapshot, handle: Handle) -> float:
        """Return the effective strength of a handle's goal: its strength times its limb's blend."""
        share, blend = state.strengths.get(handle.name, 1.0), self.find_blend(state, handle)
        return share if blend is None else share * blend.ik

    def list_silent(self, state: Snapshot) -> set[str]:
        """Return the handles whose goals have no effect."""
        return {name for name, handle in self.handles.items() if self.measure_share(state, handle) == 0.0}

    def choose_level(self, name: str, kind: str, dragged: Sequence[str]) -> int:
        """Return the priority level of a handle's target."""
        if kind in ("pin", "plant") and name not in dragged:
            return PINS
        if self.handles[name].kind == "pole":
            return POLES
        return DRAGGED if name in dragged else REACHES

    def make_goals(self, places: Sequence[PlacedHandle], aims: Sequence[Any], poles: Sequence[str]) -> list[Goal]:
        """Return the goals of a solver, each on its level; their targets are set later."""
        goals: list[Goal] = []
        for place in places:
            goals += self.make_place_goals(place)
        goals += self.make_upright(places)
        goals += [self.make_pole(limb) for limb in poles]
        goals += [self.make_knee(limb) for limb in self.list_hinted([place.name for place in places], poles)]
        support = self.make_balance(places)
        if support is not None:
            goals.append(support)
        for name, axis in aims:
            frame = self.find_eye(name)
            aim = LookAt(frame, np.zeros(3), axis=axis, weight=AIM_WEIGHT, priority=KEPT, name=name_aim(name))
            goals.append(aim)
        if not goals:
            goals.append(Reach(self.model.frames[0], np.zeros(3), weight=0.0, tolerance=1e9, name=NO_GOAL))
        if self.rest is not None:
            goals.append(self.rest)
        return goals

    def make_place_goals(self, place: PlacedHandle) -> list[Goal]:
        """Return the goals of a pin, a planted foot, a reach or a drag."""
        if place.ground is not None:
            return self.feet.make_goals(place.name, place.weight, lies=place.lies)
        frame, near = self.handles[place.name].frame, find_pin_tolerance(self.model) if place.level == PINS else None
        target = np.eye(4) if place.ndim == 2 and not place.kept else np.zeros(3)
        goals: list[Goal] = [
            Reach(frame, target, weight=place.weight, priority=place.level, name=place.name, tolerance=near)
        ]
        if place.kind == "plant" and self.has_flat(place):
            goals.append(self.feet.make_flat(place.name, LIFTED_WEIGHT))  # a planted foot that is dragged
        if place.kept:  # pins cannot rotate the tool, so its rotation is kept on their level
            turn = name_turn(place.name)
            goals.append(
                Orient(frame, np.eye(3), priority=PINS, name=turn, tolerance=find_pin_tolerance(self.model)[1])
            )
        return goals

    def make_upright(self, places: Sequence[PlacedHandle]) -> list[Goal]:
        """Return the goal of a body to stay upright over flat feet; empty if the body has a target rotation."""
        body = next((handle for handle in self.handles.values() if handle.kind == "body"), None)
        flat = any(place.kind == "plant" and not place.lies and self.has_flat(place) for place in places)
        if body is None or self.rest is None or not flat:
            return []
        if any(place.name == body.name and place.ndim == 2 for place in places):
            return []
        rotation = self.model.fk(self.rest.find_wanted(self.model), body.frame)[:3, :3]
        return [Flat(body.frame, rotation, weight=UPRIGHT_WEIGHT, priority=KEPT, name=f"{body.name}.upright")]

    def has_flat(self, place: PlacedHandle) -> bool:
        """Return whether a planted foot has a goal to lie flat: dragged by a point, or in one piece."""
        foot = self.feet[place.name]
        dragged = place.level == DRAGGED and place.ndim == 1
        return foot.side is not None and (dragged or (place.level == PINS and foot.toes is None))

    def make_pole(self, name: str) -> Goal:
        """Return the goal that rotates a limb's bending plane."""
        limb = self.limbs[name]
        if limb.hinge is not None:
            return Align(str(limb.middle), limb.hinge, "x", priority=POLES, name=name_pole(name))
        assert limb.bone is not None, "a limb without a middle joint has no pole"
        return Align(limb.bone[0], limb.bone[1], "x", priority=POLES, name=name_pole(name))

    def list_hinted(self, held: Sequence[str], poles: Sequence[str]) -> list[str]:
        """List the legs on held feet without a pole whose knees have no hinge."""
        return [
            name
            for name, limb in self.limbs.items()
            if limb.bone is not None and name not in poles and limb.handle in held and self.has_front(limb.handle)
        ]

    def has_front(self, handle: str) -> bool:
        """Return whether a handle is a foot with a direction."""
        return self.handles[handle].stands and self.feet[handle].side is not None

    def make_knee(self, name: str) -> Goal:
        """Return the goal that points a knee ahead."""
        knee = str(self.limbs[name].middle)
        return Knee(knee, np.zeros(3), "x", weight=KNEE_WEIGHT, priority=KEPT, name=name_knee(name))

    def make_balance(self, places: Sequence[PlacedHandle]) -> Balance | None:
        """Return the balance over the held feet, or the given one; otherwise None."""
        if isinstance(self.balance, Balance):
            return self.balance
        feet: list[Any] = []
        for place in places if self.balance == "auto" and self.model.mass > 0.0 else ():
            if place.carries:
                planted = place.ground is not None
                frame = self.handles[place.name].frame
                feet += self.feet[place.name].find_support(place.raised) if planted else [frame]
        return Balance(feet, priority=KEPT, name="balance") if feet else None

    def find_eye(self, name: str) -> str:
        """Return the frame that a handle aims: the eyes for a gaze handle."""
        handle = self.handles[name]
        return str(self.model.roles.get("eyes", handle.frame)) if handle.kind == "gaze" else handle.frame


def name_aim(handle: str) -> str:
    """Return the name of a handle's aim in a solution."""
    return f"{handle}.look_at"


def name_pole(limb: str) -> str:
    """Return the name of a limb's pole in a solution."""
    return f"{limb}.pole"


def name_turn(handle: str) -> str:
    """Return the name of the goal that keeps the rotation of a dragged tool."""
    return f"{handle}.turn"


def name_knee(limb: str) -> str:
    """Return the name of the goal that points a limb's knee ahead."""
    return f"{limb}.knee"
