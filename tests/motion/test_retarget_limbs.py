"""Where limbs begin: joints in the middle of the trunk, and links along their own axes, change nothing."""

import numpy as np
import pytest

import poise
import walkers
from poise import Motion
from poise.motion import Contacts, retarget
from poise.motion.retargeting.bends import LIMBS, find_bend
from poise.motion.retargeting.bones import find_axes, find_bone_start, find_middle, measure_arms, measure_legs
from poise.spatial import Rotation
from walks import make_bow, make_walk, stands


@pytest.fixture(scope="module", params=[1, 2])
def bodies(request):
    return walkers.make_character(), walkers.make_character(middle=request.param)


def move(model, frames=20):
    """All parts turn, but for the joints in the middle of the pelvis."""
    u = np.linspace(0.0, 1.0, frames)
    steps = np.zeros((frames, model.nv))
    for k, part in enumerate(("pelvis", "spine_1", "hip_l", "hip_r", "knee_l", "shoulder_r", "elbow_r", "shoulder_l")):
        v = model.joint(part).v
        steps[:, v.stop - 3 : v.stop] = np.outer(np.sin(np.pi * u), 0.7 * np.sin(np.arange(3.0) + 2.0 * k))
    return Motion(model, model.integrate(model.rest, steps), 30.0)


def test_measures_of_equal_bodies_are_equal(bodies):
    plain, other = bodies
    names = [dict(poise.roles(model)) for model in bodies]
    for part in ("pelvis", "chest"):
        axes = [find_axes(model, own, part) for model, own in zip(bodies, names, strict=True)]
        assert axes[0] == pytest.approx(axes[1], abs=1e-12)
    for measure in (measure_legs, measure_arms, find_middle):
        assert measure(plain, names[0]) == pytest.approx(measure(other, names[1]), abs=1e-12)
    for root in ("hip_l", "hip_r", "shoulder_l", "shoulder_r"):
        assert find_bone_start(other, names[1], root) == root


@pytest.mark.slow
def test_a_motion_is_retargeted_alike(bodies):
    machine = walkers.make_machine(bend=0.2)
    carried = [retarget(move(model), machine).motion.q for model in bodies]
    assert carried[0] == pytest.approx(carried[1], abs=1e-9)


@pytest.mark.slow
def test_the_whole_body_turns_with_the_pelvis(bodies):
    clip = move(bodies[1])
    made = retarget(clip, walkers.make_machine(bend=0.2)).motion
    for axis in np.eye(3):
        theirs, ours = (each.positions("pelvis", axis) - each.positions("pelvis") for each in (clip, made))
        assert np.sum(theirs * ours, axis=1).min() > np.cos(0.2)


def test_limbs_that_share_a_joint_begin_beyond_it():
    builder = poise.ModelBuilder("shared")
    builder.add_joint("pelvis", None, "free")
    builder.add_joint("waist", "pelvis", "revolute", axis=(0.0, 0.0, 1.0), offset=(0.0, 0.0, 0.1))
    builder.add_joint("top", "waist", "revolute", axis=(0.0, 1.0, 0.0), offset=(0.0, 0.0, 0.2))
    names = {"pelvis": "pelvis", "chest": "waist"}
    for side, y in (("l", 1.0), ("r", -1.0)):
        for part, far in (("pitch", 0.05), ("roll", 0.1), ("yaw", 0.12)):
            above = "top" if part == "pitch" else f"{'pitch' if part == 'roll' else 'roll'}_{side}"
            before = {"pitch": 0.0, "roll": 0.05, "yaw": 0.1}[part]
            place = (0.0, y * (far - before), 0.2 if part == "pitch" else 0.0)
            builder.add_joint(f"{part}_{side}", above, "revolute", offset=place)
        names[f"shoulder_{side}"] = f"yaw_{side}"
    model = builder.build()
    assert {find_bone_start(model, names, f"shoulder_{side}")[-2:] for side in "lr"} == {"_l", "_r"}


