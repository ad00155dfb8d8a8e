"""What cannot be carried over is refused by its name, by whole clips and by streams alike."""

import numpy as np
import pytest

import poise
from poise import Motion
from poise.errors import PoiseError
from poise.limits import Clearance
from poise.motion import retarget
from walks import make_walk

SIZES = (0.8, 4.0)  # m: a child, and a giant


def make_dog():
    dog = poise.load("quadruped")
    return Motion(dog, np.tile(dog.rest, (5, 1)), 30.0)


def make_other_mapping():
    child = poise.load("humanoid")
    return retarget(make_walk(2), child).mapping.replace("chest", target="torso_of_another")


REFUSED = {
    "an array": (lambda walk, body: (walk.q, body, {}), r"clip is of type ndarray; it must be a poise\.Motion"),
    "no frame": (lambda walk, body: (walk[:0], body, {}), r"0 frames.*with a frame"),
    "a path": (lambda walk, _: (walk, "g1.xml", {}), r"poise\.load\('g1\.xml'\)"),
    "a dog": (lambda _, body: (make_dog(), body, {}), "two legs, and 'quadruped' is none .* it is a quadruped"),
    "onto a dog": (lambda walk, _: (walk, poise.load("quadruped"), {}), "it is a quadruped"),
    "onto an arm": (lambda walk, _: (walk, poise.load("panda"), {}), "'panda' is none .* it has no pelvis"),
    "another mapping": (
        lambda walk, body: (walk, body, {"mapping": make_other_mapping()}),
        "mapping is one of 'humanoid' to 'humanoid', and 'humanoid' has no frame 'torso_of_another' for its 'chest'",
    ),
    "no mapping": (lambda walk, body: (walk, body, {"mapping": {}}), r"mapping is \{\}; it must be a poise\.Mapping"),
    "smooth below 0": (lambda walk, body: (walk, body, {"smooth": -1.0}), "smooth is -1.0"),
    "smooth nan": (lambda walk, body: (walk, body, {"smooth": np.nan}), "smooth is nan"),
    "scale": (lambda walk, body: (walk, body, {"scale": 0.0}), "scale is 0.0"),
    "joints": (lambda walk, body: (walk, body, {"joints": ["foo"]}), "no joint is called 'foo'"),
    "limits": (lambda walk, body: (walk, body, {"limits": ["fast"]}), "limit"),
}


@pytest.fixture(scope="module")
def walk():
    return make_walk(12)


@pytest.mark.parametrize("mode", ["clip", "online"])
@pytest.mark.parametrize("case", list(REFUSED))
def test_what_cannot_be_carried_over_is_refused_by_its_name(walk, case, mode):
    make, words = REFUSED[case]
    clip, body, options = make(walk, poise.load("humanoid", scale=0.6))
    with pytest.raises(PoiseError, match=words) as told:
        retarget(clip, body, mode=mode, **options)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("mode", ["clip", "online"])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("frames", [1, 2, 12])
def test_sizes_and_lengths_of_every_kind_are_carried_over(walk, mode, size, frames):
    carried = retarget(walk[:frames], poise.load("humanoid", scale=size / 1.75), mode=mode)
    assert len(carried.motion) == frames
    assert carried.quality.sink_max < 1e-2
    assert carried.quality.limits_max == 0.0


@pytest.mark.parametrize("mode", ["clip", "online"])
@pytest.mark.parametrize("fps", [1.0, 1000.0])
def test_rates_of_every_kind_are_carried_over(walk, mode, fps):
    carried = retarget(Motion(walk.model, walk.q, fps), poise.load("humanoid", scale=0.6), mode=mode)
    assert np.isfinite(carried.motion.q).all()
    assert carried.quality.sink_max < 1e-2


@pytest.mark.parametrize("mode", ["clip", "online"])
def test_one_limit_is_a_list_of_one(walk, mode):
    body = poise.load("humanoid", scale=0.6)
    one, several = (retarget(walk[:4], body, mode=mode, limits=each) for each in (Clearance(), [Clearance()]))
    np.testing.assert_array_equal(one.motion.q, several.motion.q)
