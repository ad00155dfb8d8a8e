"""Derived models: subtrees, locked joints, added frames and roles; and random configurations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from operator import index
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from poise.arrays import Floats
from poise.errors import InvalidValue, NameNotFound
from poise.hooks import Hook
from poise.model.attachments import Attachments
from poise.model.geometry.shapes import Shape
from poise.model.joints.joint import Frame, Joint
from poise.model.joints.kinds import KINDS
from poise.model.members import list_ranged, make_frames
from poise.model.memo import Memo, MemoSlot, keep_with_model
from poise.model.spec import FrameSpec, JointSpec, freeze, read_vector
from poise.spatial import Rotation, Transform

if TYPE_CHECKING:
    from poise.model.model import Model
    from poise.native import Body

__all__ = [
    "NO_FRAME",
    "SPHERE_READER",
    "add_objects",
    "add_spec",
    "clamp",
    "cut_subtree",
    "draw_configurations",
    "hide_visual",
    "list_specs",
    "list_state",
    "lock_joints",
    "make_late",
    "resolve_role",
    "settle_body",
    "stack_transforms",
    "with_example_poses",
    "with_late_roles",
    "with_roles",
    "with_shapes",
    "with_subject",
]

NO_FRAME = "(not given)"  # the default of a frame that must be given
RoleFinder = Callable[["Model"], tuple[Mapping[str, str], Sequence[str], Sequence[FrameSpec]]]
"""Finds additional roles, notes on them, and the unlisted frames of roles that no frame of the file has."""
RANGED = MemoSlot[tuple[NDArray[np.intp], NDArray[np.intp]]]("numbers of q with a range, and their velocities")
SPHERE_READER = Hook[Callable[["Model", str | PathLike[str]], "Model"]]()  # `poise.formats.curobo`
ROLE_SLOTS = ("attachments", "file_notes", "roles")  # the slots of a Model that contain its roles


def remake(
    kind: type[Model],
    name: str,
    specs: tuple[Any, ...],
    source: str,
    notes: tuple[str, ...],
    attached: Attachments | None = None,
) -> Model:
    """Return a model from its pickled state."""
    return kind(name, specs, source=source, notes=notes, attached=attached)


def list_state(model: Model) -> tuple[Any, ...]:
    """List the arguments of `remake`."""
    specs = list_specs(model)
    return type(model), model.name, specs, model.source, model.file_notes, model.attachments


def remodel(model: Model, specs: list[JointSpec | FrameSpec]) -> Model:
    """Return a model of the same name and source made from other specs, with the attachments that still apply."""
    return reattach(model, carry_over(model, specs), specs=specs)


def reattach(
    model: Model,
    attached: Attachments,
    *,
    specs: Sequence[JointSpec | FrameSpec] | None = None,
    notes: Iterable[str] = (),
) -> Model:
    """Return the model with other attachments, more notes and, if given, other specs."""
    specs = model.layout.specs if specs is None else specs
    return type(model)(model.name, specs, source=model.source, notes=(*model.file_notes, *notes), attached=attached)


def carry_over(model: Model, specs: Sequence[JointSpec | FrameSpec]) -> Attachments:
    """Return the attachments of a model made of some specs of `model`: those on its frames, and part of each pose."""
    frames = {spec.frame if isinstance(spec, JointSpec) else spec.name for spec in specs}
    own = [s.name for s in specs if isinstance(s, JointSpec) and not s.mimic and KINDS[s.kind].nq]
    old = model.attachments
    return replace(
        old,
        shapes=tuple(shape for shape in old.shapes if shape.frame in frames),
        poses=tuple((name, take_part(model, q, own)) for name, q in old.poses),
        roles=tuple((role, frame) for role, frame in old.roles if frame in frames or not frame),
        example_poses=None if model.example_poses is None else take_part(model, model.example_poses, own),
        subject=None,
        disabled_pairs=old.disabled_pairs and tuple(pair for pair in old.disabled_pairs if frames.issuperset(pair)),
        closures=tuple(loop for loop in old.closures if frames.issuperset((loop.frame, loop.other))),
    )


def take_part(model: Model, q: Any, joints: Sequence[str]) -> Floats:
    """Return the coordinates of some joints, (..., n), in this order; a former follower takes its leader's value."""
    parts = []
    for name in joints:
        joint = model.joint(name)
        values = q[..., joint.q]
        parts.append(joint.mimic.ratio * values + joint.mimic.offset if joint.mimic else values)
    return np.concatenate([q[..., :0], *parts], axis=-1)


