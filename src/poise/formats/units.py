"""Units and axes of a body: the options `scale=`, `up=` and `base=` of `load`."""

from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from poise.arrays import Floats
from poise.files.source import Source
from poise.formats.options import ReadOptions
from poise.kinematics import Motion, Pose
from poise.kinematics.together import MotionWithObjects
from poise.model import Box, Capsule, Closure, Cylinder, Mesh, Model, ModelBuilder, Object, Shape, Sphere
from poise.model.attachments import UNITS, Attachments
from poise.model.derive import list_specs
from poise.model.joints.joint import Mimic
from poise.model.joints.kinds import KINDS
from poise.model.layout import Layout
from poise.model.memo import keep_with_model
from poise.model.spec import FrameSpec, JointSpec, freeze
from poise.spatial import Rotation, Transform

__all__ = [
    "LARGEST_BODY",
    "UNIT_NAMES",
    "add_free_root",
    "adjust_model",
    "guess_person_unit",
    "guess_unit",
    "restore_units",
    "scale_model",
    "scale_motion",
    "to_metres",
    "turn_inertia",
    "warn_of_units",
    "with_up",
]

Spec = JointSpec | FrameSpec
Moved = TypeVar("Moved", Pose, Motion)
UNIT_NAMES = {"m": "metres", "cm": "centimetres", "mm": "millimetres", "in": "inches"}
UNIT_NAMES["cmu"] = "the CMU library's units (inches / 0.45)"
STATURE = 1.7  # m, typical height of a recorded person
LARGEST_BODY = 20.0  # m


def adjust_model(model: Model, options: ReadOptions, source: Source) -> Model:
    """Return the model with the options applied; the changes are recorded in the notes."""
    factor = options.scale
    if factor == "auto":
        unit = guess_unit(model.length) if model.units == "m" else model.units
        factor = UNITS[unit]
        named = UNIT_NAMES.get(unit, unit)
        source.note(f"scale='auto': a body of {model.length:.4g} units was taken to be in {named}")
    out = scale_model(model, float(factor)) if factor != 1.0 else model
    if options.up is not None and options.up != out.up:
        source.note(f"turned so that {options.up} points up; the file's up is {model.up}")
        out = with_up(out, options.up)
    if tuple(source.notes) == out.notes:
        return out
    return Model(out.name, out.layout.specs, source=out.source, notes=source.notes, attached=out.attachments)


def guess_unit(length: float) -> str:
    """Return the unit, guessed from the length of a body: metres, or less if it would be longer than 20 m."""
    return next((unit for unit in ("m", "cm") if UNITS[unit] * length <= LARGEST_BODY), "mm")


def guess_person_unit(height: float) -> str:
    """Return the unit in which this height is nearest to that of a person."""
    return min(UNIT_NAMES, key=lambda unit: abs(np.log(height * UNITS[unit] / STATURE)))


def warn_of_units(model: Model, format_name: str) -> str:
    """Return a warning for a body whose lengths are not in metres, for a format that requires metres."""
    scale = "'auto'" if model.units == "unknown" else f"{model.metres_per_unit:g}"
    return (
        f"its lengths are in {UNIT_NAMES.get(model.units, 'another unit')} and were written as they are, where"
        f" {format_name} has metres; scale={scale} on reading makes them metres"
    )


# ------------------------------------------------------------------------------------------------ scale


@keep_with_model
def scale_model(model: Model, factor: float) -> Model:
    """Return the same body with every length multiplied by `factor`."""
    declared, layout = list_specs(model), model.layout
    specs = [scale_spec(spec, layout, factor) for spec in declared]
    old = model.attachments
    attached = replace(
        old,
        shapes=tuple(scale_shape(shape, factor) for shape in old.shapes),
        poses=tuple((name, scale_q(layout, np.asarray(q), factor)) for name, q in old.poses),
        closures=tuple(scale_closure(loop, factor) for loop in old.closures),
        units="m",
        example_poses=None if model.example_poses is None else scale_q(layout, model.example_poses, factor),
        look=None if old.look is None else replace(old.look, size=old.look.size * factor),
        subject=None if old.subject is None else scale_model(old.subject, factor),
    )
    return rebuild(model, specs, attached)


