"""Footholds: the points on which the target of a stream may stand, with their legs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from poise.anatomy import ContactPoint, Edge, find_edges
from poise.arrays import Floats, Ints
from poise.model import Joint, Model
from poise.motion.contact.soles import list_soles
from poise.motion.retargeting.bones import HINGES, find_bone_start, place_of
from poise.motion.retargeting.correspondence import CarryOver

__all__ = ["Leg", "PawRow", "StreamFoothold", "list_footholds", "list_leg_hinges", "measure_apart"]


@dataclass(frozen=True, eq=False)
class Leg:
    """The chain from the hips to a point of a foot, along the targets of bones.

    Attributes:
        rows: The rows of the targets of the hips, the pelvis, the thigh, the shank and the foot, (5,).
        chain: The position of the point as a linear function of these targets, (3, 60).
    """

    rows: Ints
    chain: Floats

    @classmethod
    def read(cls, rows: Sequence[int], start: Floats, lengths: tuple[float, float], point: Floats) -> Leg:
        """Return the chain of a leg.

        Args:
            rows: The rows of the targets.
            start: The start of the leg relative to the middle of the hips, in the pelvis' axes [m].
            lengths: The lengths of the thigh and the shank [m].
            point: The point of the foot relative to the ankle, in the foot's axes [m].
        """
        chain = np.zeros((3, 5, 12))
        for k, scale in ((0, 1.0), (2, lengths[0]), (3, lengths[1])):
            chain[:, k, 9:] = scale * np.eye(3)
        for k, place in ((1, start), (4, point)):
            chain[:, k, :9] = np.kron(np.eye(3), place)
        return cls(np.array(rows, dtype=np.int64), chain.reshape(3, 60))

    @property
    def hips(self) -> int:
        """The row of the hips."""
        return int(self.rows[0])

    @property
    def foot(self) -> int:
        """The row of the foot."""
        return int(self.rows[-1])

    def follow(self, targets: Floats) -> Floats:
        """Return the position of the point from the targets of one frame, (goals, 12) [m]."""
        place: Floats = self.chain @ targets[self.rows].ravel()
        return place


@dataclass(frozen=True, eq=False)
class PawRow:
    """The targets of a quadruped's foot that follows a place.

    Attributes:
        hips: The row of the hips.
        row: The row of its place.
    """

    hips: int
    row: int

    def follow(self, targets: Floats) -> Floats:
        """Return the position of the foot from the targets of one frame, (goals, 12) [m]."""
        return targets[self.row, 9:].copy()


@dataclass(eq=False)
class StreamFoothold:
    """A point of the target that may stand.

    Attributes:
        name: "heel_l", "toe_r".
        source: The point of the source that it follows.
        frame: The frame of the target that it is fixed to.
        point: Its position in the axes of the frame [m].
        foot: The frame of the foot.
        leg: The chain of bones to it, or the row of its place; None if not all bones have targets.
        edge: The edge of the sole whose middle it is, or None.
        stands: Its height while the sole lies flat on the floor [m].
        tips: Whether its foot cannot be laid flat: it stands on the lower corner of its edge.
        place: Its place while it stands [m]; None otherwise.
        tilt: The height of the edge's corner above its flat height while it stands [m].
        fade: Frames since it was released; 0 while it stands or is free.
        offset: Its distance from the position given by the bones when it was released [m].
        turn: The rotation of its foot relative to its target at that time, a rotation vector in the foot's axes [rad].
        goal: Its target while it does not stand [m].
        weight: The weight of that target.
        turned: The target of its foot while it fades, (3, 3).
        forced: Whether it was released because it could not stand: it stands again only after it has faded.
        fall: The speed at which it approaches its height [m/s], negative downwards.
        tip: The speed of its tilt [m/s].
        down: Whether it has reached its height and its edge lies flat.
        rise: The height above it at which the target of a paw stands [m]: toes of recordings are above the ground.
    """

    name: str
    source: ContactPoint
    frame: str
    point: tuple[float, float, float]
    foot: str
    leg: Leg | PawRow | None = None
    edge: Edge | None = None
    stands: float = 0.0
    tips: bool = False
    place: Floats | None = None
    tilt: float = 0.0
    fade: int = 0
    offset: Floats | None = None
    turn: Floats | None = None
    goal: Floats | None = None
    weight: float = 0.0
    turned: Floats | None = None
    forced: bool = False
    fall: float = 0.0
    tip: float = 0.0
    down: bool = False
    rise: float = 0.0


def list_footholds(carrying: CarryOver) -> list[StreamFoothold]:
    """List the points of the target that correspond to the source's soles, each once."""
    if carrying.tips:
        return list_paws(carrying)
    known, holds = carrying.roles[0].contacts, list[StreamFoothold]()
    edges = find_edges(carrying.model)
    for sole in list_soles(carrying.source):
        own, side = known.get(sole.name) or known.get(f"sole_1_{sole.name[-1:]}"), sole.name[-1:]
        if own is None or any(own.point == h.point and own.frame == h.frame for h in holds):
            continue
        edge = edges.get(sole.name)
        stands, tips = (0.0, False) if edge is None else (edge.stands, not edge.lies)
        foot, leg = carrying.ours.get(f"foot_{side}", own.frame), find_leg(carrying, side, own.frame, own.point)
        holds.append(StreamFoothold(sole.name, sole, own.frame, own.point, foot, leg, edge, stands, tips))
    return holds


