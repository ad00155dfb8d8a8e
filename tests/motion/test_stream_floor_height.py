"""A stream with a given floor does not depend on its height, also if feet follow the paths of the source's soles."""

from __future__ import annotations

import numpy as np

import poise
from poise import Motion
from poise.arrays import Floats
from poise.motion import Retargeter
from walks import make_walk


def run(clip: Motion, floor: float) -> Floats:
    """Return the stream of a clip whose points have no chains of bones."""
    live = Retargeter(clip.model, poise.load("humanoid", scale=0.6), fps=clip.fps, floor=floor)
    for hold in live.contacts.holds:
        hold.leg = None
    return np.array([live.step(q).q for q in clip.q])


def test_feet_are_released_at_the_same_height() -> None:
    clip = make_walk(40)
    raised = np.array(clip.q)
    raised[:, :3] += clip.model.up_direction
    np.testing.assert_allclose(run(Motion(clip.model, raised, clip.fps), 1.0), run(clip, 0.0), atol=1e-6)
