"""The part of a page that solves: a body, its goals and the kernels, for `show(..., drag=True)`.

The kernels are those of Python, compiled to WebAssembly. Python prepares all goals that the handles may have
(`poise.rig.catalogue`); the page chooses among them and solves in continuous mode, one call per frame.
"""

import base64
import gzip
from typing import Any

import numpy as np

from poise.errors import AS_THINGS, InvalidValue, MissingExtra
from poise.goals import Reach
from poise.kinematics import Mirror, Motion, Pose
from poise.model import Model
from poise.model.plane import is_planar
from poise.motion import Contacts, Retargeted, Track
from poise.native import core, read_wasm
from poise.pages.lesson import pack_lesson
from poise.rig import GROUND_LAYER, GoalCatalogue, Handle, HandleRoles, Rig, has_free_base
from poise.solvers.proofs import find_tolerances
from poise.solvers.solution import Solution

__all__ = ["make_rig", "pack", "pack_drag", "pack_module"]

MOST_BYTES = 20_000_000  # of a body and its goals


def make_rig(thing: Any) -> Rig:
    """Return the rig of a body to drag; the feet that stand on the ground are planted.

    Raises:
        InvalidValue: `thing` has no single body.
    """
    if isinstance(thing, Rig):
        return thing
    if isinstance(thing, (Track, Retargeted)):
        thing = thing.motion
    if isinstance(thing, Motion) and len(thing):
        thing = thing[0]
    if isinstance(thing, Model):
        rig = Rig(thing)
    elif isinstance(thing, (Pose, Solution)):
        rig = Rig(thing.model, thing.q)
    else:
        kinds = "Model, Pose, Solution, Motion, Track, Retargeted, Rig, Race, a list of races"
        raise InvalidValue(f"drag=True needs one body, not {thing!r}; it takes: {kinds}. {AS_THINGS}")
    if isinstance(thing, Solution):
        take_targets(rig, thing)
    rig.plant()
    return rig


def take_targets(rig: Rig, solution: Solution) -> None:
    """Make the positions of a solution's Reach goals targets of handles; goals with point= are left out."""
    known = {handle.frame: name for name, handle in rig.handles.items()}
    for name, goal in solution.solver.goals.items():
        if not isinstance(goal, Reach) or goal.relative_to is not None or goal.point is not None:
            continue
        frame = rig.model.frame(goal.frame).name
        if frame not in known:
            known[frame] = rig.handles.add(frame, frame, "end").name
        place = solution.list_rows()[name].target[9:12]
        rig.reach(known[frame], np.array(place))


def pack_drag(
    rig: Rig, tracks: dict[str, int], q: np.ndarray[Any, Any], contacts: Contacts | None = None, every: int = 1
) -> dict[str, Any]:
    """Return the data of a body that can be dragged.

    Args:
        rig: The body, its handles and their current goals.
        tracks: The tracks of the scene by frame.
        q: The configurations of the scene's frames, (frames, nq).
        contacts: The contacts of the motion, or None to find feet on the ground.
        every: Frames of the motion per frame of the scene.

    Raises:
        MissingExtra: The kernels were not compiled to WebAssembly.
        InvalidValue: The body is too large for a page.
    """
    module = pack_module()
    model, catalogue = rig.model, rig.solvers.make_catalogue()
    body, problem = core.write_body(model.native_body), core.write_problem(catalogue.solver.problem)
    if len(body) + len(problem) > MOST_BYTES:
        raise InvalidValue(f"{model.name!r} has {len(model.frames)} frames, too many for a page that solves.")
    goals = list_goals(catalogue)
    return {
        "module": module,
        "metres": model.metres_per_unit,
        "body": pack(body),
        "problem": pack(problem),
        "q": pack(np.ascontiguousarray(q, dtype="<f8").tobytes()),
        "nq": model.nq,
        "length": model.length,
        "layer": GROUND_LAYER * model.length,
        "planar": is_planar(model),
        "tracks": [[track, model.frames.index(frame)] for frame, track in tracks.items()],
        "goals": [describe_goal(catalogue, name) for name in goals],
        "handles": [describe_roles(rig, goals, catalogue, roles) for roles in catalogue.roles],
        "always": [k for k, name in enumerate(goals) if name in catalogue.always or name not in catalogue.solver.goals],
        "standing": [goals.index(name) for name in catalogue.standing],
        "looks": [goals.index(name) for name in catalogue.looks],
        "stands": list_held(rig, q, contacts, every),
        "mirror": describe_mirror(model, q),
        "lesson": pack_lesson(rig) if len(q) == 1 else None,
        "ranges": list_ranges(model),
    }


def pack(data: bytes) -> str:
    """Return bytes compressed, as base64."""
    return base64.b64encode(gzip.compress(data, 9, mtime=0)).decode("ascii")


