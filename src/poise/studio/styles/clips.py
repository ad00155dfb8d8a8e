"""Clips to learn a style from: of the current body, or retargeted from any other biped."""

import warnings
import zipfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias

import numpy as np

from poise.errors import FormatError, FormatWarning, PoiseError
from poise.formats import load_motion
from poise.formats.units import to_metres
from poise.goals import Style
from poise.kinematics import Motion
from poise.model import Model
from poise.motion import retarget
from poise.studio.showable import CLIP_SUFFIXES, TABLE_SUFFIXES
from poise.studio.web.uploads import unpack_all

__all__ = ["StyleClip", "StyleSource", "learn_style", "prepare_clip", "read_clips"]

StyleSource: TypeAlias = "Motion | Style | str | PathLike[str]"
MAX_CLIPS = 200  # clips of one file at most
SAME_BODY_TOLERANCE = 0.05  # [rad], and relative to body size: bodies whose poses differ by less share configurations
COMPARED_POSES = 3  # random poses in which two bodies are compared


@dataclass(frozen=True, eq=False)
class StyleClip:
    """A clip to learn a style from.

    Attributes:
        name: The name of its source.
        motion: The clip on the current body, or None if it could not be read or retargeted.
        note: A note for the viewer: the number of frames, or the error.
        style: The saved style that the clip was read from, or None.
    """

    name: str
    motion: Motion | None
    note: str
    style: Style | None = None


def read_clips(thing: StyleSource, model: Model, folder: str = "") -> list[tuple[str, Motion | Style]]:
    """Read the clips of a file or of a ZIP of files, or a saved style, each with its name.

    Args:
        thing: A motion, a style, or a file.
        model: The current body, which tables belong to.
        folder: The folder to unpack a ZIP to; a temporary one by default.

    Raises:
        FormatError: The file contains no clip.
    """
    if isinstance(thing, Motion):
        return [(thing.model.name, thing)]
    if isinstance(thing, Style):
        return [("style", thing)]
    path = Path(thing)
    if path.suffix.lower() == ".zip" and not folder:
        with TemporaryDirectory(prefix="poise-clips-") as inside:
            return read_clips(path, model, inside)
    if path.suffix.lower() == ".zip" and zipfile.is_zipfile(path):
        unpack_all(path.read_bytes(), Path(folder), path.name)
        found = sorted(
            one for one in Path(folder).rglob("*") if one.suffix.lower() in (*CLIP_SUFFIXES, *TABLE_SUFFIXES)
        )
        if not found:
            kinds = ", ".join((*CLIP_SUFFIXES, *TABLE_SUFFIXES))
            raise FormatError(f"holds no clip; it should have a file ending in {kinds}.", path.name)
        return [clip for one in found for clip in read_clips(one, model)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FormatWarning)
        return [(path.name, clip) for clip in read_file(path, model)]


def read_file(path: Path, model: Model) -> list[Motion | Style]:
    """Read all clips of one file, or a saved style."""
    suffix = path.suffix.lower()
    if suffix == ".npz" and is_style(path):
        return [Style.load(path)]
    if suffix in TABLE_SUFFIXES:
        try:
            return [load_motion(path, model=model)]
        except FormatError:
            return [load_motion(path)]  # a table that names its own body
    if suffix == ".bvh":
        return [load_motion(path)]
    found: list[Motion | Style] = [load_motion(path)]
    for number in range(1, MAX_CLIPS):
        try:
            found.append(load_motion(path, clip=number))
        except FormatError:  # no more clips
            break
    return found


def is_style(path: Path) -> bool:
    """Return whether a file contains a style, complete or damaged."""
    try:
        with zipfile.ZipFile(path) as packed:
            return {"shares.npy", "neighbours.npy"} <= set(packed.namelist())
    except (OSError, zipfile.BadZipFile):
        return False


def prepare_clip(name: str, given: Motion | Style, model: Model, progress: Callable[[int, int], object]) -> StyleClip:
    """Retarget a clip to the current body; if that fails, `note` has the error."""
    try:
        if isinstance(given, Style):
            return prepare_style(name, given, model, progress)
        given = to_metres(given)
        if is_alike(given.model, model):
            return StyleClip(name, Motion(model, given.q, given.fps), f"{count_frames(len(given))} of this body")
        carried = retarget(given, model, progress=progress)
        return StyleClip(name, carried.motion, f"{count_frames(len(given))}, carried over from {given.model.name!r}")
    except PoiseError as error:
        return StyleClip(name, None, str(error))


def prepare_style(name: str, style: Style, model: Model, progress: Callable[[int, int], object]) -> StyleClip:
    """Convert a saved style to a clip of its frames."""
    q = np.concatenate([frames.q for _, frames in style.parts])
    clip = prepare_clip(name, Motion(style.model, q, 30.0), model, progress)
    if clip.motion is None or not is_alike(style.model, model):
        return clip
    own = style if style.model == model else None
    return StyleClip(name, clip.motion, f"a style of {count_frames(len(style))} of this body", own)


def count_frames(many: int) -> str:
    """Return the number of frames as text."""
    return "1 frame" if many == 1 else f"{many} frames"


def is_alike(one: Model, other: Model) -> bool:
    """Return whether two bodies share configurations: the same joints in the same order, and the same poses.

    Files of one person or one rig often do: they differ in their names, and slightly in their lengths. They are
    compared at rest and in random poses, since differences of axes and units do not show at rest.
    """
    if one is other or one == other:
        return True
    joints = [[(j.name, j.kind, str(j.order), j.nq, j.mimic) for j in body.joints] for body in (one, other)]
    if joints[0] != joints[1] or one.frames != other.frames:
        return False
    size = max(one.length, other.length, 1e-12)
    if abs(one.length - other.length) > SAME_BODY_TOLERANCE * size:
        return False
    poses = [np.array(one.rest), *one.random(np.random.default_rng(0), COMPARED_POSES)]
    for T, T_other in ((one.fk(q), other.fk(q)) for q in poses):
        places = [t[:, :3, 3] - t[0, :3, 3] for t in (T, T_other)]
        turns = np.abs(T[:, :3, :3] - T_other[:, :3, :3]).max()
        if np.abs(places[0] - places[1]).max() > SAME_BODY_TOLERANCE * size or turns > SAME_BODY_TOLERANCE:
            return False
    return True


def learn_style(clips: Iterable[StyleClip], model: Model) -> Style | None:
    """Learn a style from clips; a single saved style is returned unchanged. None if there are too few frames."""
    found = [clip for clip in clips if clip.motion is not None]
    if len(found) == 1 and found[0].style is not None:
        return found[0].style
    motions = [clip.motion for clip in found if clip.motion is not None]
    return Style.fit(motions, model=model) if sum(map(len, motions)) > 1 else None
