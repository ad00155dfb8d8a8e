"""Example poses in which a foot stands, for bodies whose rest pose does not stand.

A clip may begin in the middle of a step, and a foot in the air does not show the orientation of its sole. The frame
chosen has high hips and a low, slow foot, with the most common orientation among such frames.
"""

from collections.abc import Mapping

import numpy as np

from poise.anatomy.parts import Body, list_parts

__all__ = ["stand_on"]

HIP_HEIGHT_SHARE = 0.85  # relative to the usual hip height: below it the body sits or lies
FOOT_HEIGHT = 0.02  # relative to the body's height, above the lowest height of the foot
SLOW_SHARE = 0.5  # share of those frames that is kept, slowest first


def stand_on(body: Body, roles: Mapping[str, str], foot: str) -> Body:
    """Return a body in the example pose in which a foot stands, or unchanged if it is already in its rest pose."""
    model, clip = body.model, body.model.example_poses
    if clip is None or len(clip) < 2 or np.allclose(body.places[foot], model.fk(model.rest, foot)):
        return body
    at = {name: i for i, name in enumerate(model.frames)}
    places = model.fk(clip)
    T, after = places[0::2], places[1::2]
    heights = T[:, :, :3, 3] @ body.up
    floor = float(heights.min())
    own = body.owners[foot]
    below = np.array([at[name] for k in body.list_below(own) for name in body.parts[k].frames])
    hips = (heights[:, at[roles["pelvis"]]] if "pelvis" in roles else heights.max(axis=1)) - floor
    high = np.flatnonzero(hips >= HIP_HEIGHT_SHARE * np.percentile(hips, 95.0))
    feet = heights[:, below].mean(axis=1)
    tall = float(np.percentile(np.ptp(heights, axis=1), 90.0))
    low = high[feet[high] <= np.percentile(feet[high], 5.0) + FOOT_HEIGHT * tall]
    speeds = np.linalg.norm(after[low][:, below, :3, 3] - T[low][:, below, :3, 3], axis=2).max(axis=1)
    slow = low[np.argsort(speeds, kind="stable")[: max(1, round(SLOW_SHARE * len(low)))]]
    ups = np.einsum("tji,j->ti", model.fk(clip[0::2][slow], foot)[:, :3, :3], body.up)
    best = int(slow[int(np.argmax(ups @ np.median(ups, axis=0)))])
    return list_parts(model, clip[2 * best], body.up)
