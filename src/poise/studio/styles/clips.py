"""Clips from which a style is learned: of the body that is shown, or of any other on two legs, carried over to it."""

from __future__ import annotations

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
from poise.goals import Style
from poise.kinematics import Motion
from poise.model import Model
from poise.motion import retarget
from poise.studio.showable import CLIP_SUFFIXES, TABLE_SUFFIXES
from poise.studio.web.uploads import unpack_all

__all__ = ["StyleClip", "StyleSource", "learn_style", "prepare_clip", "read_clips"]

StyleSource: TypeAlias = "Motion | Style | str | PathLike[str]"
MAX_CLIPS = 200  # of one file
SAME_BODY_TOLERANCE = (
    0.05  # radians, and of the body's size: bodies whose poses differ by less take each other's numbers
)
COMPARED_POSES = 3  # drawn by chance, in which two bodies are compared


@dataclass(frozen=True, eq=False)
class StyleClip:
    """A clip that a style is learned from.

    Attributes:
        name: Where it is from.
        motion: The clip, of the body that shall move so; None where it could not be had.
        note: A note for the viewer: its size, or why it failed.
        style: The style that it is the frames of, where it came from one.
    """

    name: str
    motion: Motion | None
    note: str
    style: Style | None = None


def read_clips(thing: StyleSource, model: Model, folder: str = "") -> list[tuple[str, Motion | Style]]:
    """Read the clips of a file, of a ZIP of files, or a style that was saved, each with its name.

    Args:
        thing: A motion, a style, or a file.
        model: The body that is shown; tables of numbers are about it.
        folder: Where a ZIP is unpacked to; a folder of its own unless given.

    Raises:
        FormatError: There is none.
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
    """Read all clips of one file; a saved style is one."""
    suffix = path.suffix.lower()
    if suffix == ".npz" and is_style(path):
        return [Style.load(path)]
    if suffix in TABLE_SUFFIXES:
        try:
            return [load_motion(path, model=model)]
        except FormatError:
            return [load_motion(path)]  # that says itself of which body it is
    if suffix == ".bvh":
        return [load_motion(path)]
    found: list[Motion | Style] = [load_motion(path)]
    for number in range(1, MAX_CLIPS):
        try:
            found.append(load_motion(path, clip=number))
        except FormatError:  # there are no more
            break
    return found


def is_style(path: Path) -> bool:
    """Return whether a file holds a style, complete or damaged."""
    try:
        with zipfile.ZipFile(path) as packed:
            return {"shares.npy", "neighbours.npy"} <= set(packed.namelist())
    except (OSError, zipfile.BadZipFile):
        return False


def prepare_clip(name: str, given: Motion | Style, model: Model, progress: Callable[[int, int], object]) -> StyleClip:
    """Carry a clip over to the body that is shown; if that fails, the clip has the reason."""
    try:
        if isinstance(given, Style):
            return prepare_style(name, given, model, progress)
        if is_alike(given.model, model):
            return StyleClip(name, Motion(model, given.q, given.fps), f"{count_frames(len(given))} of this body")
        carried = retarget(given, model, progress=progress)
        return StyleClip(name, carried.motion, f"{count_frames(len(given))}, carried over from {given.model.name!r}")
    except PoiseError as error:
        return StyleClip(name, None, str(error))


def prepare_style(name: str, style: Style, model: Model, progress: Callable[[int, int], object]) -> StyleClip:
    """Take the frames of a style that was saved."""
    q = np.concatenate([frames.q for _, frames in style.parts])
    clip = prepare_clip(name, Motion(style.model, q, 30.0), model, progress)
    if clip.motion is None or not is_alike(style.model, model):
        return clip
    own = style if style.model == model else None
    return StyleClip(name, clip.motion, f"a style of {count_frames(len(style))} of this body", own)


def count_frames(many: int) -> str:
    """Return "1 frame", or how many there are."""
    return "1 frame" if many == 1 else f"{many} frames"


def is_alike(one: Model, other: Model) -> bool:
    """Return whether two bodies take the same numbers: the same joints in the same order, and the same pose from them.

    Files of one person, or of one rig, are such: they differ in their names, perhaps by a little in their lengths. They
    are compared at rest and in poses drawn by chance, since axes and units show in a pose that is not the rest pose.
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
    """Learn a style from clips, or None; a single saved style is returned as it is."""
    found = [clip for clip in clips if clip.motion is not None]
    if len(found) == 1 and found[0].style is not None:
        return found[0].style
    motions = [clip.motion for clip in found if clip.motion is not None]
    return Style.fit(motions, model=model) if sum(map(len, motions)) > 1 else None
