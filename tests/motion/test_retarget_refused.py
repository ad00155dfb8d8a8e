"""What cannot be carried over is refused by its name, by whole clips and by streams alike."""

from dataclasses import replace

import numpy as np
import pytest

import poise
from poise import Motion, Pose
from poise.errors import PoiseError
from poise.limits import Clearance
from poise.motion import Retargeter, retarget
from walks import make_walk

SIZES = (0.8, 4.0)  # m: a child, and a giant


def make_dog():
    dog = poise.load("quadruped")
    return Motion(dog, np.tile(dog.rest, (5, 1)), 30.0)


def make_other_mapping():
    found = retarget(make_walk(2), poise.load("humanoid")).mapping
    return replace(found, bodies=None).replace("chest", target="torso_of_another")


REFUSED = {
    "an array": (lambda walk, body: (walk.q, body, {}), r"clip is of type ndarray; it must be a poise\.Motion"),
    "no frame": (lambda walk, body: (walk[:0], body, {}), r"0 frames.*with a frame"),
    "a path": (lambda walk, _: (walk, "g1.xml", {}), r"poise\.load\('g1\.xml'\)"),
    "a dog": (
        lambda _, body: (make_dog(), body, {}),
        "two legs, or a target with two arms, and 'quadruped' has no two known legs: it is a quadruped",
    ),
    "onto a dog": (
        lambda walk, _: (walk, poise.load("quadruped"), {}),
        "'quadruped' is a quadruped, and 'humanoid' has no four known legs: it has two legs",
    ),
    "onto an arm": (lambda walk, _: (walk, poise.load("panda"), {}), "'panda' has no two known legs: it has no pelvis"),
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


NONSENSE = {
    "nan": np.nan,
    "inf": np.inf,
    "below 0": -1.0,
    "beyond all": 1e300,
    "an int without end": 10**400,
    "a word": "x",
    "no word": "",
    "bytes": b"x",
    "complex": 1j,
    "a pair": (1, 2),
    "a list": [None],
    "a dictionary": {"x": 1},
    "a matrix": np.zeros((3, 3)),
    "an object": object(),
}
ALLOWED = {"smooth": ("beyond all",), "floor": ("below 0",), "fps": ("beyond all",)}


@pytest.fixture(scope="module")
def walk():
    return make_walk(12)


@pytest.mark.parametrize(
    "what", ["clip", "model", "mapping", "contacts", "scale", "joints", "limits", "smooth", "mode", "floor"]
)
def test_nonsense_is_rejected_by_the_name_of_the_argument_in_both_modes(walk, what):
    child = poise.load("humanoid", scale=0.6)
    for case, given in NONSENSE.items():
        messages = []
        for mode in ("clip", "online"):
            options = {"clip": walk, "model": child, "mode": mode, what: given}
            if case in ALLOWED.get(what, ()):
                assert np.isfinite(retarget(**options).motion.q).all()
                continue
            with pytest.raises(PoiseError, match=rf"{what}|joint is called") as error:
                retarget(**options)
            assert "\n" not in str(error.value)
            messages.append(str(error.value))
        assert len(set(messages)) <= 1, case  # alike in both


@pytest.mark.slow
@pytest.mark.parametrize("what", ["source", "model", "mapping", "scale", "joints", "limits", "smooth", "fps", "floor"])
def test_nonsense_is_rejected_by_streams(walk, what):
    child = poise.load("humanoid", scale=0.6)
    for case, given in NONSENSE.items():
        options = {"source": walk.model, "model": child, what: given}
        if case in ALLOWED.get(what, ()):
            assert np.isfinite(Retargeter(**options).step(walk.q[0]).q).all()
            continue
        with pytest.raises(PoiseError, match=rf"{what}|joint is called"):
            Retargeter(**options)


@pytest.mark.slow
def test_invalid_frames_are_rejected_and_the_stream_continues(walk):
    child, own = poise.load("humanoid", scale=0.6), walk.q
    live, plain = Retargeter(walk.model, child), Retargeter(walk.model, child)
    live.step(own[0])
    plain.step(own[0])
    others = [Pose(child, child.rest), Pose(poise.load("panda"), poise.load("panda").rest)]
    short, far = own[1][:-1], own[1] + np.where(np.arange(len(own[1])) == 0, 1e150, 0.0)
    for wrong in (*NONSENSE.values(), None, *others, walk, own, short, far, 0.0 * own[1], own[1] * np.nan):
        with pytest.raises(PoiseError, match=r"frame|q\[3:7\] is a quaternion"):
            live.step(wrong)
    np.testing.assert_array_equal(live.step(own[1]).q, plain.step(Pose(walk.model, own[1])).q)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["clip", "online"])
def test_every_smoothness_is_one(walk, mode):
    """Next to none is as none, and any that lasts longer than every clip does is as another."""
    child, walks = poise.load("humanoid", scale=0.6), {}
    for smooth in (0.0, 1e-300, 1e-20, 1e-3, 1.0, 1e3, 1e6, 1e20, 1e300):
        carried = retarget(walk, child, smooth=smooth, mode=mode)
        assert np.isfinite(carried.motion.q).all()
        assert carried.quality.limits_max == 0.0
        assert carried.quality.sink_max < 1.0
        assert np.abs(carried.motion.positions("pelvis") - walk.positions("pelvis") * 0.6).max() < 0.3
        walks[smooth] = carried.motion.q
    for least in (1e-300, 1e-20):
        np.testing.assert_allclose(walks[least], walks[0.0], atol=1e-9)
    for most in (1e20, 1e300):
        np.testing.assert_array_equal(walks[most], walks[1e6])


@pytest.mark.parametrize("mode", ["clip", "online"])
@pytest.mark.parametrize("case", list(REFUSED))
def test_bodies_that_cannot_be_retargeted_are_rejected_by_name(walk, case, mode):
    make, words = REFUSED[case]
    clip, body, options = make(walk, poise.load("humanoid", scale=0.6))
    with pytest.raises(PoiseError, match=words) as caught:
        retarget(clip, body, mode=mode, **options)
    assert "\n" not in str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["clip", "online"])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("frames", [1, 2, 12])
def test_sizes_and_lengths_of_every_kind_are_retargeted(walk, mode, size, frames):
    carried = retarget(walk[:frames], poise.load("humanoid", scale=size / 1.75), mode=mode)
    assert len(carried.motion) == frames
    assert carried.quality.sink_max < 1e-2
    assert carried.quality.limits_max == 0.0


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["clip", "online"])
@pytest.mark.parametrize("fps", [1.0, 1000.0])
def test_rates_of_every_kind_are_retargeted(walk, mode, fps):
    carried = retarget(Motion(walk.model, walk.q, fps), poise.load("humanoid", scale=0.6), mode=mode)
    assert np.isfinite(carried.motion.q).all()
    assert carried.quality.sink_max < 1e-2


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["clip", "online"])
def test_one_limit_is_a_list_of_one(walk, mode):
    body = poise.load("humanoid", scale=0.6)
    one, several = (retarget(walk[:4], body, mode=mode, limits=each) for each in (Clearance(), [Clearance()]))
    np.testing.assert_array_equal(one.motion.q, several.motion.q)
