"""Files for trainers of motion tracking: orders, velocities and quaternions against MuJoCo's own kinematics."""

import pickle
import pickletools
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import poise
from command_line import run_poise
from mjcf_files import mujoco, write
from poise import Motion
from poise.errors import FormatError, FormatWarning, PoiseError
from poise.scale import Job
from walkers import make_machine
from walks import make_walk

XBODY, BODY, SITE, JOINT = (getattr(mujoco.mjtObj, f"mjOBJ_{kind}") for kind in ("XBODY", "BODY", "SITE", "JOINT"))


def hinge(name, axis, inside="", at="0.1 0.02 -0.1", joint="", turn="1 0 0 0"):
    """A body on a hinge, with mass off its origin; `joint` has further attributes of the hinge."""
    return (
        f'<body name="{name}_link" pos="{at}" quat="{turn}"><joint name="{name}_joint" axis="{axis}" {joint}/>'
        f'<geom size="0.03" mass="0.7" pos="0.02 0.05 -0.1"/>{inside}</body>'
    )


def write_robot(folder, extra="", skew="0 1 0", couple=True):
    """A robot with legs, a waist, arms, a fixed sensor, a site, and a finger that follows another."""
    sensor = '<body name="sensor" pos="0 0 0.2"><geom size="0.02" mass="0.3" pos="0.1 0 0"/><site name="eye"/></body>'
    finger = hinge("finger", "0 0 1", hinge("tip", "0 0 1"))
    arms = hinge("right_arm", "1 0 0", finger) + hinge("left_arm", "1 0 0", turn="0.8 0 0.6 0")
    legs = "".join(hinge(f"{side}_hip", "0 1 0", hinge(f"{side}_knee", skew)) for side in ("left", "right"))
    body = f'<freejoint name="base"/><geom size="0.1" mass="5"/>{legs}{hinge("waist", "0 0 1", sensor + arms)}{extra}'
    rule = '<equality><joint joint1="tip_joint" joint2="finger_joint" polycoef="0.1 0.5 0 0 0"/></equality>'
    text = f'<body name="pelvis" pos="0 0 0.9">{body}</body>'
    return write(folder, f"<mujoco><worldbody>{text}</worldbody>{rule * couple}</mujoco>", "robot.xml")


def sway(model, frames=40, fps=50.0, seed=1):
    """A smooth motion in which everything moves, and the root turns around more than once."""
    rng, times = np.random.default_rng(seed), np.arange(frames)[:, None] / fps
    v = 0.3 * np.sin(times * rng.uniform(2.0, 5.0, model.nv) + rng.uniform(0.0, 6.0, model.nv))
    v[:, 5] = 9.0 * times[:, 0]
    return Motion(model, model.integrate(np.tile(model.rest, (frames, 1)), v), fps)


def find_names(m, kind, first=0, last=None):
    return [mujoco.mj_id2name(m, kind, i) for i in range(first, last or {BODY: m.nbody, JOINT: m.njnt}[kind])]


def simulate(m, motion, kind=XBODY):
    """MuJoCo's joints, places and velocities of bodies, from its own differences of qpos to both neighbours."""
    d, rows = mujoco.MjData(m), []
    dof = m.jnt_qposadr[1:]
    qpos = np.zeros((len(motion), m.nq))
    columns = [joint for joint in motion.model.joints if joint.nq or joint.mimic]
    for joint, at in zip(columns, m.jnt_qposadr, strict=True):
        values = motion.q[:, joint.q]
        qpos[:, at : at + values.shape[1]] = values if not joint.mimic else 0.1 + 0.5 * values
    for k in range(1, len(motion) - 1):
        steps = np.zeros((2, m.nv))
        for i, step in enumerate(steps):
            mujoco.mj_differentiatePos(m, step, 1.0 / motion.fps, qpos[k + i - 1], qpos[k + i])
        d.qpos[:], d.qvel[:] = qpos[k], steps.mean(axis=0)
        mujoco.mj_forward(m, d)
        twist = np.zeros((m.nbody, 6))
        for i in range(m.nbody):
            mujoco.mj_objectVelocity(m, d, kind, i, twist[i], 0)
        rows.append((d.qpos[dof], d.qvel[6:], d.xpos[1:], d.xquat[1:], twist[1:, 3:], twist[1:, :3]))
        rows[-1] = tuple(np.array(each) for each in rows[-1])
    names = ("joint_pos", "joint_vel", "body_pos_w", "body_quat_w", "body_lin_vel_w", "body_ang_vel_w")
    return dict(zip(names, map(np.stack, zip(*rows, strict=True)), strict=True))


