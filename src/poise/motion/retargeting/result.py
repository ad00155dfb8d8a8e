"""Retargeted, the result of retargeting, and the setup shared by clips and streams."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from poise.anatomy.people import single_out
from poise.arrays import Floats
from poise.errors import InvalidValue, show_value
from poise.kinematics import Motion
from poise.kinematics.carriers import Root, find_root
from poise.kinematics.rest_frames import LEFT_OUT
from poise.limits.convex_parts import find_convex_parts
from poise.limits.near_pairs import keeps_parts_apart
from poise.model import Model
from poise.model.derive import hide_visual
from poise.motion.clips.faults import CLEAR_RAD, FaultCurve, find_floor_curve, find_self_curve, sort_faults
from poise.motion.clips.labels import label_frames
from poise.motion.clips.quality import Quality, measure_sink, quality
from poise.motion.clips.result import Track
from poise.motion.contact.ledger import Contacts
from poise.motion.contact.scene import Scene
from poise.motion.contact.soles import measure_size
from poise.motion.problem.near_parts import DEEP_M
from poise.motion.retargeting.correspondence import CarryOver, Scales
from poise.motion.retargeting.mapping import Mapping, find_mapping
from poise.motion.retargeting.options import check_bodies, read_joints
from poise.motion.retargeting.quadrupeds.goals import FourLeggedCarryOver
from poise.motion.retargeting.touch.keeper import KeptTouch, describe_touches
from poise.motion.scenes.scene_goals import measure_depths

__all__ = ["HOLD_WEIGHT", "Retargeted", "make_result", "prepare"]

HOLD_WEIGHT = 1e-3  # of a displacement from the initial pose, relative to the direction of a bone
TRAVELLING = ("free", "planar", "translation3")  # kinds of joints that carry a whole body through the world
TOUCH_DEPTH_M = 5e-5  # a shallower collision of capsules is only a touch: `quality` prints 0.0 mm


@dataclass(frozen=True, eq=False, repr=False)
class Retargeted:
    """A motion that was retargeted to another body.

    Attributes:
        motion: The motion of the target.
        mapping: The frames of both bodies that are the same part.
        contacts: The contacts that hold exactly.
        scales: The scales from the source to the target.
        track: The solved track, with the contacts that were released.
        source: The clip that it was made from.
        bone_errors: The angles between the bones of limbs and those of the source, (bones, frames) [rad].
        bones: Their names, such as "hip_l to knee_l".
        scene: The scene that it stands on, or None for a level floor.
        touches: The hands that touch other parts, and how well the gaps of the source are kept.
        separated: Whether limbs were moved out of collisions (`clearance=`).
        cut: Whether a first frame that only shows the rest pose was left out (`keep_rest=`), also of `source`.
    """

    motion: Motion
    mapping: Mapping
    contacts: Contacts
    scales: Scales
    track: Track
    source: Motion
    bone_errors: Floats
    bones: tuple[str, ...] = ()
    scene: Scene | None = None
    touches: tuple[KeptTouch, ...] = ()
    separated: bool = False
    cut: bool = False

    @property
    def scale(self) -> float:
        """The scale of the path: metres of the target per metre of the source."""
        return self.scales.path

    @property
    def quality(self) -> Quality:
        """The quality of the motion, measured at its contacts, and compared with the bones of the source.

        With a scene, `sink_max` and `sink_share` are about the depth inside it.
        """
        found = quality(self.track.motion, contacts=self.track.contacts)
        kept = [fault for fault in found.faults if fault.kind != "floor" or self.scene is None]
        curves = self._compare_with_source()
        found = replace(found, faults=sort_faults([*kept, *(curve.find_fault() for curve in curves)]))
        if self.scene is not None:
            found = replace(found, **cast("dict[str, Any]", measure_sink(curves[0])))
        if not self.bone_errors.size:
            return found
        p95 = float(np.percentile(self.bone_errors, 95.0))
        return replace(found, bones_mean=float(self.bone_errors.mean()), bones_p95=p95)

    def _compare_with_source(self) -> list[FaultCurve]:
        """Return the depth inside the scene, if there is one, and the largest error of a bone in each frame."""
        out = []
        if self.scene is not None:
            found, metres = measure_depths(self.scene, self.track.motion), self.motion.model.metres_per_unit
            out.append(FaultCurve("scene", metres * found.depths, f"{found.part!r} in {found.region!r}"))
        if self.bone_errors.size:
            bone = self.bones[int(self.bone_errors.max(axis=1).argmax())]
            out.append(FaultCurve("limbs", self.bone_errors.max(axis=0), repr(bone)))
        return out

    def label_frames(self) -> dict[str, NDArray[Any]]:
        """Return labels for training by name, each (frames,): contacts, velocities, and balance if it has mass."""
        return label_frames(self.motion, self.contacts)

    def why(self) -> str:
        """Return a text on visible faults, the clearest one first, released contacts, touch and missing parts."""
        motion, fps, lines = self.track.motion, self.motion.fps, list[str]()
        curves = [*self._compare_with_source(), find_self_curve(motion)]
        if self.scene is None:
            curves.append(find_floor_curve(motion, self.track.contacts))
        for curve in sorted((curve for curve in curves if curve), key=lambda curve: -curve.find_fault().severity):
            if curve.kind == "itself":
                lines += describe_collisions(self.track, self.separated, curve)
            else:
                lines += curve.tell(fps, CLEAR_RAD) if curve.kind == "limbs" else curve.tell(fps)
        if not self.mapping.of_hands or self.track.released or self.track.limits:
            lines += self.track.tell_goals()
        lines += describe_touches(self.touches, fps, motion.model.metres_per_unit)
        if self.mapping.missing:
            lines.append(f"Only one of both bodies has: {', '.join(self.mapping.missing)}.")
        if self.cut:
            lines.append(f"{LEFT_OUT[0].upper()}{LEFT_OUT[1:]}; keep_rest=True keeps it.")
        return "\n".join(lines)

    def __repr__(self) -> str:
        bodies, frames = f"{self.mapping.source!r} on {self.mapping.target!r}", len(self.motion)
        return f"<Retargeted {bodies}: {frames} frames, {len(self.mapping)} parts, {len(self.contacts)} contacts>"

    def __str__(self) -> str:
        return f"{self.mapping.source} on {self.mapping.target}, {len(self.mapping)} parts; {self.scales}\n{self.track}"


def describe_collisions(track: Track, separated: bool, found: FaultCurve) -> list[str]:
    """Describe self-collisions in words; empty if there are none.

    Those of convex hulls are reported from the depth at which limbs are moved out of them.
    """
    model = track.motion.model
    hulls = find_convex_parts(model) is not None
    least = DEEP_M * measure_size(track.motion) * model.metres_per_unit if hulls else TOUCH_DEPTH_M
    if any(map(keeps_parts_apart, track.limits)):
        advice = ", which Clearance does not check or could not prevent"
    elif hulls and separated:
        advice = ", which limbs could not avoid: limits=[Clearance()] keeps wider capsules apart"
    else:
        advice = f": {'clearance=True' if hulls else 'limits=[Clearance()]'} keeps them apart"
    return found.tell(track.motion.fps, least, advice)


def prepare(
    source: Model,
    model: Model,
    mapping: Mapping | None,
    scale: float | str | dict[str, float | str],
    joints: Sequence[str] | None,
    *,
    visible: bool = True,
) -> CarryOver:
    """Return the retargeting from one body to another; raises if it is not possible."""
    check_bodies(source, model)
    model = model if visible else hide_visual(model)
    joints = read_joints(joints)
    parts = find_mapping(source, model) if mapping is None else mapping
    if not isinstance(parts, Mapping):
        raise InvalidValue(
            f"mapping is {show_value(mapping)}; it must be a poise.Mapping such as "
            "poise.retarget(clip, model).mapping, or None."
        )
    parts.check(source, model)
    parts = replace(parts, bodies=(source, model))
    source, model = single_out(source, parts.trunk.source), single_out(model, parts.trunk.target)
    root = None if parts.upper else find_root(model, parts.trunk.target)
    if parts.upper:
        joints = list_upper_joints(model, parts) if joints is None else joints
    if root is None and joints is None:
        raise InvalidValue(f"model {model.name!r} is fixed to the world: load it with base='free'.")
    kind = FourLeggedCarryOver if parts.four else CarryOver
    return kind(source, model, parts, scale, root, choose_joints(model, root) if joints is None else joints)


def list_upper_joints(model: Model, parts: Mapping) -> list[str]:
    """List the joints that move a mapped part of a body without legs, except those that move it through the world."""
    ways = {joint.name: joint for pair in parts for joint in model.joints_above(pair.target) if joint.nv}
    return [name for name, joint in ways.items() if joint.kind not in TRAVELLING]


def make_result(
    carrying: CarryOver,
    model: Model,
    track: Track,
    clip: Motion,
    scene: Scene | None = None,
    touches: tuple[KeptTouch, ...] = (),
    separated: bool = False,
) -> Retargeted:
    """Return the result as a motion of the given model; the track may be of a single person in it."""
    motion = track.motion
    motion = motion if carrying.model is model else Motion(model, motion.q, motion.fps)
    bones = carrying.compare_bones(clip.q, track.motion.q)
    parts, scales, errors = carrying.parts, carrying.scales, np.array(list(bones.values())).reshape(-1, len(clip))
    return Retargeted(
        motion, parts, track.contacts, scales, track, clip, errors, tuple(bones), scene, touches, separated
    )


def choose_joints(model: Model, root: Root | None) -> list[str] | None:
    """Return the joints that may move, None for all: bones keep their lengths, and joints above the root stay.

    Many recordings let every bone translate. These translations are noise of the skeleton's fit, not motion.
    """
    if root is None:
        return None
    above = {joint.name for joint in model.joints_above(root.slide.frame)} - {root.slide.name}
    still = {
        joint.name
        for joint in model.joints
        if joint.nv and (joint.name in above or (joint.kind == "translation3" and joint.name != root.slide.name))
    }
    return [joint.name for joint in model.joints if joint.nv and joint.name not in still] if still else None
