"""Quality: measures of a clip, with units.

    slip    horizontal motion of a contact point from frame to frame, within one contact     mm per frame
    drift   its largest distance from the contact's median place                              mm
    height  of the contact points over the floor, in contact                                  mm
    sink    depth of the lowest part of the body below the floor, in any frame                mm
    step    largest motion of a joint from one frame to the next                              rad
    jerk    third difference of the joints, without the root, root mean square over joints    rad/s^3
    limits  violation of the joint ranges                                                     rad
    speed   largest speed of a joint, and the share of frames in which one is faster than 3 pi        rad/s
    bodies  depth of self-collisions, of convex hulls or the capsules of `Clearance`             mm

Contacts are those of the source, if one is given: contacts detected in the result would only include the feet that
stand still there.
"""

from dataclasses import dataclass, fields
from math import degrees, isfinite, isnan, nan

import numpy as np
from numpy.typing import NDArray

from poise.arrays import Floats
from poise.errors import InvalidValue
from poise.kinematics import Motion
from poise.kinematics.carriers import find_root
from poise.kinematics.clip_edits import follow_branches
from poise.kinematics.motion import check_motion
from poise.model import Model
from poise.model.derive import hide_visual
from poise.motion.clips.faults import Fault, FaultCurve, find_floor_curve, find_self_curve, sort_faults
from poise.motion.clips.spot_walk import measure_spot_speed
from poise.motion.contact.detector import contacts as find_contacts
from poise.motion.contact.ledger import Contact, Contacts
from poise.motion.contact.soles import find_soles

__all__ = ["Quality", "quality"]

FAST_JOINT_SPEED = 3.0 * np.pi  # rad/s
UNKNOWN = "no feet found, so slip, drift and floor are unknown"


@dataclass(frozen=True, slots=True)
class Quality:
    """The quality of a clip; lengths in millimetres, whatever the unit of its file, angles in radians.

    Attributes:
        frames: The number of frames.
        fps: Its frame rate.
        contact_share: The share of frames with a contact.
        slip_mean: Mean horizontal motion of contact points [mm/frame]; slip, drift and height are nan if the body has
            no known feet and no contacts are given.
        slip_p95: The 95th percentile.
        slip_max: The maximum.
        drift_mean: Mean over contacts of the largest distance from the median place [mm].
        drift_max: The maximum.
        height_mean: Mean distance of contact points from the floor, in contact [mm].
        sink_max: Largest depth of a part of the body below the floor [mm], wherever contacts were to be held; only of
            its soles below their contacts if the floor is unknown.
        sink_share: The share of frames with a part deeper than 1 mm.
        step_max: Largest motion of a joint in one frame [rad].
        jerk_mean: Mean jerk [rad/s^3].
        jerk_p95: The 95th percentile.
        speed_max: Largest speed of a joint [rad/s].
        speed_share: The share of frames in which a joint is faster than 3 pi rad/s.
        limits_max: Largest violation of a joint range [rad, m]; 0 if there is no violation.
        limits_share: The share of frames with a joint at a bound of its range.
        tracking_mean: Mean distance of frames of the same name from those of the source [mm]; None without a source.
        tracking_p95: The 95th percentile.
        bones_mean: Mean angle between the bones of limbs and those of the source [rad]; None if nothing was retargeted.
        bones_p95: The 95th percentile.
        collision_max: Depth of the deepest self-collision [mm]; None if the body has no size.
        collision_share: The share of frames with a self-collision of any depth; retargeting leaves those of convex
            hulls that are less than 3 mm deep, for a body of 1.75 m.
        spot_speed: Speed of a walk or run on the spot, whose path `motion.add_path` adds [m/s]; 0 for any other clip.
        faults: The largest depth below the floor or in a scene, self-collision, and error of a bone's direction, each
            with its frame and part, the clearest one first. `to_dict` leaves them out.
    """

    frames: int
    fps: float
    contact_share: float
    slip_mean: float
    slip_p95: float
    slip_max: float
    drift_mean: float
    drift_max: float
    height_mean: float
    sink_max: float
    sink_share: float
    step_max: float
    jerk_mean: float
    jerk_p95: float
    speed_max: float
    speed_share: float
    limits_max: float
    limits_share: float
    tracking_mean: float | None = None
    tracking_p95: float | None = None
    collision_max: float | None = None
    collision_share: float | None = None
    bones_mean: float | None = None
    bones_p95: float | None = None
    spot_speed: float = 0.0
    faults: tuple[Fault, ...] = ()

    def __str__(self) -> str:
        return "\n".join(f"{what:<10}{text}" for what, text in self.list_lines().items())

    def list_lines(self) -> dict[str, str]:
        """Return the lines of the table: the text of each measured quantity by its name."""
        percent = 100.0 * self.contact_share
        feet = {
            "slip": f"mean {self.slip_mean:.3f}, p95 {self.slip_p95:.3f}, max {self.slip_max:.3f} mm a frame",
            "drift": f"mean {self.drift_mean:.2f}, max {self.drift_max:.2f} mm",
            "floor": f"{self.height_mean:.2f} mm off in contact, {self.sink_max:.2f} mm deep at most",
        }
        fast, held = 100.0 * self.speed_share, 100.0 * self.limits_share
        seen = [str(fault) for fault in self.faults if fault.severity > 1.0]
        lines = {
            **({"worst": "; ".join(seen)} if seen else {}),
            "frames": f"{self.frames} at {self.fps:g} fps, in contact in {percent:.0f} % of them",
            **({"path": f"walks on the spot at about {self.spot_speed:.1f} m/s"} if self.spot_speed else {}),
            **(feet if isfinite(self.slip_mean) else {"feet": UNKNOWN}),
            "step": f"{self.step_max:.3f} rad at most",
            "speed": f"{self.speed_max:.2f} rad/s at most, over 3 pi in {fast:.0f} % of frames",
            "jerk": f"mean {self.jerk_mean:.0f}, p95 {self.jerk_p95:.0f} rad/s^3",
            "limits": f"{self.limits_max:.3g} outside, at an end in {held:.0f} % of frames",
        }
        if self.collision_max is not None:  # without the share of any depth: `why` counts the frames that are seen
            lines["itself"] = f"{self.collision_max:.1f} mm deep at most"
        if self.tracking_mean is not None:
            lines["tracking"] = f"mean {self.tracking_mean:.1f}, p95 {self.tracking_p95:.1f} mm"
        if self.bones_mean is not None and self.bones_p95 is not None:
            mean, p95 = degrees(self.bones_mean), degrees(self.bones_p95)
            lines["bones"] = f"mean {mean:.1f}, p95 {p95:.1f} degrees from those of the source"
        return lines

    def to_dict(self) -> dict[str, float | int | None]:
        """Return the numbers by name, for JSON and tables; unknown numbers are None."""
        found = {each.name: getattr(self, each.name) for each in fields(self) if each.name != "faults"}
        return {name: None if isinstance(value, float) and isnan(value) else value for name, value in found.items()}


