"""The reader of glTF files: the body, and a clip as a motion of that body."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from poise.anatomy.bone_names.matcher import find_bone_roles
from poise.arrays import Floats
from poise.errors import FormatError, PoiseError
from poise.files.source import Source
from poise.formats.gltf.accessors import check_layout
from poise.formats.gltf.body import NodeJoint, add_joints, choose_kinds, make_joints
from poise.formats.gltf.clips import (
    AnimationChannel,
    GltfAnimation,
    Keyframes,
    choose_clip,
    read_clips,
    read_keys,
    sample,
)
from poise.formats.gltf.document import Document, read_document, read_own_extras
from poise.formats.gltf.frame_times import find_frame_times
from poise.formats.gltf.nodes import GltfNode, find_nearest_turn, find_world_matrices, read_nodes
from poise.formats.gltf.skins import SkinJoints, read_bones, read_skins
from poise.formats.options import ReadOptions, look_source
from poise.formats.quaternions import steady_signs
from poise.formats.roles import give_roles
from poise.formats.units import UNIT_NAMES, guess_unit
from poise.kinematics import Motion
from poise.model import Model, ModelBuilder
from poise.model.attachments import UNITS
from poise.spatial import Rotation

__all__ = ["Character", "read_body", "read_model", "read_motion"]


HARMLESS = (
    *("KHR_materials", "KHR_texture", "KHR_draco", "KHR_mesh", "KHR_lights", "KHR_xmp", "KHR_node_visibility"),
    *("EXT_texture", "EXT_meshopt", "EXT_mesh", "EXT_lights", "EXT_instance", "MSFT_", "VRM"),
)
"""Extensions by their first letters that a file may require: they are about looks, bytes that are checked, or VRM."""


@dataclass(frozen=True, slots=True)
class Character:
    """The content of a file.

    Attributes:
        document: The file.
        options: The read options, with a numeric scale.
        limbs: Every node as a joint, in the file's order.
        order: The node indices, parents first.
        skins: The skins.
        bones: The node index of each VRM bone, by bone name.
        clips: The animations.
        units: The unit of its lengths after reading.
    """

    document: Document
    options: ReadOptions
    limbs: list[NodeJoint]
    order: list[int]
    skins: list[SkinJoints]
    bones: dict[str, int]
    clips: list[GltfAnimation]
    units: str


def read_model(source: Source, options: ReadOptions) -> Model:
    """Read the body of a glTF, GLB or VRM file.

    Raises:
        FormatError: The file is malformed; the message names the element.
    """
    return build(read_body(source, options))


def read_body(source: Source, options: ReadOptions) -> Character:
    """Read the nodes, skins, bones and animations of a file."""
    document = read_document(source)
    check_layout(document)
    nodes, order = read_nodes(document)
    skins, bones, clips = read_skins(document), read_bones(document), read_clips(document)
    core = {joint for skin in skins for joint in skin.joints} | set(bones.values())
    kinds, roots = choose_kinds(document, nodes, order, core, clips)
    up = options.up or read_up(document)
    scale, units = choose_scale(document, find_extent(nodes, order, core), options)
    options = replace(options, up=up, scale=scale)
    limbs = make_joints(document, nodes, order, kinds, roots, options)
    add_notes(document, skins, bones, clips, options)
    return Character(document, options, limbs, order, skins, bones, clips, units)


def build(body: Character) -> Model:
    """Build the model, with the bind pose, the roles of bones, and all notes so far."""
    source, limbs = body.document.source, body.limbs
    body.document.report_oddities()
    builder = ModelBuilder(Path(source.path).stem or "character")
    builder.source, builder.up = source.path, body.options.up or "y"
    builder.look = look_source(source, body.options) if body.document.read_items("meshes") else None
    builder.units = body.units
    try:
        add_joints(builder, limbs, body.order)
        bind = find_bind_pose(limbs, body.order, body.skins)
        if bind is not None:
            builder.add_pose("bind", bind)
        for role, node in read_roles(body.bones).items():
            builder.add_role(role, limbs[node].name)
        builder.notes.extend(source.notes)
        return give_roles(builder.build(), source)
    except FormatError:
        raise
    except PoiseError as error:
        raise source.make_error(f"its nodes are not a valid body: {error}") from error


def read_roles(bones: dict[str, int]) -> dict[str, int]:
    """Return the node index of each role, from the bones that a VRM names; the first bone of a role is used."""
    roles: dict[str, int] = {}
    for bone, node in bones.items():
        for role in find_bone_roles("VRM", bone):
            roles.setdefault(role, node)
    return roles


def find_extent(nodes: list[GltfNode], order: list[int], core: set[int]) -> float:
    """Return the largest extent of the bones in the file's unit; of all nodes if the file has no bones."""
    with np.errstate(all="ignore"):
        places = find_world_matrices(nodes, order)[sorted(core) or slice(None), :3, 3]
        return float(np.nan_to_num((places.max(axis=0) - places.min(axis=0)).max(), posinf=0.0))


