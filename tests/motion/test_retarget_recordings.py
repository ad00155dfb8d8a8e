"""Recordings whose rest pose does not stand: what they are made of is told by their frames, whichever comes first."""

import numpy as np
import pytest

import poise
from poise import Motion
from poise.motion import retarget
from recordings import write_lying
from walks import PERIOD, PHASES, STANCE, make_walk, stands


@pytest.fixture(scope="module")
def striding():
    """A walk whose feet hang down while they are in the air, as people's do."""
    walk = make_walk(72)
    model, steps = walk.model, np.zeros((len(walk), walk.model.nv))
    for side in "lr":
        phase = walk.times / PERIOD + PHASES[side]
        swing = np.clip((phase - np.floor(phase) - STANCE) / (1.0 - STANCE), 0.0, 1.0)
        steps[:, model.joint(f"ankle_{side}").v.start] = 0.5 * np.sin(np.pi * swing) ** 4
    return Motion(model, model.clamp(model.integrate(walk.q, steps)), walk.fps)


def measure_sole(clip, side):
    """By how much a foot slopes from heel to toe while it stands, on average [degrees]."""
    contacts, up = poise.roles(clip.model).contacts, clip.model.up_direction
    heel, toe = (
        clip.positions(contacts[f"{end}_{side}"].frame, contacts[f"{end}_{side}"].point) for end in ("heel", "toe")
    )
    way = toe - heel
    return np.degrees(np.arcsin(way @ up / np.linalg.norm(way, axis=1)))


@pytest.mark.parametrize("first", [0, 4, 12, 22, 28])
def test_a_sole_lies_flat_where_its_foot_stands_wherever_a_recording_begins(striding, tmp_path, first):
    path = write_lying(tmp_path / "walk.bvh", striding[first : first + 40])
    clip = poise.load_motion(path, scale=0.01)
    for side in "lr":
        flat = stands(side, 72, striding.fps)[first : first + 40]
        flat[1:-1] &= flat[:-2] & flat[2:]
        slopes = measure_sole(clip, side)[flat]
        assert abs(np.median(slopes)) < 3.0


def test_feet_of_a_recording_that_begins_in_the_air_stand_in_the_result(striding, tmp_path):
    clip = poise.load_motion(write_lying(tmp_path / "walk.bvh", striding[22:62]), scale=0.01)
    carried = retarget(clip, poise.load("humanoid", scale=0.6))
    assert carried.quality.slip_max < 0.01
    assert not carried.track.released
