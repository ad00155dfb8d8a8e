"""Frames of a clip that come to what they must hold by themselves, beside joints at the ends of their ranges."""

import numpy as np
import pytest

import poise
from poise import Motion
from poise.goals import Reach
from poise.motion.whole_clip import ClipGoal, solve_whole


@pytest.mark.parametrize("ends", [1, 2, 3])
def test_a_frame_finds_the_answer_that_has_joints_at_their_ends(ends):
    """Of seven joints some are at an end of their range where the hand is asked to be; all begin a little beside it."""
    model, rng, frames = poise.load("panda"), np.random.default_rng(5), 200
    frame = model.frames[-1]
    q = rng.uniform(model.lower + 0.3, model.upper - 0.3, (frames, model.nq))
    for row in q:
        at = rng.choice(model.nq, ends, replace=False)
        row[at] = np.where(rng.random(ends) < 0.5, model.lower[at], model.upper[at])
    T = np.asarray(model.fk(q, frame))
    targets = np.concatenate([T[:, :3, :3].reshape(frames, 9), T[:, :3, 3]], axis=1)
    begin = Motion(model, model.clamp(q + rng.uniform(-0.05, 0.05, q.shape)), 30.0)
    held = ClipGoal(Reach(frame, T[0], name="hand"), targets, np.ones(frames), hard=True)
    answer = solve_whole(begin, [held], steps=0)
    assert (answer.errors[:, 0, 0] < 1e-9).mean() > 0.85  # the others are singular
    assert (answer.q >= model.lower).all()
    assert (answer.q <= model.upper).all()