def scale_spec(spec: Spec, layout: Layout, factor: float) -> Spec:
    """Return a joint or frame with its lengths multiplied by `factor`."""
    offset = Transform(spec.offset.rotation, spec.offset.translation * factor)
    center, inertia = freeze(spec.center * factor), freeze(spec.inertia * factor**2)
    if isinstance(spec, FrameSpec):
        return replace(spec, offset=offset, center=center, inertia=inertia)
    by = scale_velocities(spec.kind, factor)
    speed = float(by[0]) if len(by) else 1.0
    force = factor**2 / speed  # of the power, which has the factor of a squared length
    return replace(
        spec,
        offset=offset,
        center=center,
        inertia=inertia,
        lower=freeze(spec.lower * by[: len(spec.lower)]),
        upper=freeze(spec.upper * by[: len(spec.upper)]),
        rest=freeze(spec.rest * scale_numbers(spec.kind, factor)),
        pitch=spec.pitch * factor,
        length=spec.length * factor,
        path=None if spec.path is None else spec.path.resize(factor),
        mimic=scale_mimic(spec, layout, factor),
        effort=spec.effort * force,
        velocity=spec.velocity * speed,
        damping=spec.damping * force / speed,
        friction=spec.friction * force,
        armature=spec.armature * force / speed,
    )


def turn_inertia(inertia: Floats, rotation: Rotation) -> Floats:
    """Return an inertia matrix, or three principal moments, in the axes that `rotation` maps its own axes to."""
    matrix = np.diag(inertia) if inertia.ndim == 1 else inertia
    if np.array_equal(rotation.matrix, np.eye(3)):
        return matrix
    turned = rotation.matrix @ matrix @ rotation.matrix.T
    return np.asarray((turned + turned.T) / 2)


def scale_closure(loop: Closure, factor: float) -> Closure:
    """Return a closure with its lengths multiplied by `factor`."""
    old, point = loop.transform, tuple(factor * number for number in loop.point)
    new = Transform(old.rotation, old.translation * factor) if isinstance(old, Transform) else factor * np.array(old)
    return Closure.make(loop.frame, loop.other, new, point)


def scale_velocities(kind: str, factor: float) -> Floats:
    """Return the factor for each degree of freedom of a joint; 1 for angles."""
    return np.where(KINDS[kind].slides, factor, 1.0)


def scale_numbers(kind: str, factor: float) -> Floats:
    """Return the factor for each number of q of a joint; 1 for angles and quaternions."""
    out = np.ones(KINDS[kind].nq)
    plain = len(KINDS[kind].coordinates)
    out[:plain] = scale_velocities(kind, factor)[:plain]
    return out


def scale_mimic(spec: JointSpec, layout: Layout, factor: float) -> Mimic | None:
    """Return the scaled mimic; the ratio between a length and an angle scales too."""
    if spec.mimic is None:
        return None
    leader = next(joint for joint in layout.joints if joint.name == spec.mimic.joint)
    own, its = float(scale_velocities(spec.kind, factor)[0]), float(scale_velocities(leader.kind, factor)[0])
    return Mimic(spec.mimic.joint, spec.mimic.ratio * own / its, spec.mimic.offset * own)


def scale_q(layout: Layout, q: Floats, factor: float) -> Floats:
    """Return configurations (..., nq) with their lengths multiplied by `factor`."""
    out = q.copy()
    for spec in layout.joints:
        if spec.name not in layout.mimics:
            out[..., layout.q_slices[spec.name]] *= scale_numbers(spec.kind, factor)
    return freeze(out)


def scale_motion(clip: Motion, factor: float) -> Motion:
    """Return the same motion with every length multiplied by `factor`."""
    return clip if factor == 1.0 else use_body(clip, scale_model(clip.model, factor), factor)


def use_body(thing: Moved, model: Model, factor: float) -> Moved:
    """Return a pose or motion of the same body with other lengths, `factor` times the old ones."""
    q = scale_q(model.layout, thing.q, factor)
    if isinstance(thing, Pose):
        return Pose(model, q)
    objects = [scale_object(each, factor) for each in thing.objects]
    return MotionWithObjects(model, q, thing.fps, objects) if objects else Motion(model, q, thing.fps)


def to_metres(thing: Moved) -> Moved:
    """Return a pose or motion with its lengths in metres; unchanged if they are already or if the unit is unknown."""
    factor = thing.model.metres_per_unit
    return thing if factor == 1.0 else use_body(thing, scale_model(thing.model, factor), factor)