def add_spec(model: Model, spec: FrameSpec) -> Model:
    """Return the model with one more frame."""
    if spec.name in model.frames:
        raise InvalidValue(f"model {model.name!r} already has a frame called {spec.name!r}; choose another name.")
    while spec.parent is not None and not model.frame(spec.parent).listed:  # an unlisted frame has no children
        above = model.frame(spec.parent)
        spec = replace(spec, parent=above.parent, offset=above.offset @ spec.offset)
    return remodel(model, [*list_specs(model), spec])


def with_roles(model: Model, roles: Mapping[str, Any], notes: Iterable[str] = ()) -> Model:
    """Return the model with other roles; a role mapped to None is stored with an empty frame."""
    if not isinstance(roles, Mapping):
        raise InvalidValue(f"roles must be a mapping such as {{'hand_l': 'LeftHand'}}, not {roles!r}.")
    for role in roles:
        if not isinstance(role, str) or not role.strip():
            raise InvalidValue(f"a role must be a name such as 'hand_l', not {role!r}.")
    new = {role: "" if frame is None else model.frame(frame).name for role, frame in roles.items()}
    attached = replace(model.attachments, roles=tuple((dict(model.attachments.roles) | new).items()), subject=None)
    return reattach(model, attached, notes=notes)


def with_shapes(model: Model, shapes: Sequence[Shape], notes: Iterable[str] = ()) -> Model:
    """Return the model with other shapes."""
    return reattach(model, replace(model.attachments, shapes=tuple(shapes)), notes=notes)


@keep_with_model
def hide_visual(model: Model) -> Model:
    """Return the model without the shapes that are only drawn."""
    return with_shapes(model, [shape for shape in model.shapes if shape.use != "visual"])


def with_example_poses(model: Model, frames: ArrayLike) -> Model:
    """Return the model with frames of a clip that show its stance and bending, (frames, nq)."""
    return reattach(model, replace(model.attachments, example_poses=frames))


def with_subject(model: Model, subject: Model) -> Model:
    """Return the model with the roles and contact points of `subject`, the body within it."""
    return reattach(model, replace(model.attachments, subject=subject))


def add_objects(model: Model, specs: Sequence[JointSpec | FrameSpec]) -> Model:
    """Return the model with joints and frames outside its body, and without named poses."""
    attached = replace(model.attachments, poses=(), example_poses=None, subject=model)
    return reattach(model, attached, specs=[*model.layout.specs, *specs])


def with_late_roles(model: Model, find: RoleFinder) -> Model:
    """Return the same body with roles, and notes on them, that are found on first use."""
    out = object.__new__(type(model))
    for slot in {*type(model).__slots__} - {*ROLE_SLOTS, "_late"}:
        object.__setattr__(out, slot, getattr(model, slot))
    object.__setattr__(out, "memo", Memo())
    object.__setattr__(out, "_frames", {})
    object.__setattr__(out, "_late", (model, find))
    return out


def settle_roles(model: Model) -> None:
    """Find the roles that `with_late_roles` deferred."""
    plain, find = model._late
    found, notes, frames = find(plain)
    body = reattach(plain, plain.attachments, specs=[*plain.layout.specs, *frames]) if frames else plain
    whole = with_roles(body, found, notes)
    model._frames.update(make_frames(whole.layout))
    for slot in ("native_body", "layout", *ROLE_SLOTS):
        object.__setattr__(model, slot, getattr(whole, slot))


def make_late(slot: Any) -> property:
    """Return a slot of `Model` that finds deferred roles when read; a `__getattr__` would slow down all attributes."""

    def read_slot(model: Model) -> Any:
        try:
            return slot.__get__(model)
        except AttributeError:
            settle_roles(model)
            return slot.__get__(model)

    return property(read_slot, slot.__set__)