def choose_scale(document: Document, extent: float, options: ReadOptions) -> tuple[float, str]:
    """Return the scale in metres per unit, guessed for "auto", and the unit of the lengths after reading."""
    source, up, stated = document.source, read_up(document), read_units(document)
    if options.scale not in ("auto", 1.0):
        return float(options.scale), "m"
    unit = stated if stated != "m" else guess_unit(extent)
    if options.scale == "auto":
        source.note(f"scale='auto': the body is {extent:.4g} units large, so a unit is taken as {UNITS[unit]:g} m")
        return UNITS[unit], "m"
    if unit == stated:
        said = "glTF has it" if (up, unit) == ("y", "m") else "the file says"
        kept = "" if unit == "m" else "; its numbers were kept"
        source.note(f"in {UNIT_NAMES.get(unit, unit)}, {up} is up, as {said}{kept}")
    else:
        large = f"the body is {extent:.4g} units large, as in {UNIT_NAMES[unit]}, though glTF has metres"
        source.note(f"{large}; its numbers were kept, scale='auto' makes them metres; {up} is up")
    return 1.0, unit


def read_up(document: Document) -> str:
    """Return the up axis of a body written by Poise; otherwise "y", the convention of glTF."""
    return "z" if read_own_extras(document.json["asset"]).get("up") == "z" else "y"


def read_units(document: Document) -> str:
    """Return the unit of a body written by Poise; otherwise "m", the convention of glTF."""
    units = read_own_extras(document.json["asset"]).get("units")
    return units if units in UNITS else "m"


def add_notes(
    document: Document, skins: list[SkinJoints], bones: dict[str, int], clips: list[GltfAnimation], options: ReadOptions
) -> None:
    """Add notes about the contents and the assumptions made."""
    source = document.source
    if not skins and not bones:
        source.note("no skin: every node is a ball joint, and the topmost ones are free")
    if len(document.read_items("scenes")) > 1:
        source.note(f"{len(document.read_items('scenes'))} scenes: the nodes of all of them were read")
    if len(skins) > 1:
        source.note(f"{len(skins)} skins: their joints make one body")
    if clips:
        names = ", ".join(repr(clip.name) for clip in clips[:20]) + (", ..." if len(clips) > 20 else "")
        source.note(f"{len(clips)} clip{'s' if len(clips) > 1 else ''}: {names}")
    if options.base == "free":
        source.note("base='free' adds nothing: the root of the body is free already")
    for name in document.read_list(document.json.get("extensionsRequired", []), "extensionsRequired"):
        if not isinstance(name, str):
            raise document.fail("extensionsRequired", "must be a list of names.")
        if name == "KHR_animation_pointer":
            document.note_oddity("animations of anything but nodes were left out", name)
        elif not name.startswith(HARMLESS):
            document.note_oddity("the file needs this extension, which is not known here; it was read without it", name)


