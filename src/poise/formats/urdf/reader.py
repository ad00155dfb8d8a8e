"""The reader of URDF, the Unified Robot Description Format of ROS: links and joints in XML (wiki.ros.org/urdf/XML).

Links become frames, joints keep their names, and a joint's frame is its child link. The parser is our own rather than
yourdfpy or urdfdom: it needs no package, has line numbers, opens no other file, and distinguishes contradictions
(rejected) from oddities (read, with a note).

| in the file | here |
|---|---|
| revolute, continuous, prismatic, fixed | the same |
| floating | free: x y z, then a quaternion wxyz |
| planar | planar, with `axis` as its normal: x, y, angle |
| no `<axis>` | (1, 0, 0), as specified |
| `<mimic>` | a mimic joint; chains are resolved to their leader, in any order of the file |
| `<limit>` missing, or without lower and upper | no range, with a warning; a single missing bound is 0 |
| `<inertial>` | mass, its centre, and its inertia about that centre in the axes of the link |
| `<limit>`, `<dynamics>` | effort, velocity, damping and friction; 0 means that effort or velocity is unknown |
| `<visual>`, `<collision>` | `model.shapes`; a mesh is a reference, as written, opened when the body is drawn |
| `<transmission>`, `<gazebo>`, `<safety_controller>`, ... | ignored |
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

from poise.arrays import Floats
from poise.errors import FormatError, PoiseError, name_not_found
from poise.files.source import Source, parse_numbers, quote, quote_names
from poise.formats.options import ReadOptions, look_source
from poise.formats.plain_values import decode_place
from poise.formats.roles import give_roles, mark_end
from poise.formats.units import add_free_root, adjust_model
from poise.formats.urdf.joints import JointElement, read_joint
from poise.formats.urdf.links import LinkElement, read_link, read_materials
from poise.formats.urdf.srdf import read_disabled_pairs
from poise.formats.urdf.writer import write_model
from poise.formats.urdf.xacro import expand, needs_xacro
from poise.formats.xml import Element, find_root_tag, parse_xml, strip_prefix
from poise.model import Model, ModelBuilder

__all__ = ["NAME", "SUFFIXES", "looks_like", "read_model", "write_model"]

NAME = "URDF"
SUFFIXES = (".urdf", ".xacro")

MAX_LINKS = 20_000
MAX_CHAIN_LENGTH = 1000
MAX_PREFIX_LENGTH = 200
IGNORED = {
    *("transmission", "gazebo", "sensor", "ros2_control", "mujoco", "drake", "material", "group", "group_state"),
    *("disable_collisions", "loop_joint", "plugin", "controller", "preserveFixedJoint", "version", "poise"),
}


def looks_like(head: bytes) -> bool:
    """Return whether a file begins with <robot>."""
    return strip_prefix(find_root_tag(head)) == "robot"


def read_model(source: Source, options: ReadOptions) -> Model:
    """Read the robot of a file.

    Raises:
        FormatError: The file is malformed or contradictory; the message has the line.
        MissingExtra: The file is xacro and reads YAML, but PyYAML is not installed.
    """
    root = parse_xml(source)
    if needs_xacro(source, root):
        try:
            root = expand(source, root, options)
        except FormatError as error:
            if not stands_alone(source, root):
                raise
            source.note_oddity(f"its macros were ignored, with everything they would add ({error.message.rstrip('.')})")
    if strip_prefix(root.tag) != "robot":
        raise source.make_error(
            f"its root is <{root.tag}>{name_other_format(root)}; a URDF begins with <robot>.", root.sourceline
        )
    links, joints = collect(source, root)
    check_tree(source, links, joints)
    joints = {name: with_leader(source, joint, joints) for name, joint in joints.items()}
    check_mimics(source, joints)
    builder = ModelBuilder(read_robot_name(source, root))
    builder.source, builder.notes = source.path, source.notes
    builder.look = look_source(source, options)
    builder.disabled_pairs = read_disabled_pairs(source, builder.name, links, options)
    children = {joint.child for joint in joints.values()}
    base = next(link for name, link in links.items() if name not in children)
    builder.add_frame(base.name, None, mass=base.mass, center=base.center, inertia=base.inertia)
    for joint in joints.values():
        call_with_line(source, joint.line, joint.add_to, builder, links[joint.child])
    for link in links.values():
        for shape in link.shapes:
            call_with_line(source, shape.line, builder.add_shape, link.name, **shape.arguments)
    read_extension(builder, root, source)
    try:
        model = builder.build()
        warn_of_held_leaders(source, model, joints)
        if options.base == "free":
            model = free_base(model, source)
        return give_roles(adjust_model(model, options, source), source)
    except FormatError:
        raise
    except PoiseError as error:
        raise source.make_error(str(error), find_line(error, joints)) from error


def stands_alone(source: Source, root: Element) -> bool:
    """Return whether the file is valid without its macros: a .urdf with links, and no expressions in attributes."""
    named = Path(source.path).suffix.lower() == ".urdf"
    plain = [element for element in root.iter() if not element.tag.startswith("xacro:")]
    formulas = any("${" in value or "$(" in value for element in plain for value in element.attrib.values())
    return named and not formulas and any(element.tag == "link" for element in root)


def name_other_format(root: Element) -> str:
    """Return the likely format of a file with another root element, for the error message."""
    known = {"mujoco": "MJCF; call it .xml", "sdf": "SDF, which is not read", "COLLADA": "a mesh", "html": "a web page"}
    tag = strip_prefix(root.tag)
    return f" ({known[tag]})" if tag in known else ""


def read_robot_name(source: Source, root: Element) -> str:
    """Return the robot's name, or the name of the file."""
    name = root.get("name", "")
    if name.strip():
        return name
    stem = Path(source.path).stem or "robot"
    source.note_oddity(f"<robot> has no name; it is called {stem!r} after its file", root.sourceline)
    return stem


