"""The goals that transfer the motion of a quadruped to another one (`legs`)."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from poise.anatomy import Roles
from poise.arrays import Floats
from poise.errors import InvalidValue
from poise.goals import Align, Orient, Reach
from poise.kinematics.carriers import Root
from poise.model import Model
from poise.motion.retargeting.bones import find_axes, make_axes, place_of, unit
from poise.motion.retargeting.correspondence import CarryOver, Scales, read_scales
from poise.motion.retargeting.goal_targets import GoalTargets, Ground
from poise.motion.retargeting.initial_poses import InitialPoses
from poise.motion.retargeting.mapping import Mapping, Pair
from poise.motion.retargeting.quadrupeds.legs import ALIASES, QuadrupedLeg, find_legs, find_stance_pose

__all__ = ["FourLeggedCarryOver"]

PLACE_WEIGHT = 6.0  # of a foot that is off by the length of a leg, relative to a rotation that is off by 1 rad


class FourLeggedCarryOver(CarryOver):
    """A retargeting between two quadrupeds.

    Attributes:
        legs: The legs of the target and of the source.
        limber: Whether the target's legs have as many bones as the source's, which then keep their directions.
    """

    legs: tuple[list[QuadrupedLeg], list[QuadrupedLeg]]
    limber: bool

    def __init__(
        self,
        source: Model,
        model: Model,
        parts: Mapping,
        scale: object,
        root: Root | None,
        joints: Sequence[str] | None,
    ) -> None:
        pairs = tuple(Pair(ALIASES.get(pair.role, pair.role), pair.source, pair.target) for pair in parts)
        super().__init__(source, model, replace(parts, pairs=pairs), scale, root, joints)
        self.parts = parts

    def _name_parts(self) -> None:
        """Name the parts of both bodies, and find their legs."""
        own, other = ({**roles, **self._list_given(i)} for i, roles in enumerate(self.roles))
        self.legs = find_legs(self.model, own, self.roles[0]), find_legs(self.source, other, self.roles[1])
        self.ours, self.theirs = ({ALIASES.get(role, role): names[role] for role in names} for names in (own, other))
        self.limber = all(f"{part}_{side}" in self.parts for part in ("ankle", "wrist") for side in "lr")
        self.tips = {leg.side: leg for leg in self.legs[0]}

    def _list_given(self, which: int) -> dict[str, str]:
        """Return the frames of the mapping for the target (0) or the source (1), by the roles of four legs."""
        back = {alias: role for role, alias in ALIASES.items()}
        return {back.get(pair.role, pair.role): (pair.target, pair.source)[which] for pair in self.parts}

    def _read_scales(self, scale: object) -> Scales:
        """Return the scale of the path: the ratio of the lengths of all legs, unless it is given."""
        found = read_scales(scale, self.source, self.theirs, self.model, self.ours)
        if found.arms is not None:
            raise InvalidValue("scale has 'arms', and a quadruped has none: give 'legs' or a number.")
        if found.given:
            return found
        own, other = (sum(leg.length for leg in legs) for legs in self.legs)
        return replace(found, path=own / other)

    def _add_trunk(self) -> None:
        if self.limber:
            super()._add_trunk()
            return
        T = self.model.fk(self.model.rest, self.ours["pelvis"])
        starts = np.array([place_of(self.model, leg.start) for leg in self.legs[0]]) - T[:3, 3]
        self.starts: Floats = starts @ T[:3, :3]
        self.own_middle = self.starts.mean(axis=0)
        if self.moves:
            middle = tuple(self.own_middle.tolist())
            self.goal_rows.append((Reach(self.ours["pelvis"], np.zeros(3), point=middle, name="hips"), "hips", None))
        self.goal_rows.append((Orient(self.ours["pelvis"], np.eye(3), name="trunk turned"), "pelvis", None))

    def _add_bones(self) -> None:
        if not self.limber:
            for leg in self.legs[0]:
                goal = Reach(leg.frame, np.zeros(3), point=leg.point, name=f"foot_{leg.side} at")
                self.goal_rows.append((goal, "paw", leg.side))
            return
        super()._add_bones()
        for own, other in zip(*self.legs, strict=True):
            ankle = ALIASES[f"ankle_{own.side}"]
            T, tip = self.model.fk(self.model.rest, [self.ours[ankle], own.frame])
            way = T[:3, :3].T @ (tip[:3, :3] @ np.array(own.point) + tip[:3, 3] - T[:3, 3])
            if np.linalg.norm(way) > 0.0 and other.point == (0.0, 0.0, 0.0) and other.frame != self.theirs[ankle]:
                bone = Align(self.ours[ankle], unit(way), (0.0, 0.0, 1.0), name=f"ankle_{own.side} to toe")
                self.goal_rows.append((bone, "bone", (self.theirs[ankle], other.frame)))

    def _add_ends(self) -> None:
        if self.limber:
            super()._add_ends()

    def _make_targets(self) -> GoalTargets:
        return LevelTargets(self) if self.limber else PawTargets(self)

    def _make_initial(self) -> InitialPoses:
        return InitialPoses(self) if self.limber else StandingPoses(self)


class LevelTargets(GoalTargets):
    """The targets of a target with bones as the source's, with heights above the floor instead of standing ankles."""

    def make(self, T: Floats, ground: Ground) -> Floats:
        """Return the targets of all goals, (frames, goals, 12), for source transforms `T`, (frames, parts, 4, 4)."""
        return super().make(T, Ground(ground.floor, 0.0))