@pytest.mark.slow
@pytest.mark.parametrize("inside", [0.04, 0.1])
def test_a_link_of_a_shoulder_may_lie_anywhere_along_its_axis(inside):
    """Both machines move alike, so a motion is carried over alike, there and back; on no ground: bones tell it all."""
    clip, machines = move(walkers.make_character()), [walkers.make_machine(inside=far) for far in (0.0, inside)]
    nowhere = Contacts((), len(clip), clip.fps)
    carried = [retarget(clip, machine, contacts=nowhere).motion for machine in machines]
    assert carried[0].q == pytest.approx(carried[1].q, abs=1e-6)
    back = [retarget(each, clip.model, contacts=nowhere).motion for each in carried]
    for frame in ("elbow_l", "hand_l", "elbow_r", "hand_r"):
        assert back[0].positions(frame) == pytest.approx(back[1].positions(frame), abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("inside", [0.0, 0.1])
def test_an_upper_arm_points_where_the_source_has_it(inside):
    clip, machine = move(walkers.make_character()), walkers.make_machine(inside=inside)
    made = retarget(clip, machine).motion
    for side, own in (("l", "left"), ("r", "right")):
        theirs = clip.positions(f"elbow_{side}") - clip.positions(f"shoulder_{side}")
        ours = made.positions(f"{own}_elbow") - made.positions(f"{own}_shoulder_roll")
        along = np.sum(theirs * ours, axis=1) / np.linalg.norm(theirs, axis=1) / np.linalg.norm(ours, axis=1)
        assert np.degrees(np.arccos(along.min())) < 5.0


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["clip", "online"])
@pytest.mark.parametrize("order", [walkers.THREE, (("pitch", "y"), ("roll", "x"), ("yaw", "z"))])
def test_wide_hips_keep_the_directions_of_the_legs(monkeypatch, order, mode):
    monkeypatch.setattr(walkers, "THREE", order)
    clip, far = make_walk(30), []
    for outside in (0.0, 0.06):
        made = retarget(clip, walkers.make_machine(bend=0.1, outside=outside), mode=mode).motion
        for side, own in (("l", "left"), ("r", "right")):
            theirs = clip.positions(f"knee_{side}") - clip.positions(f"hip_{side}")
            ours = made.positions(f"{own}_knee") - made.positions(f"{own}_hip_{order[-1][0]}")
            sideways = np.arctan2(ours[:, 0], -ours[:, 2]) - np.arctan2(theirs[:, 0], -theirs[:, 1])
            assert np.degrees(np.abs(sideways).mean()) < 2.0
        far.append(np.abs(made.positions("left_foot") - made.positions("right_foot"))[:, 0].mean())
    assert far[1] - far[0] == pytest.approx(0.12, abs=0.02)


@pytest.mark.slow
def test_a_forearm_without_a_wrist_points_where_the_source_has_it():
    clip, machine = move(walkers.make_character()), walkers.make_machine(wrists=False)
    assert "wrist_l" not in poise.roles(machine)
    made = retarget(clip, machine).motion
    for side, own in (("l", "left"), ("r", "right")):
        theirs = clip.positions(f"hand_{side}") - clip.positions(f"elbow_{side}")
        ours = made.positions(f"{own}_elbow", (1.0, 0.0, 0.0)) - made.positions(f"{own}_elbow")
        assert np.degrees(np.arccos(np.sum(theirs * ours, axis=1) / np.linalg.norm(theirs, axis=1))).max() < 10.0


@pytest.mark.parametrize("wide", [1.6, 2.4, np.pi, np.inf])
@pytest.mark.parametrize("aside", [0.0, 0.03, -0.03])
@pytest.mark.parametrize("bend", [0.0, 0.1, -0.04])
def test_a_hinge_that_turns_as_far_either_way_bends_as_knees_and_elbows_do(wide, aside, bend):
    machines = [walkers.make_machine(bend=bend, aside=aside, wide=far) for far in (0.0, wide)]
    for end, side in ((end, side) for end in LIMBS for side in "lr"):
        own, other = (find_bend(machine, poise.roles(machine), end, side) for machine in machines)
        assert own @ other > np.cos(0.5)  # a kink tilts the axis a little


