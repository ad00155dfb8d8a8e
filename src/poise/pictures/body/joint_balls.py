"""Balls of a skeleton, connected to it in drawings.

A heavy part without bones is a ball at its centre of mass (`poise.limits.skeleton`), which is right for collisions. In
a drawing, the ball may float next to the limb or hide it. A part that carries others, such as the middle link of a hip
made of three links in one place, is drawn as a ball at its joint, no thicker than the bones before and after it. An
end, such as a foot or a hand, is drawn as a bone from its joint to its centre of mass, with the same mass as water.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from poise.kinematics.parts import find_rigid_parts
from poise.limits.skeleton import BodyCapsule, find_water_radius
from poise.model import Model

__all__ = ["join_balls"]


def join_balls(model: Model, capsules: Iterable[BodyCapsule]) -> Iterator[BodyCapsule]:
    """Yield the capsules of a skeleton, with its balls connected to the other parts."""
    parts, given = find_rigid_parts(model), list(capsules)
    thick: dict[str | None, float] = {}
    for capsule in given:
        if capsule.a != capsule.b:
            thick[parts[capsule.frame]] = max(capsule.radius, thick.get(parts[capsule.frame], 0.0))
    above = {joint.frame: parts[joint.parent] for joint in model.joints if joint.nv}
    carriers = set(above.values())
    for capsule in given:
        part = parts[capsule.frame]
        if capsule.a != capsule.b or part not in above:
            yield capsule
        elif part in carriers:
            most = max(find_thickness(part, above, thick), default=capsule.radius)
            yield replace(capsule, a=(0.0, 0.0, 0.0), b=(0.0, 0.0, 0.0), radius=min(capsule.radius, most))
        else:
            yield reach_center(model, capsule, {name for name in model.frames if parts[name] == part})


def find_thickness(part: str | None, above: dict[str, str | None], thick: dict[str | None, float]) -> Iterator[float]:
    """Yield the radii of the nearest bones before and after a part [m]."""
    at: str | None = part
    while at in above and at not in thick:
        at = above[at]
    if at in thick:
        yield thick[at]
    below = [part]
    for one in below:
        for child in (child for child, parent in above.items() if parent == one):
            if child in thick:
                yield thick[child]
            else:
                below.append(child)


def reach_center(model: Model, ball: BodyCapsule, frames: set[str]) -> BodyCapsule:
    """Return an end part as a bone from its joint to its centre of mass, or as a ball if the joint is inside it."""
    center = np.array(ball.a)
    far = float(np.linalg.norm(center))
    if far < ball.radius:
        return ball
    mass = sum(model.frame(name).mass for name in frames)
    return replace(ball, a=(0.0, 0.0, 0.0), radius=min(find_water_radius(mass, far), ball.radius))
