"""Giants hold what people hold: tolerances are lengths, and grow with the body."""

import numpy as np
import pytest

import poise
from poise import Motion
from poise.motion import retarget
from poise.spatial import Rotation
from recordings import write_lying
from walks import make_walk


@pytest.fixture(scope="module", params=[0.12, 0.25])
def walk(request, tmp_path_factory):
    """A walk that sways from side to side, more than ankles can follow: some contacts are all but out of reach."""
    plain = make_walk(72)
    q = np.array(plain.q)
    turn = Rotation.from_axis_angle((0.0, 0.0, 1.0), request.param * np.sin(2.0 * np.pi * plain.times / 0.9))
    q[:, :3] = turn.apply(q[:, :3])
    q[:, 3:7] = (turn @ Rotation(q[:, 3:7])).wxyz
    path = tmp_path_factory.mktemp("clips") / "walk.bvh"
    write_lying(path, Motion(plain.model, q, plain.fps))
    return poise.load_motion(path, scale=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["clip", "online"])
@pytest.mark.parametrize("size", [3.0, 50.0])
def test_a_giant_holds_the_contacts_that_a_person_does(walk, size, mode):
    """None is let go because a hundredth of a millimetre is less to it."""
    person, giant = (retarget(walk, poise.load("humanoid", scale=scale), mode=mode) for scale in (1.0, size))
    held = [sum(map(len, carried.contacts)) for carried in (person, giant)]
    assert held[0] > 20
    assert held[1] > 0.95 * held[0]
    assert len(giant.track.released) <= len(person.track.released)
    assert giant.quality.sink_max < 0.1 * size