def collect(source: Source, root: Element) -> tuple[dict[str, LinkElement], dict[str, JointElement]]:
    """Return all links and joints by name; unknown elements are noted, those of other programs ignored."""
    if (prefix := root.tag[: -len("robot")]) != "":  # the whole file is in one namespace
        for element in root.iter():
            element.tag = element.tag.removeprefix(prefix)
    materials = read_materials(source, root)
    links: dict[str, LinkElement] = {}
    joints: dict[str, JointElement] = {}
    for element in root:
        tag = element.tag
        if tag == "link":
            link = read_link(source, element, materials)
            if link.name in links:
                raise source.make_error(f"two links are called {link.name!r}; rename one.", element.sourceline)
            links[link.name] = link
        elif tag == "joint":
            joint = read_joint(source, element)
            if joint.name in joints:
                raise source.make_error(f"two joints are called {joint.name!r}; rename one.", element.sourceline)
            joints[joint.name] = joint
        elif strip_prefix(tag) == "include":
            source.note_oddity(f"<{tag}> was not followed: a URDF is one file", element.sourceline)
        elif tag not in IGNORED and ":" not in tag:
            source.note_oddity(f"<{quote(tag)[1:-1]}> is not part of URDF; it was ignored", element.sourceline)
    if not links:
        macros = any("macros were expanded" in note for note in source.notes)
        hint = " Its macros make none; load the file that calls them." if macros else ""
        if source.path.lower().endswith(".srdf"):
            hint = " An SRDF belongs to a URDF: load that one; an SRDF next to it is read too."
        raise source.make_error(f"has no <link>; a robot needs at least one.{hint}", root.sourceline)
    if len(links) > MAX_LINKS:
        raise source.make_error(f"has {len(links)} links; at most {MAX_LINKS} are read.")
    return links, joints


def check_tree(source: Source, links: dict[str, LinkElement], joints: dict[str, JointElement]) -> None:
    """Raise `FormatError` unless there is one root and exactly one joint above every other link."""
    carried: dict[str, JointElement] = {}
    for joint in joints.values():
        for role, name in (("parent", joint.parent), ("child", joint.child)):
            if name not in links:
                reason = str(name_not_found("link", name, links))
                raise source.make_error(f"joint {joint.name!r}: its {role} is missing: {reason}", joint.line)
        if joint.child == joint.parent:
            raise source.make_error(f"joint {joint.name!r} joins link {joint.child!r} to itself.", joint.line)
        if joint.child in carried:
            other = carried[joint.child].name
            message = f"link {joint.child!r} has two parent joints, {other!r} and {joint.name!r}; URDF is a tree."
            raise source.make_error(f"{message} Remove one of them.", joint.line)
        carried[joint.child] = joint
    reject_loops(source, carried)
    roots = [name for name in links if name not in carried]
    if len(roots) > 1:
        message = f"has {len(roots)} roots, links that no joint carries: {quote_names(roots)}."
        raise source.make_error(f"{message} Join them to one.", links[roots[1]].line)


def reject_loops(source: Source, carried: dict[str, JointElement]) -> None:
    """Raise `FormatError` if a link has no path to a root; `carried` maps each link to its joint."""
    sound: set[str] = set()
    for start in carried:
        way: dict[str, JointElement] = {}
        at = start
        while at in carried and at not in sound and at not in way:
            way[at] = carried[at]
            at = carried[at].parent
        if at in way:
            loop = list(way.values())[list(way).index(at) :]
            message = f"the joints {quote_names(joint.name for joint in loop)} form a loop. URDF must be a tree."
            raise source.make_error(f"{message} Remove one of them.", min(joint.line for joint in loop))
        sound.update(way)


