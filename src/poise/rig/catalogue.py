"""All goals that the handles of a rig may have, prepared as one problem.

A rig makes a solver for each set of goals. A page cannot: it has the kernels, but not Python. So the goals of every
handle in every role are prepared once, and the page chooses among them:

    drag    it follows the pointer             level of drags, poles for elbows and knees
    reach   it keeps the target of a drag      level of reaches
    pin     it stays where it is               level of pins
    plant   a foot stands                      level of pins, with balance over its sole
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from poise.arrays import Floats
from poise.goals import Balance, Goal, LookAt
from poise.kinematics.parts import Place
from poise.limits import Limit
from poise.limits.limit import name_limits
from poise.rig.handle import Handle
from poise.rig.levels import AIM_WEIGHT, DRAGGED, KEPT, PINS, POLES, REACHES
from poise.rig.problem import PlacedHandle, Problems, name_aim
from poise.rig.snapshot import Snapshot
from poise.rig.solver_factory import RigProblem, make_solver
from poise.rig.standing.floor import Floor
from poise.rig.targets import find_default_axis
from poise.solvers import Solver
from poise.solvers.limit_tables import gather_limits
from poise.solvers.table import may_move

__all__ = ["GoalCatalogue", "HandleRoles", "make_catalogue"]

MOST_SUPPORTS = 32  # points of a balance
FLOOR = "floor"  # the name of the limit that keeps soles above the floor
ROLES = ("drag", "reach", "pin", "plant")


@dataclass(frozen=True, slots=True)
class HandleRoles:
    """The goals of a handle in each role.

    Attributes:
        handle: The handle.
        goals: Names of goals by role: "drag", "reach", "pin" and, for a foot, "plant". The first one has the position.
        supports: For a foot, indices of its points among those of the balance.
        heel: For a foot, indices of the floor's points that apply while it is planted.
        sole: For a foot, indices of the floor's points that apply otherwise.
        held: Its current role, or "".
    """

    handle: Handle
    goals: dict[str, tuple[str, ...]]
    supports: tuple[int, ...] = ()
    heel: tuple[int, ...] = ()
    sole: tuple[int, ...] = ()
    held: str = ""


@dataclass(frozen=True, slots=True)
class GoalCatalogue:
    """All goals that the handles of a rig may have.

    Attributes:
        solver: The prepared problem of all goals, at the targets of the rig's current state.
        roles: The handles and their goals.
        always: Names of the goals that are always active.
        standing: Names of the goals that are active while a foot is planted.
        looks: Names of the goals that aim the head at the dragged hand.
        floor: Indices of the floor's points among the limits of the solver.
    """

    solver: Solver
    roles: tuple[HandleRoles, ...]
    always: tuple[str, ...]
    standing: tuple[str, ...]
    looks: tuple[str, ...]
    floor: tuple[int, ...]


def make_catalogue(problems: Problems, state: Snapshot) -> GoalCatalogue:
    """Make the catalogue of a rig in a state."""
    goals: dict[str, Goal] = {}
    roles, above, supports = [], list[tuple[Place, float]](), list[Any]()
    for name in problems.handles:
        own = {role: name_goals(role, found) for role, found in list_roles(problems, name, state).items()}
        goals |= {goal.name: goal for found in own.values() for goal in found if goal.name is not None}
        roles.append(HandleRoles(problems.handles[name], {role: list_names(found) for role, found in own.items()}))
        roles[-1] = stand(problems, roles[-1], state, above, supports)
    extra = list_extra(problems, supports)
    for found in extra.values():
        goals |= {goal.name: goal for goal in found if goal.name is not None}
    solver = make_solver(make_problem(problems, list(goals.values()), above, state))
    solver.problem.restart(state.q, find_targets(problems, roles, state))
    always, standing, looks = (list_names(found) for found in extra.values())
    return GoalCatalogue(solver, tuple(roles), always, standing, looks, find_floor(solver))


def find_floor(solver: Solver) -> tuple[int, ...]:
    """Return the indices of the floor's points among the limits of a solver."""
    options = solver.options
    tables = gather_limits(solver.model, name_limits(options.limits), may_move(solver.model, options.joints))
    return tuple(k for k, rule in enumerate(tables.rows) if rule.limit == FLOOR)


def make_problem(problems: Problems, goals: list[Goal], above: Sequence[Any], state: Snapshot) -> RigProblem:
    """Return the problem of some goals, with the limits of the rig and of the floor."""
    limits = [problems.limits] if isinstance(problems.limits, Limit) else list(problems.limits)
    floor = [Floor(tuple(above))] if above else []
    posture = [] if problems.rest is None else [problems.rest]
    all_limits = (*limits, *floor)
    return RigProblem(problems.model, (*goals, *posture), all_limits, state.frozen, stiffness=problems.stiffness)


