"""Retargeted, the result of retargeting, and the setup shared by clips and streams."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from poise.anatomy.people import single_out
from poise.arrays import Floats
from poise.errors import InvalidValue, show_value
from poise.kinematics import Motion
from poise.kinematics.carriers import Root, find_root
from poise.limits.convex_parts import find_convex_parts
from poise.model import Model
from poise.motion.clips.clear_lock import keeps_parts_apart
from poise.motion.clips.collisions import find_collisions
from poise.motion.clips.labels import label_frames
from poise.motion.clips.quality import Quality, quality
from poise.motion.clips.result import Track, tell_runs
from poise.motion.contact.detector import find_runs
from poise.motion.contact.ledger import Contacts
from poise.motion.contact.scene import Scene
from poise.motion.contact.soles import measure_size
from poise.motion.retargeting.correspondence import CarryOver, Scales
from poise.motion.retargeting.mapping import Mapping, find_mapping
from poise.motion.retargeting.options import check_bodies, read_joints
from poise.motion.retargeting.quadrupeds.goals import FourLeggedCarryOver
from poise.motion.retargeting.separation.limb_correction import DEEP_M
from poise.motion.retargeting.touch.keeper import KeptTouch, describe_touches
from poise.motion.scenes.scene_goals import measure_depths

__all__ = ["HOLD_WEIGHT", "Retargeted", "make_result", "prepare"]

HOLD_WEIGHT = 1e-3  # of a displacement from the initial pose, relative to the direction of a bone
TRAVELLING = ("free", "planar", "translation3")  # kinds of joints that carry a whole body through the world
SCENE_DEPTH_M = 1e-3  # a part that is less deep is on a surface of the scene
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
        scene: The scene that it stands on, or None for a level floor.
        touches: The hands that touch other parts, and how well the gaps of the source are kept.
        separated: Whether limbs were moved out of collisions (`clearance=`).
    """

    motion: Motion
    mapping: Mapping
    contacts: Contacts
    scales: Scales
    track: Track
    source: Motion
    bone_errors: Floats
    scene: Scene | None = None
    touches: tuple[KeptTouch, ...] = ()
    separated: bool = False

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
        if self.scene is not None:
            depths = self.track.motion.model.metres_per_unit * measure_depths(self.scene, self.track.motion).depths
            found = replace(found, sink_max=1e3 * float(depths.max()), sink_share=float((depths > 1e-3).mean()))
        if not self.bone_errors.size:
            return found
        p95 = float(np.percentile(self.bone_errors, 95.0))
        return replace(found, bones_mean=float(self.bone_errors.mean()), bones_p95=p95)

    def label_frames(self) -> dict[str, NDArray[Any]]:
        """Return labels for training by name, each (frames,): contacts, velocities, and balance if it has mass."""
        return label_frames(self.motion, self.contacts)

    def why(self) -> str:
        """Return a text on released contacts, self-collisions, touch, parts inside the scene, and missing parts."""
        metres = self.motion.model.metres_per_unit
        lines = [self.track.why(), *describe_collisions(self.track, self.separated)]
        lines += describe_touches(self.touches, self.motion.fps, metres)
        if self.scene is not None:
            lines += describe_depths(self.scene, self.track.motion)
        if self.mapping.missing:
            lines.append(f"Only one of both bodies has: {', '.join(self.mapping.missing)}.")
        return "\n".join(lines)

    def __repr__(self) -> str:
        bodies, frames = f"{self.mapping.source!r} on {self.mapping.target!r}", len(self.motion)
        return f"<Retargeted {bodies}: {frames} frames, {len(self.mapping)} parts, {len(self.contacts)} contacts>"

    def __str__(self) -> str:
        return f"{self.mapping.source} on {self.mapping.target}, {len(self.mapping)} parts; {self.scales}\n{self.track}"


def describe_collisions(track: Track, separated: bool) -> list[str]:
    """Describe self-collisions in words, deepest pair first; empty if there are none.

    Those of convex hulls are reported from the depth at which limbs are moved out of them.
    """
    found, model = find_collisions(track.motion), track.motion.model
    hulls = find_convex_parts(model) is not None
    least = DEEP_M * measure_size(track.motion) * model.metres_per_unit if hulls else TOUCH_DEPTH_M
    if found is None or not (inside := found.depths > least).any():
        return []
    one, other = found.parts
    if any(map(keeps_parts_apart, track.limits)):
        advice = ", which Clearance does not check or could not prevent."
    elif hulls and separated:
        advice = ", which limbs could not avoid: limits=[Clearance()] keeps wider capsules apart."
    else:
        advice = f": {'clearance=True' if hulls else 'limits=[Clearance()]'} keeps them apart."
    runs, seconds = tell_runs(find_runs(inside)), found.worst / track.motion.fps
    share, limit = f"{100.0 * float(found.inside.mean()):.0f} % of frames", f"{1e3 * least:.2g} mm"
    deeper = f"deeper than {limit} in {int(inside.sum())} of {len(inside)} ({runs})"
    where = f"in {share}, {deeper}, most at frame {found.worst} ({seconds:.2f} s)"
    deep = f"{one!r} and {other!r} by {1e3 * found.deepest:.2g} mm"
    return [f"The body collides with itself {where}, {deep}{advice}"]


def describe_depths(scene: Scene, motion: Motion) -> list[str]:
    """Describe in words where a body is inside a scene; empty if it is not."""
    found, metres = measure_depths(scene, motion), motion.model.metres_per_unit
    if not (inside := metres * found.depths > SCENE_DEPTH_M).any():
        return []
    worst, runs = int(np.argmax(found.depths)), tell_runs(find_runs(inside))
    deep = f"{found.part!r} in {found.region!r} by {1e3 * metres * float(found.depths[worst]):.2g} mm"
    where = f"in {int(inside.sum())} of {len(inside)} frames ({runs})"
    return [f"The body is inside the scene {where}, most at frame {worst} ({worst / motion.fps:.2f} s), {deep}."]


def prepare(
    source: Model,
    model: Model,
    mapping: Mapping | None,
    scale: float | str | dict[str, float | str],
    joints: Sequence[str] | None,
) -> CarryOver:
    """Return the retargeting from one body to another; raises if it is not possible."""
    check_bodies(source, model)
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
    errors = carrying.compare_bones(clip.q, track.motion.q)
    parts, scales = carrying.parts, carrying.scales
    return Retargeted(motion, parts, track.contacts, scales, track, clip, errors, scene, touches, separated)


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
