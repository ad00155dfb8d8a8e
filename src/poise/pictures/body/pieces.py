"""The meshes drawn for a body whose file has some, shared by pictures, pages and the studio.

The meshes are loaded by `poise.formats.meshes.looks`. Parts without a readable mesh are drawn as the simple solids of
the file, or as flesh. A body without any mesh has no pieces: `solids` and `flesh` draw it.
"""

import warnings

import numpy as np

from poise.anatomy import roles as find_roles
from poise.arrays import Floats
from poise.errors import FormatWarning
from poise.kinematics.parts import find_rigid_parts
from poise.kinematics.seen_shapes import list_seen
from poise.model import Mesh, Model
from poise.model.geometry.decimation import choose_vertices
from poise.model.geometry.looks import Material, Patch, Piece
from poise.model.geometry.shapes import Shape
from poise.model.geometry.surfaces import LOOK_READER
from poise.model.memo import MemoSlot, keep_with_model
from poise.pictures.body.surface import Surface, make_solid, mesh_solid
from poise.pictures.textures import PLAIN

__all__ = ["find_pieces", "report_missing", "sample_extremes"]


DIRECTIONS = np.array([[x, y, z] for x in (-1, 0, 1) for y in (-1, 0, 1) for z in (-1, 0, 1) if (x, y, z) != (0, 0, 0)])
WARNED = MemoSlot[set[str]]("notes on the look that were issued as warnings")
MOST_BARE_SHARE = 0.5  # of the body parts, in a character of which the rest is drawn by its skin alone
FEWEST = 3  # moving joints that a skeleton without meshes needs to be drawn


@keep_with_model
def find_pieces(model: Model) -> tuple[Piece, ...]:
    """Return all pieces of a body, or an empty tuple if its file has no readable meshes."""
    look = LOOK_READER.get()(model)
    if not look.pieces:
        return ()
    seen = list_seen(model)
    seen += [s for s in model.shapes if s.use == "collision" and s.frame in look.bare and s not in seen]
    solids = [piece for shape in seen if not isinstance(shape.shape, Mesh) for piece in make_pieces(shape)]
    drawn = {piece.frame for piece in (*look.pieces, *solids)}
    skinned = {frame for piece in look.pieces if piece.skin is not None for frame in piece.skin.frames}
    unseen = find_unseen(model, drawn | skinned) | (find_unskinned(model, drawn | skinned) if skinned else set())
    return (*look.pieces, *solids, *grow_pieces(model, (look.bare - drawn) | unseen))


def report_missing(model: Model) -> None:
    """Warn once per model about missing mesh files and about assumptions."""
    look = LOOK_READER.get()(model)
    notes = (*look.notes, *look.assumed)
    warned = model.memo.get(WARNED, set)
    for note in (note for note in notes if note not in warned):
        warned.add(note)
        warnings.warn(f"{model.source or model.name}: {note}", FormatWarning, stacklevel=4)


def find_unseen(model: Model, shown: set[str]) -> set[str]:
    """Return the frames of skeletons without any mesh, such as a skeleton that holds an object with a mesh."""
    trees: dict[str, set[str]] = {}
    for name in model.frames:
        trees.setdefault(model.ancestors(name)[-1], set()).add(name)
    moving = {joint.frame for joint in model.joints if joint.nv}
    unseen = [tree for tree in trees.values() if not tree & shown and len(tree & moving) >= FEWEST]
    return set().union(*unseen)


def find_unskinned(model: Model, shown: set[str]) -> set[str]:
    """Return the frames without a mesh if most body parts have none, as in a clip saved with the head only."""
    parts = set(find_roles(model).values())
    return set(model.frames) - shown if len(parts - shown) > MOST_BARE_SHARE * len(parts) else set()


def make_pieces(shape: Shape) -> list[Piece]:
    """Convert a simple solid of the file to a piece."""
    solid = make_solid(shape)
    surface = None if solid is None else mesh_solid(solid)
    return [make_piece(surface, shape.frame, np.eye(4), shape.color)] if surface and len(surface.faces) else []


def make_piece(
    surface: Surface, frame: str, matrix: Floats, color: tuple[float, float, float, float] | None = None
) -> Piece:
    """Convert a surface to a piece."""
    chosen = color or PLAIN
    material = Material(chosen, clear=chosen[3] < 0.999)
    patch = Patch(surface.vertices.astype(np.float32), surface.faces.astype(np.uint32), material)
    return Piece(patch, frame, matrix)


def grow_pieces(model: Model, frames: frozenset[str] | set[str]) -> list[Piece]:
    """Return flesh around the rigid parts of these frames."""
    from poise.pictures.body.flesh import grow_flesh

    parts = find_rigid_parts(model)
    wanted = {parts[frame] for frame in frames}
    grown = grow_flesh(model, {part for part in parts.values() if part not in wanted}) if wanted else ()
    return [make_piece(part.surface, part.frame, np.eye(4)) for part in grown]


def sample_extremes(piece: Piece) -> Piece:
    """Return the piece with only the outermost vertices of each frame that moves it, enough for its bounds."""
    points = np.asarray(piece.patch.vertices, np.float64)
    if piece.skin is None:
        rows = np.unique(np.argmax(points @ DIRECTIONS.T, axis=0))
    else:
        first = np.take_along_axis(
            piece.skin.joints, np.argmax(piece.skin.weights, axis=1)[:, None].astype(np.int64), axis=1
        )[:, 0]
        found = [np.flatnonzero(first == k) for k in np.unique(first)]
        rows = np.unique(np.concatenate([own[np.argmax(points[own] @ DIRECTIONS.T, axis=0)] for own in found]))
    return choose_vertices(piece, rows, np.zeros((0, 3), np.int64))
