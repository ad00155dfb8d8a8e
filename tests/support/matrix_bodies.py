"""Bodies of the matrix of methods: chains and limbs of one joint kind, and a figure with two arms and its goals."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

import poise
from poise.arrays import Floats
from poise.goals import (
    Align,
    Angle,
    Balance,
    Ball,
    CenterOfMass,
    Custom,
    Distance,
    Goal,
    HalfSpace,
    Inside,
    LookAt,
    MidRange,
    OnLine,
    OnPlane,
    Orient,
    Range,
    Reach,
    Relative,
    Rest,
)
from poise.limits import Clearance, Closed, Cone, Coupled, Limit

ROOM = 0.6  # radians (metres) to both sides of the start; targets lie within half of it
JOINTS = {"prismatic": 3, "universal": 3, "euler": 2, "ball": 2, "planar": 2, "translation3": 1, "free": 1}
SHOULDERS = {
    "fixed": ("ball",),
    "revolute": ("revolute",) * 3,
    "continuous": ("continuous",) * 3,
    "euler": ("euler",),
    "universal": ("universal", "revolute"),
}
RANGED = {"revolute": 1, "prismatic": 1, "screw": 1, "universal": 2, "euler": 3, "planar": 3, "translation3": 3}
RANGED |= {"cylindrical": 2}  # kinds that take a range, and its width
OPTIONS: dict[str, dict[str, Any]] = {"euler": {"order": "ZXY"}, "screw": {"pitch": 0.05}}
AXES = np.eye(3)[[2, 1, 0, 1, 2, 0, 1, 2]]


@dataclass(frozen=True)
class KindBody:
    """A small body, a bent start, a pose nearby, and which joints stand otherwise there (all, unless named)."""

    model: poise.Model
    start: Floats
    near: Floats
    moved: Sequence[str] | None = None

    def find_target(self, joints: Sequence[str] | None = None) -> Floats:
        """Return the tip's transform when these joints stand as in the pose nearby."""
        named, q = joints or self.moved, np.array(self.start)
        for joint in self.model.joints:
            if joint.nq and not joint.mimic and (named is None or joint.name in named):
                q[joint.q] = self.near[joint.q]
        return np.asarray(self.model.fk(q, "tip"))


@cache
def build_chain_of(kind: str) -> KindBody:
    """Return joints of one kind one after the other; hinges between those that cannot move by themselves."""
    plan = [kind] * JOINTS.get(kind, 6)
    if kind in ("fixed", "mimic"):
        plan = [kind if k % 2 else "revolute" for k in range(6)]
    return build_plan(kind, plan, [k > 0 for k in range(6)])


@cache
def build_limb_of(kind: str) -> KindBody:
    """Return shoulder, elbow and wrist: the kind is the shoulder where it can be, else what the limb stands on."""
    shoulder = SHOULDERS.get(kind, ("ball",))
    under = [] if kind in ("revolute", "continuous", "euler", "universal", "ball") else [kind]
    under = ["revolute", *under] if kind == "mimic" else under
    plan = [*under, *shoulder, "revolute", *["revolute"] * 3]
    bone = len(under) + len(shoulder)
    return build_plan(kind, plan, [k in (bone, bone + 1) for k in range(len(plan))], first=len(under))


def build_plan(name: str, plan: Sequence[str], bones: Sequence[bool], first: int = 0) -> KindBody:
    """Return a body of joints `j0 j1 ...`, a bone before each where `bones` says so; j<first> and on are moved."""
    builder = poise.ModelBuilder(name)
    bends, links = np.random.default_rng(7).uniform(0.3, 0.9, (2, 8, 3))
    parent = None
    for k, planned in enumerate(plan):
        kind = "revolute" if planned == "mimic" else planned
        options = OPTIONS.get(kind, {})
        if kind in ("revolute", "continuous", "prismatic", "screw"):
            options = {**options, "axis": AXES[k]}
        if planned == "mimic":
            options = {**options, "mimic": (f"j{k - 1}", 0.7, 0.1)}
        elif kind in RANGED:
            at = bends[k][0] if RANGED[kind] == 1 else bends[k][: RANGED[kind]]
            options = {**options, "lower": at - ROOM, "upper": at + ROOM, "rest": at}
        builder.add_joint(f"j{k}", parent, kind, offset=0.4 * links[k] * bones[k], **options)
        parent = f"j{k}"
    model = builder.add_frame("tip", parent, (0.3, 0.1, 0.2)).build()
    bent = np.where(np.isfinite(model.lower), 0.0, np.linspace(0.3, 0.8, model.nv))
    start = model.integrate(np.array(model.rest), bent)
    step = ROOM * np.random.default_rng(5).uniform(-0.5, 0.5, model.nv)
    moved = [f"j{k}" for k in range(first, len(plan))] if first else None
    return KindBody(model, start, model.integrate(start, step), moved)


# ------------------------------------------------------------------------------------------------ a figure


