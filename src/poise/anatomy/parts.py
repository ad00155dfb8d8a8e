"""The parts of a body by shape: rigid pieces, the joints between them, and their places.

A part begins at the joint that moves it; everything fixed to it belongs to it. Bones whose length a clip may change
(`joint.locked`) count as fixed. Places are those of one pose, in the world.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from poise.anatomy.outlines import list_corners
from poise.arrays import Floats
from poise.model import Joint, Model

__all__ = ["Body", "BodyPart", "Floats", "list_parts"]

FLAT_HEIGHT = 1e-6  # of the body's size: a lower body is flat


@dataclass(frozen=True, slots=True, eq=False)
class BodyPart:
    """A rigid piece of a body.

    Attributes:
        index: Its place in `Body.parts`.
        frame: The frame that moves with its joint; the topmost frame where nothing moves it.
        parent: The part that it hangs on; -1 for none.
        place: Where its joint is [m].
        turns: How many angles its joint has.
        slides: How many lengths its joint has.
        free: Whether it floats.
        axis: The axis of a hinge, in the world; None for other joints.
        joint: The joint that moves it, or None.
        frames: All frames that move with it, its own first.
        ends: Where those frames are, and the corners of the shapes fixed to them, (n, 3).
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
    ends: Floats
    mass: float


@dataclass(frozen=True, slots=True, eq=False)
class Body:
    """All parts of a model in one pose.

    Attributes:
        model: The model.
        parts: Parents first.
        children: For each part those that hang on it.
        places: Where every frame is, by name.
        up: The way up, a unit vector.
        size: The longest edge of the box around all joints [m].
    """

    model: Model
    parts: tuple[BodyPart, ...]
    children: tuple[tuple[int, ...], ...]
    places: dict[str, Floats]
    up: Floats
    size: float

    @property
    def joint_places(self) -> Floats:
        """The places of all joints, (parts, 3)."""
        return np.array([part.place for part in self.parts])

    @property
    def tall(self) -> float:
        """How far apart the lowest and the highest frame are [m]; the size of a body that lies flat."""
        heights = [self.height(T[:3, 3]) for T in self.places.values()]
        tall = max(heights) - min(heights)
        return tall if tall > FLAT_HEIGHT * self.size else self.size

    def list_below(self, part: int) -> list[int]:
        """List a part and all that hang on it, parents first."""
        out = [part]
        for at in out:
            out.extend(self.children[at])
        return out

    def list_above(self, part: int) -> list[int]:
        """List a part and all that it hangs on, up to the root."""
        out = [part]
        while (parent := self.parts[out[-1]].parent) >= 0:
            out.append(parent)
        return out

    def height(self, place: Floats) -> float:
        """Return how high a place is [m]."""
        return float(place @ self.up)


def list_parts(model: Model, q: ArrayLike, up: Floats) -> Body:
    """List the parts of a model as it stands in a pose."""
    world = model.fk(q)
    places = {name: world[i] for i, name in enumerate(model.frames)}
    owner: dict[str | None, str | None] = {None: None}
    members: dict[str, list[str]] = {}
    for name in (model.layout.frames[i] for i in model.layout.order):
        frame = model.frame(name)
        joint = None if frame.joint is None else model.joint(frame.joint)
        own = owner[frame.parent]
        owner[name] = name if own is None or is_moving(joint) else own
        members.setdefault(str(owner[name]), []).append(name)
    numbers = {name: i for i, name in enumerate(members)}
    outlines = list_corners(model, world)
    parts: list[BodyPart] = []
    for name, frames in members.items():
        above = model.frame(name).parent
        parent = -1 if above is None else numbers[str(owner[above])]
        parts.append(make_part(model, len(parts), frames, parent, places, outlines))
    children: list[list[int]] = [[] for _ in parts]
    for part in parts:
        if part.parent >= 0:
            children[part.parent].append(part.index)
    root = next((part.index for part in parts if len(children[part.index]) > 1), 0)
    joints = np.array([part.place for part in parts[root:]])  # without a root that stands apart from its body
    size = float(np.ptp(joints, axis=0).max())
    return Body(model, tuple(parts), tuple(map(tuple, children)), places, up, size if size > 0.0 else 1.0)


def is_moving(joint: Joint | None) -> bool:
    """Return whether a joint begins a new part."""
    return joint is not None and joint.kind != "fixed" and not joint.locked


def make_part(
    model: Model, index: int, frames: list[str], parent: int, places: dict[str, Floats], outlines: dict[str, Floats]
) -> BodyPart:
    """Make one part from the frames that move together."""
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
        ends=np.asarray(ends, dtype=np.float64),
        mass=float(sum(model.frame(f).mass for f in frames)),
    )