def quality(
    clip: Motion, source: Motion | None = None, *, contacts: Contacts | None = None, visible: bool = True
) -> Quality:
    """Measure the quality of a clip.

    Args:
        clip: The motion.
        source: The motion it was made from, of the same body or with frames of the same names: contacts are detected
            there, and distances are measured from it.
        contacts: The contacts to measure at; by default those detected in the source, or in the clip without a source.
        visible: Whether visual shapes that stand out of the collision shapes are parts of the body, as in `retarget`.

    Raises:
        InvalidValue: The clip has no frame, or the source has a different number of frames.
    """
    check_motion(clip)
    if source is not None and not isinstance(source, Motion):
        raise InvalidValue(f"source is {source!r}; it must be a poise.Motion.")
    if contacts is not None and not isinstance(contacts, Contacts):
        raise InvalidValue(f"contacts is {contacts!r}; it must be Contacts, as poise.motion.contacts finds them.")
    if contacts is not None and contacts.frames != len(clip):
        raise InvalidValue(f"contacts are of a clip of {contacts.frames} frames; this one has {len(clip)}.")
    if source is not None and len(source) != len(clip):
        raise InvalidValue(f"source has {len(source)} frames and the clip {len(clip)}.")
    clip = clip if visible else Motion(hide_visual(clip.model), clip.q, clip.fps)
    ledger = find_ledger(clip, source, contacts)
    known = len(ledger) > 0 or has_feet(clip.model)
    paths = [(contact, clip.positions(contact.frame, contact.point)[contact.start : contact.end]) for contact in ledger]
    mean, p95 = measure_tracking(clip, source)
    floor, itself = find_floor_curve(clip, ledger), find_self_curve(clip)
    faults = sort_faults(each.find_fault() for each in (floor if known else None, itself) if each is not None)
    feet = {**measure_slip(clip, paths, len(clip)), "height_mean": measure_off(clip, paths), **measure_sink(floor)}
    return Quality(
        len(clip),
        clip.fps,
        **{name: value if known or name == "contact_share" else nan for name, value in feet.items()},
        **measure_joints(clip),
        tracking_mean=mean,
        tracking_p95=p95,
        collision_max=None if itself is None else 1e3 * itself.find_fault().size,
        collision_share=None if itself is None else float((itself.sizes > 0.0).mean()),
        spot_speed=clip.model.metres_per_unit * measure_spot_speed(clip),
        faults=faults,
    )


def has_feet(model: Model) -> bool:
    """Return whether a body has known soles."""
    try:
        return bool(find_soles(model))
    except InvalidValue:
        return False


def find_ledger(clip: Motion, source: Motion | None, contacts: Contacts | None) -> Contacts:
    """Return the contacts to measure at, empty if the body has no feet."""
    if contacts is not None:
        return contacts
    try:
        return find_contacts(clip if source is None or not are_alike(clip.model, source.model) else source)
    except InvalidValue:
        return Contacts((), len(clip), clip.fps)