def with_leader(source: Source, joint: JointElement, joints: dict[str, JointElement]) -> JointElement:
    """Return the joint, after checking that the leader of its mimic exists.

    Robots are assembled from parts with a name prefix, and some exporters omit it in a mimic. If the follower's own
    prefix completes the leader's name, that joint is used, with a warning.
    """
    leader, ratio, offset = joint.arguments.get("mimic", ("", 1.0, 0.0))
    if not leader or leader in joints:
        return joint
    own = joint.name
    meant = [
        name
        for k in range(1, min(len(own), MAX_PREFIX_LENGTH) + 1)
        if (name := own[:k] + leader) in joints and name != own
    ]
    if len(meant) != 1:
        reason = str(name_not_found("joint", leader, joints))
        raise source.make_error(f"joint {joint.name!r} mimics a joint that is missing: {reason}", joint.line)
    source.note_oddity(
        f"joint {joint.name!r} mimics {leader!r}, which does not exist; it was read as {meant[0]!r}", joint.line
    )
    return replace(joint, arguments={**joint.arguments, "mimic": (meant[0], ratio, offset)})


def check_mimics(source: Source, joints: dict[str, JointElement]) -> None:
    """Raise `FormatError` for mimic loops, and for chains so long that resolving them takes quadratic time."""
    depth: dict[str, int] = {}
    for start, joint in joints.items():
        walk: list[str] = []
        at = start
        while at not in depth and "mimic" in joints[at].arguments:
            depth[at] = -1  # being visited
            walk.append(at)
            at = joints[at].arguments["mimic"][0]
        if depth.get(at) == -1:
            raise source.make_error(f"joint {start!r}: its mimic chain is a loop through {at!r}.", joint.line)
        for steps, name in enumerate(reversed(walk), depth.get(at, 0) + 1):
            depth[name] = steps
            if steps > MAX_CHAIN_LENGTH:
                raise source.make_error(
                    f"joint {name!r} is the end of a chain of {steps} mimics; at most {MAX_CHAIN_LENGTH}."
                )


def free_base(model: Model, source: Source) -> Model:
    """Return the robot with a free root joint; unchanged if the file has one."""
    out = add_free_root(model)
    if out is model:
        source.note("the file has a floating joint of its own; no other was added")
    return out


def read_extension(builder: ModelBuilder, root: Element, source: Source) -> None:
    """Read roles, named poses, disabled pairs, closures, the up axis and units from Poise's own ``<poise>`` element."""
    for element in root.iterfind("poise"):
        builder.up, builder.units = element.get("up", "z"), element.get("units", "m")
    for element in root.iterfind("poise/*"):
        assert isinstance(element, Element)
        line, name = element.sourceline, element.get("name", "")
        if element.tag == "role":
            frame, point = element.get("frame", ""), element.get("point")
            if point is not None:
                place = parse_numbers(point, 3, f"role {name!r}", source, line)
                call_with_line(source, line, add_end, builder, name, frame, place)
                frame = name
            call_with_line(source, line, builder.add_role, name, frame)
        elif element.tag == "disabled_pairs" and builder.disabled_pairs is None:
            builder.disabled_pairs = tuple((pair.get("link1", ""), pair.get("link2", "")) for pair in element)
        elif element.tag == "pose":
            q = parse_numbers(element.get("q", ""), None, f"pose {name!r}", source, line)
            call_with_line(source, line, builder.add_pose, name, q)
        elif element.tag == "closure":
            where, names = f"closure {name!r}", (element.get("frame", ""), element.get("other", ""))
            numbers = parse_numbers(element.get("transform", ""), None, where, source, line)
            at = parse_numbers(element.get("point", "0 0 0"), 3, where, source, line)
            call_with_line(source, line, builder.add_closure, *names, decode_place(numbers), point=at)


def add_end(builder: ModelBuilder, role: str, frame: str, point: Floats) -> None:
    """Add the end of a limb, at a point of a frame, named by its role."""
    builder.extend([mark_end(role, frame, point)])


def call_with_line(source: Source, line: int, call: Any, *args: Any, **kwargs: Any) -> None:
    """Call a function; errors of the builder are raised with the line of the file."""
    try:
        call(*args, **kwargs)
    except FormatError:
        raise
    except PoiseError as error:
        raise source.make_error(str(error), line) from error


def warn_of_held_leaders(source: Source, model: Model, joints: dict[str, JointElement]) -> None:
    """Note leaders that the ranges of their mimic joints restrict to a single value: valid, but rarely intended."""
    for leader in dict.fromkeys(joint.mimic.joint for joint in model.joints if joint.mimic):
        joint, at = joints[leader], model.joint(leader).v.start
        lower, upper = (joint.arguments.get(side) for side in ("lower", "upper"))
        if model.lower[at] == model.upper[at] and (lower is None or lower != upper):
            words = f"joint {leader!r} can only be {model.lower[at] + 0.0:g}"
            source.note_oddity(f"{words}: the ranges of its mimic joints allow no other value", joint.line)


def find_line(error: PoiseError, joints: dict[str, JointElement]) -> int | None:
    """Return the line of the joint named in an error, or None."""
    text = str(error)
    return next((joint.line for name, joint in joints.items() if f"joint {name!r}" in text), None)
