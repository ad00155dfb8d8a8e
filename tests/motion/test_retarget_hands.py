"""Hands: a person's points become a motion, and fingers of one hand move those of another."""

import warnings
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import poise
from hand_poses import FINGERS, bend_hand, pinch_hand
from poise import Motion
from poise.arrays import Floats
from poise.errors import FormatWarning, InvalidValue, ShapeMismatch
from poise.limits import Speed
from poise.limits.convex_parts import find_convex_parts
from poise.model import Capsule, Model, ModelBuilder, Shape
from poise.model.derive import with_shapes
from poise.motion import HandRetargeter
from poise.motion.retargeting.hands.goals import DigitPoints, choose_hand
from poise.motion.retargeting.hands.layouts import LAYOUTS
from poise.motion.retargeting.hands.pinches import Pinches
from poise.spatial import Rotation, Transform

NAMES = ("thumb", "index", "middle", "ring", "little")
OPEN, FIST, PINCH, OTHER = 0, 20, 40, 60  # frames of the clip
FREE = 30  # frames before it begins to pinch


def make_clip(name: str = "hand") -> Motion:
    """Return a hand that is open, a fist, and pinches with the index and the ring finger, for 20 frames each."""
    model = poise.load(name)
    flat = bend_hand(model, 0.0)
    keys = [flat, bend_hand(model, 80.0), pinch_hand(model, "index"), pinch_hand(model, "ring"), flat]
    share = np.linspace(0.0, 1.0, 20, endpoint=False)[:, None]
    share = share**2 * (3.0 - 2.0 * share)
    return Motion(model, np.concatenate([a + share * (b - a) for a, b in pairwise(keys)]), 30.0)


def make_robot(side: str = "r", digits: int = 4, length: float = 0.05) -> Model:
    """Return a robot hand: fingers along z that bend to x, thicker and longer than a person's; capsules."""
    y = 1.0 if side == "r" else -1.0
    builder = ModelBuilder("robot hand").add_joint("base", None, "fixed")
    thick, shapes = 0.009, list[Shape]()
    for k, name in enumerate(NAMES[:digits]):
        thumb = name == "thumb"
        at = np.array((0.015, 0.03 * y, 0.02) if thumb else (0.0, (0.06 - 0.03 * k) * y, 0.09))
        way = np.array((0.0, y, 0.3)) if thumb else np.array((0.0, 0.0, 1.0))
        axis = (y, 0.0, 0.0) if thumb else (0.0, 1.0, 0.0)
        above = "base"
        for bone, share in enumerate((0.0, 1.0, 0.7, 0.6)):
            joint = f"{name}_{bone}"
            spread: dict[str, Any] = {"axis": axis, "lower": -0.2, "upper": 1.7}
            if bone == 0:  # a thumb turns out of the palm, a finger to a side
                turn_axis = (0.0, 0.0, -y) if thumb else (1.0, 0.0, 0.0)
                spread = {"axis": turn_axis, "lower": 0.0 if thumb else -0.5, "upper": 2.4 if thumb else 0.5}
            builder.add_joint(joint, above, "revolute", offset=at, **spread)
            above, at = joint, share * length * way / np.linalg.norm(way)
            if bone:
                turn = Rotation.between(np.array([0.0, 0.0, 1.0]), way / np.linalg.norm(way))
                place = Transform(turn, 0.5 * at)
                shapes.append(Shape(joint, Capsule(thick, share * length - 2.2 * thick), place, "collision"))
        builder.add_frame(f"{name}_end", above, at)
    return with_shapes(builder.build(), shapes)


@pytest.fixture(scope="module")
def clip() -> Motion:
    return make_clip()


@pytest.fixture(scope="module")
def robot() -> Model:
    return make_robot()


@pytest.fixture(scope="module")
def moved(clip: Motion, robot: Model) -> Any:
    return poise.retarget(clip, robot)


def flex(motion: Motion, digit: str) -> Floats:
    """Return how far a fingertip is out of the palm's plane, relative to the length of the finger, (frames,)."""
    points = DigitPoints(motion.model, choose_hand(motion.model, "model"))
    own = points.place(np.array(motion.model.fk(motion.q)))[:, points.rows[digit]]
    out: Floats = (own[:, -1, 2] - own[:, 0, 2]) / points.bones[digit].sum()
    return out


def list_points(motion: Motion, layout: str = "mediapipe") -> Floats:
    """Return the points of a hand in a layout, (frames, points, 3)."""
    rows, T = LAYOUTS[layout], np.array(motion.model.fk(motion.q))
    at = {name: i for i, name in enumerate(motion.model.frames)}
    out = np.zeros((len(motion), rows.count, 3))
    out[:, rows.wrist] = T[:, at["wrist"], :3, 3]
    for name, own in zip(("thumb", *FINGERS), rows.digits, strict=True):
        joints = ("cmc", "mcp", "ip", "tip") if name == "thumb" else ("mcp", "pip", "dip", "tip")
        for joint, row in zip(joints, own, strict=True):
            out[:, row] = T[:, at[f"{name}_{joint}"], :3, 3]
    return out