def find_worst(arrays, expected, bodies=slice(None), joints=slice(None)):
    """The largest difference of a file to MuJoCo, in frames with a frame on either side."""
    out = {}
    for name, values in expected.items():
        wanted, found = values[:, joints if name.startswith("joint") else bodies], arrays[name][1:-1]
        signs = np.sign((wanted * found).sum(axis=-1, keepdims=True)) if name == "body_quat_w" else 1.0
        out[name] = np.abs(found - signs * wanted).max()
    return out


@pytest.fixture(scope="module")
def robot(tmp_path_factory):
    path = write_robot(tmp_path_factory.mktemp("robot"))
    m = mujoco.MjModel.from_xml_path(str(path))
    model = poise.load(path)
    return SimpleNamespace(path=path, m=m, model=model, motion=sway(model))


def test_mjlab_has_the_bodies_and_velocities_of_mujoco(robot, tmp_path):
    arrays = np.load(poise.save(robot.motion, tmp_path / "a.npz", style="mjlab"))
    assert arrays["fps"].tolist() == [50.0]
    assert arrays["body_names"].tolist() == find_names(robot.m, BODY, 1)
    assert arrays["joint_names"].tolist() == find_names(robot.m, JOINT, 1)
    assert {arrays[name].dtype for name in ("joint_pos", "body_pos_w", "body_quat_w")} == {np.dtype(np.float32)}
    worst = find_worst(arrays, simulate(robot.m, robot.motion))
    assert len(worst) == 6
    assert max(worst.values()) < 2e-6, worst


def test_quaternions_do_not_change_sign_from_frame_to_frame(robot, tmp_path):
    wxyz = np.load(poise.save(robot.motion, tmp_path / "a.npz", style="mjlab"))["body_quat_w"]
    assert (np.einsum("fbi,fbi->fb", wxyz[1:], wxyz[:-1]) > 0.0).all()
    assert np.ptp(np.unwrap(2.0 * np.arctan2(wxyz[:, 0, 3], wxyz[:, 0, 0]))) > 1.5 * np.pi


def test_velocities_belong_to_the_positions(robot, tmp_path):
    motion = sway(robot.model, 400, fps=1000.0)
    with pytest.warns(FormatWarning, match="mjlab ignores the file's fps"):
        path = poise.save(motion, tmp_path / "a.npz", style="mjlab")
    arrays = np.load(path)
    path_of_bodies = robot.model.fk(motion.q, arrays["body_names"].tolist())[..., :3, 3]
    speeds = np.gradient(path_of_bodies, 1e-3, axis=0)[1:-1]
    assert np.abs(speeds).max() > 0.5
    np.testing.assert_allclose(arrays["body_lin_vel_w"][1:-1], speeds, atol=3e-3)