def settle_body(model: Model) -> Body:
    """Return the body of the kernels, with roles that are found on first use."""
    model.roles.keys()  # finds them now
    return model.native_body


def list_specs(model: Model) -> tuple[JointSpec | FrameSpec, ...]:
    """List the specs of a model, including frames of roles that are found on first use."""
    model.roles.keys()  # finds them now
    return model.layout.specs


def resolve_role(model: Model, q: object, frame: str | Frame | None) -> str:
    """Return the frame of a name unknown to the kernels: a role that is found on first use."""
    if isinstance(q, str) or frame == NO_FRAME:
        typed = f"(model.rest, {(q if isinstance(q, str) else model.frames[-1])!r})"
        raise InvalidValue(f"q comes before the frame: type {typed}, or other joint values as q.") from None
    try:
        return model.frame(frame or "").name
    except NameNotFound as unknown:
        raise unknown from None  # hide the error of the kernels


def cut_subtree(model: Model, root: str) -> Model:
    """Return the subtree of frame `root`; a follower whose leader is outside gets its own coordinate."""
    declared, layout = list_specs(model), model.layout
    inside = {layout.frames.index(root)}
    for i in layout.order:
        if layout.parents[i] in inside:
            inside.add(i)
    top = declared[layout.frames.index(root)]
    specs: list[JointSpec | FrameSpec] = [
        FrameSpec(root, None, Transform.identity(), top.mass, top.center, top.inertia)
    ]
    kept = {
        spec.name for i, spec in enumerate(declared) if i in inside and spec is not top and isinstance(spec, JointSpec)
    }
    frames = {layout.frames[i] for i in inside}
    cut = [loop for loop in model.closures if len(frames & {loop.frame, loop.other}) == 1]
    notes = [f"the loop of {loop.frame!r} and {loop.other!r} is open: one of them is not in this part." for loop in cut]
    for spec in (s for i, s in enumerate(declared) if i in inside and s is not top):
        if isinstance(spec, JointSpec) and spec.mimic and spec.mimic.joint not in kept:
            notes.append(f"joint {spec.name!r} no longer mimics {spec.mimic.joint!r}, which is not in this part.")
            specs.append(replace(spec, mimic=None))
        else:
            specs.append(spec)
    attached = replace(carry_over(model, specs), example_poses=None)  # the clip does not apply without the joints above
    return reattach(model, attached, specs=specs, notes=notes)


def lock_joints(model: Model, joints: Mapping[str, ArrayLike]) -> Model:
    """Return the model with the named joints and their followers fixed."""
    if not isinstance(joints, Mapping):
        raise InvalidValue(f"joints must be a mapping such as {{'elbow': 0.5}}, not {joints!r}.")
    values: dict[str, NDArray[np.float64]] = {}
    for name, value in joints.items():
        joint = model.joint(name)
        if joint.mimic:
            raise InvalidValue(f"joint {joint.name!r} follows {joint.mimic.joint!r}; lock that one instead.")
        values[joint.name] = read_vector(value, joint.nq, f"the value of joint {joint.name!r}")
    for joint in model.joints:
        if joint.mimic and joint.mimic.joint in values:
            leader = float(values[joint.mimic.joint][0])
            values[joint.name] = np.array([joint.mimic.ratio * leader + joint.mimic.offset])
    specs = [
        fix_joint(model, spec, values[spec.name]) if isinstance(spec, JointSpec) and spec.name in values else spec
        for spec in list_specs(model)
    ]
    for i, spec in enumerate(model.layout.specs):
        if isinstance(spec, JointSpec) and spec.kind == "uniform_scale" and spec.name in values:
            specs = scale_below(model, specs, i, float(values[spec.name][0]))
    return remodel(model, specs)


