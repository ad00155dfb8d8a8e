"""The link elements of a URDF: mass, shapes and colours; and parsing of origins and names, shared with joints."""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from poise.arrays import Floats
from poise.errors import PoiseError
from poise.files.source import MAX_NAME_LENGTH, Source, parse_number, parse_numbers, quote
from poise.formats.units import turn_inertia
from poise.formats.xml import Element
from poise.model import Box, Capsule, Cylinder, Mesh, Sphere
from poise.spatial import Rotation, Transform

__all__ = ["LinkElement", "ShapeElement", "read_link", "read_materials", "read_origin"]

MAX_METRES = 1e9
INERTIA = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
FOREIGN = {
    *("visual", "collision", "meta", "verbose", "use_parent_model_frame", "capsule", "texture", "limit", "dynamics"),
    *("gazebo", "sensor", "material", "contact", "self_collision_checking", "collision_checking", "verbose"),
    *("contact_coefficients", "mujoco", "property", "audio_source", "laplacian", "velocity_decay", "origin"),
    *("kinematic", "gravity", "surface", "self_filter", "self_collide"),
}
FIRST_COUNTS = ("material",)  # exporters write one per part of a mesh, and every program uses the first
Color = tuple[float, ...]
IDENTITY = Transform.identity()


@dataclass(frozen=True, slots=True)
class ShapeElement:
    """A visual or collision shape: the arguments of `ModelBuilder.add_shape`, and its line."""

    line: int
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class LinkElement:
    """A link element."""

    name: str
    line: int
    mass: float
    center: tuple[float, ...]
    inertia: Floats | None
    shapes: tuple[ShapeElement, ...]


# ------------------------------------------------------------------------------------------------ shared parsers


def read_required(source: Source, element: Element, key: str, where: str) -> str:
    """Return an attribute; raise `FormatError` if it is missing or empty."""
    value = element.get(key)
    if value is None or not value.strip():
        has = "is empty" if value is not None else "is missing"
        raise source.make_error(f"{where}: {key}= {has} in <{element.tag}>.", element.sourceline)
    if key in ("name", "link", "joint") and len(value) > MAX_NAME_LENGTH:
        raise source.make_error(
            f"a <{element.tag}>: {key}= has {len(value)} letters; give it a name.", element.sourceline
        )
    if key in ("name", "link", "joint") and value != value.strip():
        message = f"{where}: {key}={quote(value)} in <{element.tag}> has blanks around it; they were taken off"
        source.note_oddity(message, element.sourceline)
        return value.strip()
    return value


def list_children(
    source: Source, element: Element, where: str, known: Collection[str], foreign: Collection[str]
) -> dict[str, Element]:
    """Return the children by tag; raise `FormatError` if a tag is repeated with different content.

    Tags in `foreign` and in namespaces belong to other programs and are ignored; unknown ones are noted.
    """
    found: dict[str, Element] = {}
    for child in element:
        tag = child.tag
        if tag not in known:
            if tag not in foreign and ":" not in tag:
                source.note_oddity(
                    f"{where}: <{quote(tag)[1:-1]}> is not part of URDF; it was ignored", child.sourceline
                )
        elif found.setdefault(tag, child) is not child:
            if tag in FIRST_COUNTS:
                source.note_oddity(f"some elements have several <{tag}>; the first of each counts")
                continue
            if child.attrib != found[tag].attrib or len(child) or len(found[tag]):
                raise source.make_error(f"{where} has two <{tag}> that differ; keep one.", child.sourceline)
            source.note_oddity(f"{where} has the same <{tag}> twice; one was read", child.sourceline)
    return found


