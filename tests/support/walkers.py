"""Bipeds for tests: characters with ball or Euler joints, and machines with hinges."""

from itertools import pairwise
from typing import Any

import numpy as np

import poise
from poise.arrays import Triple
from poise.model.geometry.shapes import Box, Sphere

SCRAMBLED = (
    *("qax", "vub", "zil", "pom", "rek", "tud", "sif", "wog"),
    *("nel", "hab", "cyd", "jur", "lom", "fex", "gip", "dak"),
)
THREE = (("yaw", "z"), ("roll", "x"), ("pitch", "y"))
AXES: dict[str, Triple] = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}


def make_character(
    kind: str = "ball",
    *,
    scale: float = 1.0,
    bend: float = 0.0,
    toes: bool = True,
    sliding: bool = False,
    middle: int = 0,
) -> poise.Model:
    """Return a figure like those in files, z up, facing x: without ranges, masses and solids, with straight legs.

    Args:
        kind: The kind of its joints, "ball" or "euler".
        scale: File units per metre.
        bend: Bend of the knees in the rest pose, for Euler joints [rad].
        toes: Whether it has toes; otherwise its legs end at the ankles.
        sliding: Whether a moving scene node is its parent and every bone can slide, as in recordings.
        middle: Number of extra joints of each leg in the middle of the pelvis, as in recordings from CMU.
    """
    builder = poise.ModelBuilder("character")
    builder.up = "z"

    def begin_leg(side: str) -> str:
        names = ["pelvis", *(f"leg_{side}_begins_{k}" for k in range(middle))]
        for parent, own in pairwise(names):
            builder.add_joint(own, parent, "ball")
        return names[-1]

    def add(name: str, parent: str, offset: Triple, angle: float = 0.0) -> None:
        rest: dict[str, Any] = {"rest": (0.0, angle, 0.0)} if angle else {}
        order: dict[str, Any] = {"order": "ZYX"} if kind == "euler" else {}
        place = tuple(scale * np.array(offset))
        if sliding:
            builder.add_joint(f"{name}_position", parent, "translation3", offset=place)
            parent, place = f"{name}_position", (0.0, 0.0, 0.0)
        builder.add_joint(name, parent, kind, offset=place, **order, **rest)
        builder.add_role(name, name)

    if sliding:
        for name, parent, height in (("scene", None, 0.0), ("pelvis", "scene", 0.95 * scale)):
            builder.add_joint(f"{name}_position", parent, "translation3", rest=(0.0, 0.0, height))
            builder.add_joint(name, f"{name}_position", "euler", order="ZYX")
    else:
        builder.add_joint("pelvis", None, "free", rest=(0.0, 0.0, 0.95 * scale, 1.0, 0.0, 0.0, 0.0))
    builder.add_role("pelvis", "pelvis")
    for name, parent, height in (("spine_1", "pelvis", 0.1), ("chest", "spine_1", 0.2), ("neck", "chest", 0.2)):
        add(name, parent, (0.0, 0.0, height))
    add("head", "neck", (0.0, 0.0, 0.1))
    for side, y in (("l", 1.0), ("r", -1.0)):
        add(f"shoulder_{side}", "chest", (0.0, 0.18 * y, 0.15))
        add(f"elbow_{side}", f"shoulder_{side}", (0.0, 0.28 * y, 0.0))
        add(f"hand_{side}", f"elbow_{side}", (0.0, 0.25 * y, 0.0))
        add(f"hip_{side}", begin_leg(side), (0.0, 0.1 * y, -0.05), -bend)
        add(f"knee_{side}", f"hip_{side}", (0.0, 0.0, -0.42), 2.0 * bend)
        add(f"foot_{side}", f"knee_{side}", (0.0, 0.0, -0.4), -bend)
        if toes:
            add(f"toe_{side}", f"foot_{side}", (0.13, 0.0, -0.06))
            builder.add_frame(f"toe_{side}_end", f"toe_{side}", (0.07 * scale, 0.0, 0.0))
    return builder.build()


