"""Inputs of the studio: a body, a pose, a motion, a reach map, a built-in name, or a file of these."""

from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from poise.batch import ReachMap
from poise.errors import FormatError, InvalidValue, PoiseError
from poise.formats import load, load_motion, load_within
from poise.formats.units import add_free_root, scale_model, to_metres
from poise.kinematics import Motion, Pose
from poise.model import Model

__all__ = ["Opening", "Showable", "find_body", "list_bodies", "read_opening"]

Showable: TypeAlias = "Model | Pose | Motion | ReachMap | str | PathLike[str]"

CLIP_SUFFIXES = (".bvh", ".glb", ".vrm", ".gltf")  # files of a body and possibly a motion
BODIES = (".urdf", ".xacro", ".xml", ".mjcf", *CLIP_SUFFIXES)  # files of bodies, searched in a folder
LEAST_REACH = 1e-9  # [1/rad], relative to model length: frames that move less are fixed
TABLE_SUFFIXES = (".csv", ".npz", ".parquet")  # values for a known body


@dataclass(frozen=True, slots=True)
class Opening:
    """The body, pose, motion or map to show; except for a map, in metres.

    Attributes:
        model: The body.
        given: The body in the unit of its file, in which poses and motions are saved.
        pose: The initial pose, or None for the rest pose.
        motion: The motion to play, or None.
        map: The reach map to show around the body, or None.
    """

    model: Model
    given: Model
    pose: Pose | None = None
    motion: Motion | None = None
    map: ReachMap | None = None


def read_opening(thing: Showable, known: Model | None = None, within: str = "") -> Opening:
    """Read a body, pose, motion or map to show; `known` is the body that a table belongs to.

    Files outside of the folder `within` are not opened, if it is given.

    Raises:
        FormatError: The file cannot be read.
    """
    if isinstance(thing, Model):
        return open_body(thing if thing.nv else free_rigid(thing))
    if isinstance(thing, Pose):
        return Opening(convert_body(thing.model), thing.model, to_metres(thing))
    if isinstance(thing, Motion):
        return open_motion(thing)
    if isinstance(thing, ReachMap):
        return open_map(thing)
    if isinstance(thing, (str, PathLike)) and ReachMap.is_in(thing):
        return open_map(ReachMap.load(thing), known)
    if isinstance(thing, (str, PathLike)) and Path(thing).is_dir():
        thing = find_body(Path(thing), str(thing))
    motion = read_motion(thing, known) if isinstance(thing, (str, PathLike)) else None
    if motion is not None and len(motion):
        return open_motion(motion)
    return open_body(free_rigid(load_within(thing, within) if within else load(thing)))


def convert_body(model: Model) -> Model:
    """Return the body with its lengths in metres."""
    return model if model.metres_per_unit == 1.0 else scale_model(model, model.metres_per_unit)


def open_body(model: Model) -> Opening:
    """Open a body in its rest pose."""
    return Opening(convert_body(model), model)


def free_rigid(model: Model) -> Model:
    """Return the body, with a free root added if no joint moves any frame's position, as for a drone with rotors."""
    q = np.random.default_rng(0).uniform(-1.0, 1.0, model.nq) if model.nq == model.nv else np.array(model.rest)
    sways = (model.jacobian(q, frame)[:3] for frame in model.frames)
    if any(float(np.abs(J).max(initial=0.0)) > LEAST_REACH * model.length for J in sways):
        return model
    return add_free_root(model)


def find_body(folder: Path, name: str) -> Path:
    """Return the first body file in a folder; see `list_bodies`."""
    return list_bodies(folder, name)[0]


def list_bodies(folder: Path, name: str) -> list[Path]:
    """List the body files in a folder: the least nested first, robots before clips, bodies before scenes.

    Raises:
        FormatError: The folder contains no body.
    """
    found = [path for path in folder.rglob("*") if path.suffix.lower() in BODIES and path.is_file()]
    if not found:
        raise FormatError(f"holds no body; it should have a file ending in {', '.join(BODIES)}.", name)

    def rank(path: Path) -> tuple[int, int, bool, str]:
        around = path.name.lower().startswith("scene")
        return len(path.parts), BODIES.index(path.suffix.lower()), around, path.name

    return sorted(found, key=rank)


def open_map(found: ReachMap, known: Model | None = None) -> Opening:
    """Open a reach map around its body; `known` is the current body.

    Raises:
        InvalidValue: The body of the map is unknown.
    """
    fits = known is not None and known.name == found.name and found.frame in known.frames
    body = found.model if found.model is not None else known if fits else None
    if body is None:
        raise InvalidValue(
            f"the map is of {found.name!r}, which is not built in; open that body first, or type: "
            "Studio(ReachMap.load(path, model))."
        )
    return Opening(body, body, map=found)


def open_motion(motion: Motion) -> Opening:
    """Open a motion at its first pose; a motion of a single frame is opened as a pose."""
    shown = to_metres(motion)
    first = shown[0] if len(shown) else None
    return Opening(shown.model, motion.model, first, shown if len(shown) > 1 else None)


def read_motion(path: Any, known: Model | None) -> Motion | None:
    """Read the motion of a file, or return None if it contains only a body."""
    suffix = Path(path).suffix.lower()
    if suffix in TABLE_SUFFIXES:
        return load_motion(path, model=known)
    if suffix not in CLIP_SUFFIXES:
        return None
    try:
        return load_motion(path)
    except PoiseError as error:
        if isinstance(error, FormatError) and suffix == ".bvh":
            raise
        return None
