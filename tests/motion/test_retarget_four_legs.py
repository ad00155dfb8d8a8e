"""A dog's trot on robots and on other dogs: four feet stand still, the trunk follows, knees keep their own bend."""

import numpy as np
import pytest

import poise
from dogs import make_robot_dog, write_dog
from poise.errors import InvalidValue
from poise.formats.units import scale_model
from poise.motion import Mapping, Retargeter, retarget
from walks import make_walk

SIDES = ("fl", "fr", "hl", "hr")


@pytest.fixture(scope="module")
def trot(tmp_path_factory):
    return poise.load_motion(write_dog(tmp_path_factory.mktemp("dog") / "trot.bvh"))


def find_heading(motion):
    roles = poise.roles(motion.model)
    fore, hind = (motion.positions(roles[f"hip_{end}l"]) + motion.positions(roles[f"hip_{end}r"]) for end in "fh")
    way = fore - hind
    way = way / np.linalg.norm(way, axis=1, keepdims=True)
    up = motion.model.up_direction
    return way - np.outer(way @ up, up), np.arcsin(way @ up)


def check_feet(out, share):
    """Every foot stands still in at least a share of the frames, and no foot is below the floor."""
    for side in SIDES:
        held = [contact for contact in out.contacts if contact.name.endswith(f"_{side}")]
        assert sum(contact.end - contact.start for contact in held) > share * len(out.motion)
    for contact in out.contacts:
        path = out.motion[contact.start : contact.end].positions(contact.frame, contact.point)
        assert np.ptp(path, axis=0).max() < 2e-5 * max(1.0, out.motion.model.length)
    assert out.quality.sink_max < 1.0


@pytest.mark.parametrize("wide", [False, True])
def test_a_trot_on_a_robot_stands_still(trot, wide):
    robot = make_robot_dog(wide=wide)
    out = retarget(trot, robot)
    assert not out.track.released
    check_feet(out, 0.4)
    steps = np.abs(robot.difference(out.motion.q[:-1], out.motion.q[1:]))[:, 6:]
    assert steps.max() < 0.5
    way, pitch = find_heading(out.motion)
    assert way[:, 1].max() < -0.99  # the dog's z with y up is -y with z up
    assert np.abs(pitch).max() < np.radians(6.0)


def test_round_feet_stay_above_the_floor(trot):
    robot = make_robot_dog()
    out = retarget(trot, robot)
    for end in "FR":
        for side in "LR":
            heights = out.motion.positions(f"{end}{side}_calf", (0.0, 0.0, -0.21))[:, 2]
            assert heights.min() > 0.022 - 1e-4


def test_knees_keep_the_bend_of_the_robot(trot):
    """The dog's hind knees point forward, those of the robot backward."""
    out = retarget(trot, make_robot_dog())
    assert (out.motion.q[:, [9, 12, 15, 18]] <= -0.8).all()
    wide = retarget(trot, make_robot_dog(wide=True))  # knees with no side of their own bend as the dog's
    assert (wide.motion.q[:, [9, 12]] < 0.0).all()
    assert (wide.motion.q[:, [15, 18]] > 0.0).all()


def test_feet_follow_those_of_the_dog(trot):
    """Feet are as far ahead of their hips as the dog's, relative to the length of their legs."""
    robot = make_robot_dog()
    out = retarget(trot, robot)
    dog, own = poise.roles(trot.model), poise.roles(robot)
    ahead = find_heading(out.motion)[0]
    for side in SIDES:
        theirs = (trot.positions(dog[f"toe_{side}"]) - trot.positions(dog[f"hip_{side}"]))[:, 2]
        contact = own.contacts[f"sole_1_{side}"]
        ours = out.motion.positions(contact.frame, contact.point) - out.motion.positions(own[f"hip_{side}"])
        ours = (ours * ahead).sum(axis=1)
        assert np.corrcoef(theirs, ours)[0, 1] > 0.97
        assert np.ptp(ours) == pytest.approx(out.scale * np.ptp(theirs), rel=0.2)


@pytest.mark.parametrize("names", ["robot", "german", "none"])
def test_names_do_not_matter(tmp_path, trot, names):
    other = poise.load_motion(write_dog(tmp_path / "other.bvh", names))
    robot = make_robot_dog(scrambled=True)
    ours, theirs = retarget(other, robot), retarget(trot, make_robot_dog())
    assert np.abs(ours.motion.q - theirs.motion.q).max() < 0.05


def test_a_rest_pose_along_x_does_not_matter(tmp_path, trot):
    other = poise.load_motion(write_dog(tmp_path / "other.bvh", along_x=True))
    ours, theirs = (retarget(clip, make_robot_dog()) for clip in (other, trot))
    assert np.abs(ours.motion.q - theirs.motion.q).max() < 0.05


def test_a_dog_on_a_larger_dog_has_the_same_bones(tmp_path, trot):
    other = poise.load_motion(write_dog(tmp_path / "large.bvh", scale=2.0))
    out = retarget(trot, other.model)
    assert out.scale == pytest.approx(2.0, rel=1e-6)
    check_feet(out, 0.4)
    assert out.bone_errors.mean() < np.radians(3.0)
    sharp = retarget(trot, other.model, smooth=0.3)
    assert np.percentile(sharp.bone_errors, 95.0) < np.radians(1.0)
    assert np.abs(sharp.motion.positions("Hips") - 2.0 * trot.positions("Hips")).max() < 2.0  # of 90 units


