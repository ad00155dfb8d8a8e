"""Feet: the parts that a body stands on, with the points and edges of their soles.

Everything that stands reads the same feet: rigs that plant them, motions whose contacts are detected and held, pages.
A sole known from shapes or a mesh has corners, and then two edges; a foot of bones has a heel and a toe only. With p
the corners, m the middle of an edge and n the upward normal of the sole in the rest pose, in which it may be tilted:

    rises = (p - m) . n          heights of the corners while the sole lies flat
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from poise.anatomy.contacts import FEET, ContactPoint
from poise.anatomy.report import Roles
from poise.anatomy.role_search import roles
from poise.arrays import Floats
from poise.kinematics.parts import find_place, find_rigid_parts
from poise.model import Model
from poise.model.memo import keep_with_model

__all__ = ["Edge", "Foot", "find_edges", "find_feet", "find_sole"]

WORDS = ("heel", "toe", "sole_1", "sole_2", "sole_3", "sole_4")
LEAST_ANKLE_AXES = 2  # with fewer, a foot tilts sideways with its leg and cannot be laid flat


@dataclass(frozen=True, slots=True)
class Edge:
    """The front or rear edge of a sole.

    Attributes:
        middle: The contact point in its middle, "toe_l" or "heel_r".
        corners: The corners of the sole that are nearer to this edge than to the other one.
        rises: The heights of the corners above the middle while the sole lies flat [m].
        lies: Whether the foot can be laid flat.
        stands: The height of the middle above the floor while the sole lies flat on its lowest corner [m].
    """

    middle: ContactPoint
    corners: tuple[ContactPoint, ...]
    rises: tuple[float, ...]
    lies: bool
    stands: float

    @property
    def name(self) -> str:
        """The name of its middle."""
        return self.middle.name


@dataclass(frozen=True, slots=True, eq=False)
class Foot:
    """A foot of a body.

    Attributes:
        side: "l" or "r"; "fl", "fr", "hl" or "hr" for a body on four legs.
        points: Its contact points by name without the side: heel, toe, sole_1 to sole_4.
        standing: The points on which it may stand: heel and toe, or their substitutes. For a toe known from bones only,
            it is the joint itself, which recordings give exactly.
        edges: The edges of its sole, front first; empty without corners, and for a paw.
        lies: Whether it can be laid flat: its ankle has at least two rotation axes.
        ankle: The frame of its ankle, or None.
        knee: The frame of its knee, or None.
        links: The frames of its foot and ankle, and those between them and the knee.
    """

    side: str
    points: Mapping[str, ContactPoint]
    standing: tuple[ContactPoint, ...]
    edges: tuple[Edge, ...]
    lies: bool
    ankle: str | None
    knee: str | None
    links: frozenset[str]

    @property
    def is_paw(self) -> bool:
        """Whether it belongs to a body on four legs."""
        return len(self.side) > 1

    @property
    def exact(self) -> tuple[ContactPoint, ...]:
        """The points on which it may stand, each as the contact point of its name."""
        return tuple(self.points[point.name.rpartition("_")[0]] for point in self.standing)

    @property
    def tip(self) -> ContactPoint | None:
        """Its toe, or the single point that it stands on."""
        return self.points.get("toe") or self.points.get("sole_1")


@keep_with_model
def find_feet(model: Model) -> tuple[Foot, ...]:
    """List the feet of a body, left before right and fore before hind; empty if none is known."""
    known = roles(model)
    named = {s: {w: known.contacts[n] for w in WORDS if (n := f"{w}_{s}") in known.contacts} for s in FEET}
    return tuple(read_foot(model, known, side, points) for side, points in named.items() if points)


def find_edges(model: Model) -> dict[str, Edge]:
    """Return the edges of all soles with corners, by the name of their middle."""
    return {edge.name: edge for foot in find_feet(model) for edge in foot.edges}


def read_foot(model: Model, known: Roles, side: str, points: dict[str, ContactPoint]) -> Foot:
    """Return the foot of a side with its contact points."""
    ankle, foot, knee = (known.get(f"{part}_{side}") for part in ("ankle", "foot", "knee"))
    above = {} if knee is None else {joint.name for joint in model.joints_above(knee)}
    axes = 0 if None in (knee, foot) else sum(j.nv for j in model.joints_above(foot) if j.name not in above)
    links = {frame for frame in (ankle, foot) if frame is not None}
    chain = [name for top in (ankle, foot) if top is not None for name in model.ancestors(top)]
    links.update(chain[: chain.index(knee)] if knee in chain else ())
    lies = axes >= LEAST_ANKLE_AXES
    edges = read_edges(model, points, knee, lies) if len(side) == 1 else ()
    return Foot(side, points, choose_standing(known, points), edges, lies, ankle, knee, frozenset(links))


def choose_standing(known: Roles, points: Mapping[str, ContactPoint]) -> tuple[ContactPoint, ...]:
    """Return the points on which a foot may stand; an animal of bones stands on its toes."""
    found = [points[word] for word in ("heel", "toe") if word in points] or [points["sole_1"]]
    if len(found) > 1 and len(found[1].name.rpartition("_")[2]) > 1 and found[1].evidence in ("bones", "frame"):
        del found[0]
    joints = (known.get(point.name) if point.evidence == "bones" else None for point in found)
    return tuple(
        point if joint is None else ContactPoint(point.name, joint, (0.0, 0.0, 0.0), "bones")
        for point, joint in zip(found, joints, strict=True)
    )


def read_edges(model: Model, points: Mapping[str, ContactPoint], knee: str | None, lies: bool) -> tuple[Edge, ...]:
    """List the edges of a sole known from shapes or a mesh; empty for a foot of bones only."""
    if not {"toe", "heel"} <= set(points) or any(p.evidence not in ("shapes", "mesh") for p in points.values()):
        return ()
    places = {word: find_place(model, (point.frame, point.point)) for word, point in points.items()}
    up = find_normal(model, places, knee)
    found: list[tuple[ContactPoint, list[ContactPoint], list[float]]] = []
    for word, other in (("toe", "heel"), ("heel", "toe")):
        far = {w: [np.linalg.norm(x - places[end]) for end in (word, other)] for w, x in places.items()}
        own = [w for w in WORDS[2:] if w in points and points[w].frame == points[word].frame and far[w][0] < far[w][1]]
        if len(own) == 2:
            rises = [float((places[w] - places[word]) @ up) for w in own]
            found.append((points[word], [points[w] for w in own], rises))
    stands = max(0.0, -min((rise for _, _, rises in found for rise in rises), default=0.0))
    return tuple(Edge(middle, tuple(corners), tuple(rises), lies, stands) for middle, corners, rises in found)


def find_normal(model: Model, places: Mapping[str, Floats], knee: str | None) -> Floats:
    """Return the upward normal of a sole in the rest pose, in which the sole may be tilted.

    It is the normal of the plane through its points, corrected so that heel and toe are at the same height.
    """
    points = np.array([places[word] for word in ("toe", "heel", *WORDS[2:]) if word in places])
    normal = np.linalg.svd(points - points.mean(axis=0))[2][2]
    ahead = places["toe"] - places["heel"]
    normal = normal - (normal @ ahead) / (ahead @ ahead) * ahead
    above = model.up_direction if knee is None else model.fk(model.rest, knee)[:3, 3] - points.mean(axis=0)
    up: Floats = normal / np.linalg.norm(normal) * (1.0 if normal @ above >= 0.0 else -1.0)
    return up


def find_sole(model: Model, foot: str, toes: str | None = None) -> list[ContactPoint]:
    """Find the points with which a foot touches the ground: heel, toe, and the corners of its sole, if it has them.

    Args:
        model: The body.
        foot: A frame of the foot.
        toes: The frame of its toes, if a joint moves them.

    Returns:
        The contact points of `poise.roles` if one of its feet is on that frame; otherwise those of the frame treated as
        a foot.
    """
    foot, toes = model.frame(foot).name, None if toes is None else model.frame(toes).name
    parts = find_rigid_parts(model)
    near = {parts[foot], parts[toes or foot]}
    for known in find_feet(model):
        if {parts[point.frame] for point in known.points.values()} <= near:
            return list(known.points.values())
    return roles(model).find_touch(foot, toes)