def restore_units(thing: Moved, model: Model) -> Moved:
    """Return a pose or motion that `to_metres` converted in the unit of its original body, `model`."""
    return thing if thing.model is model else use_body(thing, model, 1.0 / model.metres_per_unit)


def scale_object(thing: Object, factor: float) -> Object:
    """Return an object with its lengths multiplied by `factor`."""
    path, solid, place = np.array(thing.transforms), scale_solid(thing.shape, factor), thing.shape.placement
    path[..., :3, 3] *= factor
    if place is not None:
        solid = type(solid)(**solid.sizes, transform=Transform(place.rotation, place.translation * factor))
    return Object(solid, path, name=thing.name, fps=thing.fps, color=thing.color)


def scale_shape(shape: Shape, factor: float) -> Shape:
    """Return a shape with its lengths multiplied by `factor`."""
    offset = Transform(shape.offset.rotation, shape.offset.translation * factor)
    return replace(shape, shape=scale_solid(shape.shape, factor), offset=offset)


def scale_solid(solid: Any, factor: float) -> Any:
    """Return a solid with its lengths multiplied by `factor`."""
    if isinstance(solid, Sphere):
        return Sphere(solid.radius * factor)
    if isinstance(solid, (Capsule, Cylinder)):
        return type(solid)(solid.radius * factor, solid.length * factor)
    x, y, z = (factor * number for number in (solid.size if isinstance(solid, Box) else solid.scale))
    return Box((x, y, z)) if isinstance(solid, Box) else Mesh(solid.path, (x, y, z))


# ------------------------------------------------------------------------------------------------ up


def with_up(model: Model, up: str) -> Model:
    """Return the body rotated so that the axis `up` points up."""
    if up == model.up:
        return model
    axes = np.eye(3)
    turn = Transform(Rotation.between(axes[model.up_axis], axes["xyz".index(up)]))
    specs = [replace(s, offset=turn @ s.offset) if s.parent is None else s for s in list_specs(model)]
    return rebuild(model, specs, replace(model.attachments, up=up, subject=None))


def rebuild(model: Model, specs: list[Spec], attached: Attachments) -> Model:
    """Return a model with other joints, frames and attachments."""
    return Model(model.name, specs, source=model.source, notes=model.notes, attached=attached)


# ------------------------------------------------------------------------------------------------ base


def is_floating(layout: Layout) -> bool:
    """Return whether all moving parts are descendants of free joints."""
    carried = {-1: False}
    for i in layout.order:
        spec, above = layout.specs[i], carried[layout.parents[i]]
        kind = spec.kind if isinstance(spec, JointSpec) else "fixed"
        if not above and kind not in ("fixed", "free"):
            return False
        carried[i] = above or kind == "free"
    return any(carried.values())


def add_free_root(model: Model) -> Model:
    """Return the body with a free root joint (six degrees of freedom); unchanged if it has one."""
    if is_floating(model.layout):
        return model
    roots = [spec for spec in list_specs(model) if spec.parent is None]
    taken = {*model.frames, *(joint.name for joint in model.joints)}
    name = "root"
    while name in taken:
        name += "_"
    builder = ModelBuilder()
    top = roots[0]
    if len(roots) == 1 and isinstance(top, FrameSpec):
        kept = {key: getattr(top, key) for key in ("offset", "mass", "center", "inertia")}
        builder.add_joint(name, None, "free", frame=top.name, **kept)
        specs = [builder.specs[0] if spec is top else spec for spec in model.layout.specs]
    else:
        builder.add_joint(name, None, "free")
        below = (replace(spec, parent=name) if spec.parent is None else spec for spec in model.layout.specs)
        specs = [builder.specs[0], *below]
    rest = builder.build().rest
    poses = tuple((pose, np.concatenate([rest, np.asarray(q)])) for pose, q in model.attachments.poses)
    shown = model.example_poses
    frames = None if shown is None else np.concatenate([np.tile(rest, (len(shown), 1)), shown], axis=1)
    specs.sort(key=lambda spec: spec is not builder.specs[0])
    return rebuild(model, specs, replace(model.attachments, poses=poses, example_poses=frames, subject=None))
