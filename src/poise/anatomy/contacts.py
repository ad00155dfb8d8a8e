"""Contact points: the points at which a body touches the world, from its shapes, meshes or bones.

For a foot and its toes, in the pose in which the body stands (for a clip, the frame in which the foot stands):

    sole       the points within 1 % of the body's height above the lowest one
    heel, toe  the middle of the rear and front edges of the sole, at its ends
    sole_1..4  its corners: front left, front right, back right, back left, seen from above

Frames that mark a toe or heel are its contact points only if the foot has no shapes: they are often inside the foot.
If a foot stands on the edge of a flat box, the lower face of the box is its sole: many robots do not stand flat with
all joints at 0. A foot that stands on a point has only sole_1. A skeleton has no sole: its toe is the end of the foot,
its heel is behind the ankle by HEEL_SHARE of the distance to the toe (under the ankle for a paw), both at the height of
the lowest point. A palm is the middle of the hand, or of the part beyond the elbow.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from poise.anatomy.outlines import CORNERS, find_half_extent
from poise.anatomy.parts import Body
from poise.anatomy.stance_frames import stand_on
from poise.arrays import Floats
from poise.model import Box, Capsule, Mesh, Sphere
from poise.model.geometry.surfaces import find_protruding, open_surfaces, read_vertices

__all__ = ["FEET", "ContactPoint", "find_contacts", "find_touch", "list_points", "map_into"]

SOLE_LAYER = 0.01  # relative to the body's height
SEEN_LAYER = 0.0015  # relative to the body's height: of visual shapes of a foot that stand out of its collision shapes
SOLE_EDGE = 0.15  # relative to the length of a sole: the depth of its front and rear edge
HEEL_SHARE = 0.3
MOST_TILT_COSINE = np.cos(np.radians(30.0))  # a flat box that is tilted less is a sole
LEAST_TOE_REACH = 0.01  # relative to the body's height: nearer toes do not show where the foot points
LEAST_HEEL_REACH = 0.05  # relative to the toe's distance from the ankle: bones that reach less far back show no heel
FOREARM_SHARE = 0.8  # of the distance from an elbow: points beyond it are the end of the forearm
FEET = ("l", "r", "fl", "fr", "hl", "hr")


@dataclass(frozen=True, slots=True)
class ContactPoint:
    """A point of the body that touches the world.

    Attributes:
        name: The name: heel_l, toe_r, sole_1_l, palm_r.
        frame: The frame that it is fixed to.
        point: The position in the axes of the frame [m].
        evidence: "frame", "shapes", "mesh" or "bones".
    """

    name: str
    frame: str
    point: tuple[float, float, float]
    evidence: str


def find_contacts(roles: Mapping[str, str], body: Body, ahead: Floats) -> dict[str, ContactPoint]:
    """Find the contact points of a body with known roles; `ahead` is its forward direction in the pose of `body`.

    If that is not the rest pose, a foot with toes is read in the example pose in which it stands.
    """
    found: dict[str, ContactPoint] = {}
    owners, tall = body.owners, body.tall
    for side in FEET:
        foot = roles.get(f"foot_{side}") or roles.get(f"ankle_{side}") or roles.get(f"knee_{side}")
        if foot is not None:
            stands = stand_on(body, roles, foot) if roles.get(f"toe_{side}", foot) != foot else body
            found.update(FootSole(roles, stands, owners, side, foot, ahead, tall).touch())
    for side in "lr":
        hand = roles.get(f"hand_{side}") or roles.get(f"wrist_{side}") or roles.get(f"elbow_{side}")
        if hand is not None and f"shoulder_{side}" in roles:
            found[f"palm_{side}"] = find_palm(roles, body, owners, side, hand)
    return found


def find_touch(body: Body, ahead: Floats, frame: str, toes: str | None) -> list[ContactPoint]:
    """Find the contact points of any frame, treated as a foot; `toes` is the frame of its toes, if they move."""
    roles = {} if toes is None else {"toe_": toes}
    return list(FootSole(roles, body, body.owners, "", frame, ahead, body.tall).touch().values())


def list_points(body: Body, frames: list[str], layer: float = np.inf) -> tuple[Floats, str]:
    """List the points fixed to some frames, in world coordinates: of solids, else of meshes, else of the frames.

    Visual shapes are only used if none is for collision, or if they stand out of those: then up to `layer` [m] above
    the lowest point of those.
    """
    solids = []
    own = [shape for shape in body.model.shapes if shape.frame in frames]
    for shape in [shape for shape in own if shape.use != "visual"] or own:
        half = find_half_extent(shape.shape)
        if half is not None:
            T = body.places[shape.frame] @ shape.offset.matrix
            if isinstance(shape.shape, (Sphere, Capsule)):  # round: its lowest point, not a corner of its bounding box
                bar = 0.5 * shape.shape.length if isinstance(shape.shape, Capsule) else 0.0
                ends = T[:3, 3] + np.outer((-bar, bar), T[:3, 2]) - shape.shape.radius * body.up
            else:
                ends = CORNERS * half @ T[:3, :3].T + T[:3, 3]
            solids.append(ends)
    reader, found = open_surfaces(body.model), list(solids)
    meshes = [] if solids else [each for each in own if each.use != "visual" and isinstance(each.shape, Mesh)]
    for shape in (*meshes, *(shape for shape, _ in find_protruding(body.model, frames, reader))):
        T, vertices = body.places[shape.frame], read_vertices(shape, reader)
        points = np.zeros((0, 3)) if vertices is None else vertices @ T[:3, :3].T + T[:3, 3]
        if shape.use == "visual" and any(
            len(each) for each in found
        ):  # round edges of what is drawn are above the sole
            heights = points @ body.up
            points = points[heights < float((np.concatenate(found) @ body.up).min()) + layer]
        found.append(points)
    if sum(map(len, found)):
        return np.concatenate(found), "shapes" if solids else "mesh"
    return np.array([body.places[name][:3, 3] for name in frames]), "bones"


def find_slab(body: Body, frames: list[str], lowest: Floats) -> Floats:
    """Return the lower face of the flat box on whose edge a foot stands, or `lowest` otherwise.

    A box is flat if it is thinner vertically than in both other directions.
    """
    for shape in body.model.shapes:
        if shape.frame not in frames or shape.use == "visual" or not isinstance(shape.shape, Box):
            continue
        T, half = body.places[shape.frame] @ shape.offset.matrix, 0.5 * np.array(shape.shape.size)
        up = T[:3, :3].T @ body.up
        thin = int(np.argmax(np.abs(up)))
        face = CORNERS[CORNERS[:, thin] * up[thin] < 0.0] * half @ T[:3, :3].T + T[:3, 3]
        apart = np.linalg.norm(face[:, None] - lowest, axis=2).min()
        if abs(up[thin]) > MOST_TILT_COSINE and half[thin] == half.min() and apart < SOLE_LAYER * half.max():
            return np.array(face)
    return lowest


@dataclass
class FootSole:
    """The search for the sole of a foot."""

    roles: Mapping[str, str]
    body: Body
    owners: dict[str, int]
    side: str
    frame: str
    ahead: Floats
    tall: float

    def touch(self) -> dict[str, ContactPoint]:
        """Return the points of the sole, heel and toe first."""
        own = self.owners[self.frame]
        frames = [name for k in self.body.list_below(own) for name in self.body.parts[k].frames]
        points, evidence = list_points(self.body, frames, SEEN_LAYER * self.tall)
        ahead = self.find_ahead()
        across = np.cross(self.body.up, ahead)
        heights = points @ self.body.up
        floor = float(heights.min())
        sole = points[heights < floor + SOLE_LAYER * self.tall]
        if evidence == "bones":
            sole = self.lay_sole(points, floor, ahead)
        elif np.ptp(sole @ ahead) < SOLE_LAYER * self.tall and len(self.side) < 2:
            sole = find_slab(self.body, frames, sole)
        along = sole @ ahead
        span = float(np.ptp(along))
        front, rear = sole[along >= along.max() - SOLE_EDGE * span], sole[along <= along.min() + SOLE_EDGE * span]
        out = {}
        if span < SOLE_LAYER * self.tall:  # it stands on a point
            name = f"sole_1_{self.side}"
            return {name: self.fix(name, sole.mean(axis=0), evidence)}
        for name, edge, end in ((f"toe_{self.side}", front, along.max()), (f"heel_{self.side}", rear, along.min())):
            given = self.roles.get(name)
            if evidence == "bones" and given is not None and self.body.model.frame(given).joint is None:
                out[name] = ContactPoint(name, given, (0.0, 0.0, 0.0), "frame")
            else:
                at = find_edge_middle(edge, across)
                out[name] = self.fix(name, at + (end - at @ ahead) * ahead, evidence)
        if evidence != "bones":
            ways = (ahead + across, ahead - across, -ahead - across, -ahead + across)
            for k, way in enumerate(ways, 1):
                place = sole[int(np.argmax(sole @ way))]
                out[f"sole_{k}_{self.side}"] = self.fix(f"sole_{k}_{self.side}", place, evidence)
        return out

    def find_ahead(self) -> Floats:
        """Return the horizontal direction of the foot: towards its toes, otherwise the body's forward direction."""
        toe = self.roles.get(f"toe_{self.side}") or self.roles.get(f"ball_{self.side}")
        up, at = self.body.up, self.body.places[self.frame][:3, 3]
        if toe is not None and toe != self.frame:
            way = self.body.places[toe][:3, 3] - at
            way = way - (way @ up) * up
            if float(np.linalg.norm(way)) > LEAST_TOE_REACH * self.tall:
                return np.array(way / np.linalg.norm(way))
        level = self.ahead - (self.ahead @ up) * up
        return np.array(level / max(float(np.linalg.norm(level)), 1e-12))

    def lay_sole(self, points: Floats, floor: float, ahead: Floats) -> Floats:
        """Return a toe and a heel for a foot of bones alone, at the height of its lowest point."""
        at = self.body.places[self.body.parts[self.owners[self.frame]].frame][:3, 3]
        far = float(((points - at) @ ahead).max())
        down = (floor - self.body.height(at)) * self.body.up
        back = float(((points - at) @ ahead).min())
        behind = HEEL_SHARE if len(self.side) < 2 else 0.0  # an animal on four legs stands on its toes
        rear = back if back < -LEAST_HEEL_REACH * max(far, 1e-12) else -behind * far
        return np.array([at + down + far * ahead, at + down + rear * ahead])

    def fix(self, name: str, place: Floats, evidence: str) -> ContactPoint:
        """Return a world position as a point of the foot, or of its toes if it is beyond their joint."""
        frame = self.body.parts[self.owners[self.frame]].frame
        toe = self.roles.get(f"toe_{self.side}") or self.roles.get(f"ball_{self.side}")
        if toe is not None and self.owners[toe] != self.owners[self.frame]:
            joint = self.body.parts[self.owners[toe]].place
            if float((place - joint) @ self.find_ahead()) > 0.0:
                frame = self.body.parts[self.owners[toe]].frame
        return ContactPoint(name, frame, map_into(self.body, frame, place), evidence)