def test_beyondmimic_has_the_order_of_isaac_and_velocities_of_centres_of_mass(robot, tmp_path):
    arrays = np.load(poise.save(robot.motion, tmp_path / "a.npz", style="beyondmimic"))
    links = ["left_hip", "right_hip", "waist", "left_knee", "right_knee", "left_arm", "right_arm", "finger", "tip"]
    assert arrays["body_names"].tolist() == ["pelvis", *(f"{name}_link" for name in links)]
    assert arrays["joint_names"].tolist() == [f"{name}_joint" for name in links]
    text = robot.path.read_text("utf-8").replace("<mujoco>", '<mujoco><compiler fusestatic="true"/>')
    fused = mujoco.MjModel.from_xml_string(text)
    bodies = [find_names(fused, BODY, 1).index(name) for name in arrays["body_names"]]
    joints = [find_names(fused, JOINT, 1).index(name) for name in arrays["joint_names"]]
    expected = simulate(fused, robot.motion, BODY)
    worst = find_worst(arrays, expected, bodies, joints)
    assert max(worst.values()) < 2e-6, worst
    origins = simulate(fused, robot.motion, XBODY)["body_lin_vel_w"]
    assert np.abs(origins - expected["body_lin_vel_w"]).max() > 0.1  # the two differ


def read_pickle(path):
    """The content of a pickle that names nothing but arrays, whose modules every NumPy has."""
    data = Path(path).read_bytes()
    words = [arg for op, arg, _ in pickletools.genops(data) if op.name in ("SHORT_BINUNICODE", "GLOBAL")]
    assert not [word for word in words if "core" in word or "multiarray" in word]
    assert data[:2] == b"\x80\x04"
    return pickle.loads(data)


def test_twist_has_the_places_of_all_frames_in_the_axes_of_the_root(robot, tmp_path):
    content = read_pickle(poise.save(robot.motion, tmp_path / "a.pkl", style="twist"))
    assert list(content) == ["fps", "root_pos", "root_rot", "dof_pos", "local_body_pos", "link_body_list"]
    assert content["fps"] == 50.0
    names = content["link_body_list"]
    assert set(names) == {*find_names(robot.m, BODY, 1), "eye"}
    expected, d = simulate(robot.m, robot.motion), mujoco.MjData(robot.m)
    np.testing.assert_allclose(content["dof_pos"][1:-1], expected["joint_pos"], atol=1e-6)
    for k in (1, 20, 38):
        d.qpos[3:7] = content["root_rot"][k, [3, 0, 1, 2]]
        d.qpos[:3], d.qpos[7:] = content["root_pos"][k], content["dof_pos"][k]
        mujoco.mj_forward(robot.m, d)
        local = (np.array([*d.xpos[1:], d.site("eye").xpos]) - d.xpos[1]) @ d.xmat[1].reshape(3, 3)
        order = [*find_names(robot.m, BODY, 1), "eye"]
        np.testing.assert_allclose(
            content["local_body_pos"][k][[names.index(name) for name in order]], local, atol=1e-6
        )
    content["root_pos"][0] = 0.0  # the arrays can be changed, as torch.from_numpy expects


def test_phc_turns_the_bodies_as_its_forward_kinematics_expects(robot, tmp_path):
    content = read_pickle(poise.save(robot.motion, tmp_path / "my.dance.pkl", style="phc"))
    assert list(content) == ["my"]  # its reader takes the name of the file up to the first dot
    clip, m, expected = content["my"], robot.m, simulate(robot.m, robot.motion)
    turns, k = clip["pose_aa"], 17
    parents, rotations, places = m.body_parentid, [np.eye(3)], [np.zeros(3)]
    for i in range(1, m.nbody):
        turn = poise.Rotation.from_vector(turns[k, i - 1]).matrix
        local = poise.Rotation(m.body_quat[i]).matrix if i > 1 else np.eye(3)
        offset = m.body_pos[i] if i > 1 else clip["root_trans_offset"][k]
        places.append(places[parents[i]] + rotations[parents[i]] @ offset)
        rotations.append(rotations[parents[i]] @ local @ turn)
    np.testing.assert_allclose(places[1:], expected["body_pos_w"][k - 1], atol=1e-6)
    hinged = [i for i, name in enumerate(find_names(m, BODY, 1)) if name not in ("pelvis", "sensor")]
    np.testing.assert_allclose(turns.sum(axis=-1)[:, hinged], clip["dof"], atol=1e-6)
    assert not turns[:, m.nbody - 1 :].any()
    xyzw = clip["pose_quat_global"][1:-1]
    close = np.abs((xyzw[..., [3, 0, 1, 2]] * expected["body_quat_w"]).sum(axis=-1))
    np.testing.assert_allclose(close, 1.0, atol=1e-6)
    np.testing.assert_array_equal(clip["root_rot"], clip["pose_quat_global"][:, 0])