def test_a_stream_of_a_dog_follows(trot):
    out = retarget(trot, make_robot_dog(), mode="online")
    steps = np.abs(out.motion.model.difference(out.motion.q[:-1], out.motion.q[1:]))[:, 6:]
    assert steps.max() < 0.5
    whole = retarget(trot, make_robot_dog())
    assert np.linalg.norm(out.motion.q[30:, :3] - whole.motion.q[30:, :3], axis=1).max() < 0.05
    check_feet(out, 0.4)


def test_a_stream_of_a_dog_stands_on_toes_that_are_above_the_ground(tmp_path):
    """The toes of many recordings end 3 cm above the ground, and those of fore and hind legs at different heights."""
    path = write_dog(tmp_path / "trot.bvh")
    path.write_text(path.read_text().replace("0.000000 -7.000000 3.000000", "0.000000 -4.000000 3.000000"))
    clip = poise.load_motion(path)
    stream, whole = (retarget(clip, make_robot_dog(), mode=mode) for mode in ("online", "clip"))
    assert sum(map(len, stream.contacts)) > 0.85 * sum(map(len, whole.contacts))
    check_feet(stream, 0.35)


@pytest.mark.parametrize("other", ["robot", "dog"])
def test_a_released_paw_of_a_stream_stands_again(trot, other):
    live = Retargeter(trot.model, make_robot_dog() if other == "robot" else trot.model, fps=trot.fps)
    frames = iter(trot.q)
    while not (held := [hold for hold in live.contacts.holds if hold.place is not None]):
        live.step(next(frames))
    live.contacts.release(held[0], live.q)
    before, stood = live.step(next(frames)).q, False
    for frame in frames:
        now = live.step(frame).q
        assert np.abs(live.model.difference(before, now))[6:].max() < 0.55  # the dog itself has steps of 0.52
        before, stood = now, stood or held[0].place is not None
    assert stood


def test_hinges_of_a_stream_are_no_faster_than_motors(trot):
    quick = poise.Motion(trot.model, trot.q[::9], trot.fps)
    out = retarget(quick, make_robot_dog(), mode="online")
    assert np.abs(np.diff(out.motion.q[:, 7:], axis=0)).max() < 30.0 / trot.fps


def test_a_mapping_of_four_legs_can_be_saved_and_corrected(tmp_path, trot):
    robot = make_robot_dog()
    mapping = Mapping.between(trot.model, robot)
    assert mapping.four
    assert mapping.find("knee_hl").target == "RL_calf"
    poise.save(mapping, tmp_path / "dog.json")
    assert Mapping.load(tmp_path / "dog.json").pairs == mapping.pairs
    swapped = mapping.replace("knee_fl", target="FL_hip")
    with pytest.raises(InvalidValue, match="'knee_fl' of the target 'robot_dog' is 'FL_hip'"):
        retarget(trot, robot, swapped)
    with pytest.raises(InvalidValue, match=r"has no 'knee_fl'.*four legs"):
        retarget(trot, robot, mapping.remove("knee_fl"))


@pytest.mark.parametrize("role", ["pelvis", "hip_fl", "knee_hr"])
def test_a_mapping_without_a_leg_names_it(trot, role):
    robot = make_robot_dog()
    less = Mapping.between(trot.model, robot).remove(role)
    with pytest.raises(InvalidValue, match=rf"no '{role}': .*hips and knees of all four legs"):
        retarget(trot, robot, less)


@pytest.mark.parametrize("mode", ["clip", "online"])
def test_a_quadruped_has_no_arms_to_scale(trot, mode):
    with pytest.raises(InvalidValue, match=r"'arms', and a quadruped has none"):
        retarget(trot, make_robot_dog(), scale={"arms": 0.5}, mode=mode)


def test_two_legs_are_not_four(trot):
    with pytest.raises(InvalidValue, match="is a quadruped, and 'humanoid' has no four known legs: it has two legs"):
        retarget(make_walk(5), make_robot_dog())
    with pytest.raises(InvalidValue, match=r"'trot' has no two known legs: it is a quadruped"):
        retarget(trot, poise.load("humanoid"))


def test_a_source_with_three_legs_is_refused():
    builder = poise.ModelBuilder("tripod")
    builder.add_joint("base", None, "free")
    for k, (x, y) in enumerate(((0.2, 0.1), (0.2, -0.1), (-0.2, 0.0))):
        builder.add_joint(f"a{k}", "base", "ball", offset=(x, y, 0.0))
        builder.add_joint(f"b{k}", f"a{k}", "ball", offset=(0.0, 0.0, -0.2))
        builder.add_frame(f"c{k}", f"b{k}", (0.0, 0.0, -0.2))
    tripod = builder.build()
    clip = poise.Motion(tripod, np.tile(tripod.rest, (4, 1)), 30.0)
    with pytest.raises(InvalidValue, match="'tripod' has no four known legs"):
        retarget(clip, make_robot_dog())


def test_a_robot_of_any_size_moves_alike(trot):
    """And its paws are not hands that touch each other."""
    robot = make_robot_dog()
    one, large = (retarget(trot[:20], each) for each in (robot, scale_model(robot, 100.0)))
    np.testing.assert_allclose(one.motion.q[:, 7:], large.motion.q[:, 7:], atol=1e-2)
    assert one.touches == ()


def test_legs_of_a_robot_that_stands_still_follow(trot):
    robot = make_robot_dog()
    hinges = [joint.name for joint in robot.joints if joint.kind == "revolute"]
    out = retarget(trot, robot, joints=hinges).motion
    start = robot.fk(robot.rest, "FL_thigh")[:3, 3]
    ahead = out.positions("FL_calf", (0.0, 0.0, -0.21)) - start
    assert np.abs(ahead[:, :2]).max() < 0.25