def find_bind_pose(limbs: list[NodeJoint], order: list[int], skins: list[SkinJoints]) -> Floats | None:
    """Return q of the bind pose, from the bind matrices; None if the file has none."""
    bound = {joint: skin.bind[k] for skin in skins if skin.bind is not None for k, joint in enumerate(skin.joints)}
    if not bound:
        return None
    linear: dict[int, Floats] = {-1: np.eye(3)}
    numbers: list[Floats] = []
    for i in order:
        limb, node = limbs[i], limbs[i].node
        up = linear[node.parent]
        linear[i] = bound[i][:3, :3] if i in bound else up @ node.turn @ node.stretch
        if limb.kind == "fixed":
            continue
        rest = limb.find_rest().copy()
        turn = node.turn
        if i in bound and abs(np.linalg.det(node.stretch)) > 1e-12 and abs(np.linalg.det(up)) > 1e-30:
            turn = find_nearest_turn(np.linalg.solve(up, linear[i]) @ np.linalg.inv(node.stretch))
        rest[-4:] = Rotation.from_matrix(limb.convert_rotation(turn)).wxyz
        numbers.append(rest)
    return np.concatenate(numbers) if numbers else None


# ------------------------------------------------------------------------------------------------ motions


def read_motion(source: Source, options: ReadOptions) -> Motion:
    """Read a clip of the file, sampled at a constant rate.

    Raises:
        FormatError: The file is malformed, or has no animation.
        NameNotFound: The file has no clip of that name.
    """
    body = read_body(source, options)
    document, limbs = body.document, body.limbs
    clip = choose_clip(document, body.clips, options.clip)
    if not clip.channels:
        raise document.fail(clip.where, "moves no node; choose another clip.")
    channels = {(channel.node, channel.path): channel for channel in clip.channels}
    keys = {place: read_keys(document, channel) for place, channel in channels.items()}
    note_animated_scales(document, limbs, channels, keys)
    numbers = sum({"fixed": 0, "ball": 4, "free": 7, "shifted": 7}[limb.kind] for limb in limbs)
    times, fps = find_frame_times(document, [each.times for each in keys.values()], numbers, clip)
    model = build(body)
    q = np.tile(model.rest, (len(times), 1))
    for limb in (limb for limb in limbs if limb.kind != "fixed"):
        end = model.joint(limb.name).q.stop  # the translation, if any, precedes the rotation
        turn, shift = keys.get((limb.node.index, "rotation")), keys.get((limb.node.index, "translation"))
        if turn is not None:
            wxyz = Rotation.from_xyzw(sample(turn, times, rotation=True)) @ Rotation.from_matrix(limb.after)
            q[:, end - 4 : end] = steady_signs(wxyz.wxyz)
        if shift is not None and limb.kind in ("free", "shifted"):
            q[:, end - 7 : end - 4] = limb.convert_translation(sample(shift, times, rotation=False))
    return Motion(check_same_body(model, options, source), q, fps)


def check_same_body(model: Model, options: ReadOptions, source: Source) -> Model:
    """Return the caller's model if given, after checking that it has the same joints as the file's body."""
    given = options.model
    if not isinstance(given, Model):
        return model
    if [(joint.name, joint.kind) for joint in given.joints] != [(joint.name, joint.kind) for joint in model.joints]:
        raise source.make_error(
            f"moves other joints than those of model {given.name!r}; leave model= out, then retarget."
        )
    return given


def note_animated_scales(
    document: Document,
    limbs: list[NodeJoint],
    channels: dict[tuple[int, str], AnimationChannel],
    keys: dict[tuple[int, str], Keyframes],
) -> None:
    """Note scales that a clip animates; they are ignored, because no joint can represent them."""
    for (node, path), channel in channels.items():
        if path == "scale":
            here = np.diag(limbs[node].node.stretch)
            if np.abs(keys[node, path].values - here).max() > 1e-4 * max(float(np.abs(here).max()), 1e-12):
                document.note_oddity("a clip changes the scale of a node, which was kept constant", channel.where)
