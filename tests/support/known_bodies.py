"""Bodies whose roles are known: those of the project with other names, and robots made of hinges in many ways."""

from dataclasses import dataclass, replace

import numpy as np

import poise
from poise.arrays import Triple
from poise.model import Model
from poise.model.spec import FrameSpec, JointSpec
from poise.spatial import Rotation, Transform

AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}


def rename(model: Model, names: dict[str, str]) -> Model:
    """Return the model with other names and without its roles."""
    specs: list[JointSpec | FrameSpec] = []
    for spec in model.layout.specs:
        parent = None if spec.parent is None else names[spec.parent]
        if isinstance(spec, JointSpec):
            mimic = None if spec.mimic is None else replace(spec.mimic, joint=names[spec.mimic.joint])
            specs.append(replace(spec, name=names[spec.name], frame=names[spec.frame], parent=parent, mimic=mimic))
        else:
            specs.append(replace(spec, name=names[spec.name], parent=parent))
    shapes = tuple(replace(shape, frame=names[shape.frame]) for shape in model.shapes)
    attached = replace(model.attachments, shapes=shapes, roles=())
    return Model("renamed", specs, attached=attached)


def scramble(model: Model, seed: int) -> tuple[Model, dict[str, str]]:
    """Return the model with meaningless names, and the original name of each."""
    old = list(dict.fromkeys([*model.frames, *(joint.name for joint in model.joints)]))
    order = np.random.default_rng(seed).permutation(len(old))
    names = {name: f"x{order[i]}" for i, name in enumerate(old)}
    return rename(model, names), {new: name for name, new in names.items()}


def find_parts(model: Model) -> dict[str, str]:
    """Return for each frame the root frame of its rigid part."""
    parts: dict[str, str] = {}
    for name in (model.layout.frames[i] for i in model.layout.order):
        frame = model.frame(name)
        joint = None if frame.joint is None else model.joint(frame.joint)
        moves = joint is not None and joint.kind != "fixed" and not joint.locked
        parts[name] = name if frame.parent is None or moves else parts[str(frame.parent)]
    return parts


@dataclass(frozen=True)
class Plan:
    """The plan of a robot: the axes of its joints from the trunk outwards, and their positions.

    `hip` has three axes at about one place, and `apart` is the distance between them.
    """

    hip: str = "yxz"
    ankle: str = "yx"
    shoulder: str = "yxz"
    wrist: str = "zyx"
    waist: str = "z"
    neck: str = "zy"
    apart: float = 0.0
    arms: str = "down"  # or "out"
    scale: float = 1.0
    toes: bool = False


class Maker:
    """A builder of a robot of hinges, joint by joint."""

    def __init__(self, plan: Plan) -> None:
        self.plan, self.builder, self.roles = plan, poise.ModelBuilder("robot"), {"pelvis": "pelvis"}

    def hinge(self, name: str, parent: str, axis: str, at: Triple, span: tuple[float, float], mass: float) -> str:
        """Add a hinge at a place of its parent [m]; return its name."""
        low, high = span
        self.builder.add_joint(
            name, parent, "revolute", offset=self.scaled(at), axis=AXES[axis], lower=low, upper=high, mass=mass
        )
        return name

    def row(self, name: str, parent: str, axes: str, first: Triple, step: Triple, mass: float) -> str:
        """Add hinges in a row, the others a step from the first; return the name of the last."""
        at = first
        for i, axis in enumerate(axes):
            parent = self.hinge(f"{name}_{i}" if "_" not in name else f"{name}{i}", parent, axis, at, (-1.5, 1.5), mass)
            at = step
        return parent

    def scaled(self, at: Triple) -> Triple:
        """Return a position in the units of the robot."""
        return at[0] * self.plan.scale, at[1] * self.plan.scale, at[2] * self.plan.scale

    def make(self) -> tuple[Model, dict[str, str]]:
        """Make the whole robot."""
        plan, builder = self.plan, self.builder
        builder.add_joint("pelvis", None, "free", offset=self.scaled((0.0, 0.0, 0.9)), mass=8.0)
        chest = self.row("waist", "pelvis", plan.waist, (0.0, 0.0, 0.1), (0.0, 0.0, 0.02), 3.0)
        self.roles["chest"] = chest
        rise = 0.35 if plan.waist else 0.45
        if plan.neck:
            head = self.row("neck", chest, plan.neck, (0.0, 0.0, rise + 0.1), (0.0, 0.0, 0.04), 1.0)
            self.roles["head"] = head
            builder.add_frame("camera", head, offset=self.scaled((0.06, 0.0, 0.1)))
        for side, sign in (("l", 1.0), ("r", -1.0)):
            self.add_leg(side, sign)
            self.add_arm(chest, side, sign, rise)
        return builder.build(), self.roles

    def add_leg(self, side: str, sign: float) -> None:
        """Add a leg."""
        plan = self.plan
        hip = self.row(f"hip_{side}", "pelvis", plan.hip, (0.0, sign * 0.1, -0.05), (0.0, 0.0, -plan.apart), 1.5)
        knee = self.hinge(f"knee_{side}", hip, "y", (0.0, 0.0, -0.38), (0.0, 2.2), 2.0)
        foot = self.row(f"ankle_{side}", knee, plan.ankle, (0.0, 0.0, -0.38), (0.0, 0.0, -0.3 * plan.apart), 0.5)
        self.roles |= {f"hip_{side}": hip, f"knee_{side}": knee, f"foot_{side}": foot}
        for name, x in (("front", 0.14), ("back", -0.05)):
            self.builder.add_frame(f"{name}_{side}", foot, offset=self.scaled((x, 0.0, -0.06)))
        if plan.toes:
            self.roles[f"toe_{side}"] = self.hinge(f"toe_{side}", foot, "y", (0.12, 0.0, -0.05), (-0.6, 0.3), 0.1)

    def add_arm(self, chest: str, side: str, sign: float, rise: float) -> None:
        """Add an arm, hanging or stretched out to the side."""
        plan, out = self.plan, self.plan.arms == "out"

        def along(length: float) -> Triple:
            return (0.0, sign * length, 0.0) if out else (0.0, 0.0, -length)

        bend = (0.0, 2.4) if out and sign < 0 else (-2.4, 0.0)
        first = (0.0, sign * 0.17, rise)
        shoulder = self.row(f"shoulder_{side}", chest, plan.shoulder, first, along(0.5 * plan.apart), 0.7)
        elbow = self.hinge(f"elbow_{side}", shoulder, "z" if out else "y", along(0.26), bend, 0.8)
        hand = self.row(f"wrist_{side}", elbow, plan.wrist, along(0.24), along(0.2 * plan.apart), 0.3)
        self.roles |= {f"shoulder_{side}": shoulder, f"elbow_{side}": elbow, f"hand_{side}": hand}
        self.builder.add_frame(f"palm_{side}", hand, offset=self.scaled(along(0.12)))


def turn(model: Model, rotation: Rotation, up: str) -> Model:
    """Return the model with its root rotated in the world, and another up axis."""
    turned = Transform(rotation, np.zeros(3))
    specs = [replace(spec, offset=turned @ spec.offset) if spec.parent is None else spec for spec in model.layout.specs]
    return Model(model.name, specs, attached=replace(model.attachments, up=up))