def list_paws(carrying: CarryOver) -> list[StreamFoothold]:
    """List the ends of the legs of a quadruped, each with the first point of the source's foot."""
    holds = dict[str, StreamFoothold]()
    at = {goal.name: i for i, goal in enumerate(carrying.goals)}
    for sole in list_soles(carrying.source):
        leg = carrying.tips.get(sole.name.rpartition("_")[2])
        if leg is not None:
            row = at.get(f"foot_{leg.side} at")
            paw = None if row is None else PawRow(at["hips"], row)
            hold = StreamFoothold(sole.name, sole, leg.frame, leg.point, leg.frame, paw, stands=leg.radius)
            holds.setdefault(leg.side, hold)
    return list(holds.values())


def list_leg_hinges(model: Model, holds: list[StreamFoothold]) -> list[Joint]:
    """List the hinges above the points of feet."""
    joints = {joint.name: joint for hold in holds for joint in model.joints_above(hold.frame)}
    return [joint for joint in joints.values() if joint.kind in HINGES and joint.nv and not joint.mimic]


def find_leg(carrying: CarryOver, side: str, frame: str, point: tuple[float, float, float]) -> Leg | None:
    """Return the chain of bone targets to a point of a foot, or None if a bone has no target."""
    at = {goal.name: i for i, goal in enumerate(carrying.goals)}
    names = [
        "hips",
        "pelvis turned",
        f"hip_{side} to knee_{side}",
        f"knee_{side} to ankle_{side}",
        f"foot_{side} turned",
    ]
    if any(name not in at for name in names):
        return None
    model, ours = carrying.model, carrying.ours
    pelvis, foot, own = model.fk(model.rest, [ours["pelvis"], ours[f"foot_{side}"], frame])
    start = place_of(model, find_bone_start(model, ours, f"hip_{side}"))
    knee, ankle = place_of(model, ours[f"knee_{side}"]), place_of(model, ours[f"ankle_{side}"])
    return Leg.read(
        [at[name] for name in names],
        pelvis[:3, :3].T @ (start - pelvis[:3, 3]) - carrying.own_middle,
        (float(np.linalg.norm(knee - start)), float(np.linalg.norm(ankle - knee))),
        foot[:3, :3].T @ (own[:3, :3] @ np.array(point) + own[:3, 3] - ankle),
    )


def measure_apart(holds: list[StreamFoothold]) -> dict[tuple[str, str], float]:
    """Return the distance between every two points of one foot, by their names [m]."""
    return {
        (a.name, b.name): float(np.linalg.norm(np.array(a.point) - np.array(b.point)))
        for a in holds
        for b in holds
        if a is not b and a.frame == b.frame
    }