def scale_below(
    model: Model, specs: list[JointSpec | FrameSpec], top: int, factor: float
) -> list[JointSpec | FrameSpec]:
    """Return the specs with all lengths below a scale multiplied by its factor, which is locked."""
    out, inside = list(specs), {top}
    for i in model.layout.order:
        if i in inside or model.layout.parents[i] not in inside:
            continue
        spec = out[i]
        inside.add(i)
        if isinstance(spec, JointSpec):
            if spec.path or any(KINDS[spec.kind].slides):
                text = f"the motion of joint {spec.name!r} below it would change its scale; leave it, with joints="
                raise InvalidValue(f"joint {model.layout.specs[top].name!r} cannot be locked: {text} in solves.")
            spec = replace(spec, length=factor * spec.length, pitch=factor * spec.pitch)
        offset = Transform(spec.offset.rotation, factor * spec.offset.translation)
        inertia = freeze(factor**2 * spec.inertia)
        out[i] = replace(spec, offset=offset, center=freeze(factor * spec.center), inertia=inertia)
    return out


def fix_joint(model: Model, spec: JointSpec, value: NDArray[np.float64]) -> JointSpec:
    """Return the joint as a fixed joint at `value`."""
    if spec.kind == "fixed":
        return spec
    alone = type(model)("alone", [replace(spec, parent=None, mimic=None)])
    there = Transform.from_matrix(alone.fk(value, spec.frame))
    kept = {name: getattr(spec, name) for name in ("frame", "mass", "center", "inertia", "stiffness")}
    return JointSpec.make(spec.name, spec.parent, "fixed", offset=there, **kept)


def clamp(model: Model, q: ArrayLike) -> NDArray[Any]:
    """Return the closest configuration in the joint ranges; see `Model.clamp`."""
    out = np.array(model.native_body.integrate(q, np.zeros(model.nv, np.float32)))  # a zero step
    numbers, velocities = model.memo.get(RANGED, lambda: list_ranged(model.joints))
    out[..., numbers] = np.clip(out[..., numbers], model.lower[velocities], model.upper[velocities])
    return out


def stack_transforms(model: Model, q: ArrayLike, frames: Sequence[str]) -> NDArray[Any]:
    """Return the transforms of several frames, (..., k, 4, 4)."""
    each = [model.fk(q, frame) for frame in frames]
    return np.stack(each, axis=-3) if each else np.empty((*np.shape(q)[:-1], 0, 4, 4))


def draw_configurations(
    model: Model, rng: np.random.Generator, size: int | tuple[int, ...] | None
) -> NDArray[np.float64]:
    """Draw configurations; see `Model.random`."""
    if not isinstance(rng, np.random.Generator):
        raise InvalidValue(f"rng must be a numpy Generator, such as numpy.random.default_rng(0), not {rng!r}.")
    shape = read_shape(size)
    q = np.zeros((*shape, model.nq))
    for joint in model.joints:
        if joint.nv:
            q[..., joint.q] = draw_joint(model, joint, rng, shape)
    return q


def read_shape(size: int | tuple[int, ...] | None) -> tuple[int, ...]:
    """Return the leading axes given by a NumPy-style size."""
    try:
        lengths = () if size is None else (index(size),) if not isinstance(size, Iterable) else tuple(map(index, size))
    except TypeError:
        lengths = (-1,)
    if any(length < 0 for length in lengths):
        raise InvalidValue(f"size must be None, a count or a tuple of counts, not {size!r}.")
    return lengths


def draw_joint(model: Model, joint: Joint, rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    """Draw the coordinates of a joint uniformly from its range, or from a turn or 2 L; a locked joint stays at rest."""
    if joint.locked:
        return model.rest[joint.q]
    plain = len(joint.coordinates)
    low, high = model.lower[joint.v][:plain].copy(), model.upper[joint.v][:plain].copy()
    span = np.array([2 * model.length if coordinate.slides else 2 * np.pi for coordinate in joint.coordinates])
    both = np.isinf(low) & np.isinf(high)
    low, high = np.where(both, -span / 2, low), np.where(both, span / 2, high)
    low, high = np.where(np.isinf(low), high - span, low), np.where(np.isinf(high), low + span, high)
    numbers = low + (high - low) * rng.random((*shape, plain))
    if not joint.quaternion:
        return np.clip(numbers, low, high)
    turn = Rotation.random(rng, shape).wxyz
    return np.concatenate([numbers, turn], axis=-1)