def read_origin(source: Source, child: Element | None, where: str) -> Transform:
    """Read ``<origin xyz rpy>``: R = Rz(yaw) Ry(pitch) Rx(roll), rotations about fixed x, then y, then z."""
    if child is None:
        return IDENTITY
    line = child.sourceline
    xyz = parse_numbers(child.get("xyz", "0 0 0"), 3, f"{where}: origin xyz", source, line)
    if max(map(abs, xyz)) > MAX_METRES:
        raise source.make_error(f"{where}: its origin is {quote(child.get('xyz', ''))}, farther than any body.", line)
    if "quat_xyzw" in child.attrib:
        if "rpy" in child.attrib:
            raise source.make_error(f"{where}: its origin has both rpy and quat_xyzw; keep one.", line)
        x, y, z, w = parse_numbers(child.attrib["quat_xyzw"], 4, f"{where}: origin quat_xyzw", source, line)
        size = math.hypot(x, y, z, w)
        if not 0.5 < size < 2.0:
            raise source.make_error(f"{where}: its origin's quaternion has length {size:g}; it must be 1.", line)
        return Transform(Rotation([w / size, x / size, y / size, z / size]), xyz)
    if "rpy" not in child.attrib:
        return Transform.from_valid(Rotation.identity(), np.array(xyz))
    rpy = parse_numbers(child.attrib["rpy"], 3, f"{where}: origin rpy", source, line)
    return Transform.from_valid(turn(*rpy), np.array(xyz))


def turn(roll: float, pitch: float, yaw: float) -> Rotation:
    """Return Rz(yaw) Ry(pitch) Rx(roll)."""
    if roll == pitch == yaw == 0.0:
        return Rotation.identity()
    cr, sr = math.cos(roll / 2), math.sin(roll / 2)
    cp, sp = math.cos(pitch / 2), math.sin(pitch / 2)
    cy, sy = math.cos(yaw / 2), math.sin(yaw / 2)
    wxyz = np.array(
        [
            cr * cp * cy + sr * sp * sy,
            sr * cp * cy - cr * sp * sy,
            cr * sp * cy + sr * cp * sy,
            cr * cp * sy - sr * sp * cy,
        ]
    )
    return Rotation.from_valid(wxyz / math.sqrt(float(wxyz @ wxyz)))


# ------------------------------------------------------------------------------------------------ links


def read_link(source: Source, element: Element, materials: Mapping[str, Color]) -> LinkElement:
    """Read the link of an element.

    Raises:
        FormatError: The name is missing, the mass is negative, or a size or number is invalid.
    """
    name = read_required(source, element, "name", "a link")
    where = f"link {name!r}"
    inertial = list_children(source, element, where, ("inertial",), FOREIGN).get("inertial")
    mass, center, inertia = (0.0, (0.0,) * 3, None) if inertial is None else read_inertial(source, inertial, where)
    shapes = []
    for child in element:
        if child.tag in ("visual", "collision"):
            shapes += read_shapes(source, child, f"a <{child.tag}> of {where}", materials)
    return LinkElement(name, element.sourceline, mass, center, inertia, tuple(shapes))


def read_inertial(source: Source, inertial: Element, where: str) -> tuple[float, tuple[float, ...], Floats]:
    """Return the mass [kg], the centre of mass [m], and the inertia about it in the axes of the link [kg m^2]."""
    inside = list_children(source, inertial, f"the <inertial> of {where}", ("origin", "mass", "inertia"), FOREIGN)
    origin = read_origin(source, inside.get("origin"), f"the <inertial> of {where}")
    x, y, z = origin.translation.tolist()
    inertia = turn_inertia(read_inertia(source, inside.get("inertia"), where), origin.rotation)
    if (element := inside.get("mass")) is None:
        source.note_oddity(f"{where} has an <inertial> without <mass>; it was read as 0 kg", inertial.sourceline)
        return 0.0, (x, y, z), inertia
    text = read_required(source, element, "value", f"the <mass> of {where}")
    mass = parse_number(text, f"{where}: mass", source, element.sourceline)
    if mass < 0.0:
        raise source.make_error(f"{where} has the mass {mass:g} kg; it must be zero or more.", element.sourceline)
    if mass > 1e12:
        raise source.make_error(f"{where} has the mass {mass:g} kg, more than any body.", element.sourceline)
    return mass, (x, y, z), inertia