class PawTargets(GoalTargets):
    """The targets of a target whose feet follow places: its trunk, and the ends of its legs."""

    def __init__(self, carrying: FourLeggedCarryOver) -> None:
        super().__init__(carrying)
        self.four, at = carrying, carrying.at
        self.paws = [i for i, (_, kind, _) in enumerate(self.goal_rows) if kind == "paw"]
        own, other = carrying.legs
        self.begins = np.array([at[leg.start] for leg in other])
        self.tips = np.array([at[leg.frame] for leg in other])
        self.points = np.array([leg.point for leg in other])
        self.rest_starts = np.array([place_of(carrying.model, leg.start) for leg in own])
        self.radii = np.array([leg.radius for leg in own])
        self.own_radii = np.array([leg.radius for leg in other])
        long = float(np.mean([leg.length for leg in own])) / carrying.model.length  # places are relative to the body
        self.weights[self.paws] *= PLACE_WEIGHT / long
        if self.hips is not None:
            self.weights[self.hips] *= PLACE_WEIGHT / long
        axes = find_axes(carrying.model, carrying.ours, "pelvis")
        self.axes = np.eye(3) if axes is None else axes
        self.level = find_level(carrying.roles[1], other)

    def make(self, T: Floats, ground: Ground) -> Floats:
        """Return the targets of all goals, (frames, goals, 12), for source transforms `T`, (frames, parts, 4, 4)."""
        out = super().make(T, ground)
        begins, ends = T[:, self.begins][..., :3, 3], T[:, self.tips]
        tips = (ends[..., :3, :3] @ self.points[..., None])[..., 0] + ends[..., :3, 3]
        scale, up = self.carrying.scales.path, self.up
        middle = begins.mean(axis=1)
        hips = scale * middle
        hips += np.outer(scale * (middle @ up - ground.floor) - hips @ up, up)
        turns = lay_trunk(begins) @ self.level @ self.axes.T
        if self.hips is not None:
            out[:, self.hips, 9:] = hips
        out[:, self.pelvis, :9] = turns.reshape(len(T), 9)
        if not self.four.moves:  # the trunk stays where it is
            out[:, self.paws, 9:] = self.rest_starts + scale * (tips - begins)
            return out
        begun = hips[:, None] + (self.four.starts - self.four.own_middle) @ np.swapaxes(turns, 1, 2)
        places = begun + scale * (tips - begins)  # with the scale of the path: other ones would let standing feet slide
        heights = scale * (tips @ up - ground.floor - self.own_radii) + self.radii
        out[:, self.paws, 9:] = places + (heights - places @ up)[..., None] * up
        return out


class StandingPoses(InitialPoses):
    """Initial poses whose legs bend as those of the standing robot."""

    def __init__(self, carrying: FourLeggedCarryOver) -> None:
        super().__init__(carrying)
        stance = find_stance_pose(carrying.model, carrying.legs[0])
        joints = {joint.name: joint for leg in carrying.legs[0] for joint in carrying.model.joints_above(leg.frame)}
        hinges = [joint for joint in joints.values() if joint.nv == 1 and not joint.mimic]
        self.columns = np.array([joint.q.start for joint in hinges], dtype=np.int64)
        self.stance = stance[self.columns]

    def make(self, T: Floats, targets: Floats, near: Floats | None = None) -> Floats:
        """Return configurations (frames, nq), with the legs of the stance."""
        q = super().make(T, targets, near)
        q[:, self.columns] = self.stance
        return q


def lay_trunk(begins: Floats) -> Floats:
    """Return the axes of a trunk from the starts of its legs, (frames, 4, 3): left, from hind to fore, and down."""
    left = begins[:, 0] - begins[:, 1] + begins[:, 2] - begins[:, 3]
    return make_axes(left, begins[:, :2].mean(axis=1) - begins[:, 2:].mean(axis=1))


def find_level(roles: Roles, legs: list[QuadrupedLeg]) -> Floats:
    """Return the rotation from the axes of a trunk to level ones while the body stands; shoulders may be higher."""
    body = roles.stand_on(legs[0].frame)
    starts = np.array([body.places[leg.start][:3, 3] for leg in legs])
    axes = lay_trunk(starts[None])[0]
    ahead = axes[:, 1] - (axes[:, 1] @ body.up) * body.up
    if np.linalg.norm(ahead) < np.cos(np.radians(45.0)):
        return np.eye(3)
    level: Floats = axes.T @ make_axes(axes[:, 0], ahead)
    return level
