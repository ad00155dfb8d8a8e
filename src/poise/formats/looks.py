"""How a body looks: `look_of(model)` reads its meshes, when somebody wants to see them and not before.

Loading a model opens no mesh. What is read here is kept with the model, at most 200,000 triangles of it; what was not
found or could not be read is in `Look.notes`, once, with where it was looked for.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from poise.errors import FormatError
from poise.formats.meshes import read_mesh
from poise.formats.packages import Finder
from poise.formats.thinning import MOST_TRIANGLES, crease, thin_all
from poise.model import Mesh, Model
from poise.model.looks import Look, LookSource, Material, Patch, Piece
from poise.model.shapes import Shape

__all__ = ["brings_look", "look_of", "missing_meshes"]

MOST_READ = 12_000_000  # triangles of one body that are read before it is thinned
MOST_NOTES = 6
PLAIN = Look()
KEY = "look"


def brings_look(model: Model) -> bool:
    """Return whether the body's own file says how it looks; no mesh is opened for it."""
    return model._attached.look is not None


def look_of(model: Model) -> Look:
    """How a body looks by its own file; without pieces where that brings no meshes, or none that can be had."""
    if KEY not in model._facts:
        model._facts[KEY] = read_look(model)
    found = model._facts[KEY]
    assert isinstance(found, Look)
    return found


def missing_meshes(model: Model) -> list[str]:
    """What to say of the meshes that the file names and that are not there; no mesh is opened for it."""
    about = model._attached.look
    if about is None:
        return []
    finder = Finder(about)
    for shape in meshes_of(model, "any"):
        assert isinstance(shape.shape, Mesh)
        finder.find(shape.shape.path)
    return [finder.words()] if finder.missing else []


def read_look(model: Model) -> Look:
    """The look, from the files."""
    about = model._attached.look
    if about is None:
        return PLAIN
    if Path(about.path).suffix.lower() in (".glb", ".gltf", ".vrm"):
        return read_character(model, about)
    return read_links(model, about)


def read_character(model: Model, about: LookSource) -> Look:
    """The meshes of a glTF; nothing where the file cannot be read any more, or the body has lost a frame of theirs."""
    from poise.formats.gltf.looks import read_look as read_gltf

    try:
        look = read_gltf(about)
    except FormatError as error:
        return Look(notes=(f"its mesh cannot be drawn: {error.message}",))
    there = set(model.frames)
    whole = [p for p in look.pieces if there.issuperset(p.skin.frames if p.skin else (p.frame,))]
    return slim(replace(look, pieces=tuple(whole)))


def slim(look: Look) -> Look:
    """The look with no more triangles than are drawn."""
    if look.triangles <= MOST_TRIANGLES:
        return look
    return replace(look, pieces=tuple(thin_all(list(look.pieces))), whole=look.triangles)


# ------------------------------------------------------------------------------------------------ links of robots


def read_links(model: Model, about: LookSource) -> Look:
    """The meshes on the links of a robot: the visual ones; a link's collision mesh where its visual cannot be had."""
    finder = Finder(about)
    files: dict[Path, tuple[Patch, ...] | None] = {}
    troubles: list[str] = []
    pieces: list[Piece] = []
    lost: set[str] = set()
    for shape in meshes_of(model, "visual"):
        found = pieces_of(shape, finder, files, troubles)
        lost |= set() if found else {shape.frame}
        pieces += found
    for shape in meshes_of(model, "collision") if lost or not pieces else ():
        if shape.frame in lost or not visual(model):
            pieces += pieces_of(shape, finder, files, troubles)
    bare = (lost | {shape.frame for shape in meshes_of(model, "any")}) - {piece.frame for piece in pieces}
    kept = bare if not pieces else lost - {piece.frame for piece in pieces}
    notes = [finder.words()] if finder.missing else []
    notes += troubles[:MOST_NOTES]
    look = slim(Look(tuple(pieces), frozenset(kept), tuple(notes)))
    return replace(look, pieces=tuple(replace(piece, patch=crease(piece.patch)) for piece in look.pieces))


def visual(model: Model) -> bool:
    """Whether the file brings anything that is for the eye."""
    return any(shape.use != "collision" for shape in model.shapes)


def meshes_of(model: Model, use: str) -> list[Shape]:
    """The shapes that are meshes, for the eye ("visual"), for bumping only, or any."""
    meshes = [shape for shape in model.shapes if isinstance(shape.shape, Mesh)]
    if use == "any":
        return meshes
    return [shape for shape in meshes if (shape.use == "collision") == (use == "collision")]


def pieces_of(
    shape: Shape, finder: Finder, files: dict[Path, tuple[Patch, ...] | None], troubles: list[str]
) -> list[Piece]:
    """The pieces of a mesh on a link; none where it is not found or cannot be read."""
    mesh = shape.shape
    assert isinstance(mesh, Mesh)
    path = finder.find(mesh.path)
    if path is None:
        return []
    if path not in files:
        files[path] = opened(path, files, troubles)
    matrix = np.array(shape.offset.matrix) @ np.diag([*mesh.scale, 1.0])
    return [Piece(colored(patch, shape), shape.frame, matrix) for patch in files[path] or ()]


def opened(path: Path, files: dict[Path, tuple[Patch, ...] | None], troubles: list[str]) -> tuple[Patch, ...] | None:
    """The patches of a file; None, and a word why, where it cannot be read."""
    read = sum(len(patch.triangles) for found in files.values() for patch in found or ())
    if read > MOST_READ:
        troubles.append(f"{path.name} was left out: {MOST_READ} triangles of this body were read before it")
        return None
    try:
        return read_mesh(path)
    except FormatError as error:
        troubles.append(f"{path.name} was left out: {error.message}")
        return None


def colored(patch: Patch, shape: Shape) -> Patch:
    """The patch in the colour of the robot's file, which counts more than the mesh's own."""
    if shape.color is None:
        return patch
    r, g, b, a = shape.color
    if patch.material is not None and patch.material.texture is not None and r == g == b == 1.0:
        return patch
    return replace(patch, material=Material((r, g, b, a), clear=a < 0.999))
