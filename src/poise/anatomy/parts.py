"""The parts of a body: rigid pieces, the joints between them, and their positions.

A part begins at the joint that moves it and includes everything fixed to it. Bones whose length a clip may change
(`joint.locked`) count as fixed. Positions are those of one pose, in the world.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from poise.anatomy.outlines import list_corners
from poise.arrays import Floats
from poise.model import Joint, Model

__all__ = ["Body", "BodyPart", "Floats", "list_parts"]

FLAT_HEIGHT = 1e-6  # relative to the body's size: a lower body is flat


@dataclass(frozen=True, slots=True, eq=False)
class BodyPart:
    """A rigid piece of a body.

    Attributes:
        index: Its index in `Body.parts`.
        frame: The frame that moves with its joint; the topmost frame if no joint moves it.
        parent: The index of its parent part, or -1.
        place: The position of its joint [m].
        turns: The number of rotational degrees of freedom of its joint.
        slides: The number of translational degrees of freedom of its joint.
        free: Whether its joint is free.
        axis: The axis of a hinge, in the world; None for other joints.
        joint: The joint that moves it, or None.
        frames: All frames that move with it, its own first.
        marks: The unlisted frames that move with it, such as geoms.
        ends: The positions of those frames, and the corners of the shapes fixed to them, (n, 3) [m].
        mass: The mass of the part [kg].
    """

    index: int
    frame: str
    parent: int
    place: Floats
    turns: int
    slides: int
    free: bool
    axis: Floats | None
    joint: Joint | None
    frames: tuple[str, ...]
    marks: tuple[str, ...]
    ends: Floats
    mass: float


@dataclass(frozen=True, slots=True, eq=False)
class Body:
    """All parts of a model in one pose.

    Attributes:
        model: The model.
        parts: The parts, parents first.
        children: The indices of the children of each part.
        places: The transform of every frame, by name, also of unlisted ones.
        up: The up direction, a unit vector.
        size: The longest edge of the bounding box of all joints [m].
    """

    model: Model
    parts: tuple[BodyPart, ...]
    children: tuple[tuple[int, ...], ...]
    places: dict[str, Floats]
    up: Floats
    size: float

    @property
    def joint_places(self) -> Floats:
        """The positions of all joints, (parts, 3) [m]."""
        return np.array([part.place for part in self.parts])

    @property
    def tall(self) -> float:
        """The height between the lowest and highest frame [m], or the size if the body lies flat."""
        heights = [self.height(self.places[name][:3, 3]) for name in self.model.frames]
        tall = max(heights) - min(heights)
        return tall if tall > FLAT_HEIGHT * self.size else self.size

    @property
    def owners(self) -> dict[str, int]:
        """The index of the part that each frame belongs to, also for unlisted frames."""
        return {name: part.index for part in self.parts for name in (*part.frames, *part.marks)}

    def list_below(self, part: int) -> list[int]:
        """List a part and its descendants, parents first."""
        out = [part]
        for at in out:
            out.extend(self.children[at])
        return out

    def list_above(self, part: int) -> list[int]:
        """List a part and its ancestors, up to the root."""
        out = [part]
        while (parent := self.parts[out[-1]].parent) >= 0:
            out.append(parent)
        return out

    def height(self, place: Floats) -> float:
        """Return the height of a point [m]."""
        return float(place @ self.up)


def list_parts(model: Model, q: ArrayLike, up: Floats) -> Body:
    """List the parts of a model in a pose."""
    world = model.fk(q)
    places = {name: world[i] for i, name in enumerate(model.frames)}
    owner: dict[str | None, str | None] = {None: None}
    members: dict[str, list[str]] = {}
    for name in (model.layout.frames[i] for i in model.layout.order if i < len(model.frames)):
        frame = model.frame(name)
        joint = None if frame.joint is None else model.joint(frame.joint)
        own = owner[frame.parent]
        owner[name] = name if own is None or is_moving(joint) else own
        members.setdefault(str(owner[name]), []).append(name)
    marks: dict[str | None, list[str]] = {}
    for name in model.layout.frames[len(model.frames) :]:
        frame = model.frame(name)
        places[name] = places[str(frame.parent)] @ frame.offset.matrix
        marks.setdefault(owner[frame.parent], []).append(name)
    numbers = {name: i for i, name in enumerate(members)}
    outlines = list_corners(model, world)
    parts: list[BodyPart] = []
    for name, frames in members.items():
        above = model.frame(name).parent
        parent = -1 if above is None else numbers[str(owner[above])]
        parts.append(make_part(model, len(parts), (frames, marks.get(name, [])), parent, places, outlines))
    children: list[list[int]] = [[] for _ in parts]
    for part in parts:
        if part.parent >= 0:
            children[part.parent].append(part.index)
    root = next((part.index for part in parts if len(children[part.index]) > 1), 0)
    joints = np.array([part.place for part in parts[root:]])  # without a root that is apart from its body
    size = float(np.ptp(joints, axis=0).max())
    return Body(model, tuple(parts), tuple(map(tuple, children)), places, up, size if size > 0.0 else 1.0)


def is_moving(joint: Joint | None) -> bool:
    """Return whether a joint begins a new part."""
    return joint is not None and joint.kind != "fixed" and not joint.locked


def make_part(
    model: Model,
    index: int,
    together: tuple[list[str], list[str]],
    parent: int,
    places: dict[str, Floats],
    outlines: dict[str, Floats],
) -> BodyPart:
    """Make one part from the listed and the unlisted frames that move together."""
    frames, marks = together
    name = model.frame(frames[0]).joint
    joint = None if name is None else model.joint(name)
    joint = joint if is_moving(joint) else None
    slides = 0 if joint is None else sum(joint.slides)
    turns = 0 if joint is None else sum(joint.turns)
    T = places[frames[0]]
    hinge = joint is not None and turns == 1 and slides == 0
    axis = T[:3, :3] @ np.asarray(joint.axis) if hinge and joint is not None else None
    ends = np.concatenate([[places[f][:3, 3] for f in frames], *(outlines[f] for f in frames if f in outlines)])
    return BodyPart(
        index=index,
        frame=frames[0],
        parent=parent,
        place=T[:3, 3],
        turns=turns,
        slides=slides,
        free=joint is not None and joint.kind == "free",
        axis=axis,
        joint=joint,
        frames=tuple(frames),
        marks=tuple(marks),
        ends=np.asarray(ends, dtype=np.float64),
        mass=float(sum(model.frame(f).mass for f in frames)),
    )
