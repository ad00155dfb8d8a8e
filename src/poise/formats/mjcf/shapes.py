"""Conversion of the geoms of a compiled MJCF model to shapes."""

from dataclasses import replace
from typing import Any

import numpy as np

from poise.anatomy.report import is_role_name
from poise.files.source import Source
from poise.formats.mjcf.assets import Assets, MjcfMesh
from poise.formats.mjcf.compiler import list_names, read_text
from poise.formats.mjcf.safe_xml import NO_FILE
from poise.model import Box, Capsule, Cylinder, Mesh, ModelBuilder, Sphere
from poise.model.geometry.shapes import Geometry
from poise.model.spec import FrameSpec
from poise.spatial import Rotation, Transform

__all__ = ["add_shapes", "list_geom_frames"]

NAMES = ("plane", "hfield", "sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh", "sdf")  # mjtGeom
DEFAULT_COLOR = (0.5, 0.5, 0.5, 1.0)
FIRST_HIDDEN_GROUP = 3  # MuJoCo's viewer shows groups 0 to 2
LARGEST = 1e12  # m, limit for all numbers of a geom
COLORED = 2  # the first texture roles (mjtTextureRole) are colours


def add_shapes(m: Any, assets: Assets, builder: ModelBuilder, source: Source, bodies: list[str]) -> None:
    """Add every geom that is a solid or a mesh file; the others are counted in a note.

    A geom in a group that MuJoCo's viewer hides is used for collisions only, even if contact pairs are listed
    explicitly. Any other geom that collides with nothing is visual. In a file with a skin, which is not read, the
    bones below it are drawn: hidden geoms that collide with nothing, or all of them if there are no such geoms.
    """
    left: dict[str, int] = {}
    uses = list_uses(m, assets.skinned)
    for i in range(m.ngeom):
        kind = NAMES[m.geom_type[i]] if m.geom_type[i] < len(NAMES) else "other"
        made = make_mesh(m, assets, i) if kind == "mesh" else make_solid(m, kind, i)
        if made is None:
            left[kind] = left.get(kind, 0) + 1
            continue
        shape, offset = made
        builder.add_shape(bodies[m.geom_bodyid[i]], shape, offset=offset, use=uses[i], color=find_color(m, i))
    if left:
        source.note("geoms without a shape here: " + ", ".join(f"{n} {kind}" for kind, n in left.items()))
    if (m.geom_type == NAMES.index("ellipsoid")).any():
        source.note("ellipsoids became the boxes around them")


def list_geom_frames(m: Any, bodies: list[str], taken: set[str]) -> list[FrameSpec]:
    """List unlisted frames at the centres of the named geoms, without names that have another meaning.

    Feet often exist as geoms only. The centre of a mesh is that of its inertia, as in MuJoCo.
    """
    frames: dict[str, FrameSpec] = {}
    for i, name in enumerate(list_names(m.name_geomadr, m.names)):
        if name and name not in taken and not is_role_name(name) and is_finite(m, i):
            offset = Transform(Rotation(np.array(m.geom_quat[i])), np.array(m.geom_pos[i]))
            spec = FrameSpec.make(name, bodies[m.geom_bodyid[i]], offset)
            frames.setdefault(name, replace(spec, listed=False))
    return list(frames.values())


def make_solid(m: Any, kind: str, i: int) -> tuple[Geometry, Transform] | None:
    """Return a simple solid and its placement; MuJoCo's sizes are radii and half lengths."""
    a, b, c = (float(x) for x in m.geom_size[i])
    shapes: dict[str, Any] = {
        "sphere": lambda: Sphere(a),
        "capsule": lambda: Capsule(a, 2 * b),
        "cylinder": lambda: Cylinder(a, 2 * b),
        "box": lambda: Box((2 * a, 2 * b, 2 * c)),
        "ellipsoid": lambda: Box((2 * a, 2 * b, 2 * c)),
    }
    if kind not in shapes or not is_finite(m, i):
        return None
    return shapes[kind](), Transform(Rotation(np.array(m.geom_quat[i])), np.array(m.geom_pos[i]))


def is_finite(m: Any, i: int) -> bool:
    """Return whether a geom's numbers are finite and below the limit."""
    values = np.concatenate([m.geom_pos[i], m.geom_quat[i], m.geom_size[i]])
    return bool((np.abs(values) < LARGEST).all())


def make_mesh(m: Any, assets: Assets, i: int) -> tuple[Geometry, Transform] | None:
    """Return a mesh file and the placement of its origin.

    The compiler moves vertices v of the file to ``R_ref^T s (v - p_ref)``, then to the centre and principal axes of
    inertia; the geom pose is ``G M`` with M that move, and the origin of the file is ``G R_ref^T T(-s p_ref)``.
    """
    k = int(m.geom_dataid[i])
    start = int(m.mesh_pathadr[k]) if k >= 0 else -1
    if start < 0 or not (np.abs(np.concatenate([m.geom_pos[i], m.geom_quat[i]])) < LARGEST).all():
        return None
    file: MjcfMesh | None = assets.meshes.get(read_text(m.paths, start))
    if file is None or file.path.endswith(NO_FILE):
        return None
    factors = np.array(m.mesh_scale[k], np.float64)
    moved = Transform(Rotation(np.array(m.mesh_quat[k])), np.array(m.mesh_pos[k]))
    geom = Transform(Rotation(np.array(m.geom_quat[i])), np.array(m.geom_pos[i]))
    refpos = np.array(file.refpos.split(), np.float64)
    back = Rotation(np.array(file.refquat.split(), np.float64)).inverse()
    there = geom @ moved.inverse() @ Transform(back, np.zeros(3)) @ Transform(Rotation.identity(), -factors * refpos)
    return Mesh(file.path, tuple(factors), find_texture(m, assets, i)), there


def find_texture(m: Any, assets: Assets, i: int) -> str:
    """Return the image file of a geom's material, or ""."""
    material = int(m.geom_matid[i])
    roles = np.atleast_1d(m.mat_texid[material]) if material >= 0 else np.zeros(0, np.int64)
    textures = [int(k) for k in roles[:COLORED] if k >= 0]
    number = int(m.tex_width[textures[0]]) - 1 if textures else -1
    return assets.textures[number] if 0 <= number < len(assets.textures) else ""


def list_uses(m: Any, skinned: bool) -> list[str]:
    """Return the use of each geom: visual, collision or both."""
    hidden = np.asarray(m.geom_group) >= FIRST_HIDDEN_GROUP
    collides = (np.asarray(m.geom_contype) | np.asarray(m.geom_conaffinity)) != 0
    bones = hidden & ~collides
    if skinned:
        hidden &= ~bones if bones.any() else False
    return [
        "collision" if unseen else "both" if hits else "visual" for unseen, hits in zip(hidden, collides, strict=True)
    ]


def find_color(m: Any, i: int) -> list[float] | None:
    """Return a geom's own colour, or its material's; None if the file gives no colour."""
    own = np.asarray(m.geom_rgba[i], np.float64)
    if not np.allclose(own, DEFAULT_COLOR):
        return own.tolist() if np.isfinite(own).all() else None
    material = int(m.geom_matid[i])
    rgba = np.asarray(m.mat_rgba[material], np.float64) if material >= 0 else None
    return rgba.tolist() if rgba is not None and np.isfinite(rgba).all() else None
