"""Example poses in which a foot stands, for bodies whose rest pose does not stand.

A clip may well begin in the middle of a step, and a foot in the air does not tell how its sole lies. So a frame is
looked for in which the hips are high, the foot is low and hardly moves, and is turned as it mostly is there.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from poise.anatomy.parts import Body, list_parts

__all__ = ["stand_on"]

HIP_HEIGHT_SHARE = 0.85  # of the usual hip height: lower, the body sits or lies
FOOT_HEIGHT = 0.02  # of the body's height, above the lowest height of the foot
SLOW_SHARE = 0.5  # of those frames, the slowest


def stand_on(body: Body, roles: Mapping[str, str], foot: str) -> Body:
    """Return a body in the example pose in which a foot stands, or unchanged if its rest pose shows it."""
    model, clip = body.model, body.model.example_poses
    if clip is None or len(clip) < 2 or np.allclose(body.places[foot], model.fk(model.rest, foot)):
        return body
    at = {name: i for i, name in enumerate(model.frames)}
    places = model.fk(clip)
    T, after = places[0::2], places[1::2]
    heights = T[:, :, :3, 3] @ body.up
    floor = float(heights.min())
    own = next(part.index for part in body.parts if foot in part.frames)
    below = np.array([at[name] for k in body.list_below(own) for name in body.parts[k].frames])
    hips = (heights[:, at[roles["pelvis"]]] if "pelvis" in roles else heights.max(axis=1)) - floor
    high = np.flatnonzero(hips >= HIP_HEIGHT_SHARE * np.percentile(hips, 95.0))
    feet = heights[:, below].mean(axis=1)
    tall = float(np.percentile(np.ptp(heights, axis=1), 90.0))
    low = high[feet[high] <= np.percentile(feet[high], 5.0) + FOOT_HEIGHT * tall]
    speeds = np.linalg.norm(after[low][:, below, :3, 3] - T[low][:, below, :3, 3], axis=2).max(axis=1)
    slow = low[np.argsort(speeds, kind="stable")[: max(1, round(SLOW_SHARE * len(low)))]]
    ups = np.einsum("tji,j->ti", T[slow, at[foot], :3, :3], body.up)
    best = int(slow[int(np.argmax(ups @ np.median(ups, axis=0)))])
    return list_parts(model, clip[2 * best], body.up)