@pytest.mark.slow
@pytest.mark.parametrize("wide", [1.6, np.pi])
@pytest.mark.parametrize("bend", [0.1, 0.3])
def test_a_body_whose_knees_and_elbows_turn_either_way_walks_as_one_whose_do_not(wide, bend):
    clip = make_walk(60)
    one, other = (retarget(clip, walkers.make_machine(bend=bend, wide=far)).motion for far in (0.0, wide))
    assert one.q == pytest.approx(other.q, abs=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("neck", [None, (0.0, 0.0, 0.3), (0.2, 0.03, 0.1)])
@pytest.mark.parametrize("bend", [0.0, 0.3])
def test_a_body_without_arms_is_turned_as_the_source_is(neck, bend):
    whole, legs = walkers.make_machine(bend=bend), walkers.make_machine(bend=bend, hands=False, neck=neck)
    axes = [find_axes(model, poise.roles(model), "pelvis") for model in (whole, legs)]
    assert axes[0] == pytest.approx(axes[1], abs=1e-12)
    clip = move(walkers.make_character())
    made = retarget(clip, legs).motion
    for axis in np.eye(3):
        theirs, ours = (each.positions("pelvis", axis) - each.positions("pelvis") for each in (clip, made))
        assert np.sum(theirs * ours, axis=1).min() > np.cos(0.2)


@pytest.mark.slow
@pytest.mark.parametrize("tilt", [-0.2, 0.2, 0.4])
def test_soles_that_do_not_lie_flat_in_the_rest_pose_are_the_same_and_stand_flat(tilt):
    flat, tilted = (walkers.make_machine(hands=False, bend=0.2, tilt=turn) for turn in (0.0, tilt))
    soles = [poise.roles(model).contacts for model in (flat, tilted)]
    assert {name: at.point for name, at in soles[0].items()} == {
        name: pytest.approx(at.point, abs=1e-9) for name, at in soles[1].items()
    }
    made = retarget(make_walk(60), tilted)
    for side in "lr":
        own = [made.motion.positions(at.frame, at.point) for name, at in soles[1].items() if name.endswith(side)]
        high = np.array(own)[:, stands(side, 60, 30.0), 2]
        assert np.abs(high).max() < 1e-3


def stand_with_knees(give, frames):
    """Someone stands still on flat feet; the knees give way by the angles about x and y [rad]."""
    model = walkers.make_character("euler")
    q = np.tile(model.rest, (frames, 1))
    for side in "lr":
        for part, sign in (("knee", 1.0), ("foot", -1.0)):
            at = model.joint(f"{part}_{side}").q
            q[:, at] = Rotation.from_vector(sign * np.array([*give, 0.0])).to_euler("ZYX")
    return Motion(model, q, 30.0)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["clip", "online"])
@pytest.mark.parametrize("give", [(0.0, -0.005), (0.0, -0.02), (0.0, -0.15), (0.12, 0.0), (-0.12, 0.0), (0.0, 0.15)])
def test_knees_that_give_way_lay_no_foot_over_however_long_they_do(give, mode):
    humanoid = poise.load("humanoid")
    up = humanoid.up_direction
    heights = []
    for frames in (1, 12, 40):
        made = retarget(stand_with_knees(give, frames), humanoid, mode=mode).motion
        heights.append(made.positions("head")[-1] @ up)
        for foot in ("foot_l", "foot_r"):
            own = humanoid.fk(humanoid.rest, foot)[:3, :3].T @ up
            assert (humanoid.fk(made.q, foot)[:, :3, :3] @ own @ up).min() > 0.99
    assert np.ptp(heights) < 1e-3


def test_a_stiff_waist_shares_a_bow_between_pelvis_and_chest():
    """A robot whose waist cannot bend as far as the source's tilts its pelvis, so that its chest follows the source."""
    bow = make_bow(20)
    spine = [joint for joint in bow.model.joints if joint.name.startswith("spine")]
    stiff = bow.model.locked({joint.name: bow.model.rest[joint.q] for joint in spine})
    carried = retarget(bow, stiff).motion
    off = {}
    for part in ("pelvis", "chest"):
        theirs, ours = (np.asarray(m.model.fk(m.q, part))[:, :3, :3] for m in (bow, carried))
        off[part] = np.arccos(np.clip(0.5 * ((theirs * ours).sum(axis=(1, 2)) - 1.0), -1.0, 1.0)).mean()
    assert off["chest"] < 2.0 * off["pelvis"]