def test_joints_off_the_origin_and_several_on_one_body_belong_to_their_body(tmp_path):
    pair = '<body name="both" pos="0 0 0.1"><joint name="x" axis="1 0 0"/><joint name="y" axis="0 1 0" pos="0 0 0.1"/>'
    extra = hinge("head", "0 0 1", joint='pos="0 0 0.05"') + pair + '<geom size="0.01" mass="1"/></body>'
    path = write_robot(tmp_path, extra + '<body name="mount"/>' + hinge("tail", "1 0 0"))
    m, model = mujoco.MjModel.from_xml_path(str(path)), poise.load(path)
    assert {"x", "y", "head_joint"} < set(model.frames)
    motion = sway(model)
    arrays = np.load(poise.save(motion, tmp_path / "a.npz", style="mjlab"))
    assert arrays["body_names"].tolist() == find_names(m, BODY, 1)
    assert arrays["joint_names"].tolist() == find_names(m, JOINT, 1)
    assert max(find_worst(arrays, simulate(m, motion)).values()) < 2e-6
    with pytest.raises(PoiseError, match="style='phc' needs one hinge per body; body 'both' has several"):
        poise.save(motion, tmp_path / "a.pkl", style="phc")


def test_links_of_a_urdf_that_are_fixed_belong_to_their_parents(tmp_path):
    rows = (("base", "arm", "revolute", "b"), ("base", "tool", "fixed", "c"), ("arm", "end", "revolute", "a"))
    rows = (*rows, ("base", "leg", "revolute", "d"))
    solid = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    limit = '<limit lower="-1" upper="1" effort="1" velocity="1"/><origin xyz="0.1 0 0"/>'
    links = "".join(f'<link name="{name}">{solid}</link>' for name in ("base", "arm", "tool", "end", "leg"))
    joints = "".join(
        f'<joint name="{name}" type="{kind}"><parent link="{a}"/><child link="{b}"/>{limit}</joint>'
        for a, b, kind, name in rows
    )
    path = write(tmp_path, f'<robot name="r">{links}{joints}</robot>', "r.urdf")
    motion = sway(poise.load(path, base="free"))
    named = {
        style: np.load(poise.save(motion, tmp_path / "a.npz", style=style))["body_names"].tolist()
        for style in ("mjlab", "beyondmimic")
    }
    assert named == {"mjlab": ["base", "arm", "end", "leg"], "beyondmimic": ["base", "arm", "leg", "end"]}


def test_a_robot_without_a_free_joint_of_its_own_begins_at_its_first_body(tmp_path):
    text = write_robot(tmp_path).read_text("utf-8").replace('<freejoint name="base"/>', "")
    model = poise.load(write(tmp_path, text, "fixed.xml"), base="free")
    arrays = np.load(poise.save(sway(model), tmp_path / "a.npz", style="mjlab"))
    assert arrays["body_names"].tolist()[:2] == ["pelvis", "left_hip_link"]
    np.testing.assert_allclose(arrays["body_pos_w"][:, 0], sway(model).positions("pelvis"), atol=1e-6)