def read_inertia(source: Source, element: Element | None, where: str) -> Floats:
    """Read the matrix of an <inertia>; missing moments are 0."""
    matrix = np.zeros((3, 3))
    for key in INERTIA:
        if element is not None and key in element.attrib:
            i, k = "xyz".index(key[1]), "xyz".index(key[2])
            moment = parse_number(element.attrib[key], f"{where}: {key}", source, element.sourceline)
            matrix[i, k] = matrix[k, i] = moment
            if moment < 0.0 and i == k:
                source.note_oddity(f"{where} has a negative {key}, which is impossible; it is kept", element.sourceline)
    return matrix


# ------------------------------------------------------------------------------------------------ shapes


def read_materials(source: Source, root: Element) -> dict[str, Color]:
    """Read all named colours of the file; the first of each name is used."""
    out: dict[str, Color] = {}
    for element in root.iter("material"):
        assert isinstance(element, Element)
        name = element.get("name", "")
        if name and name not in out and (color := read_color(source, element)) is not None:
            out[name] = color
    return out


def read_color(source: Source, material: Element) -> Color | None:
    """Read the colour of a material, or None."""
    color = material.find("color")
    if color is None or "rgba" not in color.attrib:
        return None
    assert isinstance(color, Element)
    numbers = parse_numbers(color.attrib["rgba"], None, "a material's rgba", source, color.sourceline)
    if len(numbers) not in (3, 4):
        raise source.make_error(f"a material's rgba has {len(numbers)} numbers; it must have 4.", color.sourceline)
    return tuple(numbers)


def read_shapes(source: Source, element: Element, where: str, materials: Mapping[str, Color]) -> list[ShapeElement]:
    """Read the shape of a <visual> or <collision>; an empty list if its geometry is unknown."""
    inside = list_children(source, element, where, ("origin", "geometry", "material"), FOREIGN)
    geometry = find_geometry(source, element, inside.get("geometry"), where)
    solid = None if geometry is None else read_solid(source, geometry, where)
    if solid is None:
        return []
    color, material = None, inside.get("material")
    if material is not None:
        color = read_color(source, material) or materials.get(material.get("name", ""))
    offset = read_origin(source, inside.get("origin"), where)
    arguments = {"shape": solid, "offset": offset, "use": element.tag, "color": color}
    return [ShapeElement(element.sourceline, arguments)]


def find_geometry(source: Source, element: Element, geometry: Element | None, where: str) -> Element | None:
    """Return the first element inside <geometry>, or None."""
    inside = [child for child in geometry if ":" not in child.tag] if geometry is not None else []
    if not inside:
        source.note_oddity(f"{where} has no geometry; it was ignored", element.sourceline)
        return None
    if len(inside) > 1:
        source.note_oddity(f"{where} has {len(inside)} geometries; only <{inside[0].tag}> was read", element.sourceline)
    return inside[0]


def read_solid(source: Source, element: Element, where: str) -> Box | Capsule | Cylinder | Mesh | Sphere | None:
    """Read a box, cylinder, sphere, capsule or mesh; None for other elements."""
    line = element.sourceline

    def number(key: str) -> float:
        return parse_number(read_required(source, element, key, where), f"{where}: {key}", source, line)

    def triple(text: str, key: str) -> tuple[float, float, float]:
        x, y, z = parse_numbers(text, 3, f"{where}: {key}", source, line)
        return x, y, z

    try:
        if element.tag == "box":
            return Box(triple(read_required(source, element, "size", where), "size"))
        if element.tag == "cylinder":
            return Cylinder(number("radius"), number("length"))
        if element.tag == "sphere":
            return Sphere(number("radius"))
        if element.tag == "capsule":
            return Capsule(number("radius"), number("length"))
        if element.tag == "mesh":
            return Mesh(read_required(source, element, "filename", where), read_mesh_scale(element, triple))
    except PoiseError as error:
        raise source.make_error(f"{where}: {error}", line) if not hasattr(error, "path") else error from error
    source.note_oddity(f"{where} is a <{quote(element.tag)[1:-1]}>, which URDF does not have; it was ignored", line)
    return None


def read_mesh_scale(element: Element, triple: Any) -> Any:
    """Return the scale of a mesh: three numbers, or one number for all axes."""
    text = element.get("scale", "1 1 1")
    return triple(" ".join([text] * 3) if len(text.split()) == 1 else text, "scale")