def make_machine(
    *,
    scrambled: bool = False,
    hands: bool = True,
    bend: float = 0.0,
    nods: bool = False,
    inside: float = 0.0,
    wrists: bool = True,
    wide: float = 0.0,
    aside: float = 0.0,
    neck: Triple | None = None,
    tilt: float = 0.0,
    roll: float = 0.0,
    lean: float = 0.0,
    twist: float = 0.0,
    outside: float = 0.0,
) -> poise.Model:
    """Return a robot of hinges, z up, facing x, with flat rigid feet and straight legs.

    Args:
        scrambled: Whether all names are meaningless.
        hands: Whether it has arms of seven joints with two fingers each.
        bend: Bend of hips and ankles in the rest pose [rad]; knees bend by twice as much.
        nods: Whether its ankles have one hinge each: feet pitch but do not roll.
        inside: Offset of the first link of each shoulder along its own axis, towards the inside [m].
        wrists: Whether its arms have wrists; otherwise forearms are rigid and point forward in the rest pose.
        wide: Range of knees and elbows in both directions [rad]; 0: knees bend only backward, elbows forward.
        aside: Sideways offset of knees from hips and of elbows from shoulders [m]: limbs with a kink.
        neck: Position of the neck, with a head, on its trunk; None for neither.
        tilt: Upward pitch of its feet in the rest pose [rad]: it stands on its heels.
        roll: Outward roll of its soles [rad]: it stands on their edges at rest.
        lean: Lean of the whole body to its right in the rest pose [rad].
        twist: Height difference of two of the four balls that it stands on instead of a sole [m].
        outside: Sideways offset of the thighs from the first link of each hip, along the axis of the pitch [m].
    """
    builder = poise.ModelBuilder("machine")
    builder.up = "z"
    words = [f"{a}{b}" for a in SCRAMBLED for b in SCRAMBLED]
    known: dict[str, str] = {}

    def name(own: str) -> str:
        return known.setdefault(own, words[7 * len(known) % len(words)] if scrambled else own)

    def hinge(own: str, parent: str, offset: Triple, axis: str, low: float, high: float, mass: float) -> str:
        bent = {"hip_pitch": -bend, "knee": 2.0 * bend, "ankle_pitch": -bend - tilt}.get(own.partition("_")[2], 0.0)
        if wide and own.partition("_")[2] in ("knee", "elbow"):
            low, high = -wide, wide
        ends: dict[str, Any] = {"lower": low, "upper": high, "mass": mass, "center": (0.0, 0.0, -0.1), "rest": bent}
        builder.add_joint(name(own), name(parent), "revolute", offset=offset, axis=AXES[axis], **ends)
        return own

    turn = (float(np.cos(0.5 * lean)), float(np.sin(0.5 * lean)), 0.0, 0.0)
    pelvis, height = name("pelvis"), (0.0, 0.0, 0.08 + 0.78 * np.cos(bend), *turn)
    builder.add_joint(pelvis, None, "free", rest=height, mass=8.0)
    torso = hinge("torso", "pelvis", (0.0, 0.0, 0.1), "z", -2.0, 2.0, 15.0)
    builder.add_frame(name("imu"), name("torso"), (0.0, 0.0, 0.2))
    if neck is not None:
        hinge("neck", torso, neck, "y", -1.0, 1.0, 0.5)
        hinge("head", "neck", (0.0, 0.0, 0.06), "z", -1.5, 1.5, 1.0)
    for side, y in (("left", 1.0), ("right", -1.0)):
        above, offset, spread = "pelvis", (0.0, 0.1 * y, -0.03), "roll" if THREE[0][0] == "pitch" else "pitch"
        for part, axis in THREE:
            place = (offset[0], offset[1] + (outside * y if part == spread else 0.0), offset[2])
            above = hinge(f"{side}_hip_{part}", above, place, axis, -2.2, 2.2, 1.5)
            offset = (0.02, 0.0, 0.0)  # links that are not exactly at one place
        above = hinge(f"{side}_knee", above, (-0.04, aside * y, -0.4), "y", -0.1, 2.4, 2.0)
        above = hinge(f"{side}_ankle_pitch", above, (0.0, -aside * y, -0.38), "y", -0.9, 0.6, 0.5)
        foot = above if nods else hinge(f"{side}_foot", above, (0.0, 0.0, 0.0), "x", -0.4, 0.4, 0.5)
        turned = poise.Rotation.from_axis_angle((1.0, 0.0, 0.0), roll * y)
        sole = poise.Transform(turned, (0.04, 0.0, -0.04))
        if twist:
            for x, across, low in ((0.14, 1.0, twist), (0.14, -1.0, 0.0), (-0.06, 1.0, 0.0), (-0.06, -1.0, twist)):
                builder.add_shape(name(foot), Sphere(0.005), offset=(x, 0.035 * across * y, -0.045 - low))
        else:
            builder.add_shape(name(foot), Box((0.2, 0.08, 0.02)), offset=sole if roll else (0.04, 0.0, -0.04))
        if not hands:
            continue
        above, offset = torso, (0.0, (0.2 - inside) * y, 0.35)
        for part, axis in (("pitch", "y"), ("roll", "x"), ("yaw", "z")):
            above = hinge(f"{side}_shoulder_{part}", above, offset, axis, -2.6, 2.6, 0.8)
            offset = (0.0, inside * y if part == "pitch" else 0.0, 0.0)
        above = hinge(f"{side}_elbow", above, (0.0, aside * y, -0.25), "y", -2.4, 0.1 if wrists else 1.6, 0.8)
        if not wrists:
            builder.add_shape(name(above), Box((0.26, 0.05, 0.05)), offset=(0.13, 0.0, 0.0))
            continue
        offset = (0.0, -aside * y, -0.25)
        for part, axis in (("yaw", "z"), ("pitch", "y"), ("roll", "x")):
            above = hinge(f"{side}_wrist_{part}", above, offset, axis, -1.8, 1.8, 0.2)
            offset = (0.0, 0.0, 0.0)
        for finger, x in (("thumb", 0.03), ("index", -0.03)):
            hinge(f"{side}_{finger}", above, (x, 0.0, -0.08), "y", -0.5, 0.5, 0.05)
    return builder.build()