def list_roles(problems: Problems, name: str, state: Snapshot) -> dict[str, list[Goal]]:
    """Return the goals of a handle in each role; a pin at a point leaves the rotation free."""
    handle, now = problems.handles[name], state.places.get(name)
    pinned = now.target.ndim if now is not None and now.kind == "pin" else 2
    free = POLES if handle.kind == "pole" else DRAGGED
    kept, ndim = handle.tool, 2 if handle.tool else 1
    kind = "plant" if handle.stands else "reach"
    places = {
        "drag": PlacedHandle(name, free, ndim, 1.0, kind, kept=kept),
        "reach": PlacedHandle(name, POLES if free == POLES else REACHES, ndim, 1.0, "reach"),
        "pin": PlacedHandle(name, PINS, pinned, 1.0, "pin"),
    }
    if handle.stands:
        places["plant"] = PlacedHandle(name, PINS, 2, 1.0, "plant", ground=0.0)
    return {role: problems.make_place_goals(place) for role, place in places.items()}


def name_goals(role: str, goals: Sequence[Goal]) -> list[Goal]:
    """Return the goals with the role in their names, which are unique then."""
    return [replace(goal, name=f"{role} {goal.name}") for goal in goals]


def list_names(goals: Sequence[Goal]) -> tuple[str, ...]:
    """Return the names of goals."""
    return tuple(str(goal.name) for goal in goals)


def stand(
    problems: Problems, roles: HandleRoles, state: Snapshot, above: list[tuple[Place, float]], supports: list[Any]
) -> HandleRoles:
    """Add the points of a foot to those of the floor and of the balance; return its roles with their indices."""
    name = roles.handle.name
    goal = state.places.get(name)
    held = "" if goal is None else goal.kind
    if not roles.handle.stands:
        return replace(roles, held=held)
    foot, floor = problems.feet[name], problems.floor
    first = len(above)
    if floor is not None:
        above += [(point, floor) for point in (*foot.heel, *foot.front)]
    heel = tuple(range(first, first + len(foot.heel))) if floor is not None else ()
    points = foot.find_support(raised=False)
    begin = len(supports)
    if problems.balance == "auto" and problems.model.mass > 0.0 and begin + len(points) <= MOST_SUPPORTS:
        supports += points
    sole = tuple(range(first, len(above)))
    return replace(roles, supports=tuple(range(begin, len(supports))), heel=heel, sole=sole, held=held)


def list_extra(problems: Problems, supports: Sequence[Any]) -> dict[str, list[Goal]]:
    """Return the goals that belong to no handle: always active, active while standing, and gazes."""
    always = [problems.balance] if isinstance(problems.balance, Balance) else []
    standing: list[Goal] = [Balance(list(supports), priority=KEPT, name="balance")] if supports else []
    flat = [n for n in problems.feet.names if problems.feet[n].side is not None and problems.feet[n].toes is None]
    standing += problems.make_upright([PlacedHandle(name, PINS, 2, 1.0, "plant", ground=0.0) for name in flat])
    looks = [make_look(problems, handle) for handle in problems.handles.values() if handle.kind == "gaze"]
    return {"always": list(always), "standing": standing, "looks": looks}


def make_look(problems: Problems, handle: Handle) -> Goal:
    """Return the goal of a head to look at a point."""
    frame = problems.find_eye(handle.name)
    axis = find_default_axis(problems.model, frame)
    return LookAt(frame, np.zeros(3), axis=axis, weight=AIM_WEIGHT, priority=KEPT, name=name_aim(handle.name))


def find_targets(problems: Problems, roles: Sequence[HandleRoles], state: Snapshot) -> dict[str, Floats]:
    """Return the targets that a pose alone does not determine: flat feet, and reaches."""
    out: dict[str, Floats] = {}
    for own in roles:
        name, goal = own.handle.name, state.places.get(own.handle.name)
        for found in (name for role in ROLES for name in own.goals.get(role, ()) if name.endswith(".flat")):
            out[found] = problems.feet[name].find_flat(state.q)
        if goal is not None and goal.kind == "reach":
            place = problems.model.fk(state.q, own.handle.frame).copy()
            place[:3, 3] = goal.target if goal.target.ndim == 1 else goal.target[:3, 3]
            out[own.goals["reach"][0]] = place if own.handle.tool else place[:3, 3].copy()
    return out
