"""The joint elements of a URDF, checked, with their line numbers."""

import math
from dataclasses import dataclass
from typing import Any

from poise.files.source import Source, parse_number, parse_numbers, quote
from poise.formats.urdf.links import MAX_METRES, LinkElement, list_children, read_origin, read_required
from poise.formats.xml import Element
from poise.model import ModelBuilder
from poise.spatial import Transform

__all__ = ["JointElement", "read_joint"]

KINDS = {
    "revolute": "revolute",
    "continuous": "continuous",
    "prismatic": "prismatic",
    "fixed": "fixed",
    "floating": "free",
    "planar": "planar",
    "spherical": "ball",  # Bullet's; not in the specification
}
KNOWN = {"origin", "parent", "child", "axis", "limit", "mimic", "dynamics", "calibration", "safety_controller", "poise"}
FOREIGN = {"gazebo", "sensor", "property", "hardwareInterface", "mujoco", "transmission", "loop_joint", "visual"}
NUMBERS = {
    "limit": ("lower", "upper", "effort", "velocity"),
    "dynamics": ("damping", "friction"),
    "safety_controller": ("soft_lower_limit", "soft_upper_limit", "k_position", "k_velocity"),
    "calibration": ("rising", "falling"),
    "mimic": ("multiplier", "offset"),
}


@dataclass(frozen=True, slots=True)
class JointElement:
    """A joint element, with the arguments of `ModelBuilder.add_joint`."""

    name: str
    kind: str
    parent: str
    child: str
    offset: Transform
    line: int
    arguments: dict[str, Any]

    def add_to(self, builder: ModelBuilder, link: LinkElement) -> None:
        """Add the joint and its child link to the builder."""
        builder.add_joint(
            self.name,
            self.parent,
            self.kind,
            frame=self.child,
            offset=self.offset,
            mass=link.mass,
            center=link.center,
            inertia=link.inertia,
            **self.arguments,
        )


def read_joint(source: Source, element: Element) -> JointElement:
    """Read the joint of an element.

    Raises:
        FormatError: An attribute is missing, a number is invalid, the axis is zero, or lower is above upper.
    """
    line = element.sourceline
    name = read_required(source, element, "name", "a joint")
    where = f"joint {name!r}"
    inside = list_children(source, element, where, KNOWN, FOREIGN)
    kind = read_kind(source, element, where)
    numbers = {tag: read_numbers(source, inside[tag], where) for tag in NUMBERS if tag in inside}
    arguments: dict[str, Any] = {}
    if kind in ("revolute", "continuous", "prismatic", "planar"):
        arguments["axis"] = read_axis(source, inside.get("axis"), where)
    elif "axis" in inside and "xyz" in inside["axis"].attrib:  # unused, but checked
        parse_numbers(inside["axis"].attrib["xyz"], 3, f"{where}: axis", source, inside["axis"].sourceline)
    limit = numbers.get("limit", {})
    arguments |= read_drive(source, line, {**limit, **numbers.get("dynamics", {})}, where)
    if kind in ("revolute", "prismatic"):
        arguments["lower"], arguments["upper"] = read_range(source, line, limit, kind, where)
    elif kind == "continuous" and any(limit.get(side) for side in ("lower", "upper")):
        source.note_oddity(
            f"{where} is continuous and has a range; a continuous joint has none, so it was ignored", line
        )
    if "mimic" in inside:
        arguments.update(read_mimic(source, inside["mimic"], numbers["mimic"], kind, where))
    if "poise" in inside:
        arguments.update(read_extension(source, inside["poise"], where))
    for tag in ("parent", "child"):
        if tag not in inside:
            raise source.make_error(f"{where} has no <{tag}>; write <{tag} link=.../>.", line)
    parent = read_required(source, inside["parent"], "link", f"the <parent> of {where}")
    child = read_required(source, inside["child"], "link", f"the <child> of {where}")
    return JointElement(name, kind, parent, child, read_origin(source, inside.get("origin"), where), line, arguments)


def read_kind(source: Source, element: Element, where: str) -> str:
    """Return the Poise kind of the joint's type."""
    given = read_required(source, element, "type", where)
    tidy = given.strip().lower()
    if tidy not in KINDS:
        known = ", ".join(list(KINDS)[:6])
        raise source.make_error(f"{where} has the type {quote(given)}; it must be one of {known}.", element.sourceline)
    if tidy != given:
        source.note_oddity(f"{where} has the type {quote(given)}; it was read as {tidy!r}", element.sourceline)
    return KINDS[tidy]


