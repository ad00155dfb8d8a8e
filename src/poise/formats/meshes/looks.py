"""The appearance of a body: `find_look(model)` reads its meshes on first use.

Loading a model opens no mesh. The look is cached with the model, with at most 200,000 triangles. Missing and unreadable
files are reported once in `Look.notes`, with the paths that were searched.
"""

from dataclasses import replace
from pathlib import Path

from poise.errors import FormatError
from poise.files.source import Source
from poise.formats.meshes.cache import MeshCache, place_mesh
from poise.formats.meshes.images import IMAGES, MAX_IMAGE_BYTES, make_texture
from poise.formats.urdf.packages import PackageFinder
from poise.formats.urdf.up_axes import describe_reading, find_turn
from poise.kinematics.seen_shapes import has_visual, list_seen
from poise.model import Mesh, Model
from poise.model.geometry.decimation import MAX_TRIANGLES, split_creases, thin_all
from poise.model.geometry.looks import Look, LookSource, Material, Patch, Piece, Texture
from poise.model.geometry.shapes import Shape
from poise.model.memo import keep_with_model

__all__ = ["find_look", "name_missing_meshes"]

MAX_NOTES = 6
PLAIN = Look()


@keep_with_model
def find_look(model: Model) -> Look:
    """Return the appearance from the body's files; it has no pieces if no mesh is readable."""
    about = model.attachments.look
    if about is None:
        return PLAIN
    if Path(about.path).suffix.lower() in (".glb", ".gltf", ".vrm"):
        return read_character(model, about)
    return read_links(model, about)


def name_missing_meshes(model: Model) -> list[str]:
    """Return a message about missing mesh files, if any; opens no mesh."""
    about = model.attachments.look
    if about is None:
        return []
    finder = PackageFinder(about)
    for shape in list_meshes(model, "any"):
        assert isinstance(shape.shape, Mesh)
        finder.find(shape.shape.path)
    return [finder.describe_missing()] if finder.missing else []


def read_character(model: Model, about: LookSource) -> Look:
    """Read the meshes of a glTF; no pieces if the file is unreadable, and none whose frames the body lacks."""
    from poise.formats.gltf.looks import read_look as read_gltf

    try:
        look = read_gltf(about)
    except FormatError as error:
        return Look(notes=(f"its mesh cannot be drawn: {error.message}",))
    there = set(model.frames)
    whole = [p for p in look.pieces if there.issuperset(p.skin.frames if p.skin else (p.frame,))]
    return thin_look(replace(look, pieces=tuple(whole)))


def thin_look(look: Look) -> Look:
    """Return the look, decimated to at most `MAX_TRIANGLES` triangles."""
    if look.triangles <= MAX_TRIANGLES:
        return look
    return replace(look, pieces=tuple(thin_all(list(look.pieces))), whole=look.triangles)


# ------------------------------------------------------------------------------------------------ links of robots


def read_links(model: Model, about: LookSource) -> Look:
    """Read the meshes on the links of a robot: visual meshes, or collision meshes if those are unreadable."""
    shelf, shown = MeshCache(PackageFinder(about)), bool(list_seen(model))
    pieces: list[Piece] = []
    lost: set[str] = set()
    for shape in list_meshes(model, "visual"):
        found = make_pieces(model, shape, shelf)
        lost |= set() if found else {shape.frame}
        pieces += found
    for shape in list_meshes(model, "collision") if lost or not pieces else ():
        if shape.frame in lost or (shown and not has_visual(model)):
            pieces += make_pieces(model, shape, shelf)
    named = {shape.frame for shape in list_meshes(model, "any") if shown}
    bare = (lost | named) - {piece.frame for piece in pieces}
    kept = bare if not pieces else lost - {piece.frame for piece in pieces}
    notes = [shelf.finder.describe_missing()] if shelf.finder.missing else []
    notes += shelf.troubles[:MAX_NOTES]
    look = thin_look(Look(tuple(pieces), frozenset(kept), tuple(notes), assumed=tuple(describe_reading(model, shelf))))
    return replace(look, pieces=tuple(replace(piece, patch=split_creases(piece.patch)) for piece in look.pieces))


def list_meshes(model: Model, use: str) -> list[Shape]:
    """Return the shapes that are meshes; `use` is "visual", "collision" or "any"."""
    meshes = [shape for shape in model.shapes if isinstance(shape.shape, Mesh)]
    if use == "any":
        return meshes
    return [shape for shape in meshes if (shape.use == "collision") == (use == "collision")]


def make_pieces(model: Model, shape: Shape, shelf: MeshCache) -> list[Piece]:
    """Return the pieces of a mesh on a link; an empty list if it is missing or unreadable."""
    mesh = shape.shape
    assert isinstance(mesh, Mesh)
    file = shelf.open(shape)
    if file is None:
        return []
    matrix = place_mesh(shape) @ find_turn(model, shelf, file)
    texture = open_image(mesh.texture, shelf.finder) if mesh.texture else None
    return [Piece(color_patch(patch, shape, texture), shape.frame, matrix) for patch in file.patches]


def open_image(reference: str, finder: PackageFinder) -> Texture | None:
    """Return the image that a robot's file assigns to a mesh, or None if it is missing or unreadable."""
    path = finder.find(reference, IMAGES)
    try:
        return None if path is None else make_texture(Source.open(path, limit=MAX_IMAGE_BYTES).data)
    except FormatError:
        return None


def color_patch(patch: Patch, shape: Shape, texture: Texture | None = None) -> Patch:
    """Return the patch with the colour and image from the robot's file, which override those of the mesh.

    A mesh without texture coordinates gets the colour only.
    """
    own = patch.material
    painted = texture if patch.uv is not None else None
    if shape.color is not None:
        r, g, b, a = shape.color
        kept = painted or (own.texture if own is not None and r == g == b == 1.0 else None)
        own = Material((r, g, b, a), kept, clear=a < 0.999)
    elif painted is not None:
        own = Material(texture=painted)
    bare = own is None or own.texture is None
    return replace(patch, material=own, uv=None if bare else patch.uv)
