"""The contact points of one foot: of a role, or of any frame treated as a foot."""

from __future__ import annotations

from poise.anatomy.contacts import FEET, ContactPoint, find_touch
from poise.anatomy.role_search import roles
from poise.kinematics.parts import find_rigid_parts
from poise.model import Model

__all__ = ["find_sole"]

FOOT = ("heel", "toe", "sole_1", "sole_2", "sole_3", "sole_4")


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
    found, parts = roles(model), find_rigid_parts(model)
    near = {parts[foot], parts[toes or foot]}
    for side in FEET:
        points = [found.contacts[name] for word in FOOT if (name := f"{word}_{side}") in found.contacts]
        if points and {parts[point.frame] for point in points} <= near:
            return points
    return find_touch(model, {"toe_": toes} if toes else {}, found._seen[1], found._ahead, foot)