def read_numbers(source: Source, element: Element, where: str) -> dict[str, float]:
    """Read the numeric attributes of a child element of the joint."""
    tag, given = element.tag, element.attrib
    return {
        key: parse_number(given[key], f"{where}: {tag} {key}", source, element.sourceline)
        for key in NUMBERS[tag]
        if key in given
    }


def read_axis(source: Source, element: Element | None, where: str) -> tuple[float, float, float]:
    """Read the axis; the default is (1, 0, 0)."""
    if element is None:
        return 1.0, 0.0, 0.0
    if "xyz" not in element.attrib:
        source.note_oddity(f"{where} has an <axis> without xyz; it was read as 1 0 0", element.sourceline)
        return 1.0, 0.0, 0.0
    x, y, z = parse_numbers(element.attrib["xyz"], 3, f"{where}: axis", source, element.sourceline)
    if x == y == z == 0.0:
        raise source.make_error(f"{where}: its axis is zero; give a direction such as 0 0 1.", element.sourceline)
    length = math.hypot(x, y, z)
    if not abs(length - 1.0) < 1e-3:
        source.note(f"{where}: its axis has length {length:.6g}; it was normalised", element.sourceline)
    return x, y, z


def read_range(
    source: Source, line: int, limit: dict[str, float], kind: str, where: str
) -> tuple[float | None, float | None]:
    """Return the lower and upper bound: None if both are missing, 0 for a single missing one."""
    if "lower" not in limit and "upper" not in limit:
        source.note_oddity(f"{where} is {kind} without lower and upper; it was read as unlimited", line)
        return None, None
    for side in ("lower", "upper"):
        if side not in limit:
            source.note_oddity(f"{where} has no {side} limit; it was read as 0, as specified", line)
    lower, upper = limit.get("lower", 0.0), limit.get("upper", 0.0)
    if lower > upper:
        raise source.make_error(f"{where}: its lower limit {lower:g} is above its upper {upper:g}; swap them.", line)
    if kind == "prismatic" and max(abs(lower), abs(upper)) > MAX_METRES:
        source.note_oddity(f"{where} slides from {lower:g} to {upper:g} m; it was read as unlimited", line)
        return None, None
    return lower, upper


def read_drive(source: Source, line: int, given: dict[str, float], where: str) -> dict[str, float]:
    """Return effort, velocity, damping and friction; exporters write 0 for an unknown effort or velocity."""
    out = {key: given[key] for key in ("effort", "velocity", "damping", "friction") if given.get(key, 0.0) != 0.0}
    for key in [key for key, value in out.items() if value < 0.0]:
        source.note_oddity(f"{where} has a negative {key}, {out.pop(key):g}; it was ignored", line)
    if "effort" in given and (given["effort"] == 0.0 or given.get("velocity") == 0.0):
        source.note("an effort or velocity of 0 was read as unknown")
    return out


def read_mimic(
    source: Source, element: Element, numbers: dict[str, float], kind: str, where: str
) -> dict[str, tuple[str, float, float]]:
    """Read the mimic: value = multiplier * leader + offset."""
    leader = read_required(source, element, "joint", f"the <mimic> of {where}")
    if kind == "fixed":
        source.note(f"{where} is fixed and mimics {leader!r}; it stays fixed", element.sourceline)
        return {}
    return {"mimic": (leader, numbers.get("multiplier", 1.0), numbers.get("offset", 0.0))}


def read_extension(source: Source, element: Element, where: str) -> dict[str, Any]:
    """Read the rest value, stiffness, armature, absent bounds and lock from Poise's own ``<poise>`` element."""
    line, given = element.sourceline, element.attrib
    out: dict[str, Any] = {side: None for side in ("lower", "upper") if given.get(side) == "none"}
    if "rest" in given:
        out["rest"] = parse_numbers(given["rest"], None, f"{where}: rest", source, line)
    if "stiffness" in given:
        out["stiffness"] = parse_number(given["stiffness"], f"{where}: stiffness", source, line)
    if "armature" in given:
        out["armature"] = parse_number(given["armature"], f"{where}: armature", source, line)
    if given.get("locked") == "true":
        out["locked"] = True
    return out