MACHINE = "robot of hinges"
BAD = {
    "an unknown style": (MACHINE, "a.npz", "mujocolab", "style is 'mujocolab'; it must be one of .*'mjlab'"),
    "another suffix": (MACHINE, "a.pkl", "mjlab", r"style='mjlab' is written to \.npz files"),
    "a pickle as an archive": (MACHINE, "a.npz", "phc", r"style='phc' is written to \.pkl files"),
    "no free root": ("panda", "a.npz", "mjlab", "'panda' has no free joint at its root.*base='free'"),
    "y is up": ("humanoid", "a.pkl", "twist", "z is up, and y is up for .*load it with up='z'"),
    "balls": (
        "turned",
        "a.npz",
        "beyondmimic",
        "needs hinges and slides; joint '.*' is a (ball|euler|universal) joint",
    ),
    "one frame": ("one", "a.npz", "mjlab", "need two frames or more; the motion has one"),
    "a pose": ("pose", "a.npz", "mjlab", "style='mjlab' is for motions, not for a Pose"),
}


@pytest.mark.parametrize(("body", "file", "style", "words"), BAD.values(), ids=BAD.keys())
def test_what_a_trainer_cannot_read_is_not_written(robot, tmp_path, body, file, style, words):
    if body in ("panda", "humanoid", "turned"):
        model = poise.load("humanoid", up="z") if body == "turned" else poise.load(body)
        thing = Motion(model, np.tile(model.rest, (3, 1)), 50.0)
    else:
        thing = {"one": robot.motion[:1], "pose": robot.motion[0]}.get(body, robot.motion)
    with pytest.raises(PoiseError, match=words):
        poise.save(thing, tmp_path / file, style=style)
    assert not list(tmp_path.iterdir())


def test_phc_needs_hinges_and_is_warned_of_axes_that_it_adds_up(tmp_path):
    slide = '<body name="s"><joint name="slide" type="slide"/><geom size="0.01" mass="1"/></body>'
    motion = sway(poise.load(write_robot(tmp_path, slide)))
    with pytest.raises(PoiseError, match="needs one hinge per body; joint 'slide' is a slide"):
        poise.save(motion, tmp_path / "a.pkl", style="phc")
    motion = sway(poise.load(write_robot(tmp_path, skew="0 -1 0")))
    with pytest.warns(FormatWarning, match="unless it is x, y or z: left_knee_joint, right_knee_joint"):
        poise.save(motion, tmp_path / "a.pkl", style="phc")


def test_pickles_are_never_opened(tmp_path, robot):
    path = poise.save(robot.motion, tmp_path / "a.pkl", style="twist")
    with pytest.raises(FormatError, match="A pickle can run any program, so none is opened"):
        poise.load_motion(path, model=robot.model)


def test_the_command_line_converts_a_table_of_a_robot(robot, tmp_path):
    poise.save(robot.motion, tmp_path / "walk.csv", style="unitree")
    words = ["convert", tmp_path / "walk.csv", tmp_path / "walk.npz", "--model", robot.path, "--style"]
    out = run_poise(*words, "mjlab")
    assert out.exit_code == 0, out.output
    assert "--fps" not in out.stdout
    found = np.load(tmp_path / "walk.npz")
    expected = np.load(poise.save(robot.motion, tmp_path / "a.npz", style="mjlab"))
    np.testing.assert_allclose(found["body_pos_w"], expected["body_pos_w"], atol=1e-5)
    out = run_poise(*words, "phc")
    assert out.exit_code == 2
    assert "--style phc is written to .pkl" in out.output


@pytest.mark.slow
def test_a_folder_is_retargeted_into_files_of_a_style(tmp_path):
    (tmp_path / "in").mkdir()
    poise.save(make_walk(20), tmp_path / "in" / "walk.bvh")
    report = Job.retarget(make_machine(), style="phc", fps=15).run(tmp_path / "in", tmp_path / "out", threads=1)
    assert (report.done, report.failed) == (1, {})
    assert list(read_pickle(tmp_path / "out" / "walk.pkl")) == ["walk"]
    with pytest.raises(FormatError, match=r"style='phc' is written to \.pkl"):
        Job.retarget(make_machine(), style="phc", suffix=".npz").run(tmp_path / "in", tmp_path / "no", threads=1)