# ------------------------------------------------------------------------------------------------ retargeting


def test_fingers_follow(clip: Motion, moved: Any) -> None:
    for digit in NAMES[1:4]:
        assert flex(moved.motion, digit)[:FREE] == pytest.approx(flex(clip, digit)[:FREE], abs=0.15)
    assert np.abs(np.diff(moved.motion.q, axis=0)).max() < 0.35
    assert moved.quality.limits_max == 0.0


def test_what_pinches_in_the_source_touches(moved: Any) -> None:
    kept = {touch.other: touch for touch in moved.touches}
    assert set(kept) == {"index", "ring"}
    assert kept["index"].touching[PINCH]
    assert not kept["index"].touching[OPEN]
    assert kept["index"].error < 1e-3
    assert kept["ring"].error < 3e-3
    assert "thumb and" in moved.why()


def test_pinches_and_fingers_apart_are_options(clip: Motion, robot: Model, moved: Any) -> None:
    parts = find_convex_parts(robot)
    assert parts is not None
    assert parts.measure(moved.motion.q, 0.0).depth.max(initial=0.0) < 1e-3
    free = poise.retarget(clip, robot, touch=False, clearance=False)
    assert not free.touches
    assert parts.measure(free.motion.q, 0.0).depth.max(initial=0.0) > 2e-3


def test_a_left_hand_moves_a_right_one(clip: Motion, robot: Model, moved: Any) -> None:
    left = make_clip("hand_l")
    np.testing.assert_allclose(left.q, clip.q, atol=1e-9)
    np.testing.assert_allclose(poise.retarget(left, robot).motion.q, moved.motion.q, atol=1e-6)


def test_the_place_of_the_source_does_not_matter(clip: Motion, robot: Model, moved: Any) -> None:
    points = list_points(clip) @ Rotation.from_vector(np.array([1.0, -2.0, 0.5])).matrix.T + (3.0, -1.0, 2.0)
    free = poise.hand_points(points, fps=30.0, smooth=0.0)
    turned = poise.retarget(free, robot)
    for digit in NAMES[1:4]:
        assert flex(turned.motion, digit) == pytest.approx(flex(moved.motion, digit), abs=0.15)


def test_a_hand_follows_itself(clip: Motion) -> None:
    same = poise.retarget(clip, clip.model, touch=False, smooth=0.0)
    assert np.degrees(np.percentile(same.bone_errors, 95.0)) < 4.0
    assert same.scale == 1.0
    assert same.mapping.find("index_2_r").target == "index_pip"


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"floor": 0.0}, "floor"),
        ({"scale": 2.0}, "scale"),
        ({"mode": "online"}, "mode"),
        ({"contacts": poise.motion.Contacts((), 80, 30.0, None)}, "contacts"),
    ],
)
def test_options_of_bodies_are_refused(clip: Motion, robot: Model, options: dict[str, Any], name: str) -> None:
    with pytest.raises(InvalidValue, match=f"^{name}= is for whole bodies, and the source is a hand"):
        poise.retarget(clip, robot, **options)


def test_a_target_needs_fingers(clip: Motion) -> None:
    with pytest.raises(InvalidValue, match=r"'ur5e' has no hands with fingers"):
        poise.retarget(clip, poise.load("ur5e"))
    with pytest.raises(InvalidValue, match=r"joints has none of the joints of the fingers"):
        poise.retarget(clip, make_robot(), joints=["base"])


# ------------------------------------------------------------------------------------------------ streams


def test_a_stream_follows_pinches_and_keeps_parts_apart(clip: Motion, robot: Model) -> None:
    live = HandRetargeter(clip.model, robot, fps=30.0)
    moved = Motion(robot, np.array([live.step(q).q for q in clip.q]), 30.0)
    for digit in NAMES[1:4]:
        assert flex(moved, digit)[:FREE] == pytest.approx(flex(clip, digit)[:FREE], abs=0.15)
    for touch in Pinches(live.goals, robot, clip).list_kept(moved):
        assert touch.error < 2e-3
    parts = find_convex_parts(robot)
    assert parts is not None
    assert parts.measure(moved.q, 0.0).depth.max(initial=0.0) < 1e-3
    assert np.abs(np.diff(moved.q, axis=0)).max() < 0.4


@pytest.mark.parametrize("fps", [30.0, 60.0])
def test_fingers_of_a_stream_stop_before_they_pass_through_each_other(clip: Motion, robot: Model, fps: float) -> None:
    hand, parts = clip.model, find_convex_parts(robot)
    assert parts is not None
    fists = [bend_hand(hand, 85.0, thumb=thumb) for thumb in ((20.0, 30.0, 40.0), (-15.0,))]
    keys = [bend_hand(hand, 0.0), *fists, *(pinch_hand(hand, name) for name in FINGERS)]
    order = np.repeat(np.random.default_rng(2).integers(len(keys), size=20), 2)  # each is reached in one frame
    live = HandRetargeter(hand, robot, fps=fps)
    moved = np.array([live.step(keys[key]).q for key in order])
    assert parts.measure(moved, 0.0, steady=False).depth.max(initial=0.0) < 5e-4