def build_figure() -> poise.Model:
    """Return a waist, and two arms of a ball, a hinge and a ball."""
    builder = poise.ModelBuilder("figure")
    builder.add_joint("waist", None, "revolute", axis=(0, 0, 1), lower=-1.0, upper=1.0, mass=4.0, center=(0, 0, 0.2))
    for side, x in (("l", 0.2), ("r", -0.2)):
        limb: dict[str, Any] = {"mass": 1.0, "center": (0, 0, 0.15)}
        builder.add_joint(f"shoulder_{side}", "waist", "ball", offset=(x, 0, 0.4), **limb)
        hinge: dict[str, Any] = {"axis": (0, 1, 0), "lower": 0.0, "upper": 2.4}
        builder.add_joint(f"elbow_{side}", f"shoulder_{side}", "revolute", offset=(0, 0, 0.3), **hinge, **limb)
        builder.add_joint(f"wrist_{side}", f"elbow_{side}", "ball", offset=(0, 0, 0.3), mass=0.3)
        builder.add_frame(f"hand_{side}", f"wrist_{side}", (0, 0, 0.1))
    return builder.build()


def bend_figure(model: poise.Model) -> tuple[Floats, Floats]:
    """Return a bent start and a pose nearby; the right arm stands in both as it is."""
    start = np.array(model.rest)
    for side in ("l", "r"):
        start[model.joint(f"elbow_{side}").q] = 0.9
    start = np.asarray(model.integrate(start, 0.3 * np.sin(1.0 + np.arange(model.nv))))
    step = 0.12 * np.cos(2.0 * np.arange(model.nv))
    for name in ("shoulder_r", "elbow_r", "wrist_r", "waist"):
        step[model.joint(name).v] = 0.0
    return start, np.asarray(model.integrate(start, step))


FIGURE = build_figure()
FIGURE_START, NEARBY = bend_figure(FIGURE)
HAND, OTHER, WAIST = (np.asarray(FIGURE.fk(NEARBY, name)) for name in ("hand_l", "hand_r", "waist"))
PLACE, CENTER = HAND[:3, 3], np.asarray(FIGURE.center_of_mass(NEARBY))


def list_supports() -> list[tuple[str, Floats]]:
    """List supports on the waist around the centre of mass of the pose nearby, to one side of the start's."""
    x, y, _ = CENTER
    corners = [(x + a, y + b, 0.0, 1.0) for a, b in ((0.003, -0.1), (0.003, 0.1), (-0.2, 0.1), (-0.2, -0.1))]
    return [("waist", (np.linalg.inv(WAIST) @ corner)[:3]) for corner in corners]


def measure_lift(q: Floats) -> Floats:
    """Return how far above its place the left hand is, (1,)."""
    return np.asarray(FIGURE.fk(q, "hand_l")[2:3, 3] - PLACE[2])


FIGURE_GOALS: dict[str, Callable[[], list[Goal]]] = {
    "Reach a point": lambda: [Reach("hand_l", PLACE)],
    "Reach, ranges": lambda: [Reach("hand_l", (PLACE[0], Range(PLACE[1] - 0.01, None), PLACE[2]))],
    "Reach a transform": lambda: [Reach("hand_l", HAND)],
    "Relative": lambda: [Relative("hand_l", "hand_r", np.linalg.inv(OTHER) @ HAND)],
    "Orient": lambda: [Orient("hand_l", HAND[:3, :3])],
    "Orient, some axes": lambda: [Orient("hand_l", HAND[:3, :3], axes="xy")],
    "LookAt": lambda: [LookAt("hand_l", PLACE + HAND[:3, 2])],
    "Align": lambda: [Align("hand_l", "z", HAND[:3, 2])],
    "Angle": lambda: [Angle("hand_l", "z", None, "z", float(np.arccos(HAND[2, 2])))],
    "Distance": lambda: [Distance("hand_l", "hand_r", float(np.linalg.norm(PLACE - OTHER[:3, 3])))],
    "OnPlane": lambda: [OnPlane("hand_l", PLACE, (0, 0, 1))],
    "OnLine": lambda: [OnLine("hand_l", PLACE, (0, 1, 1))],
    "Inside a ball": lambda: [Inside("hand_l", Ball(PLACE, 0.02))],
    "Inside planes": lambda: [Inside("hand_l", [HalfSpace(PLACE, (0, 0, 1))])],
    "CenterOfMass": lambda: [CenterOfMass(CENTER)],
    "Balance": lambda: [Balance(list_supports())],
    "Custom": lambda: [Custom(measure_lift, size=1)],
    "Reach and Rest": lambda: [Reach("hand_l", PLACE), Rest(FIGURE_START)],
    "Reach and MidRange": lambda: [Reach("hand_l", PLACE), MidRange()],
}


def list_limits(name: str) -> list[Limit]:
    """List one limit of a kind, kept at the start, some of them tight; none for the ranges of joints."""
    waist, elbow = (np.asarray(FIGURE.fk(FIGURE_START, frame)) for frame in ("waist", "elbow_r"))
    made: dict[str, Callable[[], Limit]] = {
        "Cone": lambda: Cone("shoulder_l", swing=1.2, twist=(-1.5, 1.5)),
        "Coupled": lambda: Coupled({"elbow_l": 1.0, "elbow_r": -1.0}, -0.8, 0.8),
        "Clearance": lambda: Clearance([("hand_l", "waist")], world=[HalfSpace((0, 0, -0.3), (0, 0, 1))]),
        "Closed": lambda: Closed("elbow_r", "waist", (np.linalg.inv(waist) @ elbow)[:3, 3]),
    }
    return [made[name]()] if name in made else []
