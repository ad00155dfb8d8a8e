"""The part of a page that solves: a body, its goals and the kernels, for `show(..., drag=True)`.

The kernels are those of Python, compiled to WebAssembly. Python prepares all goals that the handles may have
(`poise.rig.catalogue`); the page chooses among them and solves in continuous mode, one call per frame.
"""

from typing import Any

import numpy as np

from poise.errors import AS_THINGS, InvalidValue, MissingExtra
from poise.formats.solver_data import describe_solver, pack
from poise.goals import Reach
from poise.kinematics import Mirror, Motion, Pose
from poise.model import Model
from poise.model.plane import is_planar
from poise.motion import Contacts, Retargeted, Track
from poise.native import read_wasm
from poise.pages.lesson import pack_lesson
from poise.rig import GROUND_LAYER, Handle, Rig, has_free_base
from poise.solvers.solution import Solution

__all__ = ["make_rig", "pack_drag", "pack_module"]


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
    model = rig.model
    return {
        "module": module,
        **describe_solver(rig, q),
        "planar": is_planar(model),
        "tracks": [[track, model.frames.index(frame)] for frame, track in tracks.items()],
        "stands": list_held(rig, q, contacts, every),
        "mirror": describe_mirror(model, q),
        "lesson": pack_lesson(rig) if len(q) == 1 else None,
    }


def pack_module() -> str:
    """Return the kernels in WebAssembly, compressed.

    Raises:
        MissingExtra: They were not compiled.
    """
    module = read_wasm()
    if module is None:
        raise MissingExtra("drag=True needs the kernels in WebAssembly. In a checkout of Poise, type: make wasm")
    return pack(module)


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