def test_a_stream_has_no_look_ahead_and_begins_again(clip: Motion, robot: Model) -> None:
    live = HandRetargeter(clip.model, robot)
    first = [live.step(q).q for q in clip.q[:45]]
    live.reset()
    for own, q in zip(first, clip.q[:45], strict=True):
        np.testing.assert_array_equal(live.step(q).q, own)


def test_streams_refuse_what_they_do_not_support(clip: Motion, robot: Model) -> None:
    with pytest.raises(InvalidValue, match=r"its stream is poise\.motion\.HandRetargeter"):
        poise.motion.Retargeter(clip.model, robot)
    with pytest.raises(InvalidValue, match="limits= about time are kept over whole clips"):
        HandRetargeter(clip.model, robot, limits=[Speed(3.0)])
    with pytest.raises(ShapeMismatch, match="frame has shape"):
        HandRetargeter(clip.model, robot).step(clip.q[0, :5])
    with pytest.raises(InvalidValue, match="touch is 1; it must be True or False"):
        HandRetargeter(clip.model, robot, touch=1)


# ------------------------------------------------------------------------------------------------ points


@pytest.mark.parametrize("layout", list(LAYOUTS))
@pytest.mark.parametrize("name", ["hand", "hand_l"])
def test_points_of_all_layouts_give_the_same_hand(layout: str, name: str) -> None:
    clip = make_clip(name)
    found = poise.hand_points(list_points(clip, layout), layout, fps=30.0, smooth=0.0)
    (hand,) = poise.roles(found.model).hands
    assert hand.side == ("l" if name == "hand_l" else "r")
    off = np.linalg.norm(list_points(found, layout) - list_points(clip, layout), axis=2)
    assert off.max() < 6e-3
    assert np.median(off) < 1e-3


def test_lengths_are_those_of_the_person(clip: Motion) -> None:
    big = poise.hand_points(1.3 * list_points(clip), smooth=0.0).model
    own = poise.hand_points(list_points(clip), calibration=1.3 * list_points(clip)[0]).model
    for model in (big, own):
        T = model.fk(np.asarray(model.rest))
        at = {name: i for i, name in enumerate(model.frames)}
        length = np.linalg.norm(T[at["index_pip"], :3, 3] - T[at["index_mcp"], :3, 3])
        assert length == pytest.approx(1.3 * 39.78e-3, rel=1e-3)


def drop(points: Floats) -> Floats:
    """Return points of which one is missing."""
    points[8] = np.nan
    return points


def mirror(points: Floats) -> Floats:
    """Return points that are those of the other hand."""
    return points * np.array([1.0, 1.0, -1.0])


def shrink(points: Floats) -> Floats:
    """Return points of a much smaller hand."""
    return 0.4 * points


@pytest.mark.parametrize("spoil", [drop, mirror, shrink])
def test_false_frames_are_bridged_and_reported(clip: Motion, spoil: Callable[[Floats], Floats]) -> None:
    points = list_points(clip)
    spoiled = points.copy()
    for t in (FIST, FIST + 1, OTHER):
        spoiled[t] = spoil(spoiled[t])
    with pytest.warns(FormatWarning, match=r"no hand in 3 of 80 frames \(20 to 21, 60\), for up to 0.07 s"):
        found = poise.hand_points(spoiled, fps=30.0, smooth=0.0)
    np.testing.assert_allclose(list_points(found), points, atol=0.02)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        poise.hand_points(points)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda p: poise.hand_points(p, "kinect"), InvalidValue, "layout is 'kinect'; it must be one of 'mediapipe'"),
        (lambda p: poise.hand_points(p, "openxr"), ShapeMismatch, r"layout 'openxr' has 26 points a frame"),
        (lambda p: poise.hand_points(p[0]), ShapeMismatch, r"points has shape \(21, 3\)"),
        (lambda p: poise.hand_points(np.nan * p), InvalidValue, "points has no frame in which all points are known"),
        (lambda p: poise.hand_points(0.0 * p), InvalidValue, "points has no frame"),
        (lambda p: poise.hand_points(p[:0]), InvalidValue, "points has no frame"),
        (lambda p: poise.hand_points(p, side="left"), InvalidValue, "side is 'left'"),
        (lambda p: poise.hand_points(p[FIST:PINCH], side="l"), InvalidValue, "no frame of a left hand"),
        (lambda p: poise.hand_points(p, fps=0.0), InvalidValue, "fps"),
        (lambda p: poise.hand_points(p, smooth=-1.0), InvalidValue, "smooth"),
        (lambda p: poise.hand_points(p, calibration=p[0, :5]), ShapeMismatch, "calibration has shape"),
        (lambda p: poise.hand_points(p[:1]), InvalidValue, "flat hand, left or right: give side='l'"),
    ],
)
def test_wrong_points_are_refused(
    clip: Motion, call: Callable[[Floats], Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        call(list_points(clip))