def are_alike(one: Model, other: Model) -> bool:
    """Return whether two bodies have the same frames and unit, so that the contacts of one are those of the other.

    Files are rounded and named after themselves, so a body that was saved and read again is not equal to itself.
    """
    return one.frames == other.frames and one.units == other.units


def measure_slip(clip: Motion, paths: list[tuple[Contact, Floats]], frames: int) -> dict[str, float]:
    """Return slip and drift of the contact points [mm], and the share of frames with a contact."""
    up = clip.model.up_direction
    across = [path - np.outer(path @ up, up) for _, path in paths]
    slips = np.concatenate([np.linalg.norm(np.diff(path, axis=0), axis=1) for path in across] or [np.zeros(0)])
    drifts = [np.linalg.norm(path - np.median(path, axis=0), axis=1).max() for path in across]
    touched = np.zeros(frames, dtype=bool)
    for contact, _ in paths:
        touched[contact.start : contact.end] = True
    mm = 1e3 * clip.model.metres_per_unit
    slips, drift = (slips if slips.size else np.zeros(1)), (np.array(drifts) if drifts else np.zeros(1))
    return {
        "contact_share": float(touched.mean()),
        "slip_mean": mm * float(slips.mean()),
        "slip_p95": mm * float(np.percentile(slips, 95.0)),
        "slip_max": mm * float(slips.max()),
        "drift_mean": mm * float(drift.mean()),
        "drift_max": mm * float(drift.max()),
    }


def measure_off(clip: Motion, paths: list[tuple[Contact, Floats]]) -> float:
    """Return the mean height error of contact points [mm]."""
    up, heights = clip.model.up_direction, [np.zeros(0)]
    for contact, path in paths:
        level = np.median(path @ up) if contact.place is None else np.array(contact.place) @ up
        heights.append(np.abs(path @ up - level))
    off = np.concatenate(heights)
    return 1e3 * clip.model.metres_per_unit * float(off.mean()) if off.size else 0.0


def measure_sink(found: FaultCurve) -> dict[str, float]:
    """Return the largest depth below the floor, or in a scene [mm], and the share of frames deeper than 1 mm."""
    return {"sink_max": 1e3 * found.find_fault().size, "sink_share": float((found.sizes > 1e-3).mean())}


def measure_joints(clip: Motion) -> dict[str, float]:
    """Return steps, jerk and speed of the joints, without the root, and the violation of their ranges."""
    model = clip.model
    q = follow_branches(model, clip.q)
    inner = list_inner(clip)
    steps = model.difference(q[:-1], q[1:])[:, inner] if len(clip) > 1 and inner else np.zeros((1, len(inner) or 1))
    jerks = np.sqrt((np.diff(steps, 2, axis=0) ** 2).mean(axis=1)) * clip.fps**3 if len(steps) > 2 else np.zeros(1)
    outside, at_end = measure_ranges(clip)
    return {
        "step_max": float(np.abs(steps).max()),
        "jerk_mean": float(jerks.mean()),
        "jerk_p95": float(np.percentile(jerks, 95.0)),
        "speed_max": float(np.abs(steps).max() * clip.fps),
        "speed_share": float((np.abs(steps).max(axis=1) * clip.fps > FAST_JOINT_SPEED).sum() / len(clip)),
        "limits_max": float(outside.max(initial=0.0)),
        "limits_share": float(at_end.mean()),
    }


def measure_ranges(clip: Motion) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the largest violation of the joint ranges per frame, and flag the frames at a bound."""
    model = clip.model
    outside, at_end = np.zeros(len(clip)), np.zeros(len(clip), dtype=bool)
    for joint in model.joints:
        if joint.nq and not joint.mimic and not joint.quaternion:
            x, low, high = clip.q[:, joint.q], model.lower[joint.v], model.upper[joint.v]
            outside = np.maximum(outside, np.maximum(low - x, x - high).max(axis=1))
            at_end |= np.asarray(((x <= low) | (x >= high)).any(axis=1))
    return outside, at_end


def list_inner(clip: Motion) -> list[int]:
    """List the indices of the angular velocities, excluding those of the root."""
    root = find_root(clip.model)
    carried = set() if root is None else {root.slide.name, root.turn.name}
    out: list[int] = []
    for joint in clip.model.joints:
        if joint.nv and not joint.mimic and joint.name not in carried:
            out += [joint.v.start + k for k, turns in enumerate(joint.turns) if turns]
    return out


def measure_tracking(clip: Motion, source: Motion | None) -> tuple[float | None, float | None]:
    """Return the distance to the frames of the same name in the source: mean and 95th percentile [mm]."""
    names = [] if source is None else [name for name in clip.model.frames if name in source.model.frames]
    if source is None or not names:
        return None, None
    ours, theirs = clip.model.metres_per_unit, source.model.metres_per_unit
    far = np.stack([np.linalg.norm(ours * clip.positions(n) - theirs * source.positions(n), axis=1) for n in names])
    return 1e3 * float(far.mean()), 1e3 * float(np.percentile(far, 95.0))