def pack_module() -> str:
    """Return the kernels in WebAssembly, compressed.

    Raises:
        MissingExtra: They were not compiled.
    """
    module = read_wasm()
    if module is None:
        raise MissingExtra("drag=True needs the kernels in WebAssembly. In a checkout of Poise, type: make wasm")
    return pack(module)


def list_goals(catalogue: GoalCatalogue) -> list[str]:
    """Return the names of all goals in the order of the kernels; closed loops, which come first, have none."""
    names = catalogue.solver.row_names
    loops = len(catalogue.solver.problem.state()["errors"]) - len(names)
    return [*[""] * loops, *names]


def describe_goal(catalogue: GoalCatalogue, name: str) -> dict[str, Any]:
    """Return the label of a goal, its tolerance [m, rad] and the joints with a range that move it.

    A label is empty if the goal never counts as missed.
    """
    goal, model = catalogue.solver.goals.get(name), catalogue.solver.model
    if goal is None or not goal.counts:
        return {"label": "", "near": [0.0, 0.0], "movers": []}
    role, _, rest = name.partition(" ")
    frames = [frame for name in ("frame", "relative_to") if (frame := getattr(goal, name, None)) is not None]
    above = {joint.name for frame in frames for joint in model.joints_above(frame)}
    movers = [k for k, (joint, *_) in enumerate(list_ranges(model)) if joint in above or not frames]
    return {"label": rest if rest else role, "near": list(find_tolerances(model, goal)), "movers": movers}


def describe_roles(rig: Rig, goals: list[str], catalogue: GoalCatalogue, own: HandleRoles) -> dict[str, Any]:
    """Return a handle, and the indices of its goals in each role."""
    model, handle = rig.model, own.handle
    return {
        **{name: getattr(handle, name) for name in ("name", "kind", "stands", "tool", "mirror")},
        "frame": model.layout.frames.index(model.frame(handle.frame).name),
        "goals": {role: [goals.index(name) for name in names] for role, names in own.goals.items()},
        "loose": [goals.index(name) for names in own.goals.values() for name in names if name.endswith(".flat")],
        "held": own.held,
        "lift": rig.handles.feet[handle.name].lift if handle.stands else 0.0,
        "supports": own.supports,
        "heel": [catalogue.floor[k] for k in own.heel],
        "sole": [catalogue.floor[k] for k in own.sole],
    }


def list_held(rig: Rig, q: np.ndarray[Any, Any], contacts: Contacts | None, every: int) -> list[list[str]]:
    """Return the handles in contact in each frame of a motion.

    Without contacts, these are the feet near the lowest height of all feet.
    """
    feet = rig.handles.feet
    if contacts and len(q) > 1:
        ends = [handle for handle in rig.handles.values() if handle.kind == "end"]
        owners = {frame: find_owners(rig.model, ends, frame) for frame in {contact.frame for contact in contacts}}
        return [sorted({n for c in contacts.list_at(t * every) for n in owners[c.frame]}) for t in range(len(q))]
    if len(q) == 1 or not feet.names or not has_free_base(rig.model):
        return [[] for _ in q]
    heights = np.array([[feet[name].find_ground(x) for name in feet.names] for x in q])
    near = heights <= heights.min() + GROUND_LAYER * rig.model.length
    return [[name for name, on in zip(feet.names, row, strict=True) if on] for row in near]


def find_owners(model: Model, ends: list[Handle], frame: str) -> list[str]:
    """Return the handles that move `frame` last: a foot for its toes."""
    above = {joint.name for joint in model.joints_above(frame)}
    chains = {handle.name: {joint.name for joint in model.joints_above(handle.frame)} for handle in ends}
    return [name for name, chain in chains.items() if chain and chain <= above]


def describe_mirror(model: Model, q: np.ndarray[Any, Any]) -> dict[str, Any] | None:
    """Return the map of a pose to its mirror image, or None for motions and for bodies without two equal sides."""
    if len(q) > 1:
        return None
    try:
        A, b = Mirror(model).find_map(q[0])
    except InvalidValue:
        return None
    entries = [[int(row), int(column), float(A[row, column])] for row, column in np.argwhere(A)]
    return {"entries": entries, "shift": b.tolist()}


def list_ranges(model: Model) -> list[list[Any]]:
    """Return the name, the index in q and the range of each joint with one coordinate."""
    joints = [joint for joint in model.joints if joint.nv == 1 and not joint.mimic and not joint.locked]
    ranged = [joint for joint in joints if np.isfinite([float(joint.lower), float(joint.upper)]).any()]
    return [[j.name, j.q.start, max(float(j.lower), -1e30), min(float(j.upper), 1e30)] for j in ranged]