def find_palm(roles: Mapping[str, str], body: Body, owners: dict[str, int], side: str, hand: str) -> ContactPoint:
    """Find the middle of a hand; if there is no hand beyond an elbow, the end of the forearm."""
    own = body.parts[owners[hand]]
    points, evidence = list_points(body, list(own.frames))
    begins = [body.parts[k].place for k in body.children[own.index]]
    if evidence == "bones" and begins:
        points = np.array([own.place, *begins])
    if f"hand_{side}" not in roles or own.frame == roles.get(f"elbow_{side}"):
        off = np.linalg.norm(points - own.place, axis=1)
        points = points[off >= FOREARM_SHARE * off.max()]
    place = 0.5 * (points.min(axis=0) + points.max(axis=0))
    return ContactPoint(f"palm_{side}", own.frame, map_into(body, own.frame, place), evidence)


def find_edge_middle(points: Floats, across: Floats) -> Floats:
    """Return the middle of an edge: halfway between its ends."""
    along = points @ across
    return np.array(0.5 * (points[int(np.argmin(along))] + points[int(np.argmax(along))]))


def map_into(body: Body, frame: str, place: Floats) -> tuple[float, float, float]:
    """Return a world position in the axes of a frame."""
    T = body.places[frame]
    x, y, z = (float(value) for value in T[:3, :3].T @ (place - T[:3, 3]))
    return x, y, z
