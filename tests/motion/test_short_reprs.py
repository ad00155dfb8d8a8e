"""What clips come to prints in one short line, as the other results of the house do."""

import numpy as np
import pytest

import poise
from poise import motion
from poise.goals import Grasp
from poise.model import Box
from walks import make_walk


def carry(walk):
    return motion.retarget(walk, poise.load("humanoid", scale=0.6))


def hold(walk):
    path = np.tile(np.eye(4), (len(walk), 1, 1))
    path[:, 1:3, 3] = 0.9, 0.42
    box = poise.Object(Box((0.36, 0.24, 0.26)), path, name="box", fps=walk.fps)
    return motion.track(walk.model, [Grasp("hand_l", box), Grasp("hand_r", box)])


CASES = {
    "Retargeted": carry,
    "Track": motion.lock,
    "HeldTrack": hold,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", list(CASES))
def test_results_of_clips_print_in_one_short_line(name):
    result = CASES[name](make_walk(20))
    line = repr(result)
    assert line.startswith(f"<{name} ")
    assert "20 frames" in line
    assert "\n" not in line
    assert len(line) < 120
    assert repr(result.motion.model.name) in line
    if name == "Retargeted":
        assert repr(result.track).startswith("<Track ")
