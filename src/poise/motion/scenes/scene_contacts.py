"""Contacts of a source whose feet stand on the surfaces of a scene, such as stairs, and the floor of that source.

The scene is given in the target's metres, so heights of the source are compared with it after scaling. With h the
height at which a point of the source stands still, and g the height of the ground at its scaled place divided by the
scale, the source follows the scene if h - g varies less than h. Then h - g is the height of its floor, and every slow
and level foot near the ground is in contact. Otherwise the source is taken to be on a level floor.
"""

import warnings
from dataclasses import dataclass, replace

import numpy as np

from poise.arrays import Floats
from poise.kinematics import Motion
from poise.motion.contact.detector import contacts as find_contacts
from poise.motion.contact.ledger import Contact, Contacts, find_kind
from poise.motion.contact.scene import Scene
from poise.motion.contact.soles import list_soles, measure_size

__all__ = ["SceneSource", "find_scene_contacts"]

# lengths are for a body of 1.75 m
STANDING_HEIGHT_M = 0.06  # of a contact above or below the ground of the scene
LEAST_GAIN_M = 5e-3  # of the mean deviation of heights, if a source follows the scene
UNKNOWN_FLOOR_M = 0.06  # mean deviation of heights above which neither a floor nor the scene explains them


@dataclass(frozen=True, eq=False)
class SceneSource:
    """The contacts of a source in a scene.

    Attributes:
        ledger: The contacts and the floor, in the unit of the source.
        rises: The height of each contact above the floor of its kind of point, by contact; empty if the source is on a
            level floor.
    """

    ledger: Contacts
    rises: dict[Contact, float]


def find_scene_contacts(
    clip: Motion, scene: Scene, scale: float, turn: Floats, floor: float | None
) -> SceneSource | None:
    """Find the foot contacts of a source that follows a scene; None if it is on a level floor, or has no feet.

    Args:
        clip: The source.
        scene: The scene of the target.
        scale: The scale of the path, from the source to the target.
        turn: The rotation from the world of the source to that of the target.
        floor: The height of the source's floor; estimated if None.
    """
    if not list_soles(clip.model):
        return None
    up, size = clip.model.up_direction, measure_size(clip)
    flat = find_contacts(clip, floor=floor)
    assert flat.floor is not None, "a clip with frames has a floor"
    highest = max(float((clip.positions(sole.frame, sole.point) @ up).max()) for sole in list_soles(clip.model))
    slow = find_contacts(clip, floor=highest)  # no foot is too high
    own = np.array([np.array(c.place) @ up for c in slow])
    places = scale * np.array([np.array(c.place) - flat.floor * up for c in slow]).reshape(-1, 3) @ turn.T
    ground = scene.find_ground(places) / scale
    weights, kinds = np.array([len(c) for c in slow], dtype=np.float64), [find_kind(c.name) for c in slow]
    floors = find_kind_medians(own - ground, weights, kinds)
    level = find_kind_medians(own, weights, kinds)
    if floor is not None:
        floors = np.clip(floors, floor, floor + STANDING_HEIGHT_M * size)
    follows, flatness = (measure_deviation(h, weights) for h in (own - ground - floors, own - level))
    if not len(slow) or flatness - follows < LEAST_GAIN_M * size:
        if flatness > UNKNOWN_FLOOR_M * size:
            warnings.warn(
                "retarget: the feet of the clip stand at heights that differ, and neither a level floor nor scene= "
                f"explains them; a floor at {flat.floor:.3g} was assumed. floor= sets its height.",
                stacklevel=4,
            )
        return None
    stands = np.abs(own - ground - floors) < STANDING_HEIGHT_M * size
    kept = [c for c, near in zip(slow, stands, strict=True) if near]
    ledger = replace(slow, intervals=tuple(kept), floor=float(floors.min()) if floor is None else floor)
    return SceneSource(ledger, {c: float(h) for c, h, near in zip(slow, own - floors, stands, strict=True) if near})


def find_kind_medians(heights: Floats, weights: Floats, kinds: list[str]) -> Floats:
    """Return the weighted median of the heights of each contact's kind of point, (contacts,)."""
    out = np.zeros(len(heights))
    for kind in dict.fromkeys(kinds):
        mine = np.array([each == kind for each in kinds])
        order = np.argsort(heights[mine])
        share = np.cumsum(weights[mine][order])
        out[mine] = heights[mine][order][int(np.searchsorted(share, 0.5 * share[-1]))]
    return out


def measure_deviation(heights: Floats, weights: Floats) -> float:
    """Return the weighted mean of absolute heights [m]."""
    return float((weights * np.abs(heights)).sum() / max(weights.sum(), 1.0))
